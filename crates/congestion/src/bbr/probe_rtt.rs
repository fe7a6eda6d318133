//! PROBE_RTT (section 4.3.5): when the least round-trip time has not been seen for ten seconds, four segments in flight
//! for a while, so that queues empty, and flows that share one see it together.

use super::{Bbr, Mode, Rules};
use crate::Ack;
use crate::model::ProbeRtt;
use vazao_engine::Time;

impl Bbr {
    /// Section 4.1.2: the least round-trip time of the last ten seconds; and whether it is time to look for it.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now.since(self.state.min_rtt_at) > self.rules.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            // Linux takes the same again for no news, so that it is looked for sooner.
            let news = if self.rules.linux { rtt < self.state.min_rtt } else { rtt <= self.state.min_rtt };
            if news || expired {
                (self.state.min_rtt, self.state.min_rtt_at) = (rtt, ack.now);
            }
        }
        if expired && !self.state.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.save_window();
            self.mode = Mode::ProbeRtt(ProbeRtt::default());
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
        let is_little = ack.pipe as f64 <= Rules::MIN_PIPE * self.state.mss;
        let round_done = probe.update(ack.now, is_little, self.rules.probe_rtt_duration, &mut self.state);
        self.mode = Mode::ProbeRtt(probe);
        if round_done {
            self.check_probe_rtt_done(ack.now, probe);
        }
    }

    /// Out of it: the window is what it was.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, probe: ProbeRtt) {
        if probe.is_over(now) {
            self.state.min_rtt_at = now;
            self.state.restore_window();
            self.resume(now);
        }
    }
}
