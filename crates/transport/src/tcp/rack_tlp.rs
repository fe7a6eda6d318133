//! Time-based recovery: RACK, tail loss probes and proportional rate reduction.

use super::host::Personality;
use super::rack::Rack;
use super::recovery::{DUP_THRESHOLD, Episode, Recovery};
use super::sender::{Acknowledgement, Chunk, Purpose, Sender};
use super::sent::Status;
use super::tlp::{Answer, LossProbe};
use vazao_congestion::Signal;
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
}

impl RackTlp {
    pub fn new(host: &'static Personality) -> Self {
        RackTlp { rack: Rack::new(host), probe: LossProbe::default(), reports: 0, late: false, rested: None }
    }

    /// Returns whether a probe is unanswered, or what `duplicates` says that the peer has reported is to be looked at.
    #[inline(always)]
    pub fn is_disturbed(&self, duplicates: u64) -> bool {
        self.late || self.reports != duplicates || self.probe.is_unanswered()
    }

    /// Handles an acknowledgement in order whose last segment, which ends at an octet, was sent at a time.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Time, sent: Time, end: u64, adapts: bool) {
        self.rack.on_arrival(now, (sent, end));
        if adapts {
            self.rack.adapt(now, Some(sent));
        }
        self.rested = None;
    }
}

/// Delivery state before an acknowledgement.
#[derive(Clone, Copy)]
pub(crate) struct Before {
    pub una: u64,
    pub sacked: u64,
    /// Octets that it reports by D-SACK, where these count as delivered.
    pub repeated: u64,
    /// Whether the acknowledgement's SACK blocks reported new data.
    pub new_sacks: bool,
}

