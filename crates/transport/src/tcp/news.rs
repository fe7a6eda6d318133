//! What acknowledgements say has arrived, as a recovery by time wants to know it.

use super::scoreboard::{Mark, Sent};
use vazao_engine::Time;

/// What has arrived since it was last forgotten, as RACK wants to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Of the segments sent once, and of those sent again, the one sent last: when, and its end.
    pub once: Option<(Time, u64)>,
    pub again: Option<(Time, u64)>,
    /// A segment that was sent once came later than one that was sent after it.
    pub reordered: bool,
    /// The first octet of the first segment that did, or that the peer reports as arrived twice though others before it are
    /// missing; beyond all if none did.
    pub lowest: u64,
    /// When the first of those newly SACKed and sent once had left.
    pub first: Option<Time>,
    /// One beyond the highest octet that had arrived when it was last forgotten (RACK.fack).
    pub highest: u64,
}

impl Default for News {
    fn default() -> Self {
        News { once: None, again: None, reordered: false, lowest: u64::MAX, first: None, highest: 0 }
    }
}

impl News {
    pub fn note(&mut self, sent: &Sent) {
        if sent.state.has(Mark::AMBIGUOUS) {
            self.again = self.again.max(Some(sent.order()));
        } else {
            self.note_row(sent, sent);
        }
    }

    /// Segments have arrived that were sent once and one after the other.
    #[inline]
    pub fn note_row(&mut self, first: &Sent, last: &Sent) {
        if first.start < self.highest {
            self.note_late(first.start);
        }
        if self.once.is_none_or(|sent| sent < last.order()) {
            self.once = Some(last.order());
        }
    }

    #[cold]
    fn note_late(&mut self, start: u64) {
        self.reordered = true;
        self.lowest = self.lowest.min(start);
    }
}
