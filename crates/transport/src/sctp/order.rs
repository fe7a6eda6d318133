//! The chunks of one path in the order of their TSNs, sorted by what may still become of them, so that a SACK costs what
//! it brings and not what is outstanding.

use super::growth::Chunks;
use super::outstanding::{Outstanding, Place};
use std::collections::{BTreeSet, VecDeque};

/// The unacknowledged chunks of a path. Those in `ahead` and `suspects` may have been acknowledged or sent elsewhere
/// since; the record says so, and they are dropped when they come up.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    number: u8,
    /// In flight, and nothing with a higher TSN has overtaken them on this path.
    ahead: VecDeque<u64>,
    /// In flight and overtaken: missing reports count for them. Ascending.
    suspects: Vec<u64>,
    /// In flight after their fast retransmission.
    again: BTreeSet<u64>,
    /// To be sent again.
    pub marked: BTreeSet<u64>,
}

impl Order {
    pub fn new(number: u8) -> Order {
        Order { number, ..Order::default() }
    }

    /// A chunk leaves for the first time.
    pub fn send(&mut self, tsn: u64) {
        self.ahead.push_back(tsn);
    }

    /// A chunk leaves again; `fast`: after its fast retransmission no missing reports count. Says its new place.
    pub fn send_again(&mut self, tsn: u64, fast: bool) -> Place {
        if fast {
            self.again.insert(tsn);
            return Place::Again;
        }
        let at = self.suspects.partition_point(|&other| other < tsn);
        if self.suspects.get(at) != Some(&tsn) {
            self.suspects.insert(at, tsn);
        }
        Place::Suspect
    }

    /// A chunk at `place` is acknowledged, or goes elsewhere.
    pub fn remove(&mut self, tsn: u64, place: Place) {
        match place {
            Place::Again => _ = self.again.remove(&tsn),
            Place::Marked => _ = self.marked.remove(&tsn),
            Place::Ahead | Place::Suspect | Place::Acked | Place::Abandoned => {}
        }
    }

    /// Drops from the front of `ahead` what is no longer there.
    fn prune(&mut self, records: &Outstanding) {
        while self.ahead.front().is_some_and(|&tsn| !records.is_at(tsn, self.number, Place::Ahead)) {
            self.ahead.pop_front();
        }
    }

    /// The lowest TSN in flight.
    pub fn lowest_in_flight(&mut self, records: &Outstanding) -> Option<u64> {
        self.prune(records);
        let number = self.number;
        let suspect = self.suspects.iter().find(|&&tsn| records.is_at(tsn, number, Place::Suspect));
        [self.ahead.front(), suspect, self.again.first()].into_iter().flatten().min().copied()
    }

    /// The highest TSN in flight.
    pub fn highest(&self, records: &Outstanding) -> Option<u64> {
        let at = |place| move |tsn: &&u64| records.is_at(**tsn, self.number, place);
        let ahead = self.ahead.iter().rev().find(at(Place::Ahead));
        let suspect = self.suspects.iter().rev().find(at(Place::Suspect));
        [ahead, suspect, self.again.last()].into_iter().flatten().max().copied()
    }

    /// The lowest unacknowledged TSN of some chunks, at or above `from`, in flight or not.
    pub fn lowest(&mut self, records: &Outstanding, chunks: Chunks, from: u64) -> Option<u64> {
        self.prune(records);
        let fits = |tsn: &&u64| chunks.include(records.get(**tsn).transmissions);
        let number = self.number;
        let at = |place| move |tsn: &&u64| records.is_at(**tsn, number, place);
        let start = self.ahead.partition_point(|&tsn| tsn < from);
        let ahead = self.ahead.range(start..).filter(at(Place::Ahead)).find(fits);
        let start = self.suspects.partition_point(|&tsn| tsn < from);
        let suspect = self.suspects[start..].iter().filter(at(Place::Suspect)).find(fits);
        let again = self.again.range(from..).find(fits);
        let marked = self.marked.range(from..).find(fits);
        [ahead, suspect, again, marked].into_iter().flatten().min().copied()
    }

    /// Reports to be missing what is in flight below `highest`: calls `report` for each, and takes out those for which
    /// it says so.
    pub fn report_missing(
        &mut self,
        records: &mut Outstanding,
        highest: u64,
        mut report: impl FnMut(u64, &mut Outstanding) -> bool,
    ) {
        while let Some(&tsn) = self.ahead.front().filter(|&&tsn| tsn < highest) {
            self.ahead.pop_front();
            if records.is_at(tsn, self.number, Place::Ahead) {
                records.get_mut(tsn).place = Place::Suspect;
                let at = self.suspects.partition_point(|&other| other < tsn);
                self.suspects.insert(at, tsn);
            }
        }
        let number = self.number;
        self.suspects
            .retain(|&tsn| records.is_at(tsn, number, Place::Suspect) && (tsn >= highest || !report(tsn, records)));
    }

    /// Takes out everything in flight, for all of it is taken for lost.
    pub fn drain_in_flight(&mut self, records: &Outstanding) -> Vec<u64> {
        let number = self.number;
        let mut all: Vec<u64> = std::mem::take(&mut self.again).into_iter().collect();
        all.extend(self.suspects.drain(..).filter(|&tsn| records.is_at(tsn, number, Place::Suspect)));
        all.extend(self.ahead.drain(..).filter(|&tsn| records.is_at(tsn, number, Place::Ahead)));
        all
    }
}
