//! STARTUP (section 4.3.1): the rate doubles each round trip until the bandwidth does not grow any more, or losses say
//! that more is too much.

use super::{Bbr3, Mode};
use crate::{Ack, RateSample};

/// Whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Whether the pipe was found full once (full_bw_reached).
    pub reached: bool,
    /// Whether the pipe is full now (full_bw_now).
    pub now: bool,
    /// The rate when it last grew by a quarter, and round trips since.
    rate: f64,
    rounds: u32,
    /// Acknowledgements of the round trip under way that showed losses; whether a recovery has lasted one.
    losses: u32,
    recovering: bool,
}

impl FullPipe {
    const THRESHOLD: f64 = 1.25;
    const ROUNDS: u32 = 3;
    /// StartupFullLossCnt.
    const LOSSES: u32 = 6;

    /// Looks for growth from `rate` on.
    pub fn restart(&mut self, rate: f64) {
        (self.now, self.rate, self.rounds) = (false, rate, 0);
    }
}

impl Bbr3 {
    /// Section 4.3.1.2 (BBRCheckFullBWReached), and 4.3.1.3: six losses, in all more than 2 %, in a round trip of a recovery.
    pub(super) fn check_full_pipe(&mut self, ack: &Ack, sample: &RateSample) {
        let (round, too_high, limited) =
            (self.state.rounds.start, self.is_too_high(sample), self.state.is_app_limited(sample));
        let full = &mut self.full_pipe;
        full.losses += u32::from(ack.lost > 0);
        if round {
            let heavy = full.losses >= FullPipe::LOSSES && full.recovering && too_high;
            (full.losses, full.recovering) = (0, ack.in_recovery);
            if heavy && !full.reached {
                full.reached = true;
                self.bounds.inflight_hi = self.state.bdp(self.max_bw(), 1.0).max(self.bounds.inflight_latest());
                return;
            }
        }
        let full = &mut self.full_pipe;
        if full.now || !round || limited {
            return;
        }
        let rate = sample.bytes_per_second();
        if rate >= FullPipe::THRESHOLD * full.rate {
            return full.restart(rate);
        }
        full.rounds += 1;
        full.now = full.rounds >= FullPipe::ROUNDS;
        full.reached |= full.now;
    }

    /// On to DRAIN.
    pub(super) fn check_startup_done(&mut self) {
        if matches!(self.mode, Mode::Startup) && self.full_pipe.reached {
            self.mode = Mode::Drain;
        }
    }
}
