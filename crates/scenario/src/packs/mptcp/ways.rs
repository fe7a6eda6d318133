//! Ways of subflows.

use crate::model::routes::Routes;
use crate::model::scenario::FlowSpec;
use crate::model::ways::{interfaces, last, node_of};
use vazao_engine::registry;
use vazao_network::{NodeKind, Routing};
use vazao_transport::mptcp::AddressPair;
use vazao_transport::mptcp::path_manager::Mesh;

/// Most addresses of a host over Multipath TCP.
const MOST_ADDRESSES: usize = 64;

/// Returns the pairs of addresses between which subflows can exist, the flow's own first, and their routes. Packets
/// back go to the client's address, and arrive at the interface from which the way there leaves.
///
/// A guest answers by the interface that has its source address. A single mesh to a guest therefore uses an address only if
/// the way there leads to its interface; otherwise all its data would leave by the first.
pub(super) fn subflow_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<(AddressPair, Routes)> {
    let (client, server) = (node_of(routing, &flow.client), node_of(routing, &flow.server));
    let number = |node: usize, link: usize| {
        routing.interfaces(node).iter().position(|&known| known == link).expect("a route ends at its host") as u8
    };
    let own = AddressPair {
        client: number(client, flow.routes.out[0].0),
        server: number(server, last(&flow.routes.out)),
        relay: 0,
    };
    let is_single = flow.transport.multipath.as_ref().is_some_and(|spec| spec.mesh() == Some(Mesh::Single));
    let keeps_to_interfaces = is_single && flow.transport.stacks[1].is_guest();
    let mut ways = vec![(own, flow.routes.clone())];
    for from in interfaces(routing, &flow.client) {
        for to in interfaces(routing, &flow.server) {
            let way = AddressPair { client: from.1 as u8, server: to.1 as u8, relay: 0 };
            let is_apart = |&(_, arrives): &(_, usize)| way != own && (arrives == to.1 || !keeps_to_interfaces);
            let Some((out, arrives)) = routing.way(from, to).filter(is_apart) else { continue };
            if let Some((back, _)) = routing.way((server, arrives), from) {
                ways.push((way, Routes { out, back }));
            }
        }
    }
    let ends = ((client, usize::from(own.client)), (server, usize::from(own.server)));
    for (number, relay) in flow.transport.parameters.names("relays").iter().enumerate() {
        let there = routing.way_through(ends.0, relay, ends.1);
        let back = routing.way_through(ends.1, relay, ends.0);
        if let (Some((out, _)), Some((back, _))) = (there, back) {
            ways.push((AddressPair { relay: number as u8 + 1, ..own }, Routes { out, back }));
        }
    }
    ways
}

/// Returns an error if a Multipath TCP flow names an interface or a relay that does not exist.
pub(super) fn misnamed(routing: &Routing<'_>, flow: &FlowSpec) -> Option<String> {
    let multipath = flow.transport.multipath.as_ref()?;
    let parameters = &flow.transport.parameters;
    let relays = parameters.names("relays");
    if let Some(unknown) = relays.iter().find(|relay| routing.router(relay).is_none()) {
        let routers = routing.graph().nodes.iter().filter(|node| node.kind == NodeKind::Router);
        let known = routers.map(|node| node.name.as_str());
        return Some(format!("relays: {}", registry::unknown("router", unknown, known)));
    }
    if let Some((manager, _)) =
        multipath.path_manager.as_ref().filter(|(manager, _)| manager.build.is_relayed && relays.is_empty())
    {
        let name = manager.name;
        return Some(format!("{name} needs relays to lead subflows through, as in relays = [\"r1\", \"r2\"]"));
    }
    for host in [&flow.client, &flow.server] {
        let count = routing.interfaces(node_of(routing, host)).len();
        if count > MOST_ADDRESSES {
            return Some(format!(
                "{host} has {count} interfaces; over Multipath TCP a host has {MOST_ADDRESSES} at most"
            ));
        }
    }
    let count = routing.interfaces(node_of(routing, &flow.client)).len() as u64;
    let changed = parameters.schedule("changes").iter().map(|change| change.which);
    let (key, number) = (parameters.integers("backups").iter().map(|&number| ("backups", number)))
        .chain(changed.map(|number| ("changes", number)))
        .find(|&(_, number)| number > count)?;
    Some(format!("{key}: {} has no interface {number}; it has {count}", flow.client))
}
