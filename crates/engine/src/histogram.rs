//! Quantiles of durations in little memory.

use crate::{Duration, fetch_element};

/// Sub-buckets per octave, as a power of two: a quantile is within 1/128 (0.8 %) of the true value.
const SUB_BITS: u32 = 6;

/// A log-linear histogram of durations that holds only the buckets between the smallest and the largest seen, a byte each
/// until one of them needs more: an idle one costs a few words, a flow among ten thousand a hundred bytes.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    first: usize,
    counts: Counts,
    /// Values of exactly zero, kept apart so that they do not stretch the range of buckets.
    zeros: u64,
    total: u64,
    sum_ns: u64,
    max_ns: u64,
}

/// Counts of consecutive buckets.
#[derive(Clone, Debug)]
enum Counts {
    Small(Vec<u8>),
    Large(Vec<u32>),
}

impl Default for Counts {
    fn default() -> Self {
        Counts::Small(Vec::new())
    }
}

impl Counts {
    fn len(&self) -> usize {
        match self {
            Counts::Small(counts) => counts.len(),
            Counts::Large(counts) => counts.len(),
        }
    }

    fn get(&self, index: usize) -> u32 {
        match self {
            Counts::Small(counts) => u32::from(counts[index]),
            Counts::Large(counts) => counts[index],
        }
    }

    /// Adds `before` buckets in front, and buckets behind until there are `len`.
    fn widen(&mut self, before: usize, len: usize) {
        fn stretch<C: Copy + Default>(counts: &mut Vec<C>, before: usize, len: usize) {
            counts.splice(0..0, std::iter::repeat_n(C::default(), before));
            counts.resize(len.max(counts.len()), C::default());
        }
        match self {
            Counts::Small(counts) => stretch(counts, before, len),
            Counts::Large(counts) => stretch(counts, before, len),
        }
    }

    /// Adds to a bucket.
    fn add(&mut self, index: usize, count: u32) {
        if let Counts::Small(counts) = self {
            if let Some(sum) = u8::try_from(count).ok().and_then(|count| counts[index].checked_add(count)) {
                counts[index] = sum;
                return;
            }
            *self = Counts::Large(counts.iter().map(|&count| u32::from(count)).collect());
        }
        if let Counts::Large(counts) = self {
            counts[index] += count;
        }
    }
}

fn bucket(ns: u64) -> usize {
    let level = (63 - (ns | 1).leading_zeros()).saturating_sub(SUB_BITS);
    ((level as usize) << SUB_BITS) + (ns >> level) as usize
}

/// Returns the middle of bucket `index`, in nanoseconds.
fn middle(index: usize) -> f64 {
    let level = (index >> SUB_BITS).saturating_sub(1) as u32;
    let start = (index as u64 - ((level as u64) << SUB_BITS)) << level;
    start as f64 + ((1u64 << level) - 1) as f64 / 2.0
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        let ns = value.as_nanos();
        self.total += 1;
        if ns == 0 {
            self.zeros += 1;
            return;
        }
        let index = bucket(ns);
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
        if let Counts::Large(counts) = &mut self.counts
            && let Some(count) = index.checked_sub(self.first).and_then(|i| counts.get_mut(i))
        {
            *count += 1;
            return;
        }
        self.add(index, 1);
    }

    /// Fetches the middle of its counts into the cache, near which most values are.
    pub fn fetch(&self) {
        match &self.counts {
            Counts::Small(counts) => fetch_element(counts, counts.len() / 2),
            Counts::Large(counts) => fetch_element(counts, counts.len() / 2),
        }
    }

    /// Counts everything that another histogram has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (i, count) in other.counted() {
            self.add(other.first + i, count);
        }
        self.zeros += other.zeros;
        self.total += other.total;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Counts `n` values of zero.
    pub fn record_zeros(&mut self, n: u64) {
        self.zeros += n;
        self.total += n;
    }

    /// Adds to bucket `index`, which may be outside the range so far.
    fn add(&mut self, index: usize, count: u32) {
        if self.counts.len() == 0 {
            self.first = index;
        }
        let before = self.first.saturating_sub(index);
        self.first -= before;
        if before > 0 || index - self.first >= self.counts.len() {
            self.counts.widen(before, index - self.first + 1);
        }
        self.counts.add(index - self.first, count);
    }

    /// Returns the buckets that are not empty, counted from the first, with their counts.
    fn counted(&self) -> impl Iterator<Item = (usize, u32)> {
        (0..self.counts.len()).map(|i| (i, self.counts.get(i))).filter(|(_, count)| *count > 0)
    }

    /// Returns how many values were counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the exact mean in seconds, or `None` when nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum_ns as f64 / self.total as f64 / 1e9)
    }

    /// Returns the exact largest value in seconds, or `None` when nothing was counted.
    pub fn max(&self) -> Option<f64> {
        (self.total > 0).then(|| self.max_ns as f64 / 1e9)
    }

    /// Returns the value in seconds below which the share `q` (0 to 1) of all values lies, or `None` when nothing was
    /// counted.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut seen = self.zeros;
        if self.total > 0 && seen >= rank {
            return Some(0.0);
        }
        for (i, count) in self.counted() {
            seen += u64::from(count);
            if seen >= rank {
                return Some(middle(self.first + i) / 1e9);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quantile_is_within_a_percent_of_the_sorted_value(
            mut values in prop::collection::vec(prop_oneof![0u64..20_000_000_000, Just(5), 1_000_000u64..1_010_000], 1..2000),
            q in 0.01f64..1.0
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(Duration::from_nanos(v)));
            values.sort_unstable();
            let exact = values[((q * values.len() as f64).ceil() as usize).max(1) - 1] as f64;
            let got = histogram.quantile(q).unwrap() * 1e9;
            prop_assert!((got - exact).abs() <= exact / 120.0 + 1.0, "{got} against {exact}");
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            prop_assert!((histogram.mean().unwrap() * 1e9 - mean).abs() < 1.0);
            prop_assert_eq!(histogram.max(), values.last().map(|&most| most as f64 / 1e9));
        }

        #[test]
        fn two_merged_are_as_one(
            values in prop::collection::vec(0u64..20_000_000_000, 1..300), at: prop::sample::Index, q in 0.01f64..1.0
        ) {
            let (left, right) = values.split_at(at.index(values.len()));
            let [mut whole, mut merged, mut other] = [(); 3].map(|()| Histogram::default());
            values.iter().for_each(|&v| whole.record(Duration::from_nanos(v)));
            left.iter().for_each(|&v| merged.record(Duration::from_nanos(v)));
            right.iter().for_each(|&v| other.record(Duration::from_nanos(v)));
            merged.merge(&other);
            let told = |all: &Histogram| (all.count(), all.mean(), all.quantile(q), all.max());
            prop_assert_eq!(told(&merged), told(&whole));
        }
    }
}
