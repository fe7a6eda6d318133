//! Connection identifiers (RFC 9000 section 5.1): by which the peer addresses us, and we the peer. Numbers stand for them.

use std::collections::BTreeSet;

/// Identifiers that an endpoint keeps in store for its peer (active_connection_id_limit).
pub const ACTIVE: usize = 4;

/// Both sides' identifiers, as one of them knows them.
#[derive(Clone, Debug)]
pub(crate) struct Identifiers {
    /// Ours that the peer may use, and the next to be issued.
    ours: Vec<u64>,
    next: u64,
    /// The peer's that we have not used yet, the one in use, and all that we have heard of.
    store: BTreeSet<u64>,
    current: Option<u64>,
    known: BTreeSet<u64>,
}

impl Identifiers {
    /// Those of the handshake: each side has one of the other's.
    pub fn new() -> Identifiers {
        Identifiers { ours: vec![0], next: 1, store: BTreeSet::new(), current: Some(0), known: [0].into() }
    }

    /// Those of a path that is not used yet.
    pub fn none() -> Identifiers {
        Identifiers { ours: Vec::new(), next: 0, store: BTreeSet::new(), current: None, known: BTreeSet::new() }
    }

    /// The one by which we address the peer.
    #[inline]
    pub fn current(&self) -> Option<u64> {
        self.current
    }

    /// The next identifier to issue, while the peer has fewer than `most`.
    pub fn issue(&mut self, most: usize) -> Option<u64> {
        (self.ours.len() < most).then(|| {
            self.next += 1;
            self.ours.push(self.next - 1);
            self.next - 1
        })
    }

    /// Whether the peer may address us so.
    #[inline]
    pub fn is_ours(&self, number: u64) -> bool {
        self.ours.first() == Some(&number) || self.is_another(number)
    }

    #[cold]
    fn is_another(&self, number: u64) -> bool {
        self.ours.contains(&number)
    }

    /// The peer has issued one (section 19.15), maybe again, or later than those after it.
    pub fn on_new(&mut self, number: u64) {
        if self.known.insert(number) {
            self.store.insert(number);
        }
    }

    /// The peer will not use one of ours any more (section 19.16).
    pub fn on_retired(&mut self, number: u64) {
        self.ours.retain(|&ours| ours != number);
    }

    /// Takes another of the peer's into use, if there is one; the one to be retired for it. What appears at two addresses can be
    /// linked by who looks on (section 9.5).
    pub fn change(&mut self) -> Option<u64> {
        let next = self.store.pop_first()?;
        self.current.replace(next)
    }

    /// Takes the first of the peer's into use. Whether there is one.
    pub fn begin(&mut self) -> bool {
        if self.current.is_none() {
            self.change();
        }
        self.current.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_issued_used_and_retired() {
        let (mut here, mut there) = (Identifiers::new(), Identifiers::new());
        let issued: Vec<u64> = std::iter::from_fn(|| here.issue(ACTIVE)).collect();
        assert_eq!(issued, [1, 2, 3]);
        issued.iter().for_each(|&number| there.on_new(number));
        assert_eq!((there.change(), there.current()), (Some(0), Some(1)));
        assert!(here.is_ours(0) && here.is_ours(1) && !here.is_ours(4));
        here.on_retired(0);
        assert!(!here.is_ours(0));
        assert_eq!(here.issue(ACTIVE), Some(4));
        // A frame that was sent again says nothing new.
        there.on_new(1);
        there.on_new(4);
        assert_eq!([there.change(), there.change(), there.change(), there.change()], [Some(1), Some(2), Some(3), None]);
        assert_eq!(there.current(), Some(4));
    }

    /// One whose frame was lost, and came again after others were in use, is as good as they: or the peer would think for ever
    /// that it may still be used, and issue fewer.
    #[test]
    fn one_that_is_late_is_used_as_well() {
        let mut there = Identifiers::new();
        [2, 3].iter().for_each(|&number| there.on_new(number));
        assert_eq!((there.change(), there.current()), (Some(0), Some(2)));
        there.on_new(1);
        there.on_new(0);
        assert_eq!([there.change(), there.change(), there.change()], [Some(2), Some(1), None]);
    }
}
