//! Sending half of a connection: its state, and how it opens.

mod acknowledgements;
mod control_events;
mod fast_path;
mod fetch;
mod losses;
mod rack_tlp;
mod reductions;
mod rules;
mod samples;
mod spurious;
mod timeouts;
mod transmission;

use super::burst::{self, Bursts};
use super::chronograph::{Chronograph, Wait};
use super::config::Config;
use super::cwv::WindowUse;
use super::ecn::EcnSender;
use super::host::Personality;
use super::octets::Octets;
use super::pacing::Paced;
use super::peer_window::PeerWindow;
use super::rack_tlp::RackTlp;
use super::recovery::{Episode, Recovery, Repair};
use super::reduction::Reduction;
use super::scoreboard::Scoreboard;
use super::short::ShortSegments;
use super::stats::Stats;
use super::timer::Timer;
use super::undo::{Detects, Undo};
use super::window::CongestionWindow;
use crate::common::{Limit, RttEstimator};
use rules::{Rules, scoreboard};
use vazao_congestion::Signal;
use vazao_engine::{Duration, Rate, Time};

/// Contents of a segment to send: octets `start..start + span`, the last of them FIN if `fin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub start: u64,
    pub span: u32,
    pub fin: bool,
    /// Whether the octets are sent for the first time.
    pub new: bool,
}

/// Sending half of a connection. Each part owns the state of one mechanism and answers questions about it; the submodules ask
/// them in order, each for one kind of event.
pub(crate) struct Sender {
    /// Whether segments in order take the [fast path](fast_path).
    pub fast: bool,
    pub octets: Octets,
    pub peer: PeerWindow,
    pub window: CongestionWindow,
    usage: WindowUse,
    pub rtt: RttEstimator,
    pub board: Scoreboard,
    pub repair: Repair,
    /// Gradual window reduction.
    pub reduction: Reduction,
    /// Detection of spurious reductions.
    undo: Undo,
    pub rack_tlp: Option<Box<RackTlp>>,
    pub timer: Timer,
    paced: Option<Box<Paced>>,
    bursts: Option<Box<Bursts>>,
    pub short: ShortSegments,
    pub marks: EcnSender,
    rules: Rules,
    host: &'static Personality,
    /// Busy time, and time limited by the receiver's window or the send buffer.
    pub chronograph: Chronograph,
    pub stats: Stats,
}

impl Sender {
    /// Creates a sender of segments of `mss` bytes; `selective` says whether SACK is in use.
    pub fn new(config: &Config, mss: u64, seed: u64, selective: bool, rtt: RttEstimator) -> Self {
        let (window, host) = (CongestionWindow::new((config.control)(mss, seed)), config.host.personality());
        let recovery = config.recovery.with_peer(selective);
        Sender {
            fast: false,
            octets: Octets::default(),
            peer: PeerWindow::new(mss),
            usage: WindowUse::new(config.validation(), host.counts_use_of_window, window.cwnd),
            rtt,
            board: scoreboard(recovery, &*window.control),
            repair: Repair::new(recovery),
            reduction: Reduction::new(config, recovery, &*window.control),
            undo: Undo::new(Detects { undo: config.undo, frto: config.frto }, host),
            rack_tlp: (recovery == Recovery::Rack).then(|| Box::new(RackTlp::new(host))),
            timer: Timer::new(config.tick),
            paced: Paced::new(config, &*window.control),
            bursts: Bursts::for_config(config, mss),
            short: ShortSegments::default(),
            marks: EcnSender::default(),
            rules: Rules::new(config, mss),
            host,
            chronograph: Chronograph::default(),
            stats: Stats::default(),
            window,
        }
    }

    /// Rebuilds the sender with the negotiated segment size, use of SACK, and ECN. Sequence space, timer, round-trip times and
    /// counters stay.
    pub fn negotiate(&mut self, config: &Config, mss: u64, seed: u64, selective: bool, ecn: bool) {
        let fresh = Sender::new(config, mss, seed, selective, self.rtt);
        let Sender { octets, timer, chronograph, stats, .. } = std::mem::replace(self, fresh);
        (self.octets, self.timer, self.chronograph, self.stats) = (octets, timer, chronograph, stats);
        self.marks = EcnSender::new(ecn);
    }

    // ---- queries ------------------------------------------------------------------------------------------------

