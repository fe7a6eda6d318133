//! The congestion window (section 4.2.3): what the model calls for, approached by what is delivered, and packet
//! conservation while losses are repaired.

use super::{Bbr, Mode, Rules};
use crate::{Ack, Congestion, Signal};

/// State of a repair of losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repair {
    phase: Phase,
    /// Whether no more is sent than is delivered, as in the first round trip of a recovery.
    pub conserve: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    None,
    Recovery,
    AfterTimeout,
}

impl Bbr {
    /// Section 4.2.3.6.
    pub(super) fn set_window(&mut self, ack: &Ack, gain: f64) {
        if ack.delivered > 0 && !self.modulate(ack) {
            let acked = ack.delivered as f64;
            let mut target = self.bdp(self.bw(), gain);
            if self.rules.linux && self.full_pipe.reached {
                target += self.aggregation.extra(self.bw());
            }
            let target = self.with_bursts(target);
            if self.full_pipe.reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || (self.delivered as f64) < self.initial_window {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(Rules::MIN_PIPE * self.mss);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(Rules::MIN_PIPE * self.mss);
        }
    }

    /// Section 4.2.3.4: the window in and after a recovery; whether that is all there is to it.
    fn modulate(&mut self, ack: &Ack) -> bool {
        let conserved = (ack.pipe + ack.delivered) as f64;
        self.cwnd = (self.cwnd - ack.lost as f64).max(self.mss);
        let phase = match (ack.in_recovery, ack.after_timeout) {
            (true, _) => Phase::Recovery,
            (false, true) => Phase::AfterTimeout,
            (false, false) => Phase::None,
        };
        if phase == Phase::Recovery && self.repair.phase != Phase::Recovery {
            self.repair.conserve = true;
            self.rounds.restart(self.delivered);
            self.cwnd = conserved;
        } else if phase == Phase::None && self.repair.phase != Phase::None {
            self.repair.conserve = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.repair.phase = phase;
        if self.repair.conserve {
            self.cwnd = self.cwnd.max(conserved);
        }
        self.repair.conserve
    }

    /// Remembers the window to go back to after a recovery or PROBE_RTT.
    pub(super) fn save_window(&mut self) {
        let whole = self.repair.phase == Phase::None && !matches!(self.mode, Mode::ProbeRtt(_));
        self.prior_cwnd = if whole { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Handles a timeout: the window restarts from one segment, as all data in flight counts as lost. Earlier growth
    /// counts no more.
    pub(super) fn on_timeout(&mut self, congestion: &Congestion) {
        if congestion.signal != Signal::RepeatedTimeout {
            self.save_window();
        }
        self.repair.phase = Phase::AfterTimeout;
        self.full_pipe.forget_bandwidth();
        self.cwnd = self.mss;
        self.rounds.start = true;
        if self.rules.linux {
            let timeout = Ack { now: congestion.now, lost: self.mss as u64, ..Ack::default() };
            self.sample_policer(&timeout, false);
        }
    }
}
