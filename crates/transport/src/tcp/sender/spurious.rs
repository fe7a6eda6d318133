//! Response to spurious recoveries and timeouts.

use super::Sender;
use crate::tcp::acknowledgement::Acknowledgement;
use crate::tcp::recovery::Episode;
use crate::tcp::undo::{Conclusion, Evidence, FrtoAck, Spurious};
use vazao_engine::Time;

impl Sender {
    /// Checks whether the episode `was` proves spurious, after an acknowledgement during it or a D-SACK (RFC 2883), before
    /// which everything up to octet `before` was acknowledged; returns whether D-SACK or timestamps showed it.
    #[cold]
    pub(super) fn check_spurious(&mut self, now: Time, ack: &Acknowledgement, was: Episode, before: u64) -> bool {
        let una = self.octets.una;
        let (advanced, has_resent) = (una > before, self.board.has_resent());
        let finding = self.undo.judge(now, &Evidence { was, una, advanced, echo_rtt: ack.echo_rtt, has_resent });
        if let (Some(rack_tlp), true) = (&mut self.rack_tlp, finding.filled_by_original) {
            rack_tlp.rack.on_lateness(self.board.highest(una) - before, self.peer.mss);
            rack_tlp.late = has_resent;
        }
        if let Some(spurious) = finding.spurious {
            if let Some(rack_tlp) = &mut self.rack_tlp {
                if spurious.original {
                    rack_tlp.rack.on_reordering();
                }
                if spurious.reported {
                    rack_tlp.rack.on_needless_recovery();
                }
            }
            self.undo_reduction(now, spurious);
            return true;
        }
        if matches!(was, Episode::Restart { .. }) && self.undo.tests_timeout() {
            self.test_timeout(now, ack, was.recover(), advanced);
        }
        false
    }

    /// Takes a step of F-RTO (RFC 5682); `recover` was SND.NXT at the timeout.
    fn test_timeout(&mut self, now: Time, ack: &Acknowledgement, recover: u64, advanced: bool) {
        let octets = &self.octets;
        let has_room = octets.una < recover && octets.nxt < octets.finish() && self.peer.edge > octets.nxt;
        let answer = FrtoAck {
            advanced,
            repeats: ack.offset == octets.una,
            overtaken: ack.offset < octets.una,
            selective: self.repair.selective,
            by_time: self.rack_tlp.is_some(),
            room: has_room.then(|| octets.nxt + 2 * self.peer.mss),
        };
        match self.undo.test_timeout(&mut self.board, &answer) {
            Conclusion::None => {}
            Conclusion::Spurious(spurious) => self.undo_reduction(now, spurious),
            // The window becomes three segments, of which the new ones take two (step 3a).
            Conclusion::Loss => self.repair.force = !self.host.waits_after_frto,
        }
    }

    /// Undoes a reduction: restores window and ssthresh; before the end of the episode, nothing is lost either.
    fn undo_reduction(&mut self, now: Time, spurious: Spurious) {
        if spurious.by_timeout {
            self.stats.spurious_timeouts += 1;
        } else {
            self.stats.spurious_recoveries += 1;
        }
        self.repair.episode = Episode::None;
        if spurious.early {
            self.board.unmark_losses();
        }
        self.reduction.end();
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.rack.reconsider(&self.board);
        }
        self.window.on_spurious(now);
        self.window.round_end = self.octets.nxt;
    }

    /// Handles a D-SACK (RFC 2883).
    pub fn on_duplicate_report(&mut self, start: u64, end: u64) {
        self.stats.duplicate_reports += 1;
        if self.undo.counts_reports() {
            let copies = self.board.copies_within(start, end);
            let retransmissions = self.stats.retransmissions;
            if !self.undo.count_report((start, end), self.peer.mss, self.octets.una, retransmissions, copies) {
                return;
            }
            if let Some(rack_tlp) = &mut self.rack_tlp
                && !rack_tlp.probe.ends_at(end)
            {
                rack_tlp.rack.on_duplicate();
            }
        }
        if self.undo.on_report(start, end) {
            self.stats.spurious_retransmissions += 1;
            self.board.on_late_original(start, end);
        }
    }
}