    #[inline]
    pub fn flight(&self) -> u64 {
        self.board.outstanding()
    }
    #[inline(always)]
    pub fn in_recovery(&self) -> bool {
        self.repair.episode.is_fast()
    }
    #[inline(always)]
    pub fn is_repairing(&self) -> bool {
        self.repair.episode != Episode::None
    }
    /// Without SACK: number of duplicate ACKs that stand for delivered segments.
    pub fn dup_ack_segments(&self) -> u64 {
        self.repair.duplicate_segments(self.peer.mss)
    }
    /// Returns the rate at which data leaves now, if it is paced.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.paced.as_ref().and_then(|paced| paced.rate(&self.window, self.flight(), &self.rtt))
    }
    /// Whether a push by the application, or a burst of several segments, ends at octet `end`.
    #[inline]
    pub fn ends_burst(&self, end: u64) -> bool {
        self.bursts.as_ref().is_some_and(|bursts| bursts.ends_at(end, self.peer.mss))
    }
    /// Unsent octets available for sending; with bursts, those that the send buffer has taken from the application.
    #[inline]
    fn unsent(&self) -> u64 {
        self.bursts.as_ref().map_or_else(|| self.octets.unsent(), |bursts| bursts.unsent(&self.octets))
    }
    /// Octet after the last one that the application cannot take back.
    pub fn taken(&self) -> u64 {
        self.octets.nxt + if self.bursts.is_some() { self.unsent() } else { 0 }
    }
    /// Whether an acknowledgement of everything before `octet` is acceptable (RFC 5961 section 5.2).
    #[inline]
    pub fn accepts_ack(&self, octet: u64) -> bool {
        octet <= self.octets.nxt && octet + self.peer.largest >= self.octets.una
    }
    /// Whether the receiver's window is closed.
    fn is_window_closed(&self) -> bool {
        self.peer.edge <= self.octets.una
    }

    /// Reason why nothing more is sent now.
    #[inline]
    pub fn limit(&self) -> Limit {
        if self.octets.is_finished() {
            return Limit::Done;
        }
        match self.chronograph.wait {
            Wait::Finished | Wait::Application { lacks_buffer: false } => Limit::Application,
            Wait::Application { lacks_buffer: true } => Limit::SendBuffer,
            Wait::PeerWindow => Limit::ReceiveWindow,
            Wait::CongestionWindow => Limit::of_window(self.window.control.in_slow_start(), self.is_repairing()),
            Wait::Pacer => Limit::Pacing,
            Wait::Nagle | Wait::Burst => Limit::Nagle,
            Wait::Answer => Limit::Recovery,
        }
    }

    /// Limit that the pacer or the congestion window is, one of which has no room.
    pub fn window_limit(&self, now: Time) -> Limit {
        if self.paced.as_ref().is_some_and(|paced| !paced.pacer.is_open(now)) {
            return Limit::Pacing;
        }
        Limit::of_window(self.window.control.in_slow_start(), self.is_repairing())
    }

    /// Sender as its bursts see it.
    fn view(&self) -> burst::View<'_> {
        let Sender { octets, peer, window, board, rtt, .. } = self;
        let (allowed, pipe, is_calm) = (self.allowance(), self.pipe(), !self.is_repairing());
        let has_short = self.short.is_outstanding(octets.una);
        burst::View { octets, peer, window, board, rtt, allowed, pipe, is_calm, has_short }
    }

    // ---- opening ------------------------------------------------------------------------------------------------

    /// Sets the receive window to `window` from `offset` on.
    pub fn update_window(&mut self, offset: u64, window: u64) {
        self.peer.set(self.host, offset, window);
    }

    /// Whether the acknowledgement updates the window, being newer than the last update.
    pub fn updates_window(&self, offset: u64, start: Option<u64>, window: u64) -> bool {
        self.peer.is_updated_by(self.host, self.octets.una, offset, start, window)
    }

    /// Handles an acknowledgement before [anything was sent](Octets::is_unused): it may update the window, and answer a probe.
    #[inline]
    pub fn on_empty_ack(&mut self, start: Option<u64>, window: u64) {
        self.peer.update(self.host, self.octets.una, self.octets.una, start, window);
        self.timer.expiries = 0;
    }

    /// Handles the end of the handshake; `rtt` is its round-trip time, unless a SYN was retransmitted.
    pub fn on_established(&mut self, rtt: Option<Duration>) {
        // Timestamps have millisecond resolution.
        let cut = |rtt: Duration| Duration::from_millis(rtt.as_nanos() / 1_000_000).max(Duration::from_micros(1));
        let rtt = if self.rules.rtt_by_timestamps { rtt.map(cut) } else { rtt };
        if let Some(rtt) = rtt {
            self.rtt.sample_with_flight(rtt, self.octets.una..self.octets.nxt);
        }
        self.window.on_established(rtt);
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

    /// Resumes after the first `taken` of `sent` octets that left with the SYN, which were acknowledged with it. The others are
    /// sent again (RFC 7413 section 4.2.1; tcp_rcv_fastopen_synack in Linux).
    pub fn resume_after_syn_data(&mut self, taken: u64, sent: u64) {
        (self.octets.una, self.octets.nxt, self.window.round_end) = (1 + taken, 1 + taken, 1 + taken);
        self.octets.early = 1 + sent;
    }

    /// Restarts the timer for data sent before the handshake completed.
    pub fn watch_flight(&mut self, now: Time) {
        if self.board.outstanding() > 0 {
            self.restart_timer(now);
        }
    }

    /// Marks the connection application-limited before a write, if the application kept it waiting (draft-ietf-ccwg-bbr
    /// section 4.1.2.4).
    pub fn on_write(&mut self) {
        let idle = self.octets.finish() - self.octets.nxt < self.peer.mss && !self.board.has_pending();
        let pipe = self.board.pipe();
        if let (Some(rates), true) = (self.board.rates(), idle && pipe < self.window.cwnd) {
            rates.sampler.set_app_limited(pipe);
        }
    }

    /// Records why the sender stops sending.
    #[inline]
    fn wait(&mut self, now: Time, reason: Wait) {
        self.chronograph.on_wait(now, reason);
        match reason {
            Wait::Pacer | Wait::Answer => {}
            reason => self.usage.is_limited = reason == Wait::CongestionWindow,
        }
        if reason == Wait::PeerWindow {
            self.persist(now);
        }
    }
}
