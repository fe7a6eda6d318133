//! Aggregation of acknowledgements in bursts.

use vazao_engine::{Duration, Time};

/// The most that was acknowledged beyond what the bandwidth explains, over five to ten round trips (Linux's
/// `bbr_update_ack_aggregation`; draft-ietf-ccwg-bbr section 5.5.9): so much more may be in flight, lest the sender fall
/// silent between two bursts of acknowledgements. In bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregation {
    /// Time at which the epoch began in which acknowledgements outran the bandwidth, and what was acknowledged in it.
    epoch: Time,
    acked: f64,
    /// The greatest excess of the five round trips under way and of the five before, how many have passed.
    extra: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Round trips after which the older half of the window is forgotten.
    const ROUNDS: u32 = 5;
    /// An excess that takes the bandwidth longer than this is none.
    const LONGEST: Duration = Duration::from_millis(100);

    /// Returns the greatest excess, at most what `bandwidth` carries in a tenth of a second.
    pub fn extra(&self, bandwidth: f64) -> f64 {
        self.extra[0].max(self.extra[1]).min(bandwidth * Self::LONGEST.as_secs())
    }

    /// `acked` bytes were acknowledged at `now`, beyond none or some that `bandwidth` explains; `round`: a round trip begins.
    pub fn update(&mut self, now: Time, acked: f64, bandwidth: f64, cwnd: f64, round: bool) {
        if round {
            self.rounds += 1;
            if self.rounds >= Self::ROUNDS {
                self.rounds = 0;
                self.extra = [0.0, self.extra[0]];
            }
        }
        let mut expected = bandwidth * now.since(self.epoch).as_secs();
        if self.acked <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += acked;
        self.extra[0] = self.extra[0].max((self.acked - expected).min(cwnd));
    }

    /// Sending goes on after silence, or acknowledgements come no faster than expected.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// One megabyte a second, acknowledged 10 kB each 10 ms: the excess is a burst.
    #[test]
    fn bursts_are_seen_and_forgotten() {
        let mut aggregation = Aggregation::default();
        for burst in 1..20 {
            aggregation.update(at(10 * burst), 10_000.0, 1e6, 1e9, false);
        }
        assert_eq!(aggregation.extra(1e6), 10_000.0);
        // Smooth from then on and a little slower, which the burst outlasts by a tenth of a second; a round trip each 10 ms.
        for ms in 1..=300 {
            aggregation.update(at(190 + ms), 900.0, 1e6, 1e9, ms % 10 == 0);
        }
        assert_eq!(aggregation.extra(1e6), 900.0);
    }

    /// A tenth of a second's worth at most.
    #[test]
    fn an_excess_has_bounds() {
        let mut aggregation = Aggregation::default();
        aggregation.update(at(10), 1e9, 1e6, 5e5, false);
        assert_eq!(aggregation.extra(1e6), 1e5);
        assert_eq!(aggregation.extra(1e9), 5e5);
    }
}