impl Sender {
    /// Whether what is lost is not sent again at this time, as the acknowledgement that came showed a loss to be none.
    pub(super) fn is_resting(&self, now: Time) -> bool {
        self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.rested == Some(now))
    }

    /// Whether segments arrived further out of order than RFC 5681's three duplicates allow for.
    pub(super) fn is_reordered(&self) -> bool {
        self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.rack.degree() > u64::from(DUP_THRESHOLD))
    }

    /// Detects losses after an acknowledgement and sets the window of a recovery.
    #[inline]
    pub(super) fn repair_by_time(&mut self, now: Time, ack: &Acknowledgement, before: Before) {
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        if let Some(newly_acked) = self.board.newly_acked() {
            rack_tlp.rack.on_arrivals(now, newly_acked, self.rtt.min(), ack.echo_rtt);
            if self.host.counts_duplicates && ack.offset >= before.una {
                rack_tlp.rack.adapt(now, newly_acked.newest());
            }
            if let Some(lateness) = self.board.lateness(self.una) {
                rack_tlp.rack.on_lateness(lateness, self.mss);
            }
            self.board.clear_newly_acked(self.una);
        }
        let reported = self.stats.duplicate_reports > rack_tlp.reports;
        rack_tlp.reports = self.stats.duplicate_reports;
        if reported && !self.host.counts_duplicates {
            rack_tlp.rack.on_needless_resend(self.una, self.nxt);
        }
        let rests = std::mem::take(&mut rack_tlp.late) && self.host.rests_while_late;
        rack_tlp.rested = rests.then_some(now);
        let bare_duplicate = ack.bare && ack.sacked == 0 && ack.offset == before.una;
        if rack_tlp.probe.on_ack(&Answer { una: self.una, duplicate_report: reported, bare_duplicate })
            && self.episode == Episode::None
        {
            self.undo.forget();
            self.reduction.end();
            self.signal(now, Signal::Loss, self.flight());
            self.control.on_recovered(u64::MAX);
            self.cwnd = self.control.cwnd();
        }
        if rests {
            return self.reduce_in_proportion(before, false);
        }
        // Everything arrived in order and nothing was retransmitted, so no segment in flight was overtaken.
        if self.episode != Episode::None || self.board.sacked() > 0 || self.board.pipe() != self.board.outstanding() {
            if self.host.notices_reneging && self.una > before.una && self.board.is_reneged() {
                return self.await_reneging_timeout(now);
            }
            let advanced = self.rack_tlp.as_mut().is_some_and(|rack_tlp| rack_tlp.rack.take_advance());
            if advanced || !self.host.awaits_arrivals {
                return self.find_losses(now, before);
            }
            self.reduce_in_proportion(before, false);
        } else if self.reduction.is_under_way() {
            self.reduce_in_proportion(before, false);
        }
    }

    /// Handles reneging, when the receiver discarded SACKed data. Linux waits half a round trip and does nothing else
    /// until then (tcp_check_sack_reneging, net/ipv4/tcp_input.c).
    #[cold]
    fn await_reneging_timeout(&mut self, now: Time) {
        const MIN: Duration = Duration::from_millis(10);
        self.timer = self.clock.expiry(now, (self.rtt.srtt() / 2).max(MIN));
        (self.expiry, self.purpose) = (self.timer, Purpose::Retransmission);
    }

    /// Requests a tail loss probe; the connection will then be polled for it.
    #[cold]
    pub(super) fn request_probe(&mut self, now: Time) {
        self.rearm(now);
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.probe.due = !rack_tlp.probe.is_unanswered();
        }
    }

    /// Handles expiry of the reordering timer: the segments it waited for are lost.
    #[cold]
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        self.rearm(now);
        // If this starts a recovery, Linux counts one segment as delivered (tcp_rack_reo_timeout).
        let credit = if self.host.credits_reordering_timeout && self.episode == Episode::None { self.mss } else { 0 };
        let sacked = self.board.sacked().saturating_sub(credit);
        let before = Before { una: self.una, sacked, repeated: 0, new_sacks: false };
        self.find_losses(now, before);
    }

    fn find_losses(&mut self, now: Time, before: Before) {
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        let losses = self.board.losses();
        let window = rack_tlp.rack.window(&self.board, self.episode != Episode::None, &self.rtt);
        let again = rack_tlp.rack.detect(&mut self.board, now, window);
        let further = self.board.losses() > losses;
        if self.episode == Episode::None && self.board.has_lost() {
            self.begin_reduction(now, before);
        }
        if again < Time::NEVER {
            self.arm_reordering(now, again);
        }
        self.reduce_in_proportion(before, further);
    }

    /// Linux adds two milliseconds to the timers of RFC 8985 (TCP_TIMEOUT_MIN_US).
    fn slack(&self) -> Duration {
        if self.host.adds_slack { Duration::from_millis(2) } else { Duration::ZERO }
    }

    /// Arms the reordering timer: the segments waited for will be lost at `again`.
    #[cold]
    fn arm_reordering(&mut self, now: Time, again: Time) {
        let at = self.clock.expiry(now, again.since(now) + self.slack());
        if at < self.timer || self.purpose == Purpose::Reordering {
            (self.timer, self.purpose) = (at, Purpose::Reordering);
        }
    }

    /// Begins a recovery. The window is reduced to ssthresh by PRR unless a reduction is already under way.
    fn begin_reduction(&mut self, now: Time, before: Before) {
        let recover = self.reduction.merge_loss().unwrap_or_else(|| {
            let (from, cwnd) = (self.reduction_base(self.nxt - before.una - before.sacked), self.cwnd);
            self.reduce(now, Signal::Loss);
            self.reduction.begin(self.mss, self.control.ssthresh(), from);
            if self.host.grows_last && self.reduction.is_under_way() {
                self.cwnd = cwnd; // It comes down with what is delivered.
            }
            self.nxt
        });
        self.episode = Episode::Fast { recover, inflation: 0, first_partial: false };
        self.stats.recoveries += 1;
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.probe.forget();
        }
    }

    /// Handles a retransmission timeout: only segments sent long enough ago count as lost (RFC 8985 section 6.3).
    pub(super) fn declare_lost_on_timeout(&mut self, now: Time) {
        self.reduction.end();
        if self.recovery == Recovery::Pipe {
            self.board.forget_sacked();
        }
        let Some(rack_tlp) = &mut self.rack_tlp else { return self.board.declare_all_lost(true) };
        rack_tlp.probe.forget();
        if self.host.notices_reneging && self.board.is_reneged() {
            return self.board.declare_all_lost(true);
        }
        let window = rack_tlp.rack.window(&self.board, true, &self.rtt);
        self.board.declare_lost_sent_by(rack_tlp.rack.lost_by_timeout(now, window), true);
    }

    /// RFC 8985 section 7.2: outside recovery, lets the retransmission timer first fire as a probe timer. While a probe
    /// is unanswered, Linux lets the timer expire nevertheless and then restarts it for the retransmission
    /// (tcp_send_loss_probe), which may be a tick later.
    #[inline]
    pub(super) fn arm_probe(&mut self, now: Time) {
        let Some(rack_tlp) = &self.rack_tlp else { return };
        let flight = self.board.outstanding();
        let srtt = self.rtt.srtt();
        let calm = self.episode == Episode::None && self.board.sacked() == 0 && self.expiries == 0;
        if calm
            && flight > 0
            && srtt.as_nanos() > 0
            && (self.host.resets_probe_timer || !rack_tlp.probe.is_unanswered())
        {
            let lone = self.board.has_single_segment();
            let wait = LossProbe::timeout(srtt, lone) + if lone { Duration::ZERO } else { self.slack() };
            self.timer = self.expiry.min(self.clock.expiry(now, wait));
            self.purpose = Purpose::LossProbe;
        }
    }

    /// Turns the timer back into the retransmission timer: with its original expiry, or that of the first segment if it
    /// was retransmitted since. Linux uses the current RTO (tcp_rearm_rto).
    fn rearm(&mut self, now: Time) {
        let front = self.board.front().map_or(now, |front| front.at);
        let left = (front + self.rtt.rto()).since(now).max(Duration::from_nanos(1));
        let anew = self.clock.expiry(now, left);
        self.timer = if self.host.rearms_from_now { anew } else { self.expiry.max(anew) };
        (self.expiry, self.purpose) = (self.timer, Purpose::Retransmission);
    }

    /// RFC 8985 section 7.3: returns new data regardless of the congestion window, or else the last segment again. The
    /// retransmission timer restarts so that the probe can be answered.
    #[cold]
    pub(super) fn next_probe(&mut self, now: Time) -> Option<Chunk> {
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.probe.due = false;
        }
        self.rearm(now);
        let fresh = self.next_new(now, u64::MAX);
        let again = fresh.is_none();
        let chunk = fresh.or_else(|| {
            let (number, sent) = self.board.last_unsacked().filter(|(_, sent)| !sent.state.has(Status::RESENT))?;
            if self.may_resend(number, &sent) { Some(self.resend(number, sent, now)) } else { None }
        });
        if let (Some(rack_tlp), true) = (&mut self.rack_tlp, chunk.is_some()) {
            rack_tlp.probe.on_sent(self.nxt, again);
            self.timer = self.clock.expiry(now, self.rtt.rto());
            (self.expiry, self.purpose) = (self.timer, Purpose::Retransmission);
        }
        chunk
    }
}
