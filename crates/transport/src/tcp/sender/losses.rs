//! Loss detection by duplicate ACKs and SACK blocks, and the start of recovery.

use super::Sender;
use crate::tcp::acknowledgement::Before;
use crate::tcp::config::SackProfile;
use crate::tcp::recovery::{DUP_THRESHOLD, Episode, Recovery};
use crate::tcp::sent::Status;
use vazao_congestion::Signal;
use vazao_engine::Time;

impl Sender {
    /// Handles a duplicate acknowledgement (RFC 5681 section 2; RFC 6675 section 2).
    pub(super) fn on_duplicate_ack(&mut self, now: Time, before: Before) {
        self.repair.duplicates += 1;
        self.stats.duplicate_acks += 1;
        if self.rack_tlp.is_some() {
            return;
        }
        if !self.repair.selective {
            self.repair.credit += self.peer.mss;
        }
        if let Episode::Fast { recover, inflation, first_partial } = self.repair.episode
            && !self.repair.selective
        {
            let inflation = inflation + self.peer.mss as i64;
            self.repair.episode = Episode::Fast { recover, inflation, first_partial };
            return;
        }
        let early = || self.board.front().is_some_and(|f| self.window.control.retransmit_early(now.since(f.at)));
        let enough = self.repair.duplicates == DUP_THRESHOLD || (self.repair.duplicates < DUP_THRESHOLD && early());
        // RFC 6582 section 3.2 step 2: without SACK, duplicates for the last recovery's retransmissions prove nothing.
        let stale = self.is_repairing() || (!self.repair.selective && self.octets.una <= self.repair.guard);
        if enough && !stale && self.repair.algorithm != Recovery::TahoeNoFastRetransmit {
            self.start_recovery(now, before, false);
        }
    }

    /// Marks segments that the scoreboard shows to be lost, and starts recovery if there are new ones.
    pub(super) fn detect_losses(&mut self, now: Time, before: Before) {
        let losses = self.board.losses();
        self.board.mark_losses(DUP_THRESHOLD, self.peer.mss);
        if !self.is_repairing() && self.board.has_pending() {
            self.start_recovery(now, before, true);
        }
        if self.reduction.is_under_way() {
            self.reduce_in_proportion(before, self.board.losses() > losses);
        }
    }

    /// Subtracts an acknowledgement from what counts as in the network, and marks every hole in the scoreboard as lost.
    pub(super) fn repair_by_pipe(&mut self, before: Before) {
        let segments = if self.octets.una > before.una { 2 } else { 1 };
        self.repair.episode.count(-segments * self.peer.mss as i64);
        if self.in_recovery() {
            self.board.mark_losses(1, self.peer.mss);
        }
    }

    /// Starts recovery with the loss of the first segment; also if it was resent before, unless `once`.
    fn start_recovery(&mut self, now: Time, before: Before, once: bool) {
        if self.repair.algorithm == Recovery::Tahoe {
            self.reduction.end();
            self.reduce(now, Signal::Restart);
            self.board.declare_all_lost(false);
            self.repair.episode = Episode::Restart { recover: self.octets.nxt };
        } else {
            if self.reduction.merge_loss().is_none() {
                let from = self.reduction.base(self.window.cwnd, self.recover_flight(before));
                self.reduce(now, Signal::Loss);
                self.reduction.begin(self.peer.mss, self.window.control.ssthresh(), from);
            }
            self.board.declare_front_lost(once);
            self.repair.episode = self.first_episode();
        }
        if self.repair.algorithm != Recovery::Reno {
            self.repair.guard = self.octets.nxt;
        }
        if self.host.restarts_timer {
            self.restart_timer(now);
        }
        self.stats.recoveries += 1;
        self.repair.force = true;
        self.repair.rescued = false;
    }

    /// RFC 9937's RecoverFS: the flight without what earlier acknowledgements had SACKed, which will not be delivered in
    /// this recovery.
    fn recover_flight(&self, before: Before) -> u64 {
        match self.rules.sack_profile {
            SackProfile::Rfc => self.octets.nxt - before.una - before.sacked,
            SackProfile::Ns3 => self.octets.nxt - self.octets.una,
        }
    }

    /// Episode that a fast recovery begins with.
    fn first_episode(&self) -> Episode {
        let (recover, mss) = (self.octets.nxt, self.peer.mss as i64);
        let duplicates = i64::from(self.repair.duplicates) * mss;
        if self.repair.algorithm == Recovery::Pipe {
            // The first retransmission makes up for the acknowledgement at hand, which is counted twice.
            return Episode::Pipe { recover, pipe: (self.octets.nxt - self.octets.una) as i64 - duplicates };
        }
        Episode::Fast { recover, inflation: if self.repair.selective { 0 } else { duplicates }, first_partial: true }
    }

    /// TCP Vegas (Brakmo and Peterson 1995 section 3.1): on the first two new ACKs after a retransmission, the next
    /// segment is retransmitted at once if it is older than the timeout. It was sent before the window was cut, so the
    /// window is not cut again.
    pub(super) fn check_vegas(&mut self, now: Time) {
        self.repair.vegas_checks -= 1;
        let Some(front) = self.board.front() else { return };
        if front.state == Status::default() && self.window.control.retransmit_early(now.since(front.at)) {
            self.board.declare_front_lost(false);
            self.repair.force = true;
        }
    }
}
