//! Opportunistic retransmission and penalisation.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// Lowest round-trip time first. If the receiver's window is full, the chosen subflow retransmits the segment that
/// blocks it, and the subflow that first sent the segment is penalised: its window is halved, once per round-trip time
/// (Raiciu et al., *How hard can it be?*, NSDI 2012, section 4.2, mechanisms 1 and 2; evaluated by Paasch et al., CSWS
/// 2014).
///
/// As in Linux MPTCP, a subflow is not penalised in favour of a slower one, nor during loss recovery.
pub struct RetransmitPenalize;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "retransmit-penalize",
    aliases: &["rp"],
    title: "Retransmission and penalisation",
    source: "Raiciu et al., NSDI 2012; Paasch, Ferlin, Alay, Bonaventure, CSWS 2014",
    help: "lowest round-trip time; what keeps the receiver's window full is repeated, and its subflow's window halved",
    parameters: &[],
    build: |_| Box::new(RetransmitPenalize),
};

impl PacketScheduler for RetransmitPenalize {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let paths = situation.paths;
        let best = situation.least(|path| path.srtt);
        let Some((path, blocker)) = best.zip(situation.blocker) else { return Decision::send(best) };
        if path == blocker {
            return Decision::Wait;
        }
        let is_slow = paths[path].srtt < paths[blocker].srtt && !paths[blocker].recovering && paths[blocker].usable;
        Decision::Repeat { path, penalised: is_slow.then_some(blocker) }
    }
}
