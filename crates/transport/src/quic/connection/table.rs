//! Map from stream numbers to values.

use std::collections::BTreeMap;
use std::ops::Index;

/// Ordered map from stream numbers. The value of stream 0 is stored inline, since most connections have no other and
/// each packet looks it up several times.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    first: Option<T>,
    others: BTreeMap<u64, T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { first: None, others: BTreeMap::new() }
    }
}

impl<T> Table<T> {
    #[inline]
    pub fn get(&self, id: &u64) -> Option<&T> {
        if *id == 0 { self.first.as_ref() } else { self.other(id) }
    }
    #[inline(never)]
    fn other(&self, id: &u64) -> Option<&T> {
        self.others.get(id)
    }
    #[inline]
    pub fn get_mut(&mut self, id: &u64) -> Option<&mut T> {
        if *id == 0 { self.first.as_mut() } else { self.other_mut(id) }
    }
    #[inline(never)]
    fn other_mut(&mut self, id: &u64) -> Option<&mut T> {
        self.others.get_mut(id)
    }
    #[inline]
    pub fn contains_key(&self, id: &u64) -> bool {
        self.get(id).is_some()
    }
    pub fn insert(&mut self, id: u64, thing: T) -> Option<T> {
        if id == 0 { self.first.replace(thing) } else { self.others.insert(id, thing) }
    }
    pub fn remove(&mut self, id: &u64) -> Option<T> {
        if *id == 0 { self.first.take() } else { self.others.remove(id) }
    }
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.others.values())
    }
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.first.iter().map(|value| (0, value)).chain(self.others.iter().map(|(id, value)| (*id, value)))
    }
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        self.first.iter().map(|_| 0).chain(self.others.keys().copied())
    }
}

impl<T> Index<&u64> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: &u64) -> &T {
        self.get(id).expect("the stream is there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behaves as a map: values are found by number, in order, and removed for good, wherever they are stored.
    #[test]
    fn streams_are_found_in_order() {
        let mut table = Table::default();
        for id in [8, 0, 3] {
            assert_eq!(table.insert(id, 10 * id), None);
        }
        assert_eq!(table.ids().collect::<Vec<_>>(), [0, 3, 8]);
        assert_eq!(table.values().copied().collect::<Vec<_>>(), [0, 30, 80]);
        assert_eq!((table[&0], table[&8], table.get(&1)), (0, 80, None));
        *table.get_mut(&0).unwrap() = 5;
        assert_eq!((table.insert(0, 6), table.remove(&0), table.remove(&0)), (Some(5), Some(6), None));
        assert!(!table.contains_key(&0) && table.contains_key(&3));
        assert_eq!(table.remove(&3), Some(30));
        assert_eq!(table.ids().collect::<Vec<_>>(), [8]);
    }
}
