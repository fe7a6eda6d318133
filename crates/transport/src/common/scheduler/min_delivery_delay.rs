//! Minimum delivery delay.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// Minimum delivery delay (Singh, Goerg, Timm-Giel, Scharf, Banniza, *Performance comparison of scheduling algorithms for
/// multipath transfer*, GLOBECOM 2012): the path by which a segment arrives first, counting the way there (half the round-trip
/// time), the wait for what is queued before it, and its own time at the path's rate. A path may be given data that it has no
/// room for so far.
pub struct MinDeliveryDelay;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "min-delivery-delay",
    aliases: &["mdd"],
    title: "Minimum delivery delay",
    source: "Singh, Goerg, Timm-Giel, Scharf, Banniza, GLOBECOM 2012",
    help: "the subflow by which a segment arrives first, its queue and its rate counted",
    parameters: &[],
    build: |_| Box::new(MinDeliveryDelay),
};

impl PacketScheduler for MinDeliveryDelay {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        situation.assign(|path| {
            let round_trips = (path.excess() + path.mss) as f64 / path.cwnd.max(1) as f64;
            (round_trips + 0.5) * path.srtt.as_nanos() as f64
        })
    }

    fn queues(&self) -> bool {
        true
    }
}
