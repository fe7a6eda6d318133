//! Newly acknowledged segments, as RACK needs them.

use super::scoreboard::{Sent, Status};
use vazao_engine::Time;

/// Segments that arrived since the last reset, as RACK needs them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewlyAcked {
    /// Last-sent segment among those sent once, and among those retransmitted: send time and end.
    pub once: Option<(Time, u64)>,
    pub again: Option<(Time, u64)>,
    /// Whether a segment sent once arrived after one that was sent later (reordering).
    pub reordered: bool,
    /// First octet of the lowest reordered segment, or of the lowest that the peer reports as a duplicate while earlier
    /// ones are missing; `u64::MAX` if there is none.
    pub lowest: u64,
    /// Send time of the first newly SACKed segment that was sent once.
    pub first: Option<Time>,
    /// Octet after the highest one that had arrived at the last reset (RACK.fack).
    pub highest: u64,
}

impl Default for NewlyAcked {
    fn default() -> Self {
        NewlyAcked { once: None, again: None, reordered: false, lowest: u64::MAX, first: None, highest: 0 }
    }
}

impl NewlyAcked {
    pub fn note(&mut self, sent: &Sent) {
        if sent.state.has(Status::AMBIGUOUS) {
            self.again = self.again.max(Some(sent.order()));
        } else {
            self.note_run(sent, sent);
        }
    }

    /// Records the arrival of consecutive segments that were sent once.
    #[inline]
    pub fn note_run(&mut self, first: &Sent, last: &Sent) {
        if first.start < self.highest {
            self.note_reordering(first.start);
        }
        if self.once.is_none_or(|sent| sent < last.order()) {
            self.once = Some(last.order());
        }
    }

    #[cold]
    fn note_reordering(&mut self, start: u64) {
        self.reordered = true;
        self.lowest = self.lowest.min(start);
    }
}
