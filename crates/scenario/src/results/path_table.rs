//! Table of paths: one row for each path of an association or a QUIC connection, or each subflow, and one for every other flow.

use crate::guests::ledger::PathInfo;
use crate::guests::meter::TcpMeter;
use crate::measures::counts::{Count, Tally};
use crate::model::routes::PlannedWay;
use crate::model::scenario::FlowSpec;
use crate::results::account::Account;
use crate::results::columns::PathRow;
use crate::world::{End, Flow, World};
use vazao_application::Application;
use vazao_network::{Routing, Step};

/// Location of a path: the interfaces at its ends, and the links that it crosses from the client to the server.
#[derive(Clone, Default)]
struct Location {
    client: Option<String>,
    server: Option<String>,
    route: Option<String>,
}

impl Location {
    /// Locates a way. Its addresses, if it has any, are its ends, whatever interfaces its packets cross.
    fn new(routing: &Routing<'_>, PlannedWay { routes, addresses }: &PlannedWay) -> Location {
        let graph = routing.graph();
        let interface = |(link, forward): Step, number: Option<u8>| {
            let node = if forward { graph.links[link].source } else { graph.links[link].target };
            let leaves = || routing.interfaces(node).iter().position(|&known| known == link);
            let number = number.map(usize::from).or_else(leaves).expect("a route leaves its host");
            Some(format!("{}.{}", graph.nodes[node].name, number + 1))
        };
        let names: Vec<_> = routes.out.iter().map(|&(link, _)| graph.links[link].name.as_str()).collect();
        Location {
            client: interface(routes.out[0], addresses.map(|ends| ends.client)),
            server: interface(routes.back[0], addresses.map(|ends| ends.server)),
            route: Some(names.join(" ")),
        }
    }
}

/// Returns the rows of flow `number` of the world: one for each path or subflow. They are paths of the flow in results from
/// `place` on.
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
    // A guest's kernel chooses the ways of its packets.
    let is_known = !(spec.transport.is_multipath() && spec.transport.has_guest());
    let own = is_known.then(|| Location::new(routing, &spec.routes.clone().into()));
    let (flow, first) = place;
    let row = |(i, (place, tally)): (usize, (Option<Location>, Tally))| {
        let Location { client, server, route } = place.or_else(|| own.clone()).unwrap_or_default();
        PathRow { id, flow, path: first + i, client, server, route, tally }
    };
    reports.into_iter().enumerate().map(row).collect()
}

/// Returns the location of each path, if it is not the flow's own route, and its counts.
fn reports<P>(
    number: usize,
    spec: &FlowSpec,
    routing: &Routing<'_>,
    account: &Account<'_>,
    world: &World<P>,
) -> Vec<(Option<Location>, Tally)> {
    let flow = &world.flows[number];
    let machine = |end| match end {
        End::Machine(index) => Some(&*world.ends[index as usize].machine),
        End::Guest(_) => None,
    };
    let Some(sender) = machine(flow.sender()) else {
        return guest(number, account, world).unwrap_or_else(|| vec![(None, whole(number, account, world))]);
    };
    let end = if account.sender.is_over { flow.measure.last_event } else { world.now };
    let paths =
        if spec.transport.is_multipath() { sender.paths(machine(flow.receiver()), flow.start, end) } else { None };
    let Some(paths) = paths else { return vec![(None, whole(number, account, world))] };
    let places = places(routing, spec);
    paths.into_iter().map(|path| (path.way.and_then(|way| places.get(way).cloned()), path.tally)).collect()
}

/// Returns the locations of a flow's ways, if it may use several interfaces.
fn places(routing: &Routing<'_>, spec: &FlowSpec) -> Vec<Location> {
    spec.ways(routing).into_iter().map(|way| Location::new(routing, &way)).collect()
}

/// Returns the paths of a guest's association, or its subflows. For several paths of an association its kernel reports
/// windows and round-trip times alone.
fn guest<P>(number: usize, account: &Account<'_>, world: &World<P>) -> Option<Vec<(Option<Location>, Tally)>> {
    let flow = &world.flows[number];
    let ledger = world.guests.ledger(number);
    let paths = ledger.paths();
    let sender = &account.sender;
    let end = if sender.is_over { account.last_byte.unwrap_or(world.now) } else { world.now };
    let of_all = |count: Option<Count>| count.filter(|_| paths.len() == 1);
    let addresses = &world.guests.addresses;
    let name = |address| addresses.owner(address).map(|index| addresses.interfaces[index].name.clone());
    let report = |(path, meter): &(PathInfo, Option<&TcpMeter>)| {
        let place = path.ends.map(|ends| {
            let [local, peer] = ends.map(name);
            let (client, server) = if flow.client_sends { (local, peer) } else { (peer, local) };
            Location { client, server, route: None }
        });
        let metered = |count: fn(&TcpMeter) -> u64| meter.map(|meter| Count::Integer(count(meter)));
        let repeated = match ledger.loses_unseen {
            true => path.retransmissions.map(Count::Integer),
            false => metered(|meter| meter.retransmissions),
        };
        let tally = Tally::default()
            .and("bytes", metered(|meter| meter.bytes).or(of_all(Some(account.app_bytes.into()))))
            .and("packets_sent", metered(|meter| meter.segments).or(of_all(sender.tally.get("packets_sent"))))
            .and("packets_lost", of_all(account.arrivals.get("packets_lost")))
            .and("retransmissions", repeated.or(of_all(sender.tally.get("retransmissions"))))
            .and("timeouts", path.timeouts)
            .and("srtt_s", path.srtt)
            .and("cwnd_mean_bytes", path.cwnd_mean(end));
        (place, tally)
    };
    (!paths.is_empty()).then(|| paths.iter().map(report).collect())
}

/// Returns the bytes delivered on a flow's only path; for a connection of a visit, the bytes that its sender knows to have
/// arrived or has sent.
fn delivered<P>(account: &Account<'_>, flow: &Flow, world: &World<P>) -> Option<u64> {
    let End::Machine(sender) = flow.sender() else { return Some(account.app_bytes) };
    let sender = &world.ends[sender as usize];
    if matches!(sender.application, Application::Visit(_)) {
        return sender.machine.delivered();
    }
    Some(account.app_bytes)
}

/// Returns the counts of a flow as its only path.
fn whole<P>(number: usize, account: &Account<'_>, world: &World<P>) -> Tally {
    const COUNTED: [&str; 5] =
        ["packets_sent", "retransmissions", "fast_retransmissions", "timeout_retransmissions", "timeouts"];
    let flow = &world.flows[number];
    let sender = &account.sender;
    // A flow that is over has no window any more.
    let end = if sender.is_over { flow.measure.last_event } else { world.now };
    let counted = COUNTED.iter().fold(Tally::default(), |all, name| all.and(name, sender.tally.get(name)));
    counted
        .and("bytes", delivered(account, flow, world))
        .and("packets_lost", account.arrivals.get("packets_lost"))
        .and("srtt_s", sender.srtt)
        .and("cwnd_mean_bytes", flow.measure.cwnd_mean(end))
}
