//! Time-based recovery: RACK and tail loss probes together.

use super::acknowledgement::{Acknowledgement, Before};
use super::host::Personality;
use super::octets::Octets;
use super::rack::Rack;
use super::recovery::DUP_THRESHOLD;
use super::scoreboard::Scoreboard;
use super::tlp::{Answer, LossProbe};
use crate::common::RttEstimator;
use vazao_engine::{Duration, Time};

/// State of `recovery = "rack"`.
#[derive(Debug)]
pub(crate) struct RackTlp {
    pub rack: Rack,
    pub probe: LossProbe,
    /// Duplicates that the peer had reported by D-SACK (RFC 2883) at the last check.
    reports: u64,
    /// Whether the current acknowledgement shows that a segment presumed lost was late, while retransmissions are in flight.
    pub late: bool,
    /// Time of the last such acknowledgement, which releases new data only.
    rested: Option<Time>,
    host: &'static Personality,
}

/// Consequences of an acknowledgement for the repair of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Consequences {
    /// Whether a loss probe has repaired a loss by itself, which calls for a congestion response.
    pub probe_repaired: bool,
    /// Whether loss detection is skipped, as a segment presumed lost was late (tcp_try_undo_partial in Linux).
    pub rests: bool,
}

impl RackTlp {
    pub fn new(host: &'static Personality) -> Self {
        RackTlp { rack: Rack::new(host), probe: LossProbe::default(), reports: 0, late: false, rested: None, host }
    }

    /// Returns whether an acknowledgement must not take the fast path: a probe is unanswered, an original came late, or not all of
    /// the `duplicates` that the peer has reported were looked at.
    #[inline(always)]
    pub fn is_disturbed(&self, duplicates: u64) -> bool {
        self.late || self.reports != duplicates || self.probe.is_unanswered()
    }

    /// Handles the acknowledgement of segments in order, the last of which was sent at `sent` and ends at `end`.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Time, sent: Time, end: u64) {
        self.rack.on_arrival(now, (sent, end));
        if self.host.counts_duplicates {
            self.rack.adapt(now, Some(sent));
        }
        self.rested = None;
    }

    /// Whether retransmissions pause at `now`, after an acknowledgement that showed a loss to be spurious.
    #[inline]
    pub fn is_resting(&self, now: Time) -> bool {
        self.rested == Some(now)
    }

    /// Whether segments arrived further out of order than RFC 5681's three duplicates allow for.
    pub fn is_reordered(&self) -> bool {
        self.rack.degree() > u64::from(DUP_THRESHOLD)
    }

    /// Processes an acknowledgement: what has arrived, in segments of `mss` octets, and the D-SACKs received so far.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Time,
        (ack, before): (&Acknowledgement, Before),
        board: &mut Scoreboard,
        (octets, mss, min_rtt): (&Octets, u64, Duration),
        reports: u64,
    ) -> Consequences {
        if let Some(newly_acked) = board.newly_acked() {
            self.rack.on_arrivals(now, newly_acked, min_rtt, ack.echo_rtt);
            if self.host.counts_duplicates && ack.offset >= before.una {
                self.rack.adapt(now, newly_acked.newest());
            }
            if let Some(lateness) = board.lateness(octets.una) {
                self.rack.on_lateness(lateness, mss);
            }
            board.clear_newly_acked(octets.una);
        }
        let duplicate_report = reports > self.reports;
        self.reports = reports;
        if duplicate_report && !self.host.counts_duplicates {
            self.rack.on_needless_resend(octets.una, octets.nxt);
        }
        let rests = std::mem::take(&mut self.late) && self.host.rests_while_late;
        self.rested = rests.then_some(now);
        let bare_duplicate = ack.bare && ack.sacked == 0 && ack.offset == before.una;
        let probe_repaired = self.probe.on_ack(&Answer { una: octets.una, duplicate_report, bare_duplicate });
        Consequences { probe_repaired, rests }
    }

    /// Marks lost segments; `in_episode` says whether losses are being repaired. Returns when the last of the remaining overtaken ones will be lost.
    pub fn detect(&mut self, now: Time, board: &mut Scoreboard, in_episode: bool, rtt: &RttEstimator) -> Time {
        let window = self.rack.window(board, in_episode, rtt);
        self.rack.detect(board, now, window)
    }

    /// Handles a retransmission timeout: only segments sent long enough ago count as lost (RFC 8985 section 6.3).
    pub fn on_timeout(&mut self, now: Time, board: &mut Scoreboard, rtt: &RttEstimator) {
        self.probe.forget();
        if self.host.notices_reneging && board.is_reneged() {
            return board.declare_all_lost(true);
        }
        let window = self.rack.window(board, true, rtt);
        board.declare_lost_sent_by(self.rack.lost_by_timeout(now, window), true);
    }

    /// Slack of two milliseconds that Linux adds to the timers of RFC 8985 (TCP_TIMEOUT_MIN_US).
    #[inline]
    pub fn slack(&self) -> Duration {
        if self.host.adds_slack { Duration::from_millis(2) } else { Duration::ZERO }
    }

    /// Returns the probe timeout (RFC 8985 section 7.2); `None` while a probe is unanswered. Linux lets
    /// the timer expire nevertheless and then restarts it for the retransmission (tcp_send_loss_probe), which may be a tick
    /// later.
    #[inline]
    pub fn probe_wait(&self, board: &Scoreboard, srtt: Duration) -> Option<Duration> {
        if !self.host.resets_probe_timer && self.probe.is_unanswered() {
            return None;
        }
        let lone = board.count() == 1;
        Some(LossProbe::timeout(srtt, lone) + if lone { Duration::ZERO } else { self.slack() })
    }
}
