//! Multiple attributes: round-trip time, then window.

use super::{Build, Decision, PacketScheduler, Situation};
use std::cmp::Reverse;
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, parameters};

parameters! {
    /// Multiple-attribute-aware scheduling, MPTCP-MA (Ke et al., APCC 2016, as Lima, UNIFEI 2017, section 4.3,
    /// tells of it): subflows are sorted by their smoothed round-trip time, and of those that are alike in it the one with
    /// the largest congestion window comes first.
    ///
    /// Where times are exact no two are alike: they are compared in steps of `resolution`, a tick of a kernel's clock.
    pub struct MultipleAttribute {
        resolution: Duration = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(1)), "1 ms",
            "round-trip times that differ by less are alike";
    }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "multiple-attribute",
    aliases: &["mptcp-ma"],
    title: "Multiple attributes",
    source: "Ke et al., APCC 2016",
    help: "lowest round-trip time; of subflows alike in it, in whole milliseconds, the one with the largest window",
    parameters: MultipleAttribute::PARAMETERS,
    build: |p| Box::new(MultipleAttribute::from(p)),
};

impl PacketScheduler for MultipleAttribute {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let tick = self.resolution.as_nanos();
        Decision::send(situation.least(|path| (path.srtt.as_nanos() / tick, Reverse(path.cwnd))))
    }
}
