//! Sending half of a connection: what may be sent, and processing of acknowledgements.

mod duplicates;
mod fast_path;
mod fetch;
mod outgoing;
mod report;
mod rules;
mod short;
mod timer;

use super::burst::Bursts;
use super::chronograph::Chronograph;
use super::clock::Clock;
use super::config::Config;
use super::cwv::{PipeAck, Usage, Validation};
use super::ecn::EcnSender;
use super::host::Personality;
use super::pacing::Paced;
use super::rack_tlp::{Before, RackTlp};
use super::recovery::{Episode, Recovery};
use super::reduction::Reduction;
use super::scoreboard::Scoreboard;
use super::stats::Stats;
use super::undo::{Detects, Undo};
use crate::common::RttEstimator;
use report::AckReport;
use rules::{Rules, scoreboard};
use short::Short;
pub(crate) use timer::Purpose;
use vazao_congestion::{Ack, Congestion, CongestionControl, Signal};
use vazao_engine::{Duration, Time};

/// Contents of a segment to send: octets `start..start + span`, the last of them FIN if `fin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub start: u64,
    pub span: u32,
    pub fin: bool,
    pub new: bool,
}

/// Acknowledgement as parsed from a segment, in offsets from the initial sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub offset: u64,
    /// First octet of the peer's segment, if the segment lies in the window.
    pub start: Option<u64>,
    /// Receive window in bytes, already scaled.
    pub window: u64,
    /// Octets newly SACKed.
    pub sacked: u64,
    /// Whether ECE is set (RFC 3168).
    pub echo: bool,
    /// Whether the segment has no data, SYN or FIN, so that it may count as a duplicate ACK.
    pub bare: bool,
    /// Whether it carries SACK blocks.
    pub blocks: bool,
    /// Round-trip time by the timestamp echo, if there is one.
    pub echo_rtt: Option<Duration>,
    /// One-way delay of the acknowledgement by the two clocks in milliseconds: our clock less the peer's timestamp.
    pub return_delay_ms: Option<i32>,
}

pub(crate) struct Sender {
    /// Whether segments in order take the [fast path](fast_path).
    pub fast: bool,
    pub control: Box<dyn CongestionControl>,
    /// Congestion window, cached to save calls of the congestion control.
    pub cwnd: u64,
    /// Whether the congestion control needs one-way delays, and that of the current acknowledgement.
    wants_one_way: bool,
    one_way: Option<i64>,
    /// Whether the current acknowledgement has no timestamp to tell one-way delays by.
    untimed: bool,
    pub rtt: RttEstimator,
    pub board: Scoreboard,
    pub(super) recovery: Recovery,
    pub(super) rules: Rules,
    /// Whether SACK blocks are used; recoveries based on duplicate ACKs ignore them.
    pub selective: bool,
    /// Payload of a full segment; a small window of the peer may reduce it below the negotiated one.
    pub(super) mss: u64,
    negotiated_mss: u64,
    /// First unacknowledged octet and next octet to send (SND.UNA, SND.NXT). Octet 0 is SYN.
    pub una: u64,
    pub nxt: u64,
    /// Octet after the last one that the application has written, FIN not counted.
    pub end: u64,
    /// Whether the application has closed: octet `end` is FIN.
    pub fin: bool,
    /// Octet after the data that left with the SYN.
    pub(super) early: u64,
    short: Short,
    /// Octet after the last partial segment.
    pub(super) short_end: u64,
    /// Right edge of the peer's window, and the largest window it ever had.
    pub(super) edge: u64,
    pub(super) largest_window: u64,
    pub(super) window: u64,
    /// First octet of the peer's segment that last updated the window (SND.WL1).
    wl1: u64,
    pub(super) episode: Episode,
    /// Duplicate ACKs up to this octet may be caused by spurious retransmissions.
    guard: u64,
    duplicates: u32,
    /// Without SACK: octets for which duplicate ACKs were counted and that are not yet cumulatively acknowledged.
    credit: u64,
    /// Whether only the congestion window kept data back.
    pub(super) window_limited: bool,
    /// Busy time, and time limited by the receiver's window or the send buffer.
    pub chronograph: Chronograph,
    /// Initial congestion window, and the measure of what is used of it.
    pub(super) initial: u64,
    pub(super) pipe_ack: Option<Box<PipeAck>>,
    /// Last transmission before the sender became idle, while nothing is in flight.
    pub(super) idle_since: Time,
    /// Answers of the host, and Linux's record of window usage.
    pub(super) host: &'static Personality,
    usage: Usage,
    /// Whether the next retransmission ignores the window: the first of an episode, or NewReno's next hole.
    pub(super) force: bool,
    /// Whether this episode's rescue retransmission has been sent.
    rescued: bool,
    /// Octet whose acknowledgement (or, with RACK, that of data beyond it) ends the round trip.
    pub(super) round_end: u64,
    /// New ACKs since the last retransmission that Vegas still checks.
    vegas_checks: u8,
    /// Gradual window reduction.
    pub(super) reduction: Reduction,
    pub(super) rack_tlp: Option<Box<RackTlp>>,
    /// Pacing state, and the time to continue sending.
    pub(super) paced: Option<Box<Paced>>,
    pub release: Time,
    /// Detection of spurious reductions.
    pub(super) undo: Undo,
    pub marks: EcnSender,
    pub(super) bursts: Option<Box<Bursts>>,
    pub clock: Clock,
    pub timer: Time,
    pub(super) purpose: Purpose,
    /// Expiry of the timer as the retransmission timer, even if it is set for an earlier purpose.
    pub(super) expiry: Time,
    pub(super) expiries: u32,
    /// Whether the timer paces zero-window probes, and whether one is due.
    persisting: bool,
    pub probe: bool,
    pub stats: Stats,
}

