//! Constraint-based proactive scheduling.

use super::{Build, Decision, PacketScheduler, PathState, Situation};
use vazao_engine::registry::Entry;

/// Constraint-based proactive scheduling (Oh, Lee, *Constraint-based proactive scheduling for MPTCP in wireless
/// networks*, Computer Networks 91, 2015): the fastest path is filled first. A slower path is used only if the receiver
/// can hold the data that arrives out of order as a result, which two strategies estimate.
pub enum ConstraintProactive {
    /// The receiver's window has room for what the fastest path will send until the slower path's segment arrives.
    Radical,
    /// The fastest path is beyond slow start, and at most half the receiver's window is outstanding.
    Conservative,
}

pub(super) const RADICAL: Entry<Build> = Entry {
    name: "cp-radical",
    aliases: &[],
    title: "Constraint-based proactive, radical",
    source: "Oh, Lee, Computer Networks 91, 2015",
    help: "the fastest subflow; a slower one if the receiver's window has room for what overtakes it",
    parameters: &[],
    build: |_| Box::new(ConstraintProactive::Radical),
};

pub(super) const CONSERVATIVE: Entry<Build> = Entry {
    name: "cp-conservative",
    aliases: &[],
    title: "Constraint-based proactive, conservative",
    source: "Oh, Lee, Computer Networks 91, 2015",
    help: "the fastest subflow; a slower one if that is beyond slow start and half the receiver's window is free",
    parameters: &[],
    build: |_| Box::new(ConstraintProactive::Conservative),
};

impl ConstraintProactive {
    fn admits(&self, situation: &Situation<'_>, fast: &PathState, slow: &PathState) -> bool {
        match self {
            ConstraintProactive::Radical => situation.window as f64 > overtaking(fast, slow),
            ConstraintProactive::Conservative => !fast.slow_start && 2 * situation.outstanding <= situation.buffer,
        }
    }
}

/// Bytes that arrive out of order because a segment takes the slow path: what the fast path delivers meanwhile,
/// assuming symmetric delays.
fn overtaking(fast: &PathState, slow: &PathState) -> f64 {
    let later = (slow.srtt.as_secs() - fast.srtt.as_secs()) / 2.0;
    if later > 0.0 { fast.rate() * later } else { 0.0 }
}

impl PacketScheduler for ConstraintProactive {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        situation.send_or_wait(|slow, fast| !self.admits(situation, fast, slow))
    }
}
