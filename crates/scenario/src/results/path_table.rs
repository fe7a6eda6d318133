//! The table of paths: one row for each path of an association or a QUIC connection, or each subflow, and one for every other flow.

use crate::guests::ledger::PathInfo;
use crate::guests::meter::TcpMeter;
use crate::measures::counts::{Count, Tally};
use crate::model::flow::{FlowSpec, Routes};
use crate::model::transport::PlannedWay;
use crate::results::account::Account;
use crate::results::columns::PathRow;
use crate::world::{End, Flow, World};
use vazao_application::Application;
use vazao_network::{Routing, Step};

/// Where a path lies: the interfaces at its ends, and the links that it crosses from the client to the server.
#[derive(Clone, Default)]
struct Place {
    client: Option<String>,
    server: Option<String>,
    route: Option<String>,
}

impl Place {
    fn new(routing: &Routing<'_>, routes: &Routes) -> Place {
        let names: Vec<_> = routes.out.iter().map(|&(link, _)| routing.graph().links[link].name.as_str()).collect();
        Place {
            client: Some(interface(routing, routes.out[0])),
            server: Some(interface(routing, routes.back[0])),
            route: Some(names.join(" ")),
        }
    }

    /// Where addresses are what it is between, those are its ends, whatever interfaces its packets come by.
    fn of_way(routing: &Routing<'_>, PlannedWay { routes, addresses }: &PlannedWay) -> Place {
        let place = Place::new(routing, routes);
        let Some(way) = addresses else { return place };
        let name =
            |first: Step, number: u8| format!("{}.{}", routing.graph().nodes[start(routing, first)].name, number + 1);
        let (client, server) = (name(routes.out[0], way.client), name(routes.back[0], way.server));
        Place { client: Some(client), server: Some(server), ..place }
    }
}

/// The node that a step leaves.
fn start(routing: &Routing<'_>, (link, forward): Step) -> usize {
    if forward { routing.graph().links[link].source } else { routing.graph().links[link].target }
}

/// The interface by which a route leaves, as in `a.2`.
fn interface(routing: &Routing<'_>, first: Step) -> String {
    let node = start(routing, first);
    let number = routing.interfaces(node).iter().position(|&link| link == first.0).expect("a route leaves its host");
    format!("{}.{}", routing.graph().nodes[node].name, number + 1)
}

/// A row for each path of an association, or each subflow, one for every other flow: flow `number` of the world, of which
/// results speak as the paths of a flow from `place` on.
pub(crate) fn path_rows<'a, P>(
    id: &'a str,
    place: (usize, usize),
    number: usize,
    spec: &FlowSpec,
    routing: &Routing<'_>,
    account: &Account<'_>,
    world: &World<P>,
) -> Vec<PathRow<'a>> {
    let reports = reports(number, spec, routing, account, world);
    // Which ways a guest's packets take, its kernel decides.
    let is_known = !(spec.transport.is_multipath() && spec.transport.has_guest());
    let own = is_known.then(|| Place::new(routing, &spec.routes));
    let (flow, first) = place;
    let row = |(i, (place, tally)): (usize, (Option<Place>, Tally))| {
        let Place { client, server, route } = place.or_else(|| own.clone()).unwrap_or_default();
        PathRow { id, flow, path: first + i, client, server, route, tally }
    };
    reports.into_iter().enumerate().map(row).collect()
}

/// Where each path lies, if it is not the flow's own route, and what was counted on it.
fn reports<P>(
    number: usize,
    spec: &FlowSpec,
    routing: &Routing<'_>,
    account: &Account<'_>,
    world: &World<P>,
) -> Vec<(Option<Place>, Tally)> {
    let flow = &world.flows[number];
    let machine = |end| match end {
        End::Machine(index) => Some(&*world.ends[index as usize].machine),
        End::Guest(_) => None,
    };
    let Some(sender) = machine(flow.sender()) else {
        return guest(number, account, world).unwrap_or_else(|| vec![(None, whole(number, account, world))]);
    };
    let end = if account.sender.is_over { flow.measure.last_event() } else { world.now };
    let paths =
        if spec.transport.is_multipath() { sender.paths(machine(flow.receiver()), flow.start, end) } else { None };
    let Some(paths) = paths else { return vec![(None, whole(number, account, world))] };
    let places = places(routing, spec);
    paths.into_iter().map(|path| (path.way.and_then(|way| places.get(way).cloned()), path.tally)).collect()
}

