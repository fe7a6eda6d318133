//! PROBE_RTT (section 4.3.5): when the least round-trip time has not been seen for ten seconds, four segments in flight
//! for a while, so that queues empty, and flows that share one see it together.

use super::{Bbr, Mode, Rules};
use crate::Ack;
use vazao_engine::{Duration, Time};

/// Progress of PROBE_RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Time at which it may end, once no more than four segments are in flight.
    done: Option<Time>,
    /// A round trip has passed with so few.
    round_done: bool,
}

impl Bbr {
    /// Section 4.1.2: the least round-trip time of the last ten seconds; and whether it is time to look for it.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now.since(self.min_rtt_at) > self.rules.min_rtt_window;
        if let Some(rtt) = ack.rtt {
            // Linux takes the same again for no news, so that it is looked for sooner.
            let news = if self.rules.linux { rtt < self.min_rtt } else { rtt <= self.min_rtt };
            if news || expired {
                (self.min_rtt, self.min_rtt_at) = (rtt, ack.now);
            }
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.save_window();
            self.mode = Mode::ProbeRtt(ProbeRtt::default());
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
        if probe.done.is_none() && ack.pipe as f64 <= Rules::MIN_PIPE * self.mss {
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

    /// Out of it: the window is what it was.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, probe: ProbeRtt) {
        if probe.done.is_some_and(|done| now.since(done) > Duration::ZERO) {
            self.min_rtt_at = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.resume(now);
        }
    }
}
