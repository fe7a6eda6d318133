//! How long a sender had something to do, and how long nothing but the receiver's window kept it from that.

use vazao_engine::{Duration, Time};

/// What Linux keeps as `tcp_chrono` and tells as `tcpi_busy_time` and `tcpi_rwnd_limited` (the latter is RFC 4898's
/// tcpEStatsPerfSndLimTimeRwin). Each changes only where the sender finds that it can, or cannot, go on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chronograph {
    /// Something is to be sent, or to be acknowledged.
    pub busy: Spell,
    /// Something is to be sent that the congestion window and the pacer would let out, and the receiver's window does not.
    pub rwnd_limited: Spell,
}

/// How long something has been so in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    /// Since when it has been so this time; never while it is not.
    since: Time,
    before: Duration,
}

impl Default for Spell {
    fn default() -> Self {
        Spell { since: Time::NEVER, before: Duration::ZERO }
    }
}

impl Spell {
    /// It is so, from now on unless it was before.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        if self.since == Time::NEVER {
            self.since = now;
        }
    }

    /// It is not, or not any more.
    #[inline]
    pub fn end(&mut self, now: Time) {
        if self.since != Time::NEVER {
            self.before += now.since(self.since);
            self.since = Time::NEVER;
        }
    }

    /// How long it has been so by now.
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
