//! Time that a sender was busy, and time that only the receiver's window limited it.

use vazao_engine::{Duration, Time};

/// Sender-limited times as in Linux's `tcp_chrono`, reported as `tcpi_busy_time` and `tcpi_rwnd_limited` (RFC 4898's
/// tcpEStatsPerfSndLimTimeRwin). They change only where the sender finds that it can, or cannot, send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chronograph {
    /// Time with data to send or unacknowledged.
    pub busy: Spell,
    /// Time with data that the congestion window and the pacer admit but the receiver's window does not.
    pub rwnd_limited: Spell,
}

/// Stopwatch: total time that a condition has held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    /// Start of the current interval; never while the condition does not hold.
    since: Time,
    before: Duration,
}

impl Default for Spell {
    fn default() -> Self {
        Spell { since: Time::NEVER, before: Duration::ZERO }
    }
}

impl Spell {
    /// Starts an interval unless one is running.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        if self.since == Time::NEVER {
            self.since = now;
        }
    }

    /// Ends the interval, if one is running.
    #[inline]
    pub fn end(&mut self, now: Time) {
        if self.since != Time::NEVER {
            self.before += now.since(self.since);
            self.since = Time::NEVER;
        }
    }

    /// Total time including the running interval.
    pub fn total(&self, now: Time) -> Duration {
        let mut all = *self;
        all.end(now);
        all.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_add_up() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut spell = Spell::default();
        spell.end(at(5));
        assert_eq!(spell.total(at(7)), Duration::ZERO);
        spell.begin(at(10));
        spell.begin(at(12));
        assert_eq!(spell.total(at(13)), Duration::from_millis(3));
        spell.end(at(20));
        spell.begin(at(30));
        assert_eq!(spell.total(at(31)), Duration::from_millis(11));
    }
}
