//! Minimum delivery delay.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// Minimum delivery delay (Singh, Goerg, Timm-Giel, Scharf, Banniza, *Performance comparison of scheduling algorithms
/// for multipath transfer*, GLOBECOM 2012): the path on which a segment arrives first, counting the forward delay (half
/// the round-trip time), the wait behind queued data, and its own transmission time at the path's rate. A path may be
/// assigned data that it has no room for yet.
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
