//! Sending half of a connection: unsent data, reinjections and the receiver's window.
//!
//! Octets count from 0, in 64 bits; DATA_FIN occupies the one after the last.

use crate::common::RangeSet;
use std::collections::VecDeque;

/// Part of the data, one segment at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub start: u64,
    pub length: u32,
    /// Bitmask of the subflows that have sent it.
    pub tried: u64,
}

impl Piece {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// Connection-level send state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    /// First octet not covered by a DATA_ACK.
    pub una: u64,
    /// Octet before which everything was given to subflows.
    pub nxt: u64,
    /// Ranges beyond `nxt` that were given to subflows.
    ahead: RangeSet,
    /// Octet after the last one written.
    pub end: u64,
    /// Whether the application has closed: octet `end` is DATA_FIN.
    pub closing: bool,
    /// Right edge of the receiver's window, and the largest window it ever had.
    pub edge: u64,
    pub window: u64,
    /// Reinjections: data possibly lost on one subflow for others to send, in order.
    reinjections: VecDeque<Piece>,
}

impl Outbox {
    /// New data waiting to be sent.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.end - self.nxt
    }
    /// Octet after the last one given to a subflow.
    pub fn sent_end(&self) -> u64 {
        self.nxt.max(self.ahead.end())
    }
    /// Receive window left beyond all data sent.
    #[inline]
    pub fn room(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }
    /// Whether everything, including DATA_FIN, was acknowledged.
    pub fn is_finished(&self) -> bool {
        self.closing && self.una > self.end
    }
    /// Whether the application has closed and all data was given to subflows.
    pub fn is_all_given(&self) -> bool {
        self.closing && self.nxt == self.end
    }
    /// Whether only DATA_FIN is left to send.
    pub fn is_fin_due(&self) -> bool {
        self.is_all_given() && self.una <= self.end
    }

    /// Handles a DATA_ACK of `una` with this window; returns whether either advances.
    #[inline]
    pub fn acknowledge(&mut self, una: u64, window: u64) -> bool {
        if una > self.end + u64::from(self.closing) {
            return false; // Acknowledges data never sent.
        }
        let edge = una + window;
        let advances = una > self.una || edge > self.edge;
        self.una = self.una.max(una);
        self.edge = self.edge.max(edge);
        self.window = self.window.max(window);
        while self.reinjections.front().is_some_and(|piece| piece.end() <= self.una) {
            self.reinjections.pop_front();
        }
        advances
    }

    /// Returns the next new data, at most `most` octets, after skipping `skip`; `None` if nothing may be sent.
    #[inline]
    pub fn next_new(&mut self, most: u64, skip: u64) -> Option<Piece> {
        let mut start = self.nxt;
        let mut limit = self.end.min(self.edge);
        if skip > 0 || !self.ahead.is_empty() {
            // Data ahead that was already sent does not count as skipped.
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
        // Full segments only, except for the last one.
        let length = most.min(limit.saturating_sub(start));
        (length > 0).then_some(Piece { start, length: length as u32, tried: 0 })
    }

    /// Records that a piece from [`next_new`](Self::next_new) was given to a subflow.
    #[inline]
    pub fn take_new(&mut self, piece: &Piece) {
        if piece.start > self.nxt {
            self.ahead.insert(piece.start, piece.end(), |_, _| {});
            return;
        }
        self.nxt = self.ahead.take_through(piece.end());
    }

    /// Queues a piece for reinjection, unless it was acknowledged.
    pub fn reinject(&mut self, piece: Piece) {
        let start = piece.start.max(self.una);
        if start >= piece.end() {
            return;
        }
        let at = self.reinjections.partition_point(|known| known.start < start);
        match self.reinjections.get_mut(at) {
            Some(known) if known.start == start => {
                known.tried |= piece.tried;
                known.length = known.length.max((piece.end() - start) as u32);
            }
            _ => {
                self.reinjections.insert(at, Piece { start, length: (piece.end() - start) as u32, tried: piece.tried })
            }
        }
    }

    /// First piece to reinject.
    #[inline]
    pub fn next_reinjection(&self) -> Option<Piece> {
        self.reinjections.front().copied()
    }
    /// Removes `length` octets of the first piece, which are being reinjected.
    pub fn take_reinjection(&mut self, length: u32) {
        if let Some(first) = self.reinjections.front_mut() {
            first.start += u64::from(length);
            first.length -= length;
            if first.length == 0 {
                self.reinjections.pop_front();
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
    fn data_sent_ahead_is_not_sent_twice() {
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
        // Skipped bytes are counted among those waiting.
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
    fn reinjections_are_ordered_and_unacknowledged() {
        let mut outbox = outbox(1000, 1000);
        outbox.nxt = 1000;
        let tried = |start, length, tried| Piece { tried, ..piece(start, length) };
        outbox.reinject(tried(300, 100, 0b100));
        outbox.reinject(tried(100, 100, 0b10));
        outbox.reinject(tried(100, 100, 0b1000));
        assert_eq!(outbox.next_reinjection(), Some(Piece { tried: 0b1010, ..piece(100, 100) }));
        outbox.take_reinjection(60);
        assert_eq!(outbox.next_reinjection(), Some(Piece { tried: 0b1010, ..piece(160, 40) }));
        outbox.acknowledge(250, 100);
        assert_eq!(outbox.next_reinjection(), Some(Piece { tried: 0b100, ..piece(300, 100) }));
        outbox.reinject(tried(200, 100, 1));
        assert_eq!(outbox.next_reinjection(), Some(Piece { tried: 1, ..piece(250, 50) }));
    }
}
