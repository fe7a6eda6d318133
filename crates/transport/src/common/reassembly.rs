//! Reassembly of a byte stream.

use super::RangeSet;
use std::ops::Range;

/// Received data of a stream and how much of it was read.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// Next byte expected: all bytes before it have arrived.
    pub next: u64,
    /// Next byte that the application reads.
    pub read: u64,
    /// Data received beyond a gap.
    beyond: RangeSet,
}

impl Reassembly {
    /// Inserts bytes `start..end`; returns how many of them are new.
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

    /// Treats all bytes before `end` as received and read.
    pub fn skip_to(&mut self, end: u64) {
        self.beyond.clear();
        (self.next, self.read) = (end, end);
    }

    /// Whether there is data beyond a gap.
    pub fn has_gap(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Data received beyond a gap.
    pub fn beyond(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.beyond.iter().map(|(start, end)| start..end)
    }

    /// Whether all in-order data was read.
    pub fn is_read(&self) -> bool {
        self.read == self.next
    }

    /// Takes at most `limit` bytes of in-order data.
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
