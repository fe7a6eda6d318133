//! Sets of disjoint ranges of sequence space: data received out of order, data selectively acknowledged.

/// Disjoint half-open ranges in ascending order; touching ranges are merged.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    all: Vec<(u64, u64)>,
    /// Number of ranges at the front of the list that have been removed: holes are filled from below, one after the other, and
    /// the rest is not moved for each.
    gone: usize,
}

impl PartialEq for RangeSet {
    fn eq(&self, other: &RangeSet) -> bool {
        self.ranges() == other.ranges()
    }
}

impl Eq for RangeSet {}

impl RangeSet {
    #[inline]
    fn ranges(&self) -> &[(u64, u64)] {
        &self.all[self.gone..]
    }

    /// Removes the first ranges.
    fn remove_first(&mut self, count: usize) {
        self.gone += count;
        if 2 * self.gone > self.all.len() {
            self.all.drain(..self.gone);
            self.gone = 0;
        }
    }

    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.all.shrink_to_fit();
    }
    /// Adds `start..end` and reports each part that was not in the set before, in ascending order. Apart from one
    /// binary search, the cost grows with the new parts, not with the size of the set.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        // The common cases: the range continues the last one, or lies behind it.
        let from = match self.all.last_mut() {
            Some(last) if last.0 <= start && start <= last.1 && last.1 < end => std::mem::replace(&mut last.1, end),
            Some(last) if start <= last.1 => return self.insert_anywhere(start, end, &mut new),
            _ if start < end => {
                self.all.push((start, end));
                start
            }
            _ => return,
        };
        new(from, end);
    }

    #[inline(never)]
    fn insert_anywhere(&mut self, start: u64, end: u64, new: &mut dyn FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let first = match self.ranges().last() {
            None => 0,
            Some(&(_, last_end)) if start > last_end => self.len(),
            Some(&(last_start, _)) if start >= last_start => self.len() - 1,
            _ => self.ranges().partition_point(|&(_, e)| e < start),
        };
        let mut after = first;
        let (mut low, mut high, mut cursor) = (start, end, start);
        while let Some(&(s, e)) = self.ranges().get(after).filter(|&&(s, _)| s <= end) {
            if cursor < s {
                new(cursor, s);
            }
            cursor = cursor.max(e);
            low = low.min(s);
            high = high.max(e);
            after += 1;
        }
        if cursor < end {
            new(cursor, end);
        }
        match after - first {
            0 => self.all.insert(self.gone + first, (low, high)),
            n => {
                self.all[self.gone + first] = (low, high);
                if n > 1 {
                    self.all.drain(self.gone + first + 1..self.gone + after);
                }
            }
        }
    }

    /// Removes everything below `limit`.
    #[inline]
    pub fn remove_below(&mut self, limit: u64) {
        if self.end() <= limit {
            self.clear();
        } else if self.ranges().first().is_some_and(|&(start, _)| start < limit) {
            self.cut_below(limit);
        }
    }

    #[inline(never)]
    fn cut_below(&mut self, limit: u64) {
        self.remove_first(self.ranges().partition_point(|&(_, end)| end <= limit));
        if let Some(first) = self.all.get_mut(self.gone) {
            first.0 = first.0.max(limit);
        }
    }

    /// Removes everything below `at` and the range that continues it; returns the end of that range, `at` at least.
    #[inline]
    pub fn take_through(&mut self, at: u64) -> u64 {
        if self.ranges().first().is_some_and(|&(start, _)| start <= at) { self.join(at) } else { at }
    }

    #[inline(never)]
    fn join(&mut self, mut at: u64) -> u64 {
        let mut joined = 0;
        while let Some(&(_, end)) = self.ranges().get(joined).filter(|&&(start, _)| start <= at) {
            at = at.max(end);
            joined += 1;
        }
        self.remove_first(joined);
        at
    }

    /// Whether all of `start..end` is in the set.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        self.range_at(start).is_some_and(|(_, e)| e >= end)
    }

    /// Whether all of `start..end` is in the set, looked for from range `near` on, which moves along: of several questions
    /// in ascending order each begins where the last one ended.
    #[inline]
    pub fn contains_from(&self, near: &mut usize, start: u64, end: u64) -> bool {
        while self.ranges().get(*near).is_some_and(|&(_, e)| e < end) {
            *near += 1;
        }
        self.ranges().get(*near).is_some_and(|&(s, _)| s <= start)
    }

    /// The range that holds `at`.
    pub fn range_at(&self, at: u64) -> Option<(u64, u64)> {
        self.first_beyond(at).filter(|&(start, _)| start <= at)
    }

    /// The first range that reaches beyond `at`.
    pub fn first_beyond(&self, at: u64) -> Option<(u64, u64)> {
        self.ranges().get(self.ranges().partition_point(|&(_, end)| end <= at)).copied()
    }

    /// All ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges().iter().copied()
    }

    /// The end of the highest range, zero when empty.
    pub fn end(&self) -> u64 {
        self.ranges().last().map_or(0, |r| r.1)
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges().len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.all.clear();
        self.gone = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set_of_numbers(inserts in prop::collection::vec((0u64..60, 1u64..12), 0..40), limit in 0u64..70) {
            let (mut set, mut model) = (RangeSet::default(), std::collections::BTreeSet::new());
            for (start, length) in inserts {
                let mut new = Vec::new();
                set.insert(start, start + length, |a, b| new.extend(a..b));
                let expected: Vec<_> = (start..start + length).filter(|x| !model.contains(x)).collect();
                prop_assert_eq!(new, expected);
                model.extend(start..start + length);
            }
            let mut near = 0;
            for x in 0..75 {
                prop_assert_eq!(set.contains(x, x + 1), model.contains(&x));
                prop_assert_eq!(set.contains_from(&mut near, x, x + 1), model.contains(&x));
            }
            prop_assert_eq!(set.end(), model.last().map_or(0, |x| x + 1));
            set.remove_below(limit);
            let left: Vec<_> = set.iter().flat_map(|(a, b)| a..b).collect();
            prop_assert_eq!(left, model.iter().copied().filter(|&x| x >= limit).collect::<Vec<_>>());
            // Merged: no two ranges touch.
            prop_assert!(set.ranges().windows(2).all(|w| w[0].1 < w[1].0));
        }
    }
}
