//! Putting the bytes of a stream in order.

use super::RangeSet;
use std::ops::Range;

/// What has arrived of a stream, and how much of it was read.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// The next byte expected: all before it have arrived.
    pub next: u64,
    /// The next byte that the application reads.
    pub read: u64,
    /// What has arrived beyond a gap.
    beyond: RangeSet,
}

impl Reassembly {
    /// Puts bytes `start..end` in their place; returns how many of them had not arrived before.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let start = start.max(self.next);
        if start >= end {
            return 0;
        }
        if start == self.next && self.beyond.is_empty() {
            self.next = end;
            return end - start;
        }
        let mut new = 0;
        self.beyond.insert(start, end, |from, to| new += to - from);
        self.next = self.beyond.take_through(self.next);
        new
    }

    /// Takes all bytes before `end` for arrived and read.
    pub fn skip_to(&mut self, end: u64) {
        self.beyond.clear();
        (self.next, self.read) = (end, end);
    }

    /// Whether something has arrived beyond a gap.
    pub fn has_gap(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Whether everything that has arrived in order was read.
    pub fn is_read(&self) -> bool {
        self.read == self.next
    }

    /// Takes at most `limit` bytes that have arrived in order.
    #[inline]
    pub fn take(&mut self, limit: u64) -> Option<Range<u64>> {
        let start = self.read;
        self.read += (self.next - start).min(limit);
        (self.read > start).then_some(start..self.read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_new_once_and_read_in_order() {
        let mut order = Reassembly::default();
        assert_eq!([order.insert(100, 200), order.insert(300, 400)], [100, 100]);
        assert_eq!((order.take(u64::MAX), order.has_gap()), (None, true));
        assert_eq!([order.insert(0, 150), order.insert(0, 150), order.insert(150, 350)], [100, 0, 100]);
        assert_eq!((order.take(300), order.is_read(), order.has_gap()), (Some(0..300), false, false));
        assert_eq!((order.take(300), order.is_read()), (Some(300..400), true));
    }
}
