//! Unacknowledged chunks of one path in TSN order, grouped by state, so that processing a SACK costs in proportion to
//! its changes, not to what is outstanding.

use super::growth::Chunks;
use super::outstanding::{Outstanding, Place};
use std::collections::{BTreeSet, VecDeque};

/// Unacknowledged chunks of a path. Entries of `ahead` and `suspects` may since have been acknowledged or sent on
/// another path; their records tell, and they are removed when encountered.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    number: u8,
    /// In flight and not overtaken by a higher TSN on this path.
    ahead: VecDeque<u64>,
    /// In flight and overtaken, so that missing reports count. Ascending.
    suspects: Vec<u64>,
    /// In flight after a fast retransmission.
    fast_retransmitted: BTreeSet<u64>,
    pub marked: BTreeSet<u64>,
}

impl Order {
    pub fn new(number: u8) -> Order {
        Order { number, ..Order::default() }
    }

    /// Records the first transmission of a chunk.
    pub fn send(&mut self, tsn: u64) {
        self.ahead.push_back(tsn);
    }

    /// Records a retransmission and returns the chunk's place; after a `fast` one missing reports no longer count.
    pub fn retransmit(&mut self, tsn: u64, fast: bool) -> Place {
        if fast {
            self.fast_retransmitted.insert(tsn);
            return Place::FastRetransmitted;
        }
        let at = self.suspects.partition_point(|&other| other < tsn);
        if self.suspects.get(at) != Some(&tsn) {
            self.suspects.insert(at, tsn);
        }
        Place::Suspect
    }

    /// Removes a chunk that was acknowledged or sent on another path.
    pub fn remove(&mut self, tsn: u64, place: Place) {
        match place {
            Place::FastRetransmitted => _ = self.fast_retransmitted.remove(&tsn),
            Place::Marked => _ = self.marked.remove(&tsn),
            Place::Ahead | Place::Suspect | Place::Acked | Place::Abandoned => {}
        }
    }

    /// Removes stale entries at the front of `ahead`.
    fn prune(&mut self, records: &Outstanding) {
        while self.ahead.front().is_some_and(|&tsn| !records.is_at(tsn, self.number, Place::Ahead)) {
            self.ahead.pop_front();
        }
    }

    pub fn lowest_in_flight(&mut self, records: &Outstanding) -> Option<u64> {
        self.prune(records);
        let number = self.number;
        let suspect = self.suspects.iter().find(|&&tsn| records.is_at(tsn, number, Place::Suspect));
        [self.ahead.front(), suspect, self.fast_retransmitted.first()].into_iter().flatten().min().copied()
    }

    /// Highest TSN in flight.
    pub fn highest(&self, records: &Outstanding) -> Option<u64> {
        let at = |place| move |tsn: &&u64| records.is_at(**tsn, self.number, place);
        let ahead = self.ahead.iter().rev().find(at(Place::Ahead));
        let suspect = self.suspects.iter().rev().find(at(Place::Suspect));
        [ahead, suspect, self.fast_retransmitted.last()].into_iter().flatten().max().copied()
    }

    /// Lowest unacknowledged TSN at or above `from` in a subset of the chunks, in flight or not.
    pub fn lowest(&mut self, records: &Outstanding, chunks: Chunks, from: u64) -> Option<u64> {
        self.prune(records);
        let fits = |tsn: &&u64| chunks.include(records.get(**tsn).transmissions);
        let number = self.number;
        let at = |place| move |tsn: &&u64| records.is_at(**tsn, number, place);
        let start = self.ahead.partition_point(|&tsn| tsn < from);
        let ahead = self.ahead.range(start..).filter(at(Place::Ahead)).find(fits);
        let start = self.suspects.partition_point(|&tsn| tsn < from);
        let suspect = self.suspects[start..].iter().filter(at(Place::Suspect)).find(fits);
        let again = self.fast_retransmitted.range(from..).find(fits);
        let marked = self.marked.range(from..).find(fits);
        [ahead, suspect, again, marked].into_iter().flatten().min().copied()
    }

    /// Calls `report` for every chunk in flight below `highest` and removes those for which it returns true.
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

    /// Removes and returns everything in flight, all of which is presumed lost.
    pub fn drain_in_flight(&mut self, records: &Outstanding) -> Vec<u64> {
        let number = self.number;
        let mut all: Vec<u64> = std::mem::take(&mut self.fast_retransmitted).into_iter().collect();
        all.extend(self.suspects.drain(..).filter(|&tsn| records.is_at(tsn, number, Place::Suspect)));
        all.extend(self.ahead.drain(..).filter(|&tsn| records.is_at(tsn, number, Place::Ahead)));
        all
    }
}
