//! Path: address, congestion control and packets in flight. RFC 9002 applies to each path separately.

use super::*;
use crate::common::{Burst, PathState};
use crate::quic::frame::StreamFrame;
use crate::quic::identifiers::Identifiers;
use crate::quic::packet::Address;
use crate::quic::recovery::Recovery;
use crate::quic::thresholds::Thresholds;
use crate::quic::undo::Reduction;
use vazao_congestion::{Congestion, Sending, Sibling, Signal};

/// Maximum burst in datagrams (RFC 9002 section 7.7).
const BURST: u64 = 10;

/// Path validation in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validation {
    /// Data of the last PATH_CHALLENGE (section 8.2.1), number of challenges sent, and time of the next one.
    pub challenge: u64,
    pub sent: u32,
    pub next_challenge: Time,
    /// Previous address, used again if validation fails.
    pub before: Address,
}

counters! {
    /// Counters of one path as a sender.
    #[derive(Copy)]
    pub struct PathStats {
        /// Stream bytes first sent on this path.
        pub bytes: u64 = "bytes",
        /// Datagrams sent, and packets in them.
        pub datagrams: u64 = "packets_sent",
        /// See `datagrams`.
        pub packets: u64,
        /// Packets declared lost.
        pub lost: u64,
        /// Packets with retransmitted data.
        pub retransmissions: u64 = "retransmissions",
        /// Expiries of the probe timer.
        pub probes: u64 = "timeouts",
        /// Bytes in flight that were acknowledged.
        pub delivered: u64,
    }
}

/// Snapshot of a path. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// Client interface, from 0.
    pub interface: u8,
    /// Whether data may be sent on the path.
    pub is_open: bool,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold, if there is one.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub flight: u64,
    /// Smoothed and latest round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// See `srtt`.
    pub latest_rtt: Option<Duration>,
    /// Probe timeout with its back-off, once there is a round-trip time.
    pub timeout: Option<Duration>,
    /// Rate at which data leaves, once there is a round-trip time.
    pub pacing_rate: Option<Rate>,
    /// Phase of the congestion control, where it names any.
    pub phase: Option<&'static str>,
    /// Counters.
    pub stats: PathStats,
}

/// Lifecycle stage of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its identifier has not been used.
    Reserved,
    /// Being validated.
    Opening,
    Open,
    /// No longer used; its identifier is not reused.
    Abandoned,
}

pub(super) struct Path {
    config: Arc<Config>,
    pub stage: Stage,
    pub recovery: Recovery,
    /// Packets received. The first path includes the handshake spaces.
    pub acks: [Acks; 3],
    pub marking: Marking,
    pub control: Box<dyn CongestionControl>,
    /// Congestion window, cached to save calls of the congestion control.
    pub cwnd: u64,
    /// Whether the congestion control needs delivery rates.
    pub rated: bool,
    /// Time of the last window reduction, until a packet sent since is acknowledged; packets sent before it belong to
    /// the same recovery.
    pub cut_at: Option<Time>,
    pub last_cut: Option<Time>,
    /// Last window reduction for losses, while it can be taken back.
    pub reduction: Option<Reduction>,
    /// First packet number in the data space sent since the last migration.
    pub first: u64,
    /// Packet number in the data space whose acknowledgement ends the round trip.
    pub round_end: u64,
    pub window_limited: bool,
    pub pacer: Bucket,
    /// Current pacing rate, cached until the congestion control changes.
    rate: Option<Rate>,
    pub release: Time,
    /// Probe packets to send regardless of the window, and their space.
    pub probes: u32,
    pub probe_space: Space,
    pub timer: Time,
    /// Client address, as this side knows it.
    pub address: Address,
    pub identifiers: Identifiers,
    pub validation: Option<Validation>,
    /// PATH_CHALLENGE and PATH_RESPONSE frames to send, with their address.
    pub answers: VecDeque<(Address, Frame)>,
    /// Highest number of a non-probing packet (section 9.3).
    pub highest: u64,
    /// Whether the peer's address is validated; on the server, bytes received and sent before that (section 8.1).
    pub validated: bool,
    bounded: bool,
    pub received: u64,
    pub sent: u64,
    /// Whether the path is a backup; numbers of the last PATH_STATUS sent and received.
    pub backup: bool,
    pub statuses: (u64, u64),
    /// Frames assigned to the path and not sent yet.
    pub queue: VecDeque<StreamFrame>,
    /// Offset in all stream data below which this path has sent everything itself, and has repeated data for others.
    pub copied: u64,
    pub repeated: u64,
    penalised: Option<Time>,
    pub stats: PathStats,
}

