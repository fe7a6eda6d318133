//! Receiving half of a connection: reassembly and the receive window.

use super::memory::Memory;
use super::subflow::Subflow;
use crate::common::Reassembly;
use crate::tcp::receiver::SharedMemory;
use std::ops::Range;
use vazao_engine::{Duration, Time};

/// Initial size of an auto-tuned buffer.
const INITIAL_BUFFER: u64 = 256 << 10;

/// Connection-level receive state. Octets count from 0; DATA_FIN occupies the one after the last.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    order: Reassembly,
    /// Octet of the peer's DATA_FIN, once known.
    fin: Option<u64>,
    buffer: u64,
    /// Maximum size of an auto-tuned buffer.
    most: u64,
    edge: u64,
    /// Bytes that had all arrived before.
    pub duplicate_bytes: u64,
    tuning: Option<Tuning>,
    /// Linux's memory in place of a buffer of our own.
    memory: Option<Memory>,
}

/// Receive-buffer auto-tuning. RFC 8684 section 3.3.5 recommends twice the sum of the rates times the longest
/// round-trip time, so that a loss on one path does not stop the others. The buffer holds eight times what was read in
/// such a time, since a sender may double its rate in the next one and the time is measured with shorter queues.
#[derive(Clone, Copy, Debug, Default)]
struct Tuning {
    since: Time,
    from: u64,
}

impl Inbox {
    /// Creates the state of a stream with this buffer, or with one that grows up to `most`.
    pub fn new(buffer: Option<u64>, most: u64) -> Inbox {
        let tuning = buffer.is_none().then(Tuning::default);
        let buffer = buffer.unwrap_or(INITIAL_BUFFER.min(most));
        Inbox {
            order: Reassembly::default(),
            fin: None,
            most,
            buffer,
            edge: 0,
            duplicate_bytes: 0,
            tuning,
            memory: None,
        }
    }

    /// Creates the state of a stream whose subflows choose windows from a memory of Linux's that grows up to `most`.
    pub fn sharing(most: u64) -> Inbox {
        Inbox { tuning: None, memory: Some(Memory::new(most)), ..Inbox::new(None, most) }
    }

    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) {
        let new = self.order.insert(start, end);
        self.duplicate_bytes += end - start - new;
    }

    /// Received data, and how much of it was read.
    pub fn order(&self) -> &Reassembly {
        &self.order
    }

    /// Next octet expected.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.order.next + u64::from(self.is_finished())
    }

    /// Records that octet `fin` is DATA_FIN.
    pub fn finish(&mut self, fin: u64) {
        if self.fin.is_none() && fin >= self.order.next {
            self.fin = Some(fin);
        }
    }

    /// Offset from a subflow's octets to data, if `octet` is its next one to be read and there are no gaps.
    pub fn data_offset(&self, octet: u64) -> Option<u64> {
        (!self.order.has_gap()).then(|| self.order.next.wrapping_sub(octet - 1))
    }

    /// Whether DATA_FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.order.next >= fin)
    }
    /// Whether the application has read everything up to DATA_FIN.
    pub fn is_drained(&self) -> bool {
        self.is_finished() && self.fin == Some(self.order.read)
    }

    /// Returns the window to advertise from `nxt` on, in steps of `step` octets; its right edge never moves back.
    #[inline]
    pub fn window(&mut self, step: u64) -> u64 {
        let edge = self.order.read + self.buffer;
        if edge >= self.edge + step.min(self.buffer / 2) {
            self.edge = edge;
        }
        self.edge.saturating_sub(self.nxt())
    }

    /// Returns the window to advertise where a subflow has chosen `own` from the shared memory, or `None` without one: the
    /// furthest edge of any subflow.
    pub fn furthest_window(&mut self, own: u64) -> Option<u64> {
        self.memory?;
        self.edge = self.edge.max(self.nxt() + own);
        Some(self.edge - self.nxt())
    }

    /// Returns what subflows with segments of this size see of their shared memory.
    pub fn share(&self, segment: u64) -> Option<SharedMemory> {
        self.memory.map(|memory| memory.share(&self.order, segment))
    }

    /// Reads at most `limit` in-order octets; also returns whether to send a window update.
    pub fn take(&mut self, limit: u64, step: u64) -> Option<(Range<u64>, bool)> {
        let range = self.order.take(limit)?;
        let shut = self.edge.saturating_sub(self.nxt()) < step;
        let opens = range.end + self.buffer >= self.edge + step.min(self.buffer / 2);
        Some((range, shut && opens))
    }

    /// Lets the shared memory grow, if there is one.
    pub fn tune_memory(&mut self, now: Time, subflows: &[Subflow]) {
        if let Some(memory) = &mut self.memory {
            self.buffer = memory.tune(now, self.order.read, subflows);
        }
    }

    /// Auto-tunes the buffer; `rtt` is the longest of the paths' round-trip times.
    pub fn tune(&mut self, now: Time, rtt: Duration) {
        let Some(tuning) = &mut self.tuning else { return };
        if rtt == Duration::ZERO || now.since(tuning.since) < rtt {
            return;
        }
        let wanted = 8 * (self.order.read - tuning.from);
        *tuning = Tuning { since: now, from: self.order.read };
        self.buffer = self.buffer.max(wanted.min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_put_in_order_once() {
        let mut inbox = Inbox::new(Some(1000), u64::MAX);
        inbox.insert(100, 200);
        inbox.insert(300, 400);
        assert_eq!(inbox.take(u64::MAX, 1), None);
        inbox.insert(0, 150);
        assert_eq!(inbox.take(u64::MAX, 1), Some((0..200, true)));
        inbox.insert(150, 300);
        assert_eq!((inbox.nxt(), inbox.duplicate_bytes), (400, 100));
        inbox.finish(400);
        assert!(inbox.is_finished() && !inbox.is_drained() && inbox.nxt() == 401);
        assert_eq!(inbox.take(u64::MAX, 1).map(|(range, _)| range), Some(200..400));
        assert!(inbox.is_drained());
    }

    #[test]
    fn the_right_edge_of_the_window_never_moves_back() {
        let mut inbox = Inbox::new(Some(1000), u64::MAX);
        assert_eq!(inbox.window(10), 1000);
        inbox.insert(0, 600);
        assert_eq!(inbox.window(10), 400);
        inbox.insert(600, 1000);
        assert_eq!(inbox.window(10), 0);
        assert_eq!(inbox.take(5, 10), Some((0..5, false)), "a sliver is not worth an acknowledgement");
        assert_eq!(inbox.window(10), 0);
        assert_eq!(inbox.take(5, 10), Some((5..10, true)));
        assert_eq!(inbox.window(10), 10);
    }

    #[test]
    fn the_buffer_grows_with_the_rate() {
        let mut inbox = Inbox::new(None, u64::MAX);
        inbox.insert(0, 200_000);
        inbox.take(u64::MAX, 1);
        inbox.tune(Time::from_nanos(1_000_000), Duration::from_millis(1));
        assert_eq!(inbox.window(1), 1_600_000);
    }
}