/// Where each way of a flow that may use several interfaces lies.
fn places(routing: &Routing<'_>, spec: &FlowSpec) -> Vec<Place> {
    spec.transport.pack().ways(routing, spec).into_iter().flatten().map(|way| Place::of_way(routing, &way)).collect()
}

/// The paths of a guest's association, or its subflows. Of several paths of an association its kernel tells windows and
/// round-trip times alone.
fn guest<P>(number: usize, account: &Account<'_>, world: &World<P>) -> Option<Vec<(Option<Place>, Tally)>> {
    let flow = &world.flows[number];
    let paths = world.guests.ledger(number).paths();
    let sender = &account.sender;
    let end = if sender.is_over { account.last_byte.unwrap_or(world.now) } else { world.now };
    let of_all = |count: Option<Count>| count.filter(|_| paths.len() == 1);
    let addresses = &world.guests.addresses;
    let name = |address| addresses.owner(address).map(|index| addresses.interfaces[index].name.clone());
    let report = |(path, meter): &(PathInfo, Option<&TcpMeter>)| {
        let place = path.ends.map(|ends| {
            let [local, peer] = ends.map(name);
            let (client, server) = if flow.client_sends { (local, peer) } else { (peer, local) };
            Place { client, server, route: None }
        });
        let metered = |count: fn(&TcpMeter) -> u64| meter.map(|meter| Count::Integer(count(meter)));
        let tally = Tally::default()
            .and("bytes", metered(|meter| meter.bytes).or(of_all(Some(account.app_bytes.into()))))
            .and("packets_sent", metered(|meter| meter.segments).or(of_all(sender.tally.get("packets_sent"))))
            .and("packets_lost", of_all(account.arrivals.get("packets_lost")))
            .and(
                "retransmissions",
                metered(|meter| meter.retransmissions).or(of_all(sender.tally.get("retransmissions"))),
            )
            .and("timeouts", path.timeouts)
            .and("srtt_s", path.srtt)
            .and("cwnd_mean_bytes", path.cwnd_mean(end));
        (place, tally)
    };
    (!paths.is_empty()).then(|| paths.iter().map(report).collect())
}

/// What a flow's only path delivered; of a connection of a visit, whose data is that of all its connections, what its sender
/// knows to have arrived or has sent.
fn delivered<P>(account: &Account<'_>, flow: &Flow, world: &World<P>) -> Option<u64> {
    let End::Machine(sender) = flow.sender() else { return Some(account.app_bytes) };
    let sender = &world.ends[sender as usize];
    if matches!(sender.application, Application::Visit(_)) {
        return sender.machine.delivered();
    }
    Some(account.app_bytes)
}

/// A flow as its only path.
fn whole<P>(number: usize, account: &Account<'_>, world: &World<P>) -> Tally {
    const COUNTED: [&str; 5] =
        ["packets_sent", "retransmissions", "fast_retransmissions", "timeout_retransmissions", "timeouts"];
    let flow = &world.flows[number];
    let sender = &account.sender;
    // A flow that is over has no window any more.
    let end = if sender.is_over { flow.measure.last_event() } else { world.now };
    let counted = COUNTED.iter().fold(Tally::default(), |all, name| all.and(name, sender.tally.get(name)));
    counted
        .and("bytes", delivered(account, flow, world))
        .and("packets_lost", account.arrivals.get("packets_lost"))
        .and("srtt_s", sender.srtt)
        .and("cwnd_mean_bytes", flow.measure.cwnd_mean(end))
}