impl Path {
    /// Creates a path of unknown properties; `seed` is for its congestion control.
    pub fn new(config: Arc<Config>, role: Role, seed: u64) -> Path {
        let control = (config.control)(u64::from(config.datagram), seed);
        let thresholds = Thresholds::new(&config);
        let mut recovery =
            Recovery::new(config.initial_rtt, config.max_ack_delay).with_rules(config.recovery, thresholds);
        let rated = control.wants_rate();
        if rated {
            recovery.space(Space::Data).measure_rates();
        }
        Path {
            recovery,
            acks: [Acks::new(), Acks::new(), Acks::new()],
            marking: Marking::new(config.ecn.unwrap_or_else(|| control.wants_marks())),
            cwnd: control.cwnd(),
            control,
            rated,
            cut_at: None,
            last_cut: None,
            reduction: None,
            first: 0,
            round_end: 0,
            window_limited: false,
            pacer: Bucket::default(),
            rate: None,
            release: Time::NEVER,
            probes: 0,
            probe_space: Space::Initial,
            timer: Time::NEVER,
            address: Address::default(),
            identifiers: Identifiers::new(),
            validation: None,
            answers: VecDeque::new(),
            highest: 0,
            validated: role == Role::Client,
            bounded: role == Role::Server,
            received: 0,
            sent: 0,
            backup: false,
            statuses: (0, 0),
            queue: VecDeque::new(),
            copied: 0,
            repeated: 0,
            penalised: None,
            stats: PathStats::default(),
            stage: Stage::Open,
            config,
        }
    }

    /// Creates an additional path whose identifier has not been used.
    pub fn reserved(config: Arc<Config>, role: Role, seed: u64) -> Path {
        let path = Path::new(config, role, seed);
        Path { stage: Stage::Reserved, identifiers: Identifiers::none(), validated: false, ..path }
    }

    /// Resets the path's properties after a migration (section 9.4): packets in flight on the old path no longer count.
    pub fn reset_properties(&mut self, seed: u64) {
        self.recovery.reset_path(self.config.initial_rtt, Thresholds::new(&self.config));
        self.first = self.recovery.space(Space::Data).next_number();
        self.control = (self.config.control)(u64::from(self.config.datagram), seed);
        self.follow_control();
        self.marking.test_again();
        (self.cut_at, self.last_cut, self.reduction) = (None, None, None);
        self.pacer = Bucket::default();
    }

    /// Bytes that may be sent before the client's address is validated (section 8.1): three times those received.
    pub fn allowance(&self) -> u64 {
        if self.validated || !self.bounded { u64::MAX } else { (3 * self.received).saturating_sub(self.sent) }
    }

