//! Explicit congestion notification: whether what is sent is marked, and what its marks come back as (RFC 9000 section 13.4).

use super::packet::Space;
use vazao_engine::Ecn;

/// Packets that are marked before it is known whether marks get through (appendix A.4).
const TESTING: u32 = 10;

/// How far the path is trusted with marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// Nobody wants them.
    Off,
    /// So many packets are still to be marked on trial.
    Testing(u32),
    /// The trial's packets are under way.
    Unknown,
    Capable,
    /// Something on the way takes marks away, or packets that have them.
    Failed,
}

/// The sending half of ECN on a path.
#[derive(Clone, Debug)]
pub(crate) struct Marking {
    trust: Trust,
    /// Packets marked ECT(0), and those of them that were lost.
    sent: u64,
    lost: u64,
    /// What the peer has counted in each space.
    counted: [[u64; 3]; 3],
}

impl Marking {
    pub fn new(on: bool) -> Marking {
        let trust = if on { Trust::Testing(TESTING) } else { Trust::Off };
        Marking { trust, sent: 0, lost: 0, counted: Default::default() }
    }

    /// The path is another one, on which nothing is known of marks: counts go on, as the peer's do.
    pub fn test_again(&mut self) {
        if self.trust != Trust::Off {
            (self.trust, self.lost) = (Trust::Testing(TESTING), 0);
        }
    }

    /// How a datagram with so many packets is to be marked.
    #[inline]
    pub fn mark(&mut self, packets: u64) -> Ecn {
        self.trust = match self.trust {
            Trust::Off | Trust::Unknown | Trust::Failed => return Ecn::NotEct,
            Trust::Testing(left) if left > 1 => Trust::Testing(left - 1),
            Trust::Testing(_) => Trust::Unknown,
            Trust::Capable => Trust::Capable,
        };
        self.sent += packets;
        Ecn::Ect0
    }

    /// An acknowledgement that is newer than all before names `capable` packets for the first time that were marked, and the
    /// peer counts so many: how many more it has seen with CE. Counts that cannot be end the marking (section 13.4.2.1).
    pub fn on_ack(&mut self, space: Space, capable: u64, counts: Option<[u64; 3]>) -> u64 {
        if matches!(self.trust, Trust::Off | Trust::Failed) {
            return 0;
        }
        let before = self.counted[space as usize];
        let Some(now @ [ect0, ect1, ce]) = counts else {
            if capable > 0 {
                self.trust = Trust::Failed;
            }
            return 0;
        };
        let fewer = now.iter().zip(before).any(|(now, before)| *now < before);
        if fewer || ect1 > 0 || ect0 + ce > self.sent || ect0 + ce < before[0] + before[2] + capable {
            self.trust = Trust::Failed;
            return 0;
        }
        self.counted[space as usize] = now;
        if capable > 0 {
            self.trust = Trust::Capable;
        }
        ce - before[2]
    }

    /// So many marked packets are lost: if none has arrived yet, marks may be why.
    pub fn on_lost(&mut self, capable: u64) {
        self.lost += capable;
        if self.trust == Trust::Unknown && self.lost >= u64::from(TESTING) {
            self.trust = Trust::Failed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path on which ten packets were marked.
    fn tested() -> Marking {
        let mut marking = Marking::new(true);
        (0..10).for_each(|_| assert_eq!(marking.mark(1), Ecn::Ect0));
        assert_eq!(marking.mark(1), Ecn::NotEct);
        marking
    }

    #[test]
    fn marks_that_come_back_are_gone_on_with() {
        let mut marking = tested();
        assert_eq!(marking.on_ack(Space::Data, 2, Some([1, 0, 1])), 1);
        assert_eq!(marking.mark(1), Ecn::Ect0);
        // One that was called lost may be counted without being named.
        assert_eq!(marking.on_ack(Space::Data, 3, Some([3, 0, 3])), 2);
        assert_eq!(marking.on_ack(Space::Data, 0, Some([3, 0, 3])), 0);
        assert_eq!(marking.mark(1), Ecn::Ect0);
    }

    /// RFC 9000 section 13.4.2.1: no counts; too few; more than were sent; of the wrong kind.
    #[test]
    fn counts_that_cannot_be_end_it() {
        for counts in [None, Some([1, 0, 0]), Some([9, 0, 2]), Some([2, 1, 0])] {
            let mut marking = tested();
            assert_eq!(marking.on_ack(Space::Data, 2, counts), 0);
            assert_eq!(marking.mark(1), Ecn::NotEct, "{counts:?}");
        }
    }

    #[test]
    fn a_path_that_drops_what_is_marked_gets_nothing_marked() {
        let mut marking = tested();
        marking.on_lost(10);
        assert_eq!(marking.mark(1), Ecn::NotEct);
        assert_eq!(marking.on_ack(Space::Data, 1, Some([1, 0, 0])), 0);
        assert_eq!(marking.mark(1), Ecn::NotEct);
    }

    /// RFC 9000 section 13.4.2: each path is tested; and what the peer counts goes on from what it counted on the one before.
    #[test]
    fn another_path_is_tested_with_the_same_counts() {
        let mut marking = tested();
        assert_eq!(marking.on_ack(Space::Data, 10, Some([8, 0, 2])), 2);
        marking.test_again();
        (0..10).for_each(|_| assert_eq!(marking.mark(1), Ecn::Ect0));
        assert_eq!(marking.mark(1), Ecn::NotEct);
        assert_eq!(marking.on_ack(Space::Data, 10, Some([17, 0, 3])), 1);
        assert_eq!(marking.mark(1), Ecn::Ect0);
        let mut off = Marking::new(false);
        off.test_again();
        assert_eq!(off.mark(1), Ecn::NotEct);
    }

    #[test]
    fn nothing_is_marked_unless_it_is_wanted() {
        assert_eq!(Marking::new(false).mark(1), Ecn::NotEct);
    }
}
