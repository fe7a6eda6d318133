//! Connection IDs (RFC 9000 section 5.1), represented by their sequence numbers.

use std::collections::BTreeSet;

/// Connection IDs that an endpoint stores (active_connection_id_limit).
pub const ACTIVE: usize = 4;

/// Connection IDs of both sides, as known to one of them.
#[derive(Clone, Debug)]
pub(crate) struct Identifiers {
    /// Our connection IDs that the peer may use, and the next one to issue.
    ours: Vec<u64>,
    next: u64,
    /// The peer's unused connection IDs, the one in use, and all that we have ever seen.
    store: BTreeSet<u64>,
    current: Option<u64>,
    known: BTreeSet<u64>,
}

impl Identifiers {
    /// State after the handshake: each side has one connection ID of the other.
    pub fn new() -> Identifiers {
        Identifiers { ours: vec![0], next: 1, store: BTreeSet::new(), current: Some(0), known: [0].into() }
    }

    /// State of a path that is not used yet.
    pub fn none() -> Identifiers {
        Identifiers { ours: Vec::new(), next: 0, store: BTreeSet::new(), current: None, known: BTreeSet::new() }
    }

    /// The peer's connection ID in use.
    #[inline]
    pub fn current(&self) -> Option<u64> {
        self.current
    }

    /// Issues the next connection ID, while the peer has fewer than `most`.
    pub fn issue(&mut self, most: usize) -> Option<u64> {
        (self.ours.len() < most).then(|| {
            self.next += 1;
            self.ours.push(self.next - 1);
            self.next - 1
        })
    }

    /// Whether the peer may use this connection ID of ours.
    #[inline]
    pub fn is_ours(&self, number: u64) -> bool {
        self.ours.first() == Some(&number) || self.is_another(number)
    }

    #[cold]
    fn is_another(&self, number: u64) -> bool {
        self.ours.contains(&number)
    }

    /// Handles a connection ID issued by the peer (section 19.15), possibly repeated or reordered.
    pub fn on_new(&mut self, number: u64) {
        if self.known.insert(number) {
            self.store.insert(number);
        }
    }

    /// Handles the peer's retirement of one of our connection IDs (section 19.16).
    pub fn on_retired(&mut self, number: u64) {
        self.ours.retain(|&ours| ours != number);
    }

    /// Switches to another connection ID of the peer, if there is one; returns the one to retire. Using one ID at two
    /// addresses would let observers link them (section 9.5).
    pub fn change(&mut self) -> Option<u64> {
        let next = self.store.pop_first()?;
        self.current.replace(next)
    }

    /// Starts to use the peer's first connection ID; returns whether there is one.
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
        // A retransmitted frame changes nothing.
        there.on_new(1);
        there.on_new(4);
        assert_eq!([there.change(), there.change(), there.change(), there.change()], [Some(1), Some(2), Some(3), None]);
        assert_eq!(there.current(), Some(4));
    }

    /// A connection ID whose frame was lost and arrives after later ones are in use is still usable; otherwise the peer
    /// would count it as active forever and issue fewer.
    #[test]
    fn late_connection_ids_are_used() {
        let mut there = Identifiers::new();
        [2, 3].iter().for_each(|&number| there.on_new(number));
        assert_eq!((there.change(), there.current()), (Some(0), Some(2)));
        there.on_new(1);
        there.on_new(0);
        assert_eq!([there.change(), there.change(), there.change()], [Some(2), Some(1), None]);
    }
}
