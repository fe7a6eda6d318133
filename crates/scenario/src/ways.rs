//! The ways of flows that use several interfaces of their hosts.

use crate::flow::{FlowSpec, Routes};
use crate::stack::Stack;
use crate::transport::Protocol;
use vazao_engine::registry;
use vazao_network::{NodeKind, Routing, Step};
use vazao_transport::mptcp::Way;

/// Paths of an association at most.
const MOST_PATHS: usize = 8;

/// Addresses of a host that Multipath TCP knows at most.
const MOST_ADDRESSES: usize = 64;

/// The paths of an association: pairs of interfaces that reach each other, each interface in one of them. The first is
/// the flow's own route.
pub(crate) fn association_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
    if flow.transport.parameters.flag("multihomed") { paired_ways(routing, flow) } else { vec![flow.routes.clone()] }
}

/// Whether the client of a flow may use others of its interfaces than the one of its route.
pub(crate) fn leaves_by_several(flow: &FlowSpec) -> bool {
    let parameters = &flow.transport.parameters;
    !parameters.schedule("changes").is_empty()
        || flow.transport.entry.build == Protocol::Quic && parameters.flag("multipath")
}

/// The ways of a QUIC connection: from each of the client's interfaces to the server's address that it knows, or to the first
/// that it can reach from there; the flow's own first.
pub(crate) fn client_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
    let mut ways = vec![flow.routes.clone()];
    if !leaves_by_several(flow) {
        return ways;
    }
    let known = last(&flow.routes.out);
    let mut others = ways_between(routing, flow);
    others.sort_by_key(|way| last(&way.out) != known);
    for way in others {
        let leaves = way.out[0].0;
        let is_new = ways.iter().all(|known| known.out[0].0 != leaves);
        if last(&way.back) == leaves && is_new && ways.len() < MOST_PATHS {
            ways.push(way);
        }
    }
    ways.sort_by_key(|way| way.out[0].0 != flow.routes.out[0].0);
    ways
}

fn paired_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
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

/// The ways that packets of a flow which may use all interfaces of its hosts can take.
pub(crate) fn every_way(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
    match flow.transport.entry.build {
        Protocol::Mptcp => subflow_ways(routing, flow).into_iter().map(|(_, routes)| routes).collect(),
        Protocol::Quic => client_ways(routing, flow),
        _ => ways_between(routing, flow),
    }
}

/// The ways from each interface of a flow's hosts to each of the other's.
fn ways_between(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
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

/// The pairs of addresses between which subflows can be, the flow's own first, and their routes. What comes back goes to the
/// client's address, so that it comes by the interface from which the other way left.
///
/// A guest answers by the interface whose address it answers from, though: a single mesh to a guest has each of its addresses
/// only where the way there leads to that interface, or all data that it sends would leave by the first.
pub(crate) fn subflow_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<(Way, Routes)> {
    let (client, server) = (node_of(routing, &flow.client), node_of(routing, &flow.server));
    let number = |node: usize, link: usize| {
        routing.interfaces(node).iter().position(|&known| known == link).expect("a route ends at its host") as u8
    };
    let own =
        Way { client: number(client, flow.routes.out[0].0), server: number(server, last(&flow.routes.out)), relay: 0 };
    let is_single = flow.transport.multipath.as_ref().is_some_and(|spec| spec.is_managed_by("single-mesh"));
    let keeps_to_interfaces = is_single && flow.transport.stacks[1] == Stack::Linux;
    let mut ways = vec![(own, flow.routes.clone())];
    for from in interfaces(routing, &flow.client) {
        for to in interfaces(routing, &flow.server) {
            let way = Way { client: from.1 as u8, server: to.1 as u8, relay: 0 };
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
            ways.push((Way { relay: number as u8 + 1, ..own }, Routes { out, back }));
        }
    }
    ways
}

/// What of the interfaces and relays that a Multipath TCP flow names is not there.
pub(crate) fn misnamed(routing: &Routing<'_>, flow: &FlowSpec) -> Option<String> {
    if flow.transport.entry.build == Protocol::Quic {
        let count = client_ways(routing, flow).len() as u64;
        let parameters = &flow.transport.parameters;
        let changed = parameters.schedule("changes").iter().map(|change| ("changes", change.which));
        let named = changed.chain(parameters.integers("backups").iter().map(|&number| ("backups", number)));
        let (key, which) = named.into_iter().find(|&(_, number)| number > count)?;
        return Some(format!("{key}: {} has no interface {which}; {count} of its lead to the server", flow.client));
    }
    let multipath = flow.transport.multipath.as_ref()?;
    let parameters = &flow.transport.parameters;
    let relays = parameters.names("relays");
    if let Some(unknown) = relays.iter().find(|relay| routing.router(relay).is_none()) {
        let routers = routing.graph().nodes.iter().filter(|node| node.kind == NodeKind::Router);
        let known = routers.map(|node| node.name.as_str());
        return Some(format!("relays: {}", registry::unknown("router", unknown, known)));
    }
    if multipath.is_managed_by("binder") && relays.is_empty() {
        return Some("binder needs relays to lead subflows through, as in relays = [\"r1\", \"r2\"]".into());
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

/// A host's interfaces: its node and their numbers from 0.
fn interfaces(routing: &Routing<'_>, address: &str) -> impl Iterator<Item = (usize, usize)> + use<> {
    let node = node_of(routing, address);
    (0..routing.interfaces(node).len()).map(move |number| (node, number))
}

/// The node of an address.
fn node_of(routing: &Routing<'_>, address: &str) -> usize {
    routing.address(address).expect("an end was checked when the scenario was read").0
}

fn last(steps: &[Step]) -> usize {
    steps.last().expect("a route has links").0
}
