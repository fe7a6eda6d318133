//! Segments in flight that are shorter than the MSS.

use super::scoreboard::Scoreboard;
use super::sent::{Sent, Status};
use std::collections::VecDeque;

/// Segments in flight that are not full. A window that counts segments has each take as much of it as a full one: *padding* is
/// the octets that they lack to full ones.
#[derive(Debug)]
pub(crate) struct ShortSegments {
    /// Number and octets of each, in order, if the window counts segments.
    counted: VecDeque<(u64, u64)>,
    /// Octet after the last short segment sent (tp->snd_sml in Linux).
    pub end: u64,
}

impl Default for ShortSegments {
    fn default() -> Self {
        ShortSegments { counted: VecDeque::new(), end: 1 }
    }
}

impl ShortSegments {
    /// Whether no short segment counts as a full one.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }

    /// Whether a short segment is unacknowledged.
    #[inline]
    pub fn is_outstanding(&self, una: u64) -> bool {
        self.end > una
    }

    /// Records a short segment that ends at octet `end`; `counted` is its number and octets if the window counts segments.
    pub fn push(&mut self, end: u64, counted: Option<(u64, u64)>) {
        self.end = end;
        self.counted.extend(counted);
    }

    /// Padding to `mss` of the segments that meet a condition.
    #[inline]
    fn padding_of(&self, board: &Scoreboard, mss: u64, meets: impl Fn(&Sent) -> bool) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let meets = |number| board.get(number).is_some_and(&meets);
        self.counted.iter().filter(|&&(number, _)| meets(number)).map(|(_, span)| mss.saturating_sub(*span)).sum()
    }

    /// Padding to `mss` of all segments.
    #[inline]
    pub fn padding(&self, board: &Scoreboard, mss: u64) -> u64 {
        self.padding_of(board, mss, |_| true)
    }

    /// Padding to `mss` of the segments that count as in the network.
    #[inline]
    pub fn pipe_padding(&self, board: &Scoreboard, mss: u64) -> u64 {
        self.padding_of(board, mss, |sent| !sent.state.has(Status::SACKED) && !sent.is_pending())
    }

    /// Forgets the segments that have been acknowledged; returns their padding to `mss`.
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
