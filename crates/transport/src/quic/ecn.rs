//! Explicit congestion notification (RFC 9000 section 13.4): marking of packets and ECN validation.

use super::packet::Space;
use vazao_engine::Ecn;

/// Packets marked during the testing state (appendix A.4).
const TESTING: u32 = 10;

/// ECN validation state of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EcnState {
    /// ECN not used.
    Off,
    /// Testing, with this many packets left to mark.
    Testing(u32),
    /// All testing packets are sent but not yet acknowledged.
    Unknown,
    Capable,
    /// Validation failed: the path clears marks, or drops marked packets.
    Failed,
}

/// Sending half of ECN on a path.
#[derive(Clone, Debug)]
pub(crate) struct Marking {
    state: EcnState,
    /// Packets marked ECT(0), and those among them that were lost.
    sent: u64,
    lost: u64,
    /// ECN counts last reported by the peer in each space.
    counted: [[u64; 3]; 3],
}

impl Marking {
    pub fn new(on: bool) -> Marking {
        let state = if on { EcnState::Testing(TESTING) } else { EcnState::Off };
        Marking { state, sent: 0, lost: 0, counted: Default::default() }
    }

    /// Restarts testing after a migration; counts continue, as the peer's do.
    pub fn test_again(&mut self) {
        if self.state != EcnState::Off {
            (self.state, self.lost) = (EcnState::Testing(TESTING), 0);
        }
    }

    /// Returns the codepoint for a datagram with `packets` packets.
    #[inline]
    pub fn mark(&mut self, packets: u64) -> Ecn {
        self.state = match self.state {
            EcnState::Off | EcnState::Unknown | EcnState::Failed => return Ecn::NotEct,
            EcnState::Testing(left) if left > 1 => EcnState::Testing(left - 1),
            EcnState::Testing(_) => EcnState::Unknown,
            EcnState::Capable => EcnState::Capable,
        };
        self.sent += packets;
        Ecn::Ect0
    }

    /// Processes the ECN counts of an acknowledgement that advances the largest acknowledged packet and newly
    /// acknowledges `capable` marked packets; returns the increase of the CE count. Invalid counts disable ECN (section
    /// 13.4.2.1).
    pub fn on_ack(&mut self, space: Space, capable: u64, counts: Option<[u64; 3]>) -> u64 {
        if matches!(self.state, EcnState::Off | EcnState::Failed) {
            return 0;
        }
        let before = self.counted[space as usize];
        let Some(now @ [ect0, ect1, ce]) = counts else {
            if capable > 0 {
                self.state = EcnState::Failed;
            }
            return 0;
        };
        let fewer = now.iter().zip(before).any(|(now, before)| *now < before);
        if fewer || ect1 > 0 || ect0 + ce > self.sent || ect0 + ce < before[0] + before[2] + capable {
            self.state = EcnState::Failed;
            return 0;
        }
        self.counted[space as usize] = now;
        if capable > 0 {
            self.state = EcnState::Capable;
        }
        ce - before[2]
    }

    /// Records lost marked packets: if none has been acknowledged yet, the marks may be the cause.
    pub fn on_lost(&mut self, capable: u64) {
        self.lost += capable;
        if self.state == EcnState::Unknown && self.lost >= u64::from(TESTING) {
            self.state = EcnState::Failed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state after ten packets were marked.
    fn tested() -> Marking {
        let mut marking = Marking::new(true);
        (0..10).for_each(|_| assert_eq!(marking.mark(1), Ecn::Ect0));
        assert_eq!(marking.mark(1), Ecn::NotEct);
        marking
    }

    #[test]
    fn validated_marks_are_kept() {
        let mut marking = tested();
        assert_eq!(marking.on_ack(Space::Data, 2, Some([1, 0, 1])), 1);
        assert_eq!(marking.mark(1), Ecn::Ect0);
        // A packet declared lost may be counted without being acknowledged.
        assert_eq!(marking.on_ack(Space::Data, 3, Some([3, 0, 3])), 2);
        assert_eq!(marking.on_ack(Space::Data, 0, Some([3, 0, 3])), 0);
        assert_eq!(marking.mark(1), Ecn::Ect0);
    }

    /// RFC 9000 section 13.4.2.1: missing counts; too few; more than were sent; of the wrong kind.
    #[test]
    fn impossible_counts_disable_ecn() {
        for counts in [None, Some([1, 0, 0]), Some([9, 0, 2]), Some([2, 1, 0])] {
            let mut marking = tested();
            assert_eq!(marking.on_ack(Space::Data, 2, counts), 0);
            assert_eq!(marking.mark(1), Ecn::NotEct, "{counts:?}");
        }
    }

    #[test]
    fn a_path_that_drops_marked_packets_disables_ecn() {
        let mut marking = tested();
        marking.on_lost(10);
        assert_eq!(marking.mark(1), Ecn::NotEct);
        assert_eq!(marking.on_ack(Space::Data, 1, Some([1, 0, 0])), 0);
        assert_eq!(marking.mark(1), Ecn::NotEct);
    }

    /// RFC 9000 section 13.4.2: each path is tested, and the peer's counts continue from those of the previous path.
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
    fn nothing_is_marked_unless_enabled() {
        assert_eq!(Marking::new(false).mark(1), Ecn::NotEct);
    }
}
