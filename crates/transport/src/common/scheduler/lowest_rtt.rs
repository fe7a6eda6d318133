//! Lowest round-trip time first.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// The subflow with the least smoothed round-trip time of those that have room (Linux MPTCP v0.90's default; Paasch, Ferlin,
/// Alay, Bonaventure: Experimental evaluation of Multipath TCP schedulers, 2014).
pub struct LowestRtt;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "lowest-rtt",
    aliases: &["ll", "default"],
    title: "Lowest round-trip time",
    source: "Paasch, Ferlin, Alay, Bonaventure, CSWS 2014",
    help: "the subflow with the least smoothed round-trip time whose window has room",
    parameters: &[],
    build: |_| Box::new(LowestRtt),
};

impl PacketScheduler for LowestRtt {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        Decision::send(situation.least(|path| path.srtt))
    }
}
