//! Newly acknowledged segments, as RACK needs them.

use super::sent::{Sent, Status};
use vazao_engine::Time;

/// Segments that arrived since the last reset, as RACK needs them.
#[derive(Debug)]
pub(crate) struct NewlyAcked {
    /// Last-sent segment among those sent once: send time and end.
    pub once: Option<(Time, u64)>,
    /// Last-processed segment among those sent once, and when it was sent; and the same of those that were SACKed.
    pub last: Option<(Place, Time)>,
    pub last_sacked: Option<(u64, Time)>,
    /// Segments sent more than once.
    pub again: Vec<Copy>,
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

/// Place of a segment in the order in which an acknowledgement is processed: what it SACKs, then what it acknowledges
/// cumulatively, each in the order of sequence (tcp_sacktag_write_queue and tcp_clean_rtx_queue in Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Whether it was acknowledged cumulatively.
    pub cumulative: bool,
    start: u64,
}

/// Arrival of a segment that was sent more than once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub place: Place,
    /// Time of the last transmission, and end.
    pub order: (Time, u64),
}

impl Default for NewlyAcked {
    fn default() -> Self {
        NewlyAcked {
            once: None,
            last: None,
            last_sacked: None,
            again: Vec::new(),
            reordered: false,
            lowest: u64::MAX,
            first: None,
            highest: 0,
        }
    }
}

impl NewlyAcked {
    /// Forgets what arrived; octets before `highest` have.
    #[inline]
    pub fn clear(&mut self, highest: u64) {
        (self.once, self.last, self.last_sacked, self.first) = (None, None, None, None);
        (self.reordered, self.lowest, self.highest) = (false, u64::MAX, highest);
        self.again.clear();
    }

    /// Time at which the last-sent one of these left.
    pub fn newest(&self) -> Option<Time> {
        self.again.iter().map(|copy| copy.order.0).chain(self.once.map(|(at, _)| at)).max()
    }

    /// Records the arrival of a segment, acknowledged cumulatively or by SACK.
    pub fn note(&mut self, sent: &Sent, cumulative: bool) {
        if sent.state.has(Status::AMBIGUOUS) {
            let place = Place { cumulative, start: sent.start };
            self.again.push(Copy { place, order: sent.order() });
        } else {
            self.note_run(sent, sent, cumulative);
        }
    }

    /// Records the arrival of consecutive segments that were sent once.
    #[inline]
    pub fn note_run(&mut self, first: &Sent, last: &Sent, cumulative: bool) {
        if first.start < self.highest {
            self.note_reordering(first.start);
        }
        if self.once.is_none_or(|sent| sent < last.order()) {
            self.once = Some(last.order());
        }
        self.last = self.last.max(Some((Place { cumulative, start: last.start }, last.at)));
        if !cumulative {
            self.last_sacked = self.last_sacked.max(Some((last.start, last.at)));
        }
    }

    #[cold]
    fn note_reordering(&mut self, start: u64) {
        self.reordered = true;
        self.lowest = self.lowest.min(start);
    }
}
