//! Slow paths frozen.

use super::{Build, Decision, PacketScheduler, Situation, send_or_wait};
use vazao_engine::registry::Entry;

/// As lowest round-trip time first; but a slow path is frozen while the fastest one will have delivered all that waits sooner
/// than the slow one delivers a segment, even if it must wait for room first (Hwang, Yoo, *Packet scheduling for Multipath TCP*,
/// ICUFN 2015). A short message then is as fast as on the best path alone; where much waits, no path is frozen.
///
/// The paper freezes where the difference in delay is significant; here that is measured by what waits: the difference of the
/// round-trip times is longer than the fastest path needs to send it.
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
        send_or_wait(situation.paths, |slow, fast| {
            slow.srtt.as_secs() - fast.srtt.as_secs() > fast.time_for(situation.waiting)
        })
    }
}