impl Sender {
    pub fn new(config: &Config, mss: u64, seed: u64, selective: bool, rtt: RttEstimator) -> Self {
        let (control, rules) = ((config.control)(mss, seed), Rules::new(config, mss));
        let (recovery, host) = (config.recovery.with_peer(selective), config.host.personality());
        Sender {
            fast: false,
            cwnd: control.cwnd(),
            initial: control.cwnd(),
            paced: Paced::new(config, &*control),
            reduction: Reduction::new(config, recovery, &*control),
            release: Time::NEVER,
            board: scoreboard(recovery, &*control),
            wants_one_way: control.wants_one_way(),
            one_way: None,
            untimed: false,
            control,
            rtt,
            recovery,
            selective: recovery.is_selective(),
            mss,
            negotiated_mss: mss,
            una: 1,
            nxt: 1,
            end: 1,
            fin: false,
            early: 1,
            short: Short::new(),
            short_end: 1,
            edge: 1,
            largest_window: 0,
            window: 0,
            wl1: 0,
            episode: Episode::None,
            guard: 0,
            duplicates: 0,
            credit: 0,
            window_limited: false,
            chronograph: Chronograph::default(),
            pipe_ack: (rules.validation == Validation::PipeAck).then(Box::default),
            rules,
            idle_since: Time::NEVER,
            host,
            usage: Usage::default(),
            force: false,
            rescued: false,
            round_end: 1,
            vegas_checks: 0,
            rack_tlp: (recovery == Recovery::Rack).then(|| Box::new(RackTlp::new(host))),
            undo: Undo::new(Detects { undo: config.undo, frto: config.frto }, host),
            marks: EcnSender::default(),
            bursts: Bursts::for_config(config, mss),
            clock: Clock::new(config.tick),
            timer: Time::NEVER,
            purpose: Purpose::Retransmission,
            expiry: Time::NEVER,
            expiries: 0,
            persisting: false,
            probe: false,
            stats: Stats::default(),
        }
    }

    /// Octet after the last one to send, including FIN.
    pub(super) fn finish(&self) -> u64 {
        self.end + u64::from(self.fin)
    }
    /// Whether nothing was ever sent, so that acknowledgements tell of the window only.
    #[inline]
    pub fn is_unused(&self) -> bool {
        self.nxt == 1
    }

