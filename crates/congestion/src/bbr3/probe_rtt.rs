//! PROBE_RTT (section 4.3.4): every five seconds, half a bandwidth-delay product in flight for a while, unless the least
//! round-trip time showed by itself.

use super::bounds::Feedback;
use super::{Bbr3, Mode, Rules};
use crate::Ack;
use vazao_engine::{Duration, Time};

/// Progress of PROBE_RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Time at which it may end, once no more than its window is in flight.
    done: Option<Time>,
    round_done: bool,
}

impl Bbr3 {
    /// Section 4.5.4: the least round-trip time of ten seconds, made of those between two PROBE_RTTs.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now.since(self.probed_rtt.1) > self.rules.probe_rtt_interval;
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt < self.probed_rtt.0 || expired) {
            self.probed_rtt = (rtt, ack.now);
        }
        if self.probed_rtt.0 < self.min_rtt || ack.now.since(self.min_rtt_at) > Rules::MIN_RTT_WINDOW {
            (self.min_rtt, self.min_rtt_at) = self.probed_rtt;
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.save_window();
            self.mode = Mode::ProbeRtt(ProbeRtt::default());
            self.bounds.feedback = Feedback::ProbeStopping;
            self.rounds.restart(self.delivered);
            self.muted.0 = self.delivered;
        }
        if let Mode::ProbeRtt(probe) = self.mode {
            self.muted.1 = self.delivered + ack.pipe;
            self.probe_rtt(ack, probe);
        }
        if ack.rate.is_some_and(|sample| sample.delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, mut probe: ProbeRtt) {
        if probe.done.is_none() && ack.pipe as f64 <= self.probe_rtt_window() {
            probe.done = Some(ack.now + self.rules.probe_rtt_duration);
            self.rounds.restart(self.delivered);
        } else if probe.done.is_some() {
            probe.round_done |= self.rounds.start;
        }
        self.mode = Mode::ProbeRtt(probe);
        if probe.round_done {
            self.check_probe_rtt_done(ack.now, probe);
        }
    }

    /// Returns its window.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp(self.bw(), Rules::PROBE_RTT).max(Rules::MIN_PIPE * self.mss)
    }

    /// Out of it: the queue is known to be empty, so what losses said is forgotten.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, probe: ProbeRtt) {
        if probe.done.is_none_or(|done| now.since(done) == Duration::ZERO) {
            return;
        }
        self.probed_rtt.1 = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.bounds.forget_lower();
        if self.full_pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
