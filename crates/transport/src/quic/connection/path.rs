//! One path: where it leads, what is known of it, and what is under way on it. RFC 9002 holds of each path by itself.

use super::multipath::Stage;
use super::*;
use crate::common::PathState;
use crate::quic::frame::StreamFrame;
use crate::quic::identifiers::Identifiers;
use crate::quic::packet::Address;
use crate::quic::recovery::Recovery;
use vazao_congestion::{Congestion, Sending, Sibling, Signal};

/// Datagrams that leave together at most (RFC 9002 section 7.7).
const BURST: u64 = 10;

/// A path that is being validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// What is to come back (section 8.2.1), how often it was sent, and when it is sent again or given up.
    pub challenge: u64,
    pub sent: u32,
    pub again_at: Time,
    /// Where to go back to.
    pub before: Address,
}

/// What an endpoint counts of one path, as a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathStats {
    /// Bytes of streams that left by it for the first time.
    pub bytes: u64,
    /// Datagrams sent, and packets in them.
    pub datagrams: u64,
    /// See `datagrams`.
    pub packets: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Packets with data that had been sent before.
    pub retransmissions: u64,
    /// Expiries of the probe timer.
    pub probes: u64,
    /// Bytes that counted as in flight and were acknowledged.
    pub delivered: u64,
}

/// A path as it shows itself. Sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// By which of the client's interfaces it goes, from 0.
    pub way: u8,
    /// Whether data may go by it.
    pub is_open: bool,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold, if there is one.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub flight: u64,
    /// Smoothed and latest round-trip time, once it was measured.
    pub srtt: Option<Duration>,
    /// See `srtt`.
    pub latest_rtt: Option<Duration>,
    /// What was counted.
    pub stats: PathStats,
}

/// One path of a connection.
pub(super) struct Path {
    config: Arc<Config>,
    pub stage: Stage,
    pub recovery: Recovery,
    /// What was received. The handshake's spaces are those of the first path.
    pub acks: [Acks; 3],
    pub marking: Marking,
    pub control: Box<dyn CongestionControl>,
    /// The control's window, kept so that asking costs no call.
    pub cwnd: u64,
    /// Whether the control asks for delivery rates.
    pub rated: bool,
    /// When the window was last cut: what was sent before belongs to the same recovery.
    /// Until something sent since is acknowledged.
    pub cut_at: Option<Time>,
    pub last_cut: Option<Time>,
    /// Packets of the data space before this one went by another way.
    pub first: u64,
    /// A round trip ends when this packet of the data space is acknowledged.
    pub round_end: u64,
    pub window_limited: bool,
    pub pacer: Bucket,
    /// The rate that the pacer goes by, until the control has another say.
    rate: Option<Rate>,
    pub release: Time,
    /// Packets to send whatever the window says, and in which space.
    pub probes: u32,
    pub probe_space: Space,
    pub timer: Time,
    /// Where the client is, as this side knows it.
    pub address: Address,
    pub identifiers: Identifiers,
    pub trial: Option<Trial>,
    /// Frames that belong to one address: PATH_CHALLENGE and PATH_RESPONSE.
    pub answers: VecDeque<(Address, Frame)>,
    /// The highest number of a packet that was no mere probe of a path (section 9.3).
    pub highest: u64,
    /// Whether the peer is known to be at its address; and the server's: what came and went before it was (section 8.1).
    pub validated: bool,
    bounded: bool,
    pub received: u64,
    pub sent: u64,
    /// Whether it is used only while no other can be; and the numbers of the last statuses told and heard.
    pub backup: bool,
    pub statuses: (u64, u64),
    /// What was assigned to it and has not left.
    pub queue: VecDeque<StreamFrame>,
    /// It has sent all bytes of streams before this one itself, and repeated those before this one for others.
    pub copied: u64,
    pub repeated: u64,
    /// When its window was last halved for keeping others back.
    penalised: Option<Time>,
    pub stats: PathStats,
}

impl Path {
    /// A path of which nothing is known; `seed` is what its congestion control draws from.
    pub fn new(config: Arc<Config>, role: Role, seed: u64) -> Path {
        let control = (config.control)(u64::from(config.datagram), seed);
        let mut recovery = Recovery::new(config.initial_rtt, config.max_ack_delay).by(config.rules);
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
            trial: None,
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

    /// One beyond the first, whose identifier was not used so far.
    pub fn reserved(config: Arc<Config>, role: Role, seed: u64) -> Path {
        let path = Path::new(config, role, seed);
        Path { stage: Stage::Reserved, identifiers: Identifiers::none(), validated: false, ..path }
    }

    /// Its way is another one, of which nothing is known (section 9.4): what is under way on the old one counts no more.
    pub fn start_anew(&mut self, seed: u64) {
        self.recovery.forget_path(self.config.initial_rtt);
        self.first = self.recovery.space(Space::Data).next_number();
        self.control = (self.config.control)(u64::from(self.config.datagram), seed);
        self.follow_control();
        self.marking.test_again();
        (self.cut_at, self.last_cut) = (None, None);
        self.pacer = Bucket::default();
    }

    /// Bytes that may be sent before the client's address is proved (section 8.1): three times what came.
    pub fn allowance(&self) -> u64 {
        if self.validated || !self.bounded { u64::MAX } else { (3 * self.received).saturating_sub(self.sent) }
    }

    /// Whether its address is known to be the client's, and there is nothing to ask or answer about addresses.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.validated && self.answers.is_empty()
    }

    /// Bytes of a full datagram.
    pub fn datagram(&self) -> u64 {
        u64::from(self.config.datagram)
    }

    /// The control has been told something.
    pub fn follow_control(&mut self) {
        if let Some(most) = self.config.max_window {
            self.control.restrict(most, 0);
        }
        self.cwnd = self.control.cwnd().max(2 * self.datagram());
        self.rate = None;
    }

