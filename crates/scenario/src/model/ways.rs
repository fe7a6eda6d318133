//! Ways of flows that may use several interfaces of their hosts.

use super::routes::Routes;
use super::scenario::FlowSpec;
use vazao_network::{Routing, Step};

/// Most paths of a flow.
pub(crate) const MOST_PATHS: usize = 8;

/// Returns ways between pairs of interfaces, each interface in one pair. The first is the flow's own route.
pub(crate) fn paired_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
    let mut ways = vec![flow.routes.clone()];
    for way in ways_between(routing, flow) {
        let ends = |routes: &Routes| [routes.out[0].0, last(&routes.out), routes.back[0].0, last(&routes.back)];
        let [leaves, arrives, answers, returns] = ends(&way);
        let is_pair = leaves == returns && arrives == answers;
        let is_new = ways.iter().map(ends).all(|known| known[0] != leaves && known[1] != arrives);
        if is_pair && is_new && ways.len() < MOST_PATHS {
            ways.push(way);
        }
    }
    ways
}

/// Returns the ways from each interface of a flow's client to each of its server.
pub(crate) fn ways_between(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
    let mut ways = Vec::new();
    for client in interfaces(routing, &flow.client) {
        for server in interfaces(routing, &flow.server) {
            if let (Some((out, _)), Some((back, _))) = (routing.way(client, server), routing.way(server, client)) {
                ways.push(Routes { out, back });
            }
        }
    }
    ways
}

/// Returns a host's interfaces: its node and their numbers from 0.
pub(crate) fn interfaces(routing: &Routing<'_>, address: &str) -> impl Iterator<Item = (usize, usize)> + use<> {
    let node = node_of(routing, address);
    (0..routing.interfaces(node).len()).map(move |number| (node, number))
}

/// Returns the node of an address.
pub(crate) fn node_of(routing: &Routing<'_>, address: &str) -> usize {
    routing.address(address).expect("an end was checked when the scenario was read").0
}

/// Returns the last link of a route.
pub(crate) fn last(steps: &[Step]) -> usize {
    steps.last().expect("a route has links").0
}
