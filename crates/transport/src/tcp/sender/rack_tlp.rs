//! RACK loss detection and tail loss probes of a sender (RFC 8985).

use super::{Chunk, Sender};
use crate::tcp::acknowledgement::{Acknowledgement, Before};
use crate::tcp::recovery::Episode;
use crate::tcp::sent::Status;
use vazao_congestion::Signal;
use vazao_engine::{Duration, Time};

impl Sender {
    /// Detects losses after an acknowledgement and sets the window of a recovery.
    #[inline]
    pub(super) fn repair_by_time(&mut self, now: Time, ack: &Acknowledgement, before: Before) {
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        let seen = (&self.octets, self.peer.mss, self.rtt.min());
        let found = rack_tlp.on_ack(now, (ack, before), &mut self.board, seen, self.stats.duplicate_reports);
        if found.probe_repaired && !self.is_repairing() {
            self.undo.forget();
            self.reduction.end();
            self.signal(now, Signal::Loss, self.flight());
            self.window.on_recovered(u64::MAX);
        }
        if found.rests {
            return self.reduce_in_proportion(before, false);
        }
        // Everything arrived in order and nothing was retransmitted, so no segment in flight was overtaken.
        if !self.is_repairing() && self.board.is_all_in_network() {
            if self.reduction.is_under_way() {
                self.reduce_in_proportion(before, false);
            }
            return;
        }
        if self.host.notices_reneging && self.octets.una > before.una && self.board.is_reneged() {
            return self.await_reneging_timeout(now);
        }
        let advanced = self.rack_tlp.as_mut().is_some_and(|rack_tlp| rack_tlp.rack.take_advance());
        if advanced || !self.host.awaits_arrivals {
            return self.find_losses(now, before);
        }
        self.reduce_in_proportion(before, false);
    }

    /// Handles reneging, when the receiver discarded SACKed data. Linux waits half a round trip and does nothing else
    /// until then (tcp_check_sack_reneging, net/ipv4/tcp_input.c).
    #[cold]
    fn await_reneging_timeout(&mut self, now: Time) {
        const MIN: Duration = Duration::from_millis(10);
        self.timer.set(now, (self.rtt.srtt() / 2).max(MIN));
    }

    /// Handles expiry of the reordering timer: the segments that it waited for are declared lost.
    #[cold]
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        self.rearm(now);
        // If this starts a recovery, Linux counts one segment as delivered (tcp_rack_reo_timeout).
        let credits = self.host.credits_reordering_timeout && !self.is_repairing();
        let sacked = self.board.sacked().saturating_sub(if credits { self.peer.mss } else { 0 });
        self.find_losses(now, Before { una: self.octets.una, sacked, repeated: 0, new_sacks: false });
    }

    fn find_losses(&mut self, now: Time, before: Before) {
        let in_episode = self.is_repairing();
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        let losses = self.board.losses();
        let again = rack_tlp.detect(now, &mut self.board, in_episode, &self.rtt);
        let slack = rack_tlp.slack();
        let further = self.board.losses() > losses;
        if !in_episode && self.board.has_lost() {
            self.begin_recovery(now, before);
        }
        if again < Time::NEVER {
            self.timer.set_for_reordering(now, again.since(now) + slack);
        }
        self.reduce_in_proportion(before, further);
    }

    /// Begins a recovery. The window is reduced to ssthresh by PRR unless a reduction is already under way.
    fn begin_recovery(&mut self, now: Time, before: Before) {
        let recover = self.reduction.merge_loss().unwrap_or_else(|| {
            let (cwnd, flight) = (self.window.cwnd, self.octets.nxt - before.una - before.sacked);
            let from = self.reduction.base(cwnd, flight);
            self.reduce(now, Signal::Loss);
            self.reduction.begin(self.peer.mss, self.window.control.ssthresh(), from);
            if self.host.grows_last && self.reduction.is_under_way() {
                self.window.cwnd = cwnd; // It comes down with what is delivered.
            }
            self.octets.nxt
        });
        self.repair.episode = Episode::Fast { recover, inflation: 0, first_partial: false };
        self.stats.recoveries += 1;
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.probe.forget();
        }
    }

    /// RFC 8985 section 7.2: outside recovery, lets the retransmission timer first fire as a probe timer.
    #[inline]
    pub(super) fn arm_probe(&mut self, now: Time) {
        let Some(rack_tlp) = &self.rack_tlp else { return };
        let srtt = self.rtt.srtt();
        let calm = !self.is_repairing() && self.board.sacked() == 0 && self.timer.expiries == 0;
        if calm
            && self.board.outstanding() > 0
            && srtt.as_nanos() > 0
            && let Some(wait) = rack_tlp.probe_wait(&self.board, srtt)
        {
            self.timer.set_for_probe(now, wait);
        }
    }

    /// Turns the timer back into the retransmission timer: with its original expiry, or that of the first segment if it
    /// was retransmitted since. Linux uses the current RTO (tcp_rearm_rto).
    fn rearm(&mut self, now: Time) {
        let front = self.board.front().map_or(now, |front| front.at);
        let left = (front + self.rtt.rto()).since(now).max(Duration::from_nanos(1));
        let anew = self.timer.clock.expiry(now, left);
        self.timer.set_to(if self.host.rearms_from_now { anew } else { self.timer.expiry.max(anew) });
    }

    /// Requests a tail loss probe; the connection will then be polled for it.
    #[cold]
    pub(super) fn request_probe(&mut self, now: Time) {
        self.rearm(now);
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.probe.due = !rack_tlp.probe.is_unanswered();
            self.stats.loss_probes += u64::from(rack_tlp.probe.due);
        }
    }

    /// Returns a tail loss probe (RFC 8985 section 7.3): new data regardless of the congestion window, or the last segment. The
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
            rack_tlp.probe.on_sent(self.octets.nxt, again);
            self.timer.set(now, self.rtt.rto());
        }
        chunk
    }
}
