//! Freezing of slow paths.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// Lowest round-trip time first, but a slow path is frozen while the fastest one, even after waiting for room, will
/// have delivered all waiting data before the slow one delivers a segment (Hwang, Yoo, *Packet scheduling for Multipath
/// TCP*, ICUFN 2015). A short message is then as fast as on the best path alone; with much data waiting, no path is
/// frozen.
///
/// The paper freezes a path if the difference in delay is significant. Here it is if the difference of the round-trip
/// times exceeds the time that the fastest path needs to send the waiting data.
pub struct Freeze;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "freeze",
    aliases: &[],
    title: "Freeze",
    source: "Hwang, Yoo, ICUFN 2015",
    help: "lowest round-trip time; slow paths rest while the fastest can deliver all that waits sooner",
    parameters: &[],
    build: |_| Box::new(Freeze),
};

impl PacketScheduler for Freeze {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        situation
            .send_or_wait(|slow, fast| slow.srtt.as_secs() - fast.srtt.as_secs() > fast.time_for(situation.waiting))
    }
}
