//! What a host remembers of a path from one connection to the next (temporal sharing, RFC 9040 section 6).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use vazao_congestion::CongestionControl;

/// Slow-start thresholds that ended connections between two hosts have left, by path: pairs of addresses are apart, as in
/// Linux's cache of metrics (`net/ipv4/tcp_metrics.c`, with `tcp_no_metrics_save = 0` and, since 5.6,
/// `tcp_no_ssthresh_metrics_save = 0`). A later connection starts with them. Of that cache the round-trip times, which
/// only bound the first timeout, and reordering are left out.
#[derive(Debug, Default)]
pub struct Metrics {
    thresholds: Mutex<BTreeMap<u16, u64>>,
}

impl Metrics {
    /// Threshold in bytes that a path's former connection left.
    pub fn threshold(&self, path: u16) -> Option<u64> {
        self.thresholds.lock().unwrap_or_else(PoisonError::into_inner).get(&path).copied()
    }

    /// Learns from a connection at its end, by the rules of `tcp_update_metrics`: one that never left slow start says
    /// only that an older threshold was too low; one in congestion avoidance says what its window is; of any other the
    /// window means nothing, and its threshold counts if it is higher.
    pub(super) fn learn(&self, path: u16, control: &dyn CongestionControl, is_open: bool) {
        let (cwnd, ssthresh) = (control.cwnd(), control.ssthresh());
        let mut thresholds = self.thresholds.lock().unwrap_or_else(PoisonError::into_inner);
        let old = thresholds.get(&path).copied();
        let new = if ssthresh == u64::MAX {
            old.map(|old| old.max(cwnd / 2))
        } else if cwnd > ssthresh && is_open {
            Some(ssthresh.max(cwnd / 2))
        } else {
            old.map(|old| old.max(ssthresh))
        };
        thresholds.extend(new.map(|new| (path, new)));
    }
}
