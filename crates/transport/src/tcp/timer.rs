//! Timer of a sender: retransmission, zero-window probes, tail loss probes, and RACK's reordering timer.

use super::clock::Clock;
use vazao_engine::{Duration, Time};

/// Purpose that a timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Retransmission, or a zero-window probe.
    Retransmission,
    /// Tail loss probe (TLP).
    LossProbe,
    /// Marking overtaken segments lost (RACK).
    Reordering,
}

/// Timer of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub clock: Clock,
    /// Time of the next expiry.
    pub at: Time,
    pub purpose: Purpose,
    /// Expiry of the retransmission timer, before which it may be set for another purpose.
    pub expiry: Time,
    /// Consecutive retransmission timeouts.
    pub expiries: u32,
    /// Time at which the pacer lets sending go on.
    pub release: Time,
}

impl Timer {
    /// Creates a timer that is not set, with this tick.
    pub fn new(tick: Duration) -> Self {
        Timer {
            clock: Clock::new(tick),
            at: Time::NEVER,
            purpose: Purpose::Retransmission,
            expiry: Time::NEVER,
            expiries: 0,
            release: Time::NEVER,
        }
    }

    /// Whether the timer is set.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.at != Time::NEVER
    }

    /// Sets the retransmission timer to `span` from `now`.
    #[inline]
    pub fn set(&mut self, now: Time, span: Duration) {
        self.set_to(self.clock.expiry(now, span));
    }

    /// Sets the retransmission timer to a time.
    #[inline]
    pub fn set_to(&mut self, at: Time) {
        (self.at, self.expiry, self.purpose) = (at, at, Purpose::Retransmission);
    }

    /// Lets the timer expire earlier for a tail loss probe, `wait` from `now`.
    #[inline]
    pub fn set_for_probe(&mut self, now: Time, wait: Duration) {
        self.at = self.expiry.min(self.clock.expiry(now, wait));
        self.purpose = Purpose::LossProbe;
    }

    /// Lets the timer expire earlier for segments that may only be reordered, `wait` from `now`.
    pub fn set_for_reordering(&mut self, now: Time, wait: Duration) {
        let at = self.clock.expiry(now, wait);
        if at < self.at || self.purpose == Purpose::Reordering {
            (self.at, self.purpose) = (at, Purpose::Reordering);
        }
    }

    /// Stops the timer.
    #[inline]
    pub fn stop(&mut self) {
        self.at = Time::NEVER;
    }
}
