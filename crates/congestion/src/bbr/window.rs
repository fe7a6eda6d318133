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
                target += self.state.aggregation.extra(self.bw());
            }
            let target = self.with_bursts(target);
            self.state.approach(target, acked, self.full_pipe.reached);
            self.state.cwnd = self.state.cwnd.max(Rules::MIN_PIPE * self.state.mss);
        }
        if matches!(self.mode, Mode::ProbeRtt(_)) {
            self.state.cwnd = self.state.cwnd.min(Rules::MIN_PIPE * self.state.mss);
        }
    }

    /// Section 4.2.3.4: the window in and after a recovery; whether that is all there is to it.
    fn modulate(&mut self, ack: &Ack) -> bool {
        let conserved = (ack.pipe + ack.delivered) as f64;
        self.state.cwnd = (self.state.cwnd - ack.lost as f64).max(self.state.mss);
        let phase = match (ack.in_recovery, ack.after_timeout) {
            (true, _) => Phase::Recovery,
            (false, true) => Phase::AfterTimeout,
            (false, false) => Phase::None,
        };
        if phase == Phase::Recovery && self.repair.phase != Phase::Recovery {
            self.repair.conserve = true;
            self.state.rounds.restart(self.state.delivered);
            self.state.cwnd = conserved;
        } else if phase == Phase::None && self.repair.phase != Phase::None {
            self.repair.conserve = false;
            self.state.restore_window();
        }
        self.repair.phase = phase;
        if self.repair.conserve {
            self.state.cwnd = self.state.cwnd.max(conserved);
        }
        self.repair.conserve
    }

    /// Remembers the window to go back to after a recovery or PROBE_RTT.
    pub(super) fn save_window(&mut self) {
        let whole = self.repair.phase == Phase::None && !matches!(self.mode, Mode::ProbeRtt(_));
        self.state.save_window(whole);
    }

    /// Handles a timeout: the window restarts from one segment, as all data in flight counts as lost. Earlier growth
    /// counts no more.
    pub(super) fn on_timeout(&mut self, congestion: &Congestion) {
        if congestion.signal != Signal::RepeatedTimeout {
            self.save_window();
        }
        self.repair.phase = Phase::AfterTimeout;
        self.full_pipe.forget_bandwidth();
        self.state.cwnd = self.state.mss;
        self.state.rounds.start = true;
        if self.rules.linux {
            let timeout = Ack { now: congestion.now, lost: self.state.mss as u64, ..Ack::default() };
            self.sample_policer(&timeout, false);
        }
    }
}
