//! Reason why an association sends nothing more.

use super::*;
use crate::common::Limit;

impl Association {
    /// Reason why nothing more is sent now.
    pub fn limit(&self, _now: Time) -> Limit {
        match self.state {
            State::Closed if self.failure.is_some() || self.was_open || self.closing => Limit::Done,
            State::Closed | State::CookieWait | State::CookieEchoed => Limit::Handshake,
            _ if self.tx.is_drained() && self.closing => Limit::Done,
            _ => self.tx.limit(),
        }
    }

    /// Number of expiries of T3-rtx.
    pub fn expiries(&self) -> u64 {
        self.sum(|path| path.timeouts)
    }
}
