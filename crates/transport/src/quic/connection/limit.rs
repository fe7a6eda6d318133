//! Reason why a connection sends nothing more.

use super::outgoing::MIN_ROOM;
use super::*;
use crate::common::Limit;

impl Connection {
    /// Reason why nothing more is sent `now`.
    pub fn limit(&self, now: Time) -> Limit {
        if self.life != Life::Open {
            return Limit::Done;
        }
        if self.stats.ready.is_none() || self.paths.iter().all(|path| path.allowance() < MIN_ROOM) {
            return Limit::Handshake;
        }
        if self.has_content() { self.limit_of_paths(now) } else { self.limit_of_streams() }
    }

    /// Number of probe timeouts.
    pub fn expiries(&self) -> u64 {
        self.stats.probes
    }

    /// Limit of data that flow control admits.
    fn limit_of_paths(&self, now: Time) -> Limit {
        let is_paced = |path: &Path| self.paces() && !path.is_released(now);
        let open = || self.paths.iter().filter(|path| self.is_open(path));
        if open().any(|path| path.has_window() && !is_paced(path)) {
            return Limit::Scheduler;
        }
        let fastest = open().min_by_key(|path| path.recovery.rtt.srtt());
        match fastest {
            Some(path) if path.has_window() => Limit::Pacing,
            Some(path) => Limit::of_window(path.control.in_slow_start(), path.cut_at.is_some()),
            // Some path has to answer again.
            None => Limit::Timeout,
        }
    }

    /// Limit where nothing is ready: the peer's limit of a stream or of the connection, unless everything written is sent.
    fn limit_of_streams(&self) -> Limit {
        let mut blocked = self.streams.map.values().filter(|stream| stream.out.has_unsent());
        let Some(stream) = blocked.next() else { return Limit::Application };
        let is_own = |stream: &StreamState| stream.out.sent == stream.peer_limit;
        if is_own(stream) && blocked.all(is_own) { Limit::ReceiveWindow } else { Limit::ConnectionWindow }
    }
}
