//! Pacing: data leaves no faster than a rate.

use vazao_engine::{Duration, Rate, Time};

/// Spreads transmissions over time: after `bytes` have left, nothing leaves for as long as they take at the rate. It
/// knows no protocol and no window; the sender asks [`is_open`](Pacer::is_open) and reports [what it
/// sent](Pacer::on_sent).
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// Earliest time of the next transmission, except for the rest of a burst.
    release: Time,
    /// Start of the current burst and the bytes of it that may still leave at that time.
    burst: (Time, u64),
    /// How late the burst began, less what has been made up for.
    late: Duration,
}

/// Pacing settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Long-term sending rate.
    pub rate: Rate,
    /// Bytes sent back to back before a pause; zero: pace every packet.
    pub quantum: u64,
    /// Whether a burst that begins late shortens the pause after it, by half at most, as in Linux.
    pub catches_up: bool,
}

impl Pacer {
    /// Whether a packet may leave now.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.release <= now || (self.burst.0 == now && self.burst.1 > 0)
    }

    /// Returns the earliest time of the next transmission; now or in the past if pacing does not delay it.
    #[inline]
    pub fn release(&self) -> Time {
        self.release
    }

    /// Records that a packet of `bytes` leaves.
    pub fn on_sent(&mut self, now: Time, bytes: u64, spread: &Spread) {
        if self.release <= now {
            self.late =
                if spread.catches_up && self.release > Time::ZERO { now.since(self.release) } else { Duration::ZERO };
            self.burst = (now, spread.quantum);
            self.release = now;
        }
        self.burst.1 = self.burst.1.saturating_sub(bytes);
        let pause = spread.rate.time_for(bytes);
        let made_up = self.late.min(pause / 2);
        self.late = self.late.saturating_sub(made_up);
        self.release = self.release.saturating_add(pause.saturating_sub(made_up));
    }

    /// Drops the pause after a completed burst.
    pub fn skip_pause(&mut self, now: Time) {
        if self.burst.1 == 0 {
            self.release = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes a millisecond.
    const PLAIN: Spread = Spread { rate: Rate::from_bps(8_000_000), quantum: 0, catches_up: false };

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn packets_leave_at_the_rate() {
        let mut pacer = Pacer::default();
        for ms in 0..10 {
            assert!(pacer.is_open(at(ms)));
            pacer.on_sent(at(ms), 1000, &PLAIN);
            assert!(!pacer.is_open(at(ms)));
            assert_eq!(pacer.release(), at(ms + 1));
        }
    }

    /// Idle time earns no credit for a burst.
    #[test]
    fn idle_time_earns_nothing() {
        let mut pacer = Pacer::default();
        pacer.on_sent(at(100), 1000, &PLAIN);
        assert_eq!(pacer.release(), at(101));
    }

    /// A quantum of three packets: they leave together, followed by the pause for all three.
    #[test]
    fn a_burst_pauses_for_all_of_it() {
        let mut pacer = Pacer::default();
        let spread = Spread { quantum: 3000, ..PLAIN };
        for _ in 0..3 {
            assert!(pacer.is_open(at(5)));
            pacer.on_sent(at(5), 1000, &spread);
        }
        assert!(!pacer.is_open(at(5)));
        assert_eq!(pacer.release(), at(8));
    }

    /// Credit for the rest of a burst is lost if it is not used at once.
    #[test]
    fn a_burst_ends_with_its_instant() {
        let mut pacer = Pacer::default();
        pacer.on_sent(at(5), 1000, &Spread { quantum: 3000, ..PLAIN });
        assert!(!pacer.is_open(Time::from_nanos(5_000_001)));
        assert!(pacer.is_open(at(6)));
    }

    /// Linux's tcp_update_skb_after_send: lateness shortens the pause by half at most.
    #[test]
    fn lateness_shortens_a_pause_by_half_at_most() {
        let spread = Spread { quantum: 2000, catches_up: true, ..PLAIN };
        for (late_us, paused_us) in [(0, 2000), (400, 1600), (900, 1100), (5000, 1000)] {
            let mut pacer = Pacer::default();
            pacer.on_sent(at(0), 1000, &PLAIN);
            let now = at(1) + Duration::from_micros(late_us);
            (0..2).for_each(|_| pacer.on_sent(now, 1000, &spread));
            assert_eq!(pacer.release(), now + Duration::from_micros(paused_us), "{late_us} us late");
        }
    }
}
