//! The congestion window (section 4.6.4): what the model calls for, within the bounds.

use super::{Bbr3, Mode, Phase, Rules};
use crate::Ack;
use crate::model::send_quantum;

impl Bbr3 {
    /// Section 4.6.4.2: enough for the bursts at either end, and for a probe to be one at the smallest window.
    fn quantised(&self, bytes: f64) -> f64 {
        let bursts = 3.0 * send_quantum(self.state.pacing_rate, self.state.mss);
        let probing = matches!(self.mode, Mode::ProbeBw(cycle) if cycle.phase == Phase::Up);
        bytes.max(bursts * self.state.mss).max(Rules::MIN_PIPE * self.state.mss)
            + if probing { 2.0 * self.state.mss } else { 0.0 }
    }

    /// BBRInflight.
    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.quantised(self.state.bdp(self.max_bw(), gain))
    }

    /// BBRTargetInflight: what is to be in flight without a queue.
    pub(super) fn target(&self) -> f64 {
        self.state.bdp(self.bw(), 1.0).min(self.state.cwnd)
    }

    /// Section 4.6.4.6.
    pub(super) fn set_window(&mut self, ack: &Ack, gain: f64) {
        let repairing = ack.in_recovery || ack.after_timeout;
        if self.repairing && !repairing {
            self.state.restore_window();
        }
        self.repairing = repairing;
        let acked = ack.delivered as f64;
        let most = self.quantised(self.state.bdp(self.bw(), gain) + self.state.aggregation.extra(self.bw()));
        self.state.approach(most, acked, self.full_pipe.reached);
        self.state.cwnd = self.state.cwnd.min(self.cap()).max(Rules::MIN_PIPE * self.state.mss);
    }

    /// Section 4.6.4.7, and PROBE_RTT's own.
    fn cap(&self) -> f64 {
        let hi = match self.mode {
            Mode::Startup | Mode::Drain => f64::INFINITY,
            Mode::ProbeBw(cycle) if cycle.phase != Phase::Cruise => self.bounds.inflight_hi,
            Mode::ProbeBw(_) => self.with_headroom(),
            Mode::ProbeRtt(_) => self.with_headroom().min(self.probe_rtt_window()),
        };
        hi.min(self.bounds.inflight_lo)
    }

    /// Remembers the window to go back to after a recovery or PROBE_RTT.
    pub(super) fn save_window(&mut self) {
        let whole = !self.repairing && !matches!(self.mode, Mode::ProbeRtt(_));
        self.state.save_window(whole);
        self.bounds.save();
    }
}