    /// Whether a datagram more fits the window.
    #[inline]
    pub fn has_window(&self) -> bool {
        self.recovery.in_flight() + self.datagram() <= self.cwnd
    }

    /// Whether what asks for an acknowledgement may leave, of which there is some if it is `wanted`: the window has room, and the
    /// pacer, if it `paces`, lets it.
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
                // Neither the window nor the pacer keeps anything back: what follows says little of the path.
                sampler.set_app_limited(flight);
            }
        }
        true
    }

    /// A packet of the data space leaves that asks for an acknowledgement.
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

    /// So many bytes leave: when the next may.
    pub fn pace(&mut self, now: Time, bytes: u64) {
        if !self.recovery.is_measured() {
            return; // The first window, of which no more than its size is known.
        }
        let rate = match self.rate {
            Some(rate) => rate,
            // Several packets leave for each acknowledgement, and division is slow.
            None => *self.rate.insert(self.pacing_rate()),
        };
        self.pacer.on_sent(now, bytes, rate, BURST, self.datagram());
    }

    /// The rate that the control asks for, or else a little more than a window in a round-trip time (section 7.7).
    #[inline(never)]
    fn pacing_rate(&self) -> Rate {
        self.control.pacing_rate().unwrap_or_else(|| {
            let part = if self.control.in_slow_start() { self.config.slow_start_pacing } else { 1250 };
            let srtt = self.recovery.rtt.srtt().as_secs().max(1e-9);
            Rate::from_bps((self.cwnd as f64 * 8.0 * part as f64 / 1000.0 / srtt) as u64 + 1)
        })
    }

    /// OnCongestionEvent (RFC 9002 appendix B.6): at most one for what was sent before the last. Whether this is one.
    pub fn on_congestion(&mut self, now: Time, sent_at: Time, signal: Signal, flight: u64) -> bool {
        if self.last_cut.is_some_and(|cut| sent_at <= cut) {
            return false;
        }
        self.signal(now, signal, flight);
        (self.cut_at, self.last_cut) = (Some(now), Some(now));
        true
    }

    /// A retransmission timeout, where there are any (draft-tsvwg-quic-loss-recovery-01 section 4.2.4): slow start begins again.
    pub fn on_timeout(&mut self, now: Time) {
        let again = self.recovery.is_backed_off();
        let flight = self.recovery.in_flight();
        self.signal(now, if again { Signal::RepeatedTimeout } else { Signal::Timeout }, flight);
        // What was sent before is part of it.
        (self.cut_at, self.last_cut) = (None, Some(now));
    }

    /// Tells the control of congestion.
    pub fn signal(&mut self, now: Time, signal: Signal, flight: u64) {
        let (srtt, min_rtt) = (self.recovery.rtt.srtt(), self.recovery.rtt.min());
        // Appendix B.6 reduces the window, whatever part of it was used; a control with a model of its own knows better.
        let flight = if self.rated { flight } else { flight.max(self.cwnd) };
        self.control.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
        self.follow_control();
    }

    /// Whether a packet is to be sent, whatever the window says.
    #[inline]
    pub fn is_probing(&self) -> bool {
        // Probes of a space that is no more are not due any more.
        self.probes > 0 && self.probe_space == Space::Data
    }

    /// Whether its identifier was not used so far.
    pub fn is_reserved(&self) -> bool {
        self.stage == Stage::Reserved
    }

    /// As it shows itself.
    pub fn report(&self) -> PathView {
        let rtt = Some(&self.recovery.rtt).filter(|_| self.recovery.is_measured());
        PathView {
            way: self.address.way,
            is_open: self.stage == Stage::Open,
            cwnd: self.cwnd,
            ssthresh: Some(self.control.ssthresh()).filter(|&threshold| threshold < u64::MAX),
            flight: self.recovery.in_flight(),
            srtt: rtt.map(RttEstimator::srtt),
            latest_rtt: rtt.map(RttEstimator::latest),
            stats: self.stats,
        }
    }

    // ---- as one of several ------------------------------------------------------------------------------------------------

    /// As a scheduler sees it.
    pub fn view(&self, usable: bool, has_room: bool) -> PathState {
        let rtt = &self.recovery.rtt;
        let measured = self.recovery.is_measured();
        let known = |time: Duration| if measured { time } else { Duration::ZERO };
        PathState {
            cwnd: self.cwnd,
            ssthresh: self.control.ssthresh(),
            flight: self.recovery.in_flight(),
            queued: self.queue.iter().map(|frame| u64::from(frame.bytes())).sum(),
            mss: self.datagram(),
            srtt: known(rtt.srtt()),
            rttvar: rtt.variation(),
            rtt: known(rtt.latest()),
            min_rtt: if measured { rtt.min() } else { Duration::MAX },
            // There are no time stamps to tell the two ways apart.
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

    /// As the controls of its siblings see it.
    pub fn sibling(&mut self) -> Sibling {
        let told = self.control.siblings().map_or(0.0, |siblings| siblings.told());
        let srtt = if self.recovery.is_measured() { self.recovery.rtt.srtt() } else { Duration::ZERO };
        Sibling { cwnd: self.cwnd as f64, ssthresh: self.control.ssthresh() as f64, srtt, told }
    }

    /// Its window is halved, once in its round-trip time.
    pub fn penalise(&mut self, now: Time) {
        let srtt = self.recovery.rtt.srtt();
        if self.penalised.is_none_or(|last| now.since(last) >= srtt) {
            self.penalised = Some(now);
            self.control.restrict((self.cwnd / 2).max(2 * self.datagram()), 0);
            self.follow_control();
        }
    }
}
