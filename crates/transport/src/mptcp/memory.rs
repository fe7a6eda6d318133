//! Receive memory that the subflows of a connection share, as in Linux.

use super::subflow::Subflow;
use crate::common::Reassembly;
use crate::tcp::receiver::{RightSizing, SharedMemory};
use vazao_engine::{Duration, Time};

/// Receive memory of a connection in Linux (net/mptcp/protocol.c): each subflow chooses a window from what is left of it,
/// which grows as TCP's does (`__tcp_select_window`), and the furthest edge of all is the connection's
/// (`mptcp_set_rwin`). The memory grows with what the application reads in the longest of the subflows' round-trip times
/// (`mptcp_rcv_space_adjust`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    size: u64,
    most: u64,
    sizing: Option<RightSizing>,
}

/// Initial size (the default of `tcp_rmem`).
const INITIAL: u64 = 128 << 10;
/// Segments that the application is taken to have read in a round trip before the first one.
const FIRST_SEGMENTS: u64 = 10;

impl Memory {
    /// Creates a memory that grows up to `most`.
    pub fn new(most: u64) -> Memory {
        Memory { size: INITIAL.min(most), most, sizing: None }
    }

    /// Grows with what was read; returns how many octets it holds.
    pub fn tune(&mut self, now: Time, read: u64, subflows: &[Subflow]) -> u64 {
        let open = subflows.iter().filter(|subflow| subflow.is_open()).map(|subflow| subflow.tcp.shared_measures());
        let most = |one: (Duration, u64, u64), other: (Duration, u64, u64)| {
            (one.0.max(other.0), one.1.max(other.1), one.2.min(other.2))
        };
        let Some((rtt, advertised, ratio)) = open.reduce(most) else { return 0 };
        let sizing = self.sizing.get_or_insert(RightSizing::new(0, FIRST_SEGMENTS * advertised));
        if let Some(wanted) = sizing.measure(now, rtt, read, advertised) {
            self.size = self.size.max((wanted.saturating_mul(256) / ratio).min(self.most));
        }
        self.size.saturating_mul(ratio) >> 8
    }

    /// Returns what a subflow with segments of this size sees of it.
    pub fn share(&self, order: &Reassembly, segment: u64) -> SharedMemory {
        let beyond: u64 = order.beyond().map(|range| range.end - range.start).sum();
        let unread = (order.next - order.read).div_ceil(segment);
        SharedMemory { size: self.size, unread, beyond: beyond.div_ceil(segment) }
    }
}
