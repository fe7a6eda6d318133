//! Timer of a sender: how it is set, and retransmission timeouts.

use super::Sender;
use crate::tcp::recovery::{Episode, Recovery};
use crate::tcp::timer::Purpose;
use vazao_congestion::Signal;
use vazao_engine::Time;

impl Sender {
    /// Restarts the retransmission timer.
    #[inline]
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.timer.set(now, self.rtt.rto());
        if self.rack_tlp.is_some() {
            self.arm_probe(now);
        }
    }

    /// Arms the persist timer when the receiver's window admits nothing and no data is outstanding.
    #[cold]
    pub(super) fn persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && !self.timer.is_set() {
            self.peer.persisting = true;
            self.restart_timer(now);
        }
    }

    /// Ends zero-window probing when the window has opened.
    #[cold]
    pub(super) fn resume(&mut self) {
        self.peer.persisting = false;
        self.peer.probe = false;
        self.timer.expiries = 0;
        self.rtt.forget_back_off();
        self.timer.stop();
    }

    /// Handles expiry of the timer; returns false if the connection must be aborted.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        match self.timer.purpose {
            Purpose::Retransmission => return self.on_retransmission_timeout(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
            Purpose::LossProbe => self.request_probe(now),
        }
        true
    }

    fn on_retransmission_timeout(&mut self, now: Time) -> bool {
        self.timer.expiries += 1;
        if self.timer.expiries > self.rules.retries {
            return false;
        }
        if self.board.outstanding() == 0 {
            // The receiver's window is closed: probe it with exponential back-off (RFC 9293 section 3.8.6.1). A peer
            // that answers may keep it closed indefinitely.
            self.peer.probe = self.octets.nxt < self.octets.finish();
            self.rtt.back_off();
            self.timer.stop();
            if self.peer.probe {
                self.timer.set(now, self.rtt.rto());
            }
            return true;
        }
        self.stats.timeouts += 1;
        // A burst of losses reduces ssthresh only once: in fast recovery it was reduced for the same flight. After the
        // receiver has closed the window again, a retransmission is only a probe.
        let is_window_probe = self.is_window_closed() && matches!(self.repair.episode, Episode::Restart { .. });
        let first =
            self.timer.expiries == 1 && !self.in_recovery() && !self.reduction.is_lossless() && !is_window_probe;
        self.reduce(now, if first { Signal::Timeout } else { Signal::RepeatedTimeout });
        self.declare_lost_on_timeout(now);
        self.repair.episode = Episode::Restart { recover: self.octets.nxt };
        self.repair.guard = self.octets.nxt;
        self.repair.duplicates = 0;
        // The earliest segment is retransmitted (RFC 6298 section 5.4) even if recent transmissions fill the window.
        self.repair.force = true;
        self.rtt.back_off();
        self.restart_timer(now);
        true
    }

    /// Marks segments as lost after a retransmission timeout.
    fn declare_lost_on_timeout(&mut self, now: Time) {
        self.reduction.end();
        if self.repair.algorithm == Recovery::Pipe {
            self.board.forget_sacked();
        }
        match &mut self.rack_tlp {
            Some(rack_tlp) => rack_tlp.on_timeout(now, &mut self.board, &self.rtt),
            None => self.board.declare_all_lost(true),
        }
    }
}
