//! Out-of-order transmission for in-order arrival.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// Out-of-order transmission for in-order arrival, OTIAS (Yang, Wang, Amer, *Out-of-order transmission for in-order
/// arrival scheduling for Multipath TCP*, AINA workshops 2014): each segment goes to the path on which it arrives
/// first, whether that has room or not. A segment waits one round-trip time for each full window ahead of it, and then
/// takes half a round-trip time.
pub struct InOrder;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "in-order",
    aliases: &["otias"],
    title: "In-order arrival",
    source: "Yang, Wang, Amer, AINA workshops 2014",
    help: "the subflow by which a segment arrives first, be there room or not, waiting a round-trip time a window",
    parameters: &[],
    build: |_| Box::new(InOrder),
};

impl PacketScheduler for InOrder {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        situation.assign(|path| {
            let round_trips = path.excess().div_ceil(path.cwnd.max(path.mss));
            (round_trips as f64 + 0.5) * path.srtt.as_nanos() as f64
        })
    }

    fn queues(&self) -> bool {
        true
    }
}