    /// Whether the address is validated and no path challenge or response is pending.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.validated && self.answers.is_empty()
    }

    /// Bytes of a full datagram.
    pub fn datagram(&self) -> u64 {
        u64::from(self.config.datagram)
    }

    /// Updates cached values after a call of the congestion control.
    pub fn follow_control(&mut self) {
        if let Some(most) = self.config.max_window {
            self.control.restrict(most * self.datagram(), 0);
        }
        self.cwnd = self.control.cwnd().max(2 * self.datagram());
        self.rate = None;
    }

    /// Whether another full datagram fits in the window.
    #[inline]
    pub fn has_window(&self) -> bool {
        self.recovery.in_flight() + self.datagram() <= self.cwnd
    }

    /// Whether the pacer lets a packet leave.
    pub fn is_released(&self, now: Time) -> bool {
        self.pacer.is_open(now)
    }

    /// Whether an ack-eliciting packet may leave: the window has room, and the pacer, if it `paces`, permits it.
    /// `wanted` tells whether there is one to send.
    #[inline]
    pub fn may_send(&mut self, now: Time, wanted: bool, paces: bool) -> bool {
        if !self.has_window() {
            self.window_limited |= wanted;
            return false;
        }
        if paces && !self.pacer.is_open(now) {
            self.release = if wanted { self.pacer.release() } else { Time::NEVER };
            return false;
        }
        if !wanted {
            self.window_limited = false;
            let flight = self.recovery.in_flight();
            if let Some(sampler) = self.recovery.space(Space::Data).sampler() {
                // Neither the window nor the pacer limits the sender, so the next samples say little about the path.
                sampler.set_app_limited(flight);
            }
        }
        true
    }

    /// Informs the congestion control that an ack-eliciting packet of the data space is about to leave.
    #[inline]
    pub fn announce(&mut self, now: Time) {
        if !self.rated {
            return;
        }
        let flight = self.recovery.in_flight();
        let app_limited = self.recovery.space(Space::Data).sampler().is_some_and(|sampler| sampler.is_app_limited());
        let (srtt, min_rtt) = (self.recovery.rtt.srtt(), self.recovery.rtt.min());
        self.control.on_send(&Sending { now, flight, app_limited, srtt, min_rtt });
        self.follow_control();
    }

    /// Charges the pacer for `bytes` that leave.
    pub fn pace(&mut self, now: Time, bytes: u64) {
        if !self.recovery.is_measured() {
            return; // The first window has no known rate.
        }
        let rate = match self.rate {
            Some(rate) => rate,
            // Cached because several packets leave per acknowledgement and division is slow.
            None => *self.rate.insert(self.pacing_rate()),
        };
        let train = self.config.super_packet;
        let burst = Burst { datagrams: BURST.max(train + 1), train, size: self.datagram() };
        self.pacer.on_sent(now, bytes, rate, &burst);
    }

    /// Pacing rate of the congestion control, or slightly more than a window per round-trip time (section 7.7).
    #[inline(never)]
    fn pacing_rate(&self) -> Rate {
        self.control.pacing_rate().unwrap_or_else(|| {
            // In thousandths.
            let part =
                if self.control.in_slow_start() { (self.config.slow_start_pacing * 1000.0).trunc() } else { 1250.0 };
            let srtt = self.recovery.rtt.srtt().as_secs().max(1e-9);
            Rate::from_bps((self.cwnd as f64 * 8.0 * part / 1000.0 / srtt) as u64 + 1)
        })
    }

    /// OnCongestionEvent (RFC 9002 appendix B.6): at most one per recovery period; returns whether this is one.
    pub fn on_congestion(&mut self, now: Time, sent_at: Time, signal: Signal, flight: u64) -> bool {
        if self.last_cut.is_some_and(|cut| sent_at <= cut) {
            return false;
        }
        self.signal(now, signal, flight);
        self.reduction = (self.config.undo && signal == Signal::Loss).then(|| Reduction::new(self.last_cut, now));
        (self.cut_at, self.last_cut) = (Some(now), Some(now));
        true
    }

    /// Records that a packet sent at `sent_at` and declared lost has arrived after all; returns whether that takes the
    /// last window reduction back.
    pub fn on_late(&mut self, now: Time, sent_at: Time) -> bool {
        let needless = self.reduction.as_mut().is_some_and(|reduction| reduction.on_late(sent_at));
        if needless && let Some(reduction) = self.reduction.take() {
            (self.cut_at, self.last_cut) = (None, reduction.before);
            self.control.on_spurious(now);
            self.follow_control();
        }
        needless
    }

    /// Handles a retransmission timeout (draft-tsvwg-quic-loss-recovery-01 section 4.2.4): slow start restarts.
    pub fn on_timeout(&mut self, now: Time) {
        let again = self.recovery.is_backed_off();
        let flight = self.recovery.in_flight();
        self.signal(now, if again { Signal::RepeatedTimeout } else { Signal::Timeout }, flight);
        // Packets sent before are part of the same event.
        (self.cut_at, self.last_cut, self.reduction) = (None, Some(now), None);
    }

    /// Reports congestion to the congestion control.
    pub fn signal(&mut self, now: Time, signal: Signal, flight: u64) {
        let (srtt, min_rtt) = (self.recovery.rtt.srtt(), self.recovery.rtt.min());
        // Appendix B.6 reduces the whole window, used or not; a rate-based congestion control has its own model.
        let flight = if self.rated { flight } else { flight.max(self.cwnd) };
        self.control.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
        self.follow_control();
    }

    /// Whether a probe must be sent in the data space.
    #[inline]
    pub fn is_probing(&self) -> bool {
        // Probes of a discarded space are void.
        self.probes > 0 && self.probe_space == Space::Data
    }

    /// Whether the path's identifier has not been used.
    pub fn is_reserved(&self) -> bool {
        self.stage == Stage::Reserved
    }

    pub fn report(&self) -> PathView {
        let rtt = Some(&self.recovery.rtt).filter(|_| self.recovery.is_measured());
        PathView {
            interface: self.address.interface,
            is_open: self.stage == Stage::Open,
            cwnd: self.cwnd,
            ssthresh: Some(self.control.ssthresh()).filter(|&threshold| threshold < u64::MAX),
            flight: self.recovery.in_flight(),
            srtt: rtt.map(RttEstimator::srtt),
            latest_rtt: rtt.map(RttEstimator::latest),
            timeout: rtt.map(|_| self.recovery.wait(Space::Data)),
            pacing_rate: rtt.map(|_| self.pacing_rate()),
            phase: self.control.phase(),
            stats: self.stats,
        }
    }

    // ---- multipath --------------------------------------------------------------------------------------------------------

    /// State for schedulers.
    pub fn view(&self, usable: bool, has_room: bool) -> PathState {
        let rtt = &self.recovery.rtt;
        let measured = self.recovery.is_measured();
        let known = |time: Duration| if measured { time } else { Duration::ZERO };
        let queued = self.queue.iter().map(|frame| u64::from(frame.bytes())).sum();
        PathState {
            cwnd: self.cwnd,
            ssthresh: self.control.ssthresh(),
            flight: self.recovery.in_flight(),
            queued,
            held: self.recovery.in_flight() + queued,
            pacing_rate: measured.then(|| self.pacing_rate()),
            mss: self.datagram(),
            srtt: known(rtt.srtt()),
            rttvar: rtt.variation(),
            rtt: known(rtt.latest()),
            min_rtt: if measured { rtt.min() } else { Duration::MAX },
            // Without timestamps the two directions cannot be told apart.
            forward: known(rtt.srtt()).as_nanos() as i64 / 2,
            rto: self.recovery.pto(Space::Data),
            acknowledged: self.stats.delivered,
            copied: self.copied,
            retransmissions: self.stats.retransmissions,
            segments: self.stats.packets,
            usable,
            has_room,
            slow_start: self.control.in_slow_start(),
            recovering: self.cut_at.is_some(),
            backup: self.backup,
        }
    }

    /// State for the other paths' congestion controls.
    pub fn sibling(&mut self) -> Sibling {
        let told = self.control.siblings().map_or(0.0, |siblings| siblings.told());
        let srtt = if self.recovery.is_measured() { self.recovery.rtt.srtt() } else { Duration::ZERO };
        Sibling::new(self.cwnd as f64, self.control.ssthresh() as f64, srtt, told)
    }

    /// Halves the window, once per round-trip time.
    pub fn penalise(&mut self, now: Time) {
        let srtt = self.recovery.rtt.srtt();
        if self.penalised.is_none_or(|last| now.since(last) >= srtt) {
            self.penalised = Some(now);
            self.control.restrict((self.cwnd / 2).max(2 * self.datagram()), 0);
            self.follow_control();
        }
    }
}
