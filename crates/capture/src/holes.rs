//! Octets that did not pass the place of the capture when later ones did.

use crate::moment::Moment;

/// Most holes of one direction that are remembered; those of a packet loss that nobody repairs are forgotten first.
const MOST: usize = 1024;

/// Octets that are missing so far.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    /// The segment behind it, which showed it.
    shown_by: Moment,
}

/// Holes of one direction, from the lowest on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    holes: Vec<Hole>,
}

impl Holes {
    /// Notes that `start..end` was passed over by a segment.
    pub fn open(&mut self, start: u64, end: u64, shown_by: Moment) {
        if self.holes.len() == MOST {
            self.holes.remove(0);
        }
        self.holes.push(Hole { start, end, shown_by });
    }

    /// Fills `start..end`. Returns the segment that had shown the first hole there, if there was one.
    pub fn fill(&mut self, start: u64, end: u64) -> Option<Moment> {
        let first = self.holes.partition_point(|hole| hole.end <= start);
        let behind = self.holes.partition_point(|hole| hole.start < end);
        if first >= behind {
            return None;
        }
        let shown_by = self.holes[first].shown_by;
        let touched: Vec<Hole> = self.holes.drain(first..behind).collect();
        let below = touched.first().filter(|hole| hole.start < start).map(|hole| Hole { end: start, ..*hole });
        let above = touched.last().filter(|hole| hole.end > end).map(|hole| Hole { start: end, ..*hole });
        self.holes.splice(first..first, below.into_iter().chain(above));
        Some(shown_by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against the set of missing octets.
        #[test]
        fn holes_are_what_is_missing(gaps in prop::collection::vec((1..5_u64, 1..5_u64), 1..12), fills in prop::collection::vec((0..60_u64, 1..9_u64), 0..30)) {
            let (mut holes, mut missing, mut at) = (Holes::default(), BTreeSet::new(), 0);
            for (passed, gap) in gaps {
                at += passed;
                holes.open(at, at + gap, Moment::default());
                missing.extend(at..at + gap);
                at += gap;
            }
            for (start, length) in fills {
                let was_missing = (start..start + length).any(|octet| missing.remove(&octet));
                (start..start + length).for_each(|octet| { missing.remove(&octet); });
                prop_assert_eq!(holes.fill(start, start + length).is_some(), was_missing);
            }
            let left: BTreeSet<u64> = holes.holes.iter().flat_map(|hole| hole.start..hole.end).collect();
            prop_assert_eq!(left, missing);
        }
    }
}
