//! The sending half of a connection: what of its data was sent, what is to be sent again, and what the receiver admits.
//!
//! Octets count from 0, in 64 bits; DATA_FIN occupies the one after the last.

use crate::common::RangeSet;
use std::collections::VecDeque;

/// A part of the data, of one segment at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub start: u64,
    pub length: u32,
    /// The subflows that have sent it.
    pub tried: u64,
}

impl Piece {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// What was written, and what became of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    /// The first octet not acknowledged by DATA_ACKs.
    pub una: u64,
    /// Everything before this was given to a subflow.
    pub nxt: u64,
    /// What was, beyond it.
    ahead: RangeSet,
    /// One beyond the last octet written.
    pub end: u64,
    /// The application has closed: octet `end` is DATA_FIN.
    pub closing: bool,
    /// One beyond the last octet that the receiver admits, and the largest window it ever had.
    pub edge: u64,
    pub window: u64,
    /// What a subflow may have lost and others are to send, in order.
    again: VecDeque<Piece>,
}

impl Outbox {
    /// What waits to be sent for the first time.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.end - self.nxt
    }
    /// One beyond the last octet that was given to a subflow.
    pub fn sent_end(&self) -> u64 {
        self.nxt.max(self.ahead.end())
    }
    /// What the receiver has room for beyond all that was sent.
    #[inline]
    pub fn room(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }
    /// Whether everything, DATA_FIN too, was acknowledged.
    pub fn is_finished(&self) -> bool {
        self.closing && self.una > self.end
    }
    /// Whether the application has closed and a subflow has all that it has written.
    pub fn is_all_given(&self) -> bool {
        self.closing && self.nxt == self.end
    }
    /// Whether DATA_FIN is all there is left to send.
    pub fn is_fin_due(&self) -> bool {
        self.is_all_given() && self.una <= self.end
    }

    /// Everything before `una` has arrived; from there on the receiver admits `window` octets. Whether that is news.
    #[inline]
    pub fn acknowledge(&mut self, una: u64, window: u64) -> bool {
        if una > self.end + u64::from(self.closing) {
            return false; // Of what was never sent.
        }
        let edge = una + window;
        let news = una > self.una || edge > self.edge;
        self.una = self.una.max(una);
        self.edge = self.edge.max(edge);
        self.window = self.window.max(window);
        while self.again.front().is_some_and(|piece| piece.end() <= self.una) {
            self.again.pop_front();
        }
        news
    }

    /// The next `most` octets at most to be sent for the first time, after `skip` are left out. `None`: nothing may be sent.
    #[inline]
    pub fn next_new(&mut self, most: u64, skip: u64) -> Option<Piece> {
        let mut start = self.nxt;
        let mut limit = self.end.min(self.edge);
        if skip > 0 || !self.ahead.is_empty() {
            // What lies ahead and was sent already is not counted.
            let mut left = skip;
            for (from, to) in self.ahead.iter() {
                let gap = from - start;
                if gap > left {
                    break;
                }
                (start, left) = (to, left - gap);
            }
            start = start.saturating_add(left);
            limit = self.ahead.first_beyond(start).map_or(limit, |(from, _)| limit.min(from));
        }
        // Whole segments alone, but for the last one.
        let length = most.min(limit.saturating_sub(start));
        (length > 0).then_some(Piece { start, length: length as u32, tried: 0 })
    }

    /// A piece that [`next_new`](Self::next_new) offered was taken.
    #[inline]
    pub fn take_new(&mut self, piece: &Piece) {
        if piece.start > self.nxt {
            self.ahead.insert(piece.start, piece.end(), |_, _| {});
            return;
        }
        self.nxt = self.ahead.take_through(piece.end());
    }

    /// A piece is to be sent again, if it is still missing.
    pub fn send_again(&mut self, piece: Piece) {
        let start = piece.start.max(self.una);
        if start >= piece.end() {
            return;
        }
        let at = self.again.partition_point(|known| known.start < start);
        match self.again.get_mut(at) {
            Some(known) if known.start == start => {
                known.tried |= piece.tried;
                known.length = known.length.max((piece.end() - start) as u32);
            }
            _ => self.again.insert(at, Piece { start, length: (piece.end() - start) as u32, tried: piece.tried }),
        }
    }

    /// What is to be sent again first.
    #[inline]
    pub fn next_again(&self) -> Option<Piece> {
        self.again.front().copied()
    }
    /// It is sent, as far as `length` goes.
    pub fn take_again(&mut self, length: u32) {
        if let Some(first) = self.again.front_mut() {
            first.start += u64::from(length);
            first.length -= length;
            if first.length == 0 {
                self.again.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(start: u64, length: u32) -> Piece {
        Piece { start, length, tried: 0 }
    }

    fn outbox(end: u64, edge: u64) -> Outbox {
        Outbox { end, edge, ..Outbox::default() }
    }

    #[test]
    fn what_was_sent_ahead_is_not_sent_again() {
        let mut outbox = outbox(1000, 1000);
        let ahead = outbox.next_new(100, 300).unwrap();
        assert_eq!(ahead, piece(300, 100));
        outbox.take_new(&ahead);
        for start in [0, 100, 200, 400] {
            let next = outbox.next_new(100, 0).unwrap();
            assert_eq!(next, piece(start, 100));
            outbox.take_new(&next);
        }
        assert_eq!(outbox.waiting(), 500);
    }

    #[test]
    fn a_gap_before_what_was_sent_ahead_bounds_a_piece() {
        let mut outbox = outbox(1000, 1000);
        outbox.take_new(&piece(150, 100));
        outbox.take_new(&piece(0, 100));
        assert_eq!(outbox.next_new(100, 0), Some(piece(100, 50)));
        // Bytes left out are of those that wait.
        assert_eq!(outbox.next_new(100, 50), Some(piece(250, 100)));
        assert_eq!(outbox.next_new(100, 60), Some(piece(260, 100)));
        assert_eq!(outbox.next_new(100, u64::MAX), None);
    }

    #[test]
    fn the_window_bounds_what_is_sent() {
        let mut outbox = outbox(1000, 120);
        assert_eq!(outbox.next_new(100, 100), Some(piece(100, 20)));
        outbox.take_new(&piece(0, 120));
        assert_eq!(outbox.next_new(100, 0), None);
        assert!(outbox.acknowledge(100, 120) && outbox.room() == 100);
        assert!(!outbox.acknowledge(50, 120), "what is old is no news");
        assert!(!outbox.acknowledge(2000, 120), "nor is what was never sent");
    }

    #[test]
    fn what_is_sent_again_is_in_order_and_still_missing() {
        let mut outbox = outbox(1000, 1000);
        outbox.nxt = 1000;
        let tried = |start, length, tried| Piece { tried, ..piece(start, length) };
        outbox.send_again(tried(300, 100, 0b100));
        outbox.send_again(tried(100, 100, 0b10));
        outbox.send_again(tried(100, 100, 0b1000));
        assert_eq!(outbox.next_again(), Some(Piece { tried: 0b1010, ..piece(100, 100) }));
        outbox.take_again(60);
        assert_eq!(outbox.next_again(), Some(Piece { tried: 0b1010, ..piece(160, 40) }));
        outbox.acknowledge(250, 100);
        assert_eq!(outbox.next_again(), Some(Piece { tried: 0b100, ..piece(300, 100) }));
        outbox.send_again(tried(200, 100, 1));
        assert_eq!(outbox.next_again(), Some(Piece { tried: 1, ..piece(250, 50) }));
    }
}
