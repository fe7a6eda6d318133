//! Values of a column, some of which may be missing.

/// Values one after the other, with a bit for each that says whether it is there once one of them is not. Arrow's own layout:
/// a table of ten thousand flows crosses to Python without a copy.
#[derive(Clone, Debug, Default)]
pub struct Values<T> {
    /// Number of values that are missing at the beginning: until one is there, none is kept. Most columns of a table are of other
    /// protocols than its flows'.
    absent: usize,
    /// Room to make for values once one is there.
    expected: usize,
    values: Vec<T>,
    /// Bits from the lowest on; empty while every value is there.
    present: Vec<u8>,
}

impl<T: Copy + Default> Values<T> {
    /// Creates an empty list with room for so many values.
    pub fn with_capacity(values: usize) -> Values<T> {
        Values { expected: values, ..Values::default() }
    }

    /// Appends a value, or that there is none.
    pub fn push(&mut self, value: Option<T>) {
        if self.values.is_empty() {
            if value.is_none() {
                self.absent += 1;
                return;
            }
            self.begin();
        }
        let number = self.values.len();
        if value.is_none() && self.present.is_empty() {
            self.present = vec![u8::MAX; number / 8];
            self.present.reserve_exact(self.values.capacity() / 8 + 1 - self.present.len());
            self.present.push((1 << (number % 8)) - 1);
        } else if !self.present.is_empty() {
            if number.is_multiple_of(8) {
                self.present.push(0);
            }
            self.present[number / 8] |= u8::from(value.is_some()) << (number % 8);
        }
        self.values.push(value.unwrap_or_default());
    }

    /// Makes room, and places for the values that are missing at the beginning.
    fn begin(&mut self) {
        self.values.reserve_exact(self.expected.max(self.absent + 1));
        self.values.resize(self.absent, T::default());
        if self.absent > 0 {
            self.present.reserve_exact(self.values.capacity() / 8 + 1);
            self.present.resize(self.absent.div_ceil(8), 0);
        }
        self.absent = 0;
    }

    /// Returns the value of a row, if it is there.
    pub fn get(&self, row: usize) -> Option<T> {
        let is_present = self.present.get(row / 8).is_none_or(|bits| bits & (1 << (row % 8)) != 0);
        self.values.get(row).copied().filter(|_| is_present)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.absent + self.values.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Takes it apart: the values, any where there is none, and the bits that say where there is one, unless there is
    /// everywhere.
    pub fn into_parts(self) -> (Vec<T>, Option<Vec<u8>>) {
        if self.absent > 0 {
            return (vec![T::default(); self.absent], Some(vec![0; self.absent.div_ceil(8)]));
        }
        let present = (!self.present.is_empty()).then_some(self.present);
        (self.values, present)
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for Values<T> {
    fn eq(&self, other: &Values<T>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for Values<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let values = values.into_iter();
        let mut all = Values::with_capacity(values.size_hint().0);
        values.for_each(|value| all.push(value));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_in_comes_out(values in prop::collection::vec(prop::option::weighted(0.8, any::<i64>()), 0..70), absent in 0..20_usize) {
            let values: Vec<_> = std::iter::repeat_n(None, absent).chain(values).collect();
            let kept: Values<i64> = values.iter().copied().collect();
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), &values[..]);
            let (plain, present) = kept.into_parts();
            prop_assert_eq!(plain.len(), values.len());
            prop_assert_eq!(present.is_none(), values.iter().all(Option::is_some));
            if let Some(bits) = present {
                prop_assert_eq!(bits.len(), values.len().div_ceil(8));
                let there = (0..values.len()).map(|row| bits[row / 8] >> (row % 8) & 1 == 1);
                prop_assert!(there.eq(values.iter().map(Option::is_some)));
            }
        }
    }
}