    /// Whether everything written, and FIN, has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.fin && self.una == self.finish()
    }
    pub fn flight(&self) -> u64 {
        self.board.outstanding()
    }
    pub fn in_recovery(&self) -> bool {
        self.episode.is_fast()
    }
    pub fn is_repairing(&self) -> bool {
        self.episode != Episode::None
    }
    /// Without SACK: number of duplicate ACKs that stand for delivered segments.
    pub fn dup_ack_segments(&self) -> u64 {
        match self.episode {
            _ if self.selective => 0,
            Episode::Fast { .. } => self.credit / self.mss,
            _ => u64::from(self.duplicates),
        }
    }

    /// Sets the receive window to `window` from `offset` on. If it has shrunk, nothing new leaves before the right edge
    /// is offered again (RFC 9293 section 3.8.6).
    #[inline]
    pub fn update_window(&mut self, offset: u64, window: u64) {
        self.window = window;
        self.edge = offset + window;
        if window > self.largest_window {
            self.largest_window = window;
            if self.host.halves_small_windows {
                self.mss = self.negotiated_mss.min(linux_segment(window));
            }
        }
    }

    pub fn shorten_segments(&mut self, bytes: u64) {
        self.negotiated_mss -= bytes;
        self.mss -= bytes;
    }

    /// Whether the acknowledgement updates the window, being newer than the last update (RFC 9293 section 3.10.7.4).
    /// Linux ignores one that it cannot order, unless it closes the window (tcp_may_update_window).
    #[inline]
    pub fn updates_window(&self, offset: u64, start: Option<u64>, window: u64) -> bool {
        if !self.host.orders_window_updates {
            return start.is_some_and(|start| start >= self.wl1);
        }
        let newer = |start| start > self.wl1 || start == self.wl1 && (window > self.window || window == 0);
        offset > self.una || start.is_some_and(newer)
    }

    /// Handles the window of an acknowledgement of `offset`, of a segment that begins at `start` if it lies in the window.
    #[inline]
    fn on_window(&mut self, offset: u64, start: Option<u64>, window: u64) {
        if self.updates_window(offset, start, window) {
            self.wl1 = start.unwrap_or(self.wl1);
            self.update_window(offset, window);
        }
    }

    /// Handles an acknowledgement while [nothing was sent](Self::is_unused): it may update the window, and answer a probe.
    #[inline]
    pub fn on_empty_ack(&mut self, start: Option<u64>, window: u64) {
        self.on_window(self.una, start, window);
        self.expiries = 0;
    }

    /// Whether the receiver's window is closed.
    pub(super) fn is_window_closed(&self) -> bool {
        self.edge <= self.una
    }

    /// Handles the end of the handshake; `rtt` is its round-trip time, unless a SYN was retransmitted.
    pub fn on_established(&mut self, rtt: Option<Duration>) {
        // Timestamps have millisecond resolution.
        let cut = |rtt: Duration| Duration::from_millis(rtt.as_nanos() / 1_000_000).max(Duration::from_micros(1));
        let rtt = if self.rules.rtt_by_timestamps { rtt.map(cut) } else { rtt };
        if let Some(rtt) = rtt {
            self.rtt.sample_with_flight(rtt, self.una..self.nxt);
        }
        self.control.on_established(rtt);
        self.cwnd = self.control.cwnd();
        self.fast = self.has_fast_path();
    }

    /// Handles a lost SYN: the window starts at one segment (RFC 5681 section 3.1), and without an RTT sample the RTO
    /// at 3 s (RFC 6298 section 5.7). Linux ignores the first loss (tcp_init_transfer), and measures with timestamps.
    pub fn after_lost_syn(&mut self, now: Time) {
        if !self.host.forgives_lost_syn || self.stats.syn_timeouts > 1 {
            self.signal(now, Signal::RepeatedTimeout, self.flight());
        }
        if self.rtt.srtt() == Duration::ZERO {
            self.rtt.after_lost_syn();
        }
    }

    /// Goes on behind the first `taken` of `sent` octets that left with the SYN: these were acknowledged with it. The others
    /// are sent again (RFC 7413 section 4.2.1; tcp_rcv_fastopen_synack in Linux).
    pub fn skip(&mut self, taken: u64, sent: u64) {
        (self.una, self.nxt, self.round_end) = (1 + taken, 1 + taken, 1 + taken);
        self.early = 1 + sent;
    }

    /// Restarts the timer for data sent before the handshake completed.
    pub fn watch_flight(&mut self, now: Time) {
        if self.board.outstanding() > 0 {
            self.restart_timer(now);
        }
    }

    /// Whether an acknowledgement of everything before `octet` is acceptable (RFC 5961 section 5.2).
    #[inline]
    pub fn accepts_ack(&self, octet: u64) -> bool {
        octet <= self.nxt && octet + self.largest_window >= self.una
    }

    // ---- acknowledgements ---------------------------------------------------------------------------------------

    /// Handles an acknowledgement of `una` or more.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Acknowledgement) {
        let same_window = self.window == ack.window;
        self.on_window(ack.offset, ack.start, ack.window);
        let (una, losses) = (self.una, self.board.losses());
        let sacked = self.board.sacked() - ack.sacked;
        let before = Before { una, sacked, repeated: self.undo.reported(self.mss), new_sacks: ack.sacked > 0 };
        self.marks.echoed = ack.echo;
        let mut held = None;
        if ack.offset > una {
            held = self.on_new_ack(now, ack, same_window);
        } else {
            if self.board.outstanding() == 0 || self.is_window_closed() {
                self.expiries = 0; // The answer to a probe shows that the peer is alive.
            }
            if self.episode != Episode::None || self.undo.has_dsack() {
                self.check_spurious(now, ack, self.episode, una);
            }
        }
        // RFC 5681 section 2; RFC 6675 section 2: with SACK, any ACK that reports new data.
        let same = ack.bare && same_window && ack.offset == una;
        if self.board.outstanding() > 0 && if self.selective { ack.sacked > 0 } else { same } {
            if ack.offset == una {
                if let Some(sent) = self.sample_sacked(now) {
                    self.observe(now, None);
                    self.await_front(now, sent);
                }
                let delivered = if self.selective { ack.sacked + self.undo.reported(self.mss) } else { self.mss };
                let rtt = self.board.last_newly_acked().map(|at| now.since(at));
                let (flight, in_recovery, blocks) = (self.flight(), self.episode.is_fast(), ack.blocks);
                let (advance, echo_rtt, padding) = (0, None, [self.padding(|_| true), 0]);
                let report =
                    AckReport { delivered, advance, same_window, blocks, flight, rtt, echo_rtt, in_recovery, padding };
                held = self.report_ack(now, report);
            }
            self.on_duplicate_ack(now, before);
        }
        if ack.echo {
            self.on_echo(now, una);
        }
        self.repair(now, ack, before, losses);
        self.undo.forget_reports();
        if let Some(held) = held {
            self.follow_ack(held);
        }
    }

    /// Handles a reordered acknowledgement of less than `una`. Its SACK blocks still count (RFC 6675 section 5: any
    /// acknowledgement updates the scoreboard), which makes it a duplicate (section 2). Its window and RTT are out of
    /// date.
    #[cold]
    pub fn on_late_ack(&mut self, now: Time, ack: &Acknowledgement) {
        let new_sacks = ack.sacked > 0;
        if !new_sacks && !self.undo.has_dsack() {
            return;
        }
        // Linux goes without tcp_cong_control here, so that nothing counts as delivered.
        let counted = if self.host.grows_last { 0 } else { ack.sacked };
        let before = Before { una: self.una, sacked: self.board.sacked() - counted, repeated: 0, new_sacks };
        self.undo.forget_reports();
        self.check_spurious(now, ack, self.episode, self.una);
        if new_sacks {
            self.on_duplicate_ack(now, before);
        }
        self.repair(now, ack, before, self.board.losses());
    }

    /// Detects losses after an acknowledgement; `losses` octets had been lost before it.
    #[inline]
    fn repair(&mut self, now: Time, ack: &Acknowledgement, before: Before, losses: u64) {
        if self.rack_tlp.is_some() {
            self.repair_by_time(now, ack, before);
        } else if self.recovery == Recovery::Pipe {
            self.repair_by_pipe(before);
        } else if self.selective && (ack.sacked > 0 || self.board.has_pending() || self.reduction.is_under_way()) {
            self.detect_losses(now, before);
        }
        if self.board.measures_rates() {
            self.report_with_rate(now, losses);
        }
    }

    #[inline]
    fn on_new_ack(&mut self, now: Time, ack: &Acknowledgement, same_window: bool) -> Option<(Ack, AckReport)> {
        let (flight, padding) = (self.flight(), self.padding(|_| true));
        let newly = ack.offset - self.una;
        let acked = self.board.acknowledge(ack.offset);
        let padding = [padding, self.take_padding()];
        self.una = ack.offset;
        self.reduction.on_advance(acked.resent);
        if let Some(bursts) = &mut self.bursts {
            bursts.buffer.acknowledge(ack.offset);
        }
        self.duplicates = 0;
        let rtt = self.sample_rtt(now, acked.first_sent, acked.last_sent, ack.echo_rtt);
        if self.wants_one_way {
            // The echo belongs to the first octets, which may have waited for the receiver's delayed-ACK timer.
            let forth = |rtt: Duration, ms| rtt.as_nanos() as i64 - i64::from(ms) * 1_000_000;
            self.one_way = rtt.zip(ack.return_delay_ms).map(|(rtt, ms)| forth(rtt, ms));
            self.untimed = ack.return_delay_ms.is_none();
        }
        let was = self.episode;
        let restart_timer = self.progress(newly);
        let undone =
            (was != Episode::None || self.undo.has_dsack()) && self.check_spurious(now, ack, was, ack.offset - newly);
        if was.is_fast()
            && self.una >= was.recover()
            && let Some(rack_tlp) = &mut self.rack_tlp
        {
            rack_tlp.rack.on_recovered(undone);
        }
        self.expiries = 0;
        if self.board.outstanding() == 0 {
            if self.una == self.finish() {
                self.chronograph.busy.end(now);
            }
            self.timer = Time::NEVER;
            self.idle_since = acked.last_sent.unwrap_or(now);
        } else if restart_timer {
            self.restart_timer(now);
        }
        // Data that duplicate ACKs stood for has been counted already.
        let credit = if newly > self.mss { self.credit.min(newly - self.mss) } else { 0 };
        self.credit -= credit;
        let delivered = newly - acked.sacked - credit + ack.sacked + self.undo.reported(self.mss);
        if self.host.forgets_duplicates && was != Episode::None && self.episode == Episode::None {
            self.credit = 0;
        }
        // Linux grows the window on the acknowledgement that ends a recovery too.
        let in_recovery = if self.rack_tlp.is_some() { self.episode.is_fast() } else { was.is_fast() };
        let blocks = ack.blocks;
        let echo_rtt = ack.echo_rtt.filter(|_| rtt.is_none());
        let advance = newly;
        let report = AckReport { delivered, advance, same_window, blocks, flight, rtt, echo_rtt, in_recovery, padding };
        let held = self.report_ack(now, report);
        if self.vegas_checks > 0 {
            self.check_vegas(now);
        }
        held
    }

    /// Linux's tcp_is_cwnd_limited.
    pub(super) fn uses_window(&self) -> bool {
        self.usage.limited || self.cwnd < 2 * self.usage.most && self.control.in_slow_start()
    }

    /// Advances the episode after `newly` octets were acknowledged; returns whether to restart the timer.
    #[inline]
    fn progress(&mut self, newly: u64) -> bool {
        let Episode::Fast { recover, inflation, first_partial } = self.episode else {
            if self.episode != Episode::None && self.una >= self.episode.recover() {
                self.episode = Episode::None;
                self.round_end = self.nxt;
            }
            if self.reduction.is_lossless() {
                self.end_lossless_reduction();
            }
            return true;
        };
        if self.una >= recover || self.recovery == Recovery::Reno {
            self.episode = Episode::None;
            // RFC 6582's rule against bursts; it helps the other recoveries without gradual reduction as well.
            self.control.on_recovered(if self.rack_tlp.is_some() || self.reduction.is_under_way() {
                u64::MAX
            } else {
                self.flight()
            });
            self.reduction.end();
            self.cwnd = self.control.cwnd();
            self.round_end = self.nxt;
            return true;
        }
        if self.selective {
            return true;
        }
        // RFC 6582 section 3.2 step 3: a partial acknowledgement reveals the next hole. Deflate the window by the
        // amount acknowledged and add back a segment. Only the first one restarts the timer.
        self.board.declare_front_lost(false);
        self.force = true;
        let inflation = inflation - newly as i64 + if newly >= self.mss { self.mss as i64 } else { 0 };
        self.episode = Episode::Fast { recover, inflation, first_partial: false };
        first_partial
    }

    pub(super) fn signal(&mut self, now: Time, signal: Signal, flight: u64) {
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
        let flight = if self.pipe_ack.is_some() { self.used_of_window(now, flight) } else { flight };
        self.control.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
        self.cwnd = self.control.cwnd();
    }
}

/// Linux limits its segments to half of a small peer window, so that more than one is in flight
/// (tcp_bound_to_half_wnd).
fn linux_segment(largest_window: u64) -> u64 {
    const DEFAULT_MSS: u64 = 536;
    const MIN: u64 = 36;
    if largest_window > DEFAULT_MSS { (largest_window / 2).max(MIN) } else { largest_window.max(MIN) }
}
