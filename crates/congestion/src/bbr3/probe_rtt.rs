//! PROBE_RTT (section 4.3.4): every five seconds, half a bandwidth-delay product in flight for a while, unless the least
//! round-trip time showed by itself.

use super::bounds::Feedback;
use super::{Bbr3, Mode, Rules};
use crate::Ack;
use crate::model::ProbeRtt;
use vazao_engine::Time;

impl Bbr3 {
    /// Section 4.5.4: the least round-trip time of ten seconds, made of those between two PROBE_RTTs.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now.since(self.probed_rtt.1) > self.rules.probe_rtt_interval;
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt < self.probed_rtt.0 || expired) {
            self.probed_rtt = (rtt, ack.now);
        }
        if self.probed_rtt.0 < self.state.min_rtt || ack.now.since(self.state.min_rtt_at) > Rules::MIN_RTT_WINDOW {
            (self.state.min_rtt, self.state.min_rtt_at) = self.probed_rtt;
        }
        if expired && !self.state.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.save_window();
            self.mode = Mode::ProbeRtt(ProbeRtt::default());
            self.bounds.feedback = Feedback::ProbeStopping;
            self.state.rounds.restart(self.state.delivered);
            self.state.mute();
        }
        if let Mode::ProbeRtt(probe) = self.mode {
            self.state.stay_muted(ack);
            self.probe_rtt(ack, probe);
        }
        if ack.rate.is_some_and(|sample| sample.delivered > 0) {
            self.state.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, mut probe: ProbeRtt) {
        let is_little = ack.pipe as f64 <= self.probe_rtt_window();
        let round_done = probe.update(ack.now, is_little, self.rules.probe_rtt_duration, &mut self.state);
        self.mode = Mode::ProbeRtt(probe);
        if round_done {
            self.check_probe_rtt_done(ack.now, probe);
        }
    }

    /// Returns its window.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.state.bdp(self.bw(), Rules::PROBE_RTT).max(Rules::MIN_PIPE * self.state.mss)
    }

    /// Out of it: the queue is known to be empty, so what losses said is forgotten.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, probe: ProbeRtt) {
        if !probe.is_over(now) {
            return;
        }
        self.probed_rtt.1 = now;
        self.state.restore_window();
        self.bounds.forget_lower();
        if self.full_pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
