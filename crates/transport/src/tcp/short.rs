//! Segments that are not full.

use super::scoreboard::Scoreboard;
use super::sent::{Sent, Status};
use std::collections::VecDeque;

/// Segments in flight that are not full. A window that counts segments has them take as much of it as full ones.
#[derive(Debug)]
pub(crate) struct ShortSegments {
    /// Number and octets of each, in order, where the window counts segments.
    counted: VecDeque<(u64, u64)>,
    /// Octet after the last one.
    pub end: u64,
}

impl Default for ShortSegments {
    fn default() -> Self {
        ShortSegments { counted: VecDeque::new(), end: 1 }
    }
}

impl ShortSegments {
    /// Whether none in flight counts as a full one.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }

    /// Records one that ends at octet `end`; with its number and its octets, if it counts as a full one.
    pub fn push(&mut self, end: u64, counted: Option<(u64, u64)>) {
        self.end = end;
        self.counted.extend(counted);
    }

    /// Octets by which those in flight that meet a condition fall short of `mss`.
    #[inline]
    fn padding_of(&self, board: &Scoreboard, mss: u64, meets: impl Fn(&Sent) -> bool) -> u64 {
        let meets = |number| board.get(number).is_some_and(&meets);
        self.counted.iter().filter(|&&(number, _)| meets(number)).map(|(_, span)| mss.saturating_sub(*span)).sum()
    }

    /// Octets by which those in flight fall short of `mss`.
    #[inline]
    pub fn padding(&self, board: &Scoreboard, mss: u64) -> u64 {
        self.padding_of(board, mss, |_| true)
    }

    /// Octets by which those that count as in the network fall short of `mss`.
    #[inline]
    pub fn pipe_padding(&self, board: &Scoreboard, mss: u64) -> u64 {
        self.padding_of(board, mss, |sent| !sent.state.has(Status::SACKED) && !sent.is_pending())
    }

    /// Forgets those that have been acknowledged; returns by how many octets they fell short of `mss`.
    #[inline]
    pub fn take_padding(&mut self, board: &Scoreboard, mss: u64) -> u64 {
        let mut padding = 0;
        while let Some(&(number, span)) = self.counted.front().filter(|(number, _)| *number < board.first_number()) {
            debug_assert!(board.get(number).is_none());
            padding += mss.saturating_sub(span);
            self.counted.pop_front();
        }
        padding
    }
}
