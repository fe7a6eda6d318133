//! One after the other.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::{Entry, Kind, Parameter};

/// Each subflow that has room takes its turn of `num_segments` segments, in the order in which they were opened; when all that
/// have room have had theirs, a new round begins (Linux MPTCP v0.90, mptcp_rr; Lima, UNIFEI 2017, algorithm 2).
///
/// In a long transfer the windows are full, and a segment leaves by whichever path an acknowledgement comes from.
pub struct RoundRobin {
    num_segments: u64,
    /// Segments of this round that each path has had.
    had: Vec<u64>,
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "round-robin",
    aliases: &["rr"],
    title: "Round-robin",
    source: "Linux MPTCP v0.90, mptcp_rr",
    help: "one subflow after the other, among those whose windows have room",
    parameters: &[Parameter::new("num_segments", Kind::Integer(1, 255), "1", "segments in a row that a subflow takes")],
    build: |p| Box::new(RoundRobin { num_segments: p.integer("num_segments"), had: Vec::new() }),
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
