//! Routes of flows, and the ways of those that have several.

use vazao_engine::Duration;
use vazao_network::{Graph, Step};
use vazao_transport::mptcp::AddressPair;

/// Routes of a flow in both directions.
#[derive(Clone, Debug)]
pub struct Routes {
    /// From client to server.
    pub out: Vec<Step>,
    /// From server to client.
    pub back: Vec<Step>,
}

impl Routes {
    /// Returns the round-trip propagation delay.
    pub fn base_rtt(&self, graph: &Graph) -> Duration {
        graph.delay(&self.out) + graph.delay(&self.back)
    }

    /// Returns the bandwidth-delay product in bytes: the lowest rate on the way of the data times the base round-trip time.
    pub fn bdp(&self, graph: &Graph, client_sends: bool) -> u64 {
        let data = if client_sends { &self.out } else { &self.back };
        let rate = data.iter().map(|&s| graph.direction(s).rate).min().expect("a route has links");
        rate.bytes_in(self.base_rtt(graph)).get()
    }
}

/// Way of a flow that may use several interfaces of its hosts.
pub(crate) struct PlannedWay {
    pub routes: Routes,
    /// Addresses at its ends, if its packets need not leave by the interfaces that have them.
    pub addresses: Option<AddressPair>,
}

impl From<Routes> for PlannedWay {
    fn from(routes: Routes) -> PlannedWay {
        PlannedWay { routes, addresses: None }
    }
}

/// Returns the number of one direction of a link in the network, to which links were added in pairs.
pub(crate) fn link_id((index, forward): Step) -> u32 {
    2 * index as u32 + u32::from(!forward)
}

/// Returns the name of a direction of a link.
pub(crate) fn direction_name(forward: bool) -> &'static str {
    if forward { "forward" } else { "reverse" }
}
