//! The table of paths: one row for each path of an association or a QUIC connection, or each subflow, and one for every other flow.

use crate::account::Account;
use crate::flow::{FlowSpec, Routes};
use crate::ledger::PathInfo;
use crate::machine::Machine;
use crate::meter::TcpMeter;
use crate::multihomed::{Multihomed, PathView, watched};
use crate::multipath::Bundle;
use crate::table::Cell;
use crate::ways::{association_ways, client_ways, subflow_ways};
use crate::world::{End, Flow, World};
use vazao_application::Application;
use vazao_engine::Duration;
use vazao_network::{Routing, Step};
use vazao_transport::mptcp::{Subflow, Way};
use vazao_transport::quic;

/// A row as its columns come.
type Row = Vec<(&'static str, Cell)>;

/// What is told of a path. `None`: its stack does not say.
#[derive(Default)]
struct PathReport {
    place: Option<Place>,
    bytes: Option<u64>,
    packets_sent: Option<u64>,
    packets_lost: Option<u64>,
    retransmissions: Option<u64>,
    fast_retransmissions: Option<u64>,
    timeout_retransmissions: Option<u64>,
    timeouts: Option<u64>,
    srtt: Option<Duration>,
    cwnd_mean: Option<f64>,
}

impl PathReport {
    fn row(self, id: &str, (flow, path): (usize, usize)) -> Row {
        let place = self.place.unwrap_or_default();
        vec![
            ("run_id", id.into()),
            ("flow", (flow as u64).into()),
            ("path", (path as u64).into()),
            ("client_interface", place.client.into()),
            ("server_interface", place.server.into()),
            ("route", place.route.into()),
            ("bytes", self.bytes.into()),
            ("packets_sent", self.packets_sent.into()),
            ("packets_lost", self.packets_lost.into()),
            ("retransmissions", self.retransmissions.into()),
            ("fast_retransmissions", self.fast_retransmissions.into()),
            ("timeout_retransmissions", self.timeout_retransmissions.into()),
            ("timeouts", self.timeouts.into()),
            ("srtt_s", self.srtt.map(Duration::as_secs).into()),
            ("cwnd_mean_bytes", self.cwnd_mean.into()),
        ]
    }
}

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

    /// A subflow's ends are its addresses, whatever interfaces its packets come by.
    fn of_subflow(routing: &Routing<'_>, (way, routes): &(Way, Routes)) -> Place {
        let name =
            |first: Step, number: u8| format!("{}.{}", routing.graph().nodes[start(routing, first)].name, number + 1);
        let (client, server) = (name(routes.out[0], way.client), name(routes.back[0], way.server));
        Place { client: Some(client), server: Some(server), ..Place::new(routing, routes) }
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
pub(crate) fn path_rows<P>(
    id: &str,
    place: (usize, usize),
    number: usize,
    spec: &FlowSpec,
    routing: &Routing<'_>,
    account: &Account<'_>,
    world: &World<P>,
) -> Vec<Row> {
    let flow = &world.flows[number];
    let machine = |end| match end {
        End::Machine(index) => Some(&world.endpoints[index as usize].machine),
        End::Guest(_) => None,
    };
    let span = watched(account.sender.is_over, flow.measure.last_event(), world.now, flow.start);
    let reports = match (machine(flow.sender()), machine(flow.receiver())) {
        (Some(Machine::Sctp(sender)), Some(Machine::Sctp(receiver))) => {
            association(sender, receiver, span, &association_ways(routing, spec), routing)
        }
        (Some(Machine::Mptcp(sender)), receiver) => {
            let receiver = if let Some(Machine::Mptcp(receiver)) = receiver { Some(&**receiver) } else { None };
            subflows(sender, receiver, span, &subflow_ways(routing, spec), routing)
        }
        (Some(Machine::Quic(sender)), _) if spec.transport.is_multipath() => {
            connection(sender, &client_ways(routing, spec), routing)
        }
        _ => guest(number, account, world).unwrap_or_else(|| vec![whole(number, account, world)]),
    };
    // Which ways a guest's packets take, its kernel decides.
    let is_known = !(spec.transport.is_multipath() && spec.transport.has_guest());
    let own = is_known.then(|| Place::new(routing, &spec.routes));
    let placed = |report: PathReport| PathReport { place: report.place.or_else(|| own.clone()), ..report };
    let (flow, first) = place;
    reports.into_iter().enumerate().map(|(i, report)| placed(report).row(id, (flow, first + i))).collect()
}

/// The paths of an association.
fn association(
    sender: &Multihomed,
    receiver: &Multihomed,
    span: Duration,
    ways: &[Routes],
    routing: &Routing<'_>,
) -> Vec<PathReport> {
    let report = |(i, path): (usize, PathView)| PathReport {
        place: ways.get(i).map(|routes| Place::new(routing, routes)),
        bytes: Some(path.stats.bytes),
        packets_sent: Some(path.stats.packets),
        packets_lost: Some(receiver.lost[i]),
        retransmissions: Some(path.stats.retransmissions),
        fast_retransmissions: Some(path.stats.fast_retransmissions),
        timeout_retransmissions: Some(path.stats.timeout_retransmissions),
        timeouts: Some(path.stats.timeouts),
        srtt: path.srtt,
        cwnd_mean: path.cwnd_mean,
    };
    sender.paths(span).enumerate().map(report).collect()
}

/// The subflows of a connection. What a guest as receiver has not got is not known by subflow.
fn subflows(
    sender: &Bundle,
    receiver: Option<&Bundle>,
    span: Duration,
    ways: &[(Way, Routes)],
    routing: &Routing<'_>,
) -> Vec<PathReport> {
    let means = sender.mean_windows(span).chain(std::iter::repeat(None));
    let report = |(subflow, cwnd_mean): (&Subflow, Option<f64>)| {
        let (stats, srtt) = (subflow.tcp().stats(), subflow.tcp().rtt().srtt());
        PathReport {
            place: ways.get(usize::from(subflow.tuple().way)).map(|way| Place::of_subflow(routing, way)),
            bytes: Some(stats.bytes),
            packets_sent: Some(stats.segments),
            packets_lost: receiver.map(|receiver| receiver.lost(subflow)),
            retransmissions: Some(stats.retransmissions),
            fast_retransmissions: Some(stats.fast_retransmissions),
            timeout_retransmissions: Some(stats.timeout_retransmissions),
            timeouts: Some(stats.timeouts),
            srtt: Some(srtt).filter(|&srtt| srtt > Duration::ZERO),
            cwnd_mean,
        }
    };
    sender.connection.subflows().iter().zip(means).map(report).collect()
}

/// The paths of a QUIC connection.
fn connection(sender: &quic::Connection, ways: &[Routes], routing: &Routing<'_>) -> Vec<PathReport> {
    let report = |path: quic::PathView| PathReport {
        place: ways.get(usize::from(path.way)).map(|routes| Place::new(routing, routes)),
        bytes: Some(path.stats.bytes),
        packets_sent: Some(path.stats.datagrams),
        retransmissions: Some(path.stats.retransmissions),
        timeouts: Some(path.stats.probes),
        srtt: path.srtt,
        ..PathReport::default()
    };
    sender.paths().map(report).collect()
}

/// The paths of a guest's association, or its subflows. Of several paths of an association its kernel tells windows and
/// round-trip times alone.
fn guest<P>(number: usize, account: &Account<'_>, world: &World<P>) -> Option<Vec<PathReport>> {
    let flow = &world.flows[number];
    let End::Guest(_) = flow.sender() else { return None };
    let paths = world.guests.ledger(number).paths();
    let sender = &account.sender;
    let end = if sender.is_over { account.last_byte.unwrap_or(world.now) } else { world.now };
    let of_all = |count: u64| (paths.len() == 1).then_some(count);
    let addresses = &world.guests.addresses;
    let name = |address| addresses.owner(address).map(|index| addresses.interfaces[index].name.clone());
    let report = |(path, meter): &(PathInfo, Option<&TcpMeter>)| PathReport {
        place: path.ends.map(|ends| {
            let [local, peer] = ends.map(name);
            let (client, server) = if flow.client_sends { (local, peer) } else { (peer, local) };
            Place { client, server, route: None }
        }),
        bytes: meter.map(|meter| meter.bytes).or(of_all(account.app_bytes)),
        packets_sent: meter.map(|meter| meter.segments).or(of_all(sender.packets)),
        packets_lost: of_all(account.arrivals.lost),
        retransmissions: meter.map(|meter| meter.retransmissions).or(sender.retransmissions.and_then(of_all)),
        timeouts: path.timeouts,
        srtt: path.srtt,
        cwnd_mean: path.cwnd_mean(end),
        ..PathReport::default()
    };
    (!paths.is_empty()).then(|| paths.iter().map(report).collect())
}

/// What a flow's only path delivered; of a connection of a visit, whose data is that of all its connections, what its sender
/// knows to have arrived or has sent.
fn delivered<P>(account: &Account<'_>, flow: &Flow, world: &World<P>) -> Option<u64> {
    let End::Machine(sender) = flow.sender() else { return Some(account.app_bytes) };
    let sender = &world.endpoints[sender as usize];
    match (&sender.application, &sender.machine) {
        (Application::Visit(_), Machine::Tcp(connection)) => Some(connection.acknowledged_bytes()),
        (Application::Visit(_), Machine::Quic(connection)) => {
            Some(connection.paths().map(|path| path.stats.bytes).sum())
        }
        (Application::Visit(_), _) => None,
        _ => Some(account.app_bytes),
    }
}

/// A flow as its only path.
fn whole<P>(number: usize, account: &Account<'_>, world: &World<P>) -> PathReport {
    let flow = &world.flows[number];
    let sender = &account.sender;
    // A flow that is over has no window any more.
    let end = if sender.is_over { flow.measure.last_event() } else { world.now };
    PathReport {
        place: None,
        bytes: delivered(account, flow, world),
        packets_sent: Some(sender.packets),
        packets_lost: Some(account.arrivals.lost),
        retransmissions: sender.retransmissions,
        fast_retransmissions: sender.fast_retransmissions,
        timeout_retransmissions: sender.timeout_retransmissions,
        timeouts: sender.timeouts,
        srtt: sender.srtt,
        cwnd_mean: flow.measure.cwnd_mean(end),
    }
}
