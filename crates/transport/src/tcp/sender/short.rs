//! Segments that are not full.

use super::Sender;
use crate::tcp::sent::{Sent, Status};
use std::collections::VecDeque;

/// Segments in flight that are not full: number and octets of each, in order. A window that counts segments has them take as
/// much of it as full ones.
pub(in crate::tcp) type Short = VecDeque<(u64, u64)>;

impl Sender {
    /// Records that the last segment sent, of `span` octets, is not full.
    pub(super) fn note_short(&mut self, span: u64) {
        self.short_end = self.nxt;
        if self.rules.counts_segments {
            self.short.push_back((self.board.first_number() + self.board.count() - 1, span));
        }
    }

    /// Octets by which short segments in flight that meet a condition fall short of full ones.
    #[inline]
    pub(in crate::tcp) fn padding(&self, meets: impl Fn(&Sent) -> bool) -> u64 {
        let meets = |number| self.board.get(number).is_some_and(&meets);
        self.short.iter().filter(|&&(number, _)| meets(number)).map(|(_, span)| self.mss.saturating_sub(*span)).sum()
    }

    /// Octets by which those short segments that count as in the network fall short of full ones.
    #[inline]
    pub(super) fn pipe_padding(&self) -> u64 {
        self.padding(|sent| !sent.state.has(Status::SACKED) && !sent.is_pending())
    }

    /// Forgets short segments that have been acknowledged; returns by how many octets they fell short.
    #[inline]
    pub(super) fn take_padding(&mut self) -> u64 {
        let mut padding = 0;
        while let Some(&(number, span)) = self.short.front().filter(|(number, _)| *number < self.board.first_number()) {
            debug_assert!(self.board.get(number).is_none());
            padding += self.mss.saturating_sub(span);
            self.short.pop_front();
        }
        padding
    }

    /// Whether Nagle's algorithm keeps back the rest of what was written: it fills no segment and does not end the stream.
    #[cold]
    pub(super) fn keeps_back(&self) -> bool {
        let waits = if self.host.waits_for_short { self.short_end > self.una } else { true };
        self.board.outstanding() > 0 && waits && !self.fin && (1..self.mss).contains(&self.end.saturating_sub(self.nxt))
    }
}
