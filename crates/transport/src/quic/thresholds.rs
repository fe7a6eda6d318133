//! Thresholds beyond which a packet that others have overtaken is lost (RFC 9002 section 6.1), and how they adapt.

use super::config::{Config, Reordering};
use vazao_engine::Duration;

/// Largest part of a round-trip time, in thousandths, that the time threshold grows to: two, as Chromium's, whose part
/// beyond one is never more than all of it.
const MOST_TIME: u64 = 2_000;

/// Thresholds of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    /// kPacketThreshold: later packets, one of them acknowledged, that make a packet lost.
    pub packets: u64,
    /// kTimeThreshold in thousandths: round-trip times after which a packet is lost.
    time: u64,
    adapts: bool,
}

impl Thresholds {
    pub fn new(config: &Config) -> Thresholds {
        Thresholds {
            packets: config.packet_threshold,
            time: (config.time_threshold * 1000.0) as u64,
            adapts: config.reordering == Reordering::Adaptive,
        }
    }

    /// Time after which a packet is lost with this round-trip time.
    #[inline]
    pub fn delay(&self, rtt: Duration) -> Duration {
        rtt * self.time / 1000
    }

    /// Learns that a packet `age` old arrived after all, although one sent `distance` later had been acknowledged
    /// before: both thresholds grow so far that the like will not be lost again. RFC 9002 sections 6.1.1 and 6.1.2 leave
    /// that to implementations. The packet threshold grows as in Chromium's `GeneralLossAlgorithm`, and what the
    /// time threshold allows beyond a round trip doubles as that of its adaptive time threshold, until it
    /// is a round trip itself.
    pub fn on_late(&mut self, distance: u64, age: Duration, rtt: Duration) {
        if !self.adapts {
            return;
        }
        self.packets = self.packets.max(distance + 1);
        while self.time < MOST_TIME && self.delay(rtt) < age {
            self.time = (1000 + 2 * (self.time - 1000).max(1)).min(MOST_TIME);
        }
    }
}

impl Default for Thresholds {
    /// kPacketThreshold and kTimeThreshold of RFC 9002, which do not adapt.
    fn default() -> Thresholds {
        Thresholds { packets: 3, time: 1_125, adapts: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// RFC 9002 section 6.1.2: 9/8 of the round-trip time, 90 ms of 80.
    #[test]
    fn a_fixed_threshold_stays() {
        let mut thresholds = Thresholds::default();
        assert_eq!((thresholds.packets, thresholds.delay(ms(80))), (3, ms(90)));
        thresholds.on_late(40, ms(1_000), ms(80));
        assert_eq!((thresholds.packets, thresholds.delay(ms(80))), (3, ms(90)));
    }

    /// The part beyond a round trip doubles, 1/8, 1/4, 1/2, until the packet would not have been lost; a whole round trip
    /// is the most. A packet nearer than the threshold changes nothing.
    #[test]
    fn adaptive_thresholds_grow_as_far_as_they_must() {
        let mut thresholds = Thresholds { adapts: true, ..Thresholds::default() };
        for (distance, age, packets, delay) in
            [(2, 85, 3, 90), (7, 91, 8, 100), (5, 101, 8, 120), (12, 121, 13, 160), (12, 1_000, 13, 160)]
        {
            thresholds.on_late(distance, ms(age), ms(80));
            assert_eq!((thresholds.packets, thresholds.delay(ms(80))), (packets, ms(delay)), "{age} ms");
        }
    }
}
