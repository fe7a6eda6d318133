//! The clock by which a host counts its timers.

use vazao_engine::{Duration, Time};

/// Exact, or as Linux counts: a span is rounded up to ticks (jiffies, 1/HZ of a second) and counted from the last tick;
/// and as a timer must not expire early, it does with the tick after that (kernel/time/timer.c). So it is up to two ticks
/// late. Far timers wait together, and are up to an eighth of their span later: which ones do depends on when the host was
/// booted, here a second before time 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Nanoseconds; zero for an exact clock.
    tick: u64,
}

/// The wheel's buckets: nearer than 63 ticks each is one tick, and eight times as wide for each eight times as far.
const NEAR: u64 = 63;
const WIDER: u64 = 8;
/// A host counts in 32 bits from five minutes before zero (INITIAL_JIFFIES), so that its timers are seen to survive that.
const BEFORE_ZERO: u64 = 299_000_000_000;

impl Clock {
    /// One that ticks so often; at zero, exact.
    pub fn new(tick: Duration) -> Self {
        Clock { tick: tick.as_nanos() }
    }

    /// When a timer expires that is set at `now` for `span`.
    #[inline]
    pub fn expiry(self, now: Time, span: Duration) -> Time {
        if self.tick == 0 { now + span } else { self.wheel(now, span) }
    }

    /// How many ticks lie between two times, as a span.
    pub fn between(self, earlier: Time, now: Time) -> Duration {
        if self.tick == 0 {
            return now.since(earlier);
        }
        Duration::from_nanos((now.as_nanos() / self.tick - earlier.as_nanos() / self.tick) * self.tick)
    }

    /// Half of a span, in whole ticks.
    pub fn half(self, span: Duration) -> Duration {
        let unit = self.tick.max(1);
        Duration::from_nanos(span.as_nanos() / unit / 2 * unit)
    }

    fn wheel(self, now: Time, span: Duration) -> Time {
        let count = span.as_nanos().div_ceil(self.tick).max(1);
        let booted = (1 << 32) - BEFORE_ZERO / self.tick;
        let due = now.as_nanos() / self.tick + count + booted;
        let mut bucket = 1;
        while count >= NEAR * bucket {
            bucket *= WIDER;
        }
        Time::from_nanos(((due / bucket + 1).saturating_mul(bucket) - booted).saturating_mul(self.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Duration {
        Duration::from_millis(t)
    }

    /// calc_wheel_index in kernel/time/timer.c, at 100 Hz: from 175 ms on 11 ms are two ticks after the 17th, and one.
    #[test]
    fn timers_expire_as_in_linux() {
        let clock = Clock::new(ms(10));
        let at = |now, span| clock.expiry(Time::ZERO + ms(now), ms(span)).since(Time::ZERO);
        assert_eq!(at(175, 11), ms(200));
        assert_eq!(at(170, 10), ms(190));
        assert_eq!(at(0, 620), ms(630));
        // 63 ticks and more wait for a multiple of eight, 504 for one of 64. Time 0 is 2^32 - 29 900, twelve before one.
        assert_eq!(at(0, 630), ms(680));
        assert_eq!(at(10, 1_000), ms(1_080));
        assert_eq!(at(0, 5_040), ms(5_240));
        // A guest's first SYN again, by its capture.
        assert_eq!(at(100, 1_000), ms(1_160));
    }

    /// Jiffies are integers: what a timer is computed from loses its parts of a tick.
    #[test]
    fn spans_count_in_whole_ticks() {
        let clock = Clock::new(ms(10));
        let at = |now| Time::ZERO + ms(now);
        assert_eq!(clock.between(at(19), at(21)), ms(10));
        assert_eq!(clock.between(at(20), at(29)), Duration::ZERO);
        assert_eq!(clock.half(ms(50)), ms(20));
        assert_eq!(clock.half(ms(44)), ms(20));
    }

    #[test]
    fn an_exact_clock_adds_nothing() {
        let now = Time::ZERO + Duration::from_micros(175_432);
        let exact = Clock::new(Duration::ZERO);
        assert_eq!(exact.expiry(now, ms(11)), now + ms(11));
        assert_eq!(exact.between(Time::ZERO, now), Duration::from_micros(175_432));
        assert_eq!(exact.half(ms(11)), Duration::from_micros(5_500));
    }
}
