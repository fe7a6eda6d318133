//! Redundant transmission on all paths.

use super::{Build, Decision, PacketScheduler, Situation, least_of};
use vazao_engine::registry::Entry;

/// Every subflow sends all data, so that the first copy to arrive counts and one path makes up for a loss on another,
/// at the cost of capacity (Hunger, Klein, Verheyde, 2016; Lopez, Aguado, Pinedo, Jacob, 2015; Linux MPTCP's
/// mptcp_redundant). New data first leaves on the subflow with the least smoothed round-trip time.
pub struct Redundant;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "redundant",
    aliases: &["rdr"],
    title: "Redundant",
    source: "Lopez, Aguado, Pinedo, Jacob, SmartGridComm 2015; Linux MPTCP, mptcp_redundant",
    help: "every subflow sends all data",
    parameters: &[],
    build: |_| Box::new(Redundant),
};

impl PacketScheduler for Redundant {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let is_fresh = situation.waiting > 0 && situation.window > 0;
        let wanting = situation.paths.iter().enumerate().filter(|(_, path)| {
            path.is_available() && (is_fresh || situation.outstanding > 0 && path.copied < situation.sent)
        });
        least_of(wanting, |path| path.srtt).map_or(Decision::Wait, |path| Decision::Copy { path })
    }
}
