//! Reason why a connection sends nothing more.

use super::*;
use crate::common::Limit;

impl Connection {
    /// Reason why nothing more is sent `now`. Data waits at the connection, which hands it to a subflow that has room.
    pub fn limit(&self, now: Time) -> Limit {
        if self.failure.is_some() || self.outbox.is_finished() {
            return Limit::Done;
        }
        if self.stats.established.is_none() {
            return Limit::Handshake;
        }
        if self.mode == Mode::Fallback {
            return self.subflows[0].tcp.limit();
        }
        let reinjects = self.outbox.next_reinjection().is_some();
        if self.outbox.waiting() == 0 && !reinjects {
            return self.limit_of_given();
        }
        if self.outbox.room() == 0 && !reinjects {
            return Limit::ConnectionWindow;
        }
        if self.overview.with_room != 0 {
            return Limit::Scheduler;
        }
        let usable = self.overview.views.iter().zip(&self.subflows).filter(|(view, _)| view.usable);
        let fastest = usable.min_by_key(|(view, _)| view.srtt);
        // Without a usable subflow, one has to answer again, or to be given up.
        fastest.map_or(Limit::Timeout, |(_, subflow)| subflow.tcp.window_limit(now))
    }

    /// Limit while subflows have everything that was written: a window that keeps a retransmission back, or none.
    fn limit_of_given(&self) -> Limit {
        let mut limits = self.subflows.iter().filter(|subflow| subflow.is_open()).map(|subflow| subflow.tcp.limit());
        match limits.find(|limit| limit.is_window()) {
            Some(limit) => limit,
            None if self.lacks_buffer => Limit::SendBuffer,
            None => Limit::Application,
        }
    }

    /// Number of retransmission and probe timeouts of its subflows.
    pub fn expiries(&self) -> u64 {
        self.subflows.iter().map(|subflow| subflow.tcp.expiries()).sum()
    }
}
