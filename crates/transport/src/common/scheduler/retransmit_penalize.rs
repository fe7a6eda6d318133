//! Opportunistic retransmission and penalisation.

use super::{Build, Decision, PacketScheduler, Situation, least};
use vazao_engine::registry::Entry;

/// As lowest round-trip time first; and where the receiver's window is full, the subflow chosen repeats the segment that keeps
/// it so, and the one that has had it is slowed down: its window is halved, once in its round-trip time (Raiciu et al., *How
/// hard can it be?*, NSDI 2012, section 4.2, mechanisms 1 and 2; evaluated by Paasch et al., CSWS 2014).
///
/// Nobody is slowed down for a path that takes longer, nor while it recovers from a loss, as in Linux MPTCP.
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
        let best = least(paths, |path| path.srtt);
        let Some((path, blocker)) = best.zip(situation.blocker) else { return Decision::send(best) };
        if path == blocker {
            return Decision::Wait;
        }
        let is_slow = paths[path].srtt < paths[blocker].srtt && !paths[blocker].recovering && paths[blocker].usable;
        Decision::Repeat { path, penalised: is_slow.then_some(blocker) }
    }
}
