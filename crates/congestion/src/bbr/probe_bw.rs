//! PROBE_BW (section 4.3.4): at the bandwidth, but for one phase of eight a quarter above it, to see whether there is more,
//! and for the next a quarter below, to take away the queue if there was not.

use super::{Bbr, Mode};
use crate::Ack;
use vazao_engine::{Duration, Time};

/// The phases' gains, each for a propagation delay.
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Position in the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    phase: usize,
    since: Time,
}

impl Cycle {
    pub fn gain(&self) -> f64 {
        GAINS[self.phase]
    }
    pub fn is_probing(&self) -> bool {
        self.phase == 0
    }
    /// Returns the phase's name: version 1 has only gains, and the names are those that later versions gave them.
    pub fn name(&self) -> &'static str {
        match self.phase {
            0 => "ProbeBW: up",
            1 => "ProbeBW: down",
            _ => "ProbeBW: cruise",
        }
    }
}

impl Bbr {
    /// Starts with any phase but that of the lower gain, so that flows do not probe together.
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let phase = (GAINS.len() - self.state.luck.below(GAINS.len() as u64 - 1) as usize) % GAINS.len();
        self.mode = Mode::ProbeBw(Cycle { phase, since: now });
    }

    /// Section 4.3.4.3: a phase lasts a propagation delay; more, until what the higher gain calls for is in flight or does
    /// not fit; less, if the queue is gone.
    pub(super) fn update_cycle(&mut self, ack: &Ack) {
        let Mode::ProbeBw(cycle) = self.mode else { return };
        let full_length = self.state.min_rtt != Duration::MAX && ack.now.since(cycle.since) > self.state.min_rtt;
        let gain = self.gains().0;
        let before = (ack.pipe + ack.delivered + ack.lost) as f64;
        let in_network = self.in_network(before, ack, gain > 1.0);
        let over = if gain > 1.0 {
            full_length && (ack.lost > 0 || in_network >= self.inflight(gain))
        } else if gain < 1.0 {
            full_length || in_network <= self.inflight(1.0)
        } else {
            full_length
        };
        if over {
            self.mode = Mode::ProbeBw(Cycle { phase: (cycle.phase + 1) % GAINS.len(), since: ack.now });
        }
    }
}
