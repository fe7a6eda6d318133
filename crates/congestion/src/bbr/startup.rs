//! STARTUP (section 4.3.2): the rate doubles each round trip until the bandwidth does not grow any more.

use super::{Bbr, Mode};
use crate::Ack;

/// Whether the pipe is full (section 4.3.2.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub reached: bool,
    /// The bandwidth when it last grew by a quarter, and round trips since.
    bandwidth: f64,
    rounds: u32,
}

impl FullPipe {
    /// Growth that counts, and how many round trips without are enough: in the first a larger receive window may be on its
    /// way, the second fills it, and the third measures that.
    const THRESHOLD: f64 = 1.25;
    const ROUNDS: u32 = 3;

    /// Looks for growth anew, unless the pipe was found full before.
    pub fn forget(&mut self) {
        (self.bandwidth, self.rounds) = (0.0, 0);
    }

    /// Lowers what growth is measured from.
    pub fn forget_bandwidth(&mut self) {
        self.bandwidth = 0.0;
    }
}

impl Bbr {
    /// Once a round trip that the application did not limit.
    pub(super) fn check_full_pipe(&mut self, ack: &Ack) {
        let limited = ack.rate.is_some_and(|sample| self.state.is_app_limited(&sample));
        if self.full_pipe.reached || !self.state.rounds.start || limited {
            return;
        }
        let (bandwidth, full) = (self.bandwidth.get(), &mut self.full_pipe);
        if bandwidth >= FullPipe::THRESHOLD * full.bandwidth {
            (full.bandwidth, full.rounds) = (bandwidth, 0);
            return;
        }
        full.rounds += 1;
        full.reached = full.rounds >= FullPipe::ROUNDS;
    }

    /// Returns from PROBE_RTT.
    pub(super) fn resume(&mut self, now: vazao_engine::Time) {
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
