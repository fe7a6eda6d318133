//! Round-robin.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::{Entry, Kind, parameters};

/// Each subflow with room sends `num_segments` segments in turn, in the order in which the subflows were opened; a new
/// round begins when all subflows with room have had their turn (Linux MPTCP v0.90, mptcp_rr; Lima, UNIFEI 2017,
/// algorithm 2).
///
/// In a long transfer the windows are full, so each acknowledgement releases a segment on its own path.
pub struct RoundRobin {
    num_segments: u64,
    /// Segments that each path has sent in this round.
    had: Vec<u64>,
}

parameters! {
    struct Settings { num_segments: u64 = Kind::Integer(1, 255), "1", "segments in a row that a subflow takes"; }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "round-robin",
    aliases: &["rr"],
    title: "Round-robin",
    source: "Linux MPTCP v0.90, mptcp_rr",
    help: "one subflow after the other, among those whose windows have room",
    parameters: Settings::PARAMETERS,
    build: |p| Box::new(RoundRobin { num_segments: Settings::from(p).num_segments, had: Vec::new() }),
};

impl PacketScheduler for RoundRobin {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        self.had.resize(situation.paths.len(), 0);
        let available = || (0..situation.paths.len()).filter(|&path| situation.paths[path].is_available());
        let begun = available().find(|&path| (1..self.num_segments).contains(&self.had[path]));
        let fresh = || available().find(|&path| self.had[path] == 0);
        let next = begun.or_else(fresh);
        if next.is_none() {
            self.had.fill(0);
        }
        Decision::send(next.or_else(|| available().next()))
    }

    fn on_sent(&mut self, path: usize, _: u64) {
        self.had[path] += 1;
    }
}
