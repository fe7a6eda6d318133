//! Token buckets (Linux's long-term bandwidth): two stretches in a row with heavy losses and the same throughput are the
//! work of a policer, and its rate is what they had (Flach et al., *An Internet-wide analysis of traffic policing*,
//! SIGCOMM 2016).

use super::{Bbr, Mode};
use crate::Ack;
use vazao_engine::Time;

/// State of a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The throughput of the last stretch in bytes a second, zero before the first; whether it is a policer's.
    rate: f64,
    found: bool,
    /// Whether a stretch is under way: when it began, what was delivered and lost before, and its round trips.
    sampling: bool,
    start: (Time, u64, u64),
    rounds: u32,
    /// Bytes lost in all.
    lost: u64,
}

impl Policer {
    /// Round trips that a stretch has at least; four times as many at most.
    const SHORTEST: u32 = 4;
    /// Lost to delivered, above which a stretch counts (bbr_lt_loss_thresh: 50 / 256).
    const LOSSY: f64 = 50.0 / 256.0;
    /// Rates are the same that differ by an eighth, or by 4 kbit/s.
    const SAME_PART: f64 = 0.125;
    const SAME_RATE: f64 = 500.0;
    /// Round trips for which a policer's rate is kept.
    const KEPT: u32 = 48;

    /// Returns a policer's rate, if there is one.
    pub fn rate(&self) -> Option<f64> {
        self.found.then_some(self.rate)
    }

    /// Forgets everything; so much is delivered now.
    pub fn reset(&mut self, now: Time, delivered: u64) {
        *self = Policer { lost: self.lost, ..Policer::default() };
        self.begin(now, delivered);
    }

    fn begin(&mut self, now: Time, delivered: u64) {
        (self.start, self.rounds) = ((now, delivered, self.lost), 0);
    }

    /// Ends a stretch of this throughput.
    fn end(&mut self, now: Time, delivered: u64, rate: f64) {
        let difference = (rate - self.rate).abs();
        let same = difference <= Self::SAME_PART * self.rate || difference <= Self::SAME_RATE;
        if self.rate > 0.0 && same {
            (self.rate, self.found, self.rounds) = ((rate + self.rate) / 2.0, true, 0);
        } else {
            self.rate = rate;
            self.begin(now, delivered);
        }
    }
}

impl Bbr {
    /// Takes an acknowledgement, or a timeout as one that shows a loss.
    pub(super) fn sample_policer(&mut self, ack: &Ack, app_limited: bool) {
        let (now, delivered, round) = (ack.now, self.state.delivered, self.state.rounds.start);
        let policer = &mut self.policer;
        policer.lost += ack.lost;
        if policer.found {
            if matches!(self.mode, Mode::ProbeBw(_)) && round {
                policer.rounds += 1;
                if policer.rounds >= Policer::KEPT {
                    policer.reset(now, delivered);
                    self.enter_probe_bw(now);
                }
            }
            return;
        }
        if !policer.sampling {
            // The first loss shows that the bucket is empty.
            if ack.lost == 0 {
                return;
            }
            policer.begin(now, delivered);
            policer.sampling = true;
        }
        if app_limited {
            return policer.reset(now, delivered);
        }
        policer.rounds += u32::from(round);
        if policer.rounds > 4 * Policer::SHORTEST {
            return policer.reset(now, delivered);
        }
        // It ends with a loss, when the bucket is empty again.
        if policer.rounds < Policer::SHORTEST || ack.lost == 0 {
            return;
        }
        let (start, before, lost_before) = policer.start;
        let (got, lost) = ((delivered - before) as f64, (policer.lost - lost_before) as f64);
        let seconds = now.since(start).as_secs();
        if got > 0.0 && lost >= Policer::LOSSY * got && seconds >= 1e-3 {
            policer.end(now, delivered, got / seconds);
        }
    }
}
