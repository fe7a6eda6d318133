//! Granularity of a host's timers.

use vazao_engine::{Duration, Time};

/// Exact timers, or timers as in Linux. There a timeout is rounded up to ticks (jiffies, 1/HZ of a second) and counted
/// from the last tick, and the timer expires with the tick after that so as not to be early (kernel/time/timer.c). A
/// timer is thus up to two ticks late. Distant timers are batched and up to an eighth of their timeout later; which
/// ones depends on the time of boot, here a second before time 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Tick in nanoseconds; zero for exact timers.
    tick: u64,
}

/// Timer wheel: the first 63 buckets are one tick wide, and each level is eight times coarser than the one before.
const NEAR: u64 = 63;
const WIDER: u64 = 8;
/// Linux starts its 32-bit jiffies counter five minutes before it wraps (INITIAL_JIFFIES).
const BEFORE_ZERO: u64 = 299_000_000_000;

impl Clock {
    /// Creates a clock with this tick; zero means exact.
    pub fn new(tick: Duration) -> Self {
        Clock { tick: tick.as_nanos() }
    }

    /// Returns the expiry time of a timer set at `now` for `span`.
    #[inline]
    pub fn expiry(self, now: Time, span: Duration) -> Time {
        if self.tick == 0 { now + span } else { self.wheel(now, span) }
    }

    /// Returns the whole ticks between two times, as a duration.
    pub fn between(self, earlier: Time, now: Time) -> Duration {
        if self.tick == 0 {
            return now.since(earlier);
        }
        Duration::from_nanos((now.as_nanos() / self.tick - earlier.as_nanos() / self.tick) * self.tick)
    }

    /// Returns half of the whole ticks of a span; of an exact clock, half of its nanoseconds.
    pub fn half(self, span: Duration) -> Duration {
        if self.tick == 0 {
            return span / 2;
        }
        Duration::from_nanos(span.as_nanos() / self.tick / 2 * self.tick)
    }

    fn wheel(self, now: Time, span: Duration) -> Time {
        let count = span.as_nanos().div_ceil(self.tick);
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

    /// calc_wheel_index in kernel/time/timer.c, at 100 Hz: a timeout of 11 ms set at 175 ms expires two ticks plus one
    /// after the 17th.
    #[test]
    fn timers_expire_as_in_linux() {
        let clock = Clock::new(ms(10));
        let at = |now, span| clock.expiry(Time::ZERO + ms(now), ms(span)).since(Time::ZERO);
        assert_eq!(at(175, 11), ms(200));
        assert_eq!(at(170, 10), ms(190));
        assert_eq!(at(0, 620), ms(630));
        // One that is due at once expires with the next tick.
        assert_eq!(at(175, 0), ms(180));
        // 63 ticks and more round up to a multiple of 8, 504 to one of 64. Time 0 is 2^32 - 29 900, twelve before one.
        assert_eq!(at(0, 630), ms(680));
        assert_eq!(at(10, 1_000), ms(1_080));
        assert_eq!(at(0, 5_040), ms(5_240));
        // A guest's SYN retransmission, from its packet capture.
        assert_eq!(at(100, 1_000), ms(1_160));
    }

    /// Jiffies are integers: values that timeouts are computed from lose fractions of a tick.
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
