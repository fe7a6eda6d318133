//! From a scenario to a world that can run.

use crate::address::{Addresses, initial_sequences};
use crate::datagrams;
use crate::flow::{FlowSpec, Routes, guests};
use crate::guests::{Guests, Way};
use crate::library::Libraries;
use crate::machine::Machine;
use crate::measure::FlowMeasure;
use crate::multihomed::Multihomed;
use crate::multipath::Bundle;
use crate::plan::{Planned, plan};
use crate::plugin::SchedulerSpec;
use crate::probe::Probe;
use crate::scenario::Scenario;
use crate::stack::Stack;
use crate::transport::{Protocol, TransportSpec, udp_rate};
use crate::visits::Visited;
use crate::ways::{association_ways, client_ways, every_way, subflow_ways};
use crate::world::{Body, Side, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_application::Sides;
use vazao_congestion::Setup;
use vazao_engine::registry::{Parameters, find};
use vazao_engine::{Duration, Stream, Time, Wheel};
use vazao_network::queue::Setting;
use vazao_network::{Network, RouteId, Routing, Step};
use vazao_transport::mptcp;
use vazao_transport::quic;
use vazao_transport::sctp::{self, Association};
use vazao_transport::tcp::{Config, Connection, ControlFactory, Cookies};
use vazao_transport::tls;
use vazao_transport::udp;

/// The number of one direction of a link in the network: links were added in pairs.
pub(crate) fn link_id((index, forward): Step) -> u32 {
    2 * index as u32 + u32::from(!forward)
}

/// The guests of a scenario, and the addresses by which they know each other.
#[derive(Default)]
pub(crate) struct Cast {
    pub addresses: Addresses,
    pub guests: Vec<Planned>,
}

impl Cast {
    /// Nobody has an address where there are no guests and nothing is captured.
    ///
    /// # Errors
    /// Why its guests cannot be had.
    pub fn new(scenario: &Scenario, is_captured: bool) -> Result<Cast, String> {
        if !is_captured && !scenario.flows.iter().any(|flow| flow.transport.has_guest()) {
            return Ok(Cast::default());
        }
        let addresses = Addresses::new(scenario);
        let guests = plan(scenario, &addresses)?;
        Ok(Cast { addresses, guests })
    }

    /// The guest that plays a side of a flow.
    fn guest(&self, flow: usize, side: usize) -> u32 {
        let node = self.addresses.interfaces[self.addresses.sockets[flow][side].interface].node;
        self.guests.iter().position(|guest| guest.node == node).expect("every guest is planned") as u32
    }
}

/// The settings of the flow before, which are also those of the next if they were described together.
struct Shared<T>(Option<(*const TransportSpec, Arc<T>)>);

impl<T> Shared<T> {
    fn of(&mut self, spec: &Arc<TransportSpec>, make: impl FnOnce() -> T) -> Arc<T> {
        match &self.0 {
            Some((known, config)) if *known == Arc::as_ptr(spec) => config.clone(),
            _ => {
                let config = Arc::new(make());
                self.0 = Some((Arc::as_ptr(spec), config.clone()));
                config
            }
        }
    }
}

/// Builds the world of a scenario around a probe. Its guests are still to be started and added.
pub(crate) fn build<P: Probe>(scenario: &Scenario, cast: &Cast, mut libraries: Libraries, probe: P) -> World<P> {
    let graph = &scenario.graph;
    let routing = Routing::new(graph);
    let mut scheduler = Wheel::default();
    let mut network = build_network(scenario, &routing, &mut scheduler);
    let mut route_ids: BTreeMap<(&str, &str), RouteId> = BTreeMap::new();
    let mut ids = Vec::new();
    for flow in &scenario.flows {
        let mut add =
            |from, to, steps: &[Step]| *route_ids.entry((from, to)).or_insert_with(|| add_route(&mut network, steps));
        ids.push([
            add(&flow.client, &flow.server, &flow.routes.out),
            add(&flow.server, &flow.client, &flow.routes.back),
        ]);
    }
    let guests = build_guests(&routing, cast, &mut network);
    let mut world = World::new(network, scheduler, probe);
    world.guests = guests;
    // Flows described together share their settings, as 10 000 copies would be most of a run's memory.
    let (mut configs, mut quic_configs) = (Shared(None), Shared(None));
    let mut cookies = CookieJar::default();
    let mut associations = Associations::default();
    let mut bundles = Bundles::default();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let spec = &flow.transport;
        let mut sides = flow.sides();
        let mut start = flow.start;
        if let Some(visit) = flow.visit() {
            if flow.part == 0 {
                world.visits.push(Visited { visit: visit.begin(start), first: number });
            } else {
                start = Time::NEVER;
            }
            sides = Sides::of_visit(world.visits.len() as u32 - 1, flow.part);
        }
        let paced = sides.is_paced();
        let measure = FlowMeasure::new(flow.routes.bdp(graph, sides.client_sends));
        if spec.has_guest() {
            world.guests.add_flow(number, spec, &sides);
        }
        let mut sessions = spec.tls.map(|config| tls::Session::pair(config).map(Box::new).map(Some));
        let mut machine = |side: usize, application| {
            if spec.stacks[side] == Stack::Linux {
                return Side::Guest(cast.guest(number, side));
            }
            if spec.stacks[side] == Stack::Quinn {
                let machine = libraries.machine(number, side);
                return Side::Machine(Box::new(machine), application, None, ids[number][side]);
            }
            if spec.entry.build == Protocol::Udp {
                return Side::Machine(Box::new(udp_machine(spec, paced)), application, None, ids[number][side]);
            }
            if spec.entry.build == Protocol::Sctp {
                let machine = associations.machine(scenario, &routing, (number, side), &mut world.network);
                return Side::Machine(Box::new(machine), application, None, ids[number][side]);
            }
            if spec.entry.build == Protocol::Quic {
                let config = quic_configs.of(spec, || datagrams::settings(flow));
                let open = if side == 0 { quic::Connection::connect } else { quic::Connection::listen };
                let seed = u64::from(initial_sequences(scenario.seed, number)[side]);
                let mut connection = open(config, seed);
                connection.use_ways(client_ways(&routing, flow).len() as u8);
                let machine = Machine::Quic(Box::new(connection));
                return Side::Machine(Box::new(machine), application, None, ids[number][side]);
            }
            if spec.entry.build == Protocol::Mptcp {
                let machine = bundles.machine(scenario, (cast, &routing), (number, side), &mut world.network);
                return Side::Machine(Box::new(machine), application, None, ids[number][side]);
            }
            let config = configs.of(spec, || Config::new(&spec.parameters, control_factory(spec)));
            let iss = initial_sequences(scenario.seed, number)[side];
            let open = if side == 0 { Connection::connect } else { Connection::listen };
            let session = sessions.as_mut().and_then(|both| both[side].take());
            let mut connection = open(config, iss);
            if spec.parameters.flag("fast_open") {
                connection = connection.with_fast_open(cookies.of(scenario, flow));
            }
            Side::Machine(Box::new(Machine::Tcp(connection)), application, session, ids[number][side])
        };
        let ends = [machine(0, sides.client), machine(1, sides.server)];
        world.add_flow(start, sides.client_sends, ends, measure);
        if spec.entry.build == Protocol::Quic {
            for routes in client_ways(&routing, flow).iter().skip(1) {
                let added = [&routes.out, &routes.back].map(|steps| add_route(&mut world.network, steps));
                world.add_way(ids[number], added);
            }
        }
    }
    world
}

/// The Fast Open cookies of a run, by the hosts of client and server.
#[derive(Default)]
struct CookieJar(BTreeMap<(String, String), Arc<Cookies>>);

impl CookieJar {
    /// Those of a flow's hosts. The first flow between two says whether the client has one already.
    fn of(&mut self, scenario: &Scenario, flow: &FlowSpec) -> Arc<Cookies> {
        let host = |address: &str| address.split('.').next().unwrap_or(address).to_owned();
        let (client, server) = (host(&flow.client), host(&flow.server));
        let mut stream = Stream::new(scenario.seed, &format!("cookie/{client}/{server}"));
        let warm = flow.transport.parameters.text("cookie") == "cached";
        let make = || Arc::new(Cookies::new((1 + stream.below(u64::MAX - 1)).into(), warm));
        self.0.entry((client, server)).or_insert_with(make).clone()
    }
}

/// The settings that associations described together share.
#[derive(Default)]
struct Associations(Vec<(*const TransportSpec, Arc<sctp::Config>)>);

impl Associations {
    /// One side of a flow.
    fn machine(
        &mut self,
        scenario: &Scenario,
        routing: &Routing<'_>,
        (number, side): (usize, usize),
        network: &mut Network<Body>,
    ) -> Machine {
        let flow = &scenario.flows[number];
        let spec = &flow.transport;
        let config = match self.0.last() {
            Some((known, config)) if *known == Arc::as_ptr(spec) => config.clone(),
            _ => {
                let control = (spec.control.name != "sctp").then(|| control_factory(spec));
                let message = flow.application.1.size("message");
                let config = Arc::new(sctp::Config::new(&spec.parameters, message, control));
                self.0.push((Arc::as_ptr(spec), config.clone()));
                config
            }
        };
        let ways: Vec<_> = association_ways(routing, flow)
            .iter()
            .map(|routes| add_route(network, if side == 0 { &routes.out } else { &routes.back }))
            .collect();
        let tag = initial_sequences(scenario.seed, number)[side];
        let tsn = Stream::new(scenario.seed, &format!("initial TSN/flow {number}/{side}")).bits() as u32;
        let open = if side == 0 { Association::connect } else { Association::listen };
        Machine::Sctp(Box::new(Multihomed::new(open(config, ways.len(), tag, tsn), ways)))
    }
}

/// The settings that Multipath TCP connections described together share.
#[derive(Default)]
struct Bundles(Vec<(*const TransportSpec, Arc<mptcp::Config>)>);

impl Bundles {
    /// One side of a flow.
    fn machine(
        &mut self,
        scenario: &Scenario,
        (cast, routing): (&Cast, &Routing<'_>),
        (number, side): (usize, usize),
        network: &mut Network<Body>,
    ) -> Machine {
        let flow = &scenario.flows[number];
        let spec = &flow.transport;
        let config = match self.0.last() {
            Some((known, config)) if *known == Arc::as_ptr(spec) => config.clone(),
            _ => {
                let config = Arc::new(multipath_config(spec));
                self.0.push((Arc::as_ptr(spec), config.clone()));
                config
            }
        };
        let known = subflow_ways(routing, flow);
        let route = |routes: &Routes| if side == 0 { routes.out.clone() } else { routes.back.clone() };
        let routes = known.iter().map(|(_, routes)| add_route(network, &route(routes))).collect();
        let mut keys = Stream::new(scenario.seed, &format!("MPTCP keys/flow {number}/{side}"));
        let identity = mptcp::Identity {
            ways: known.iter().map(|(way, _)| *way).collect(),
            addresses: cast.addresses.of_flow(number),
            key: keys.bits(),
            iss: initial_sequences(scenario.seed, number)[side],
        };
        let open = if side == 0 { mptcp::Connection::connect } else { mptcp::Connection::listen };
        Machine::Mptcp(Box::new(Bundle::new(open(config, identity), routes)))
    }
}

fn multipath_config(spec: &Arc<TransportSpec>) -> mptcp::Config {
    let multipath = spec.multipath.clone().expect("MPTCP has a scheduler and a path manager");
    let scheduler = scheduler_factory(multipath.scheduler);
    let (manager, parameters) = multipath.path_manager.expect("MPTCP has a path manager");
    let announces = !matches!(manager.name, "default" | "ndiffports" | "binder");
    let tcp = Config::new(&spec.parameters, control_factory(spec));
    mptcp::Config::new(&spec.parameters, tcp, scheduler, (manager.build, parameters), announces)
}

/// The settings of a QUIC connection.
pub(crate) fn quic_config(spec: &Arc<TransportSpec>) -> quic::Config {
    let config = quic::Config::new(&spec.parameters, control_factory(spec));
    match &spec.multipath {
        Some(multipath) => {
            let backups = spec.parameters.integers("backups").to_vec();
            config.over_paths(scheduler_factory(multipath.scheduler.clone()), backups)
        }
        None => config,
    }
}

fn scheduler_factory(scheduler: SchedulerSpec) -> mptcp::SchedulerFactory {
    let SchedulerSpec { name, parameters, plugin } = scheduler;
    if let Some(plugin) = plugin {
        return plugin.build;
    }
    let entry = find("packet scheduler", mptcp::SCHEDULERS, &name).expect("a scheduler from the registry");
    Arc::new(move || (entry.build)(&parameters))
}

fn udp_machine(spec: &TransportSpec, paced: bool) -> Machine {
    let payload = spec.parameters.integer("payload") as u16;
    let rate = (!paced).then(|| udp_rate(&spec.parameters));
    Machine::Udp(udp::Endpoint::new(udp::Config { payload, rate }))
}

fn add_route<B: Copy>(network: &mut Network<B>, steps: &[Step]) -> RouteId {
    network.add_route(&steps.iter().map(|&s| link_id(s)).collect::<Vec<_>>())
}

/// The ways of guests' packets: from each of their interfaces to every address that it can reach.
fn build_guests<B: Copy>(routing: &Routing<'_>, cast: &Cast, network: &mut Network<B>) -> Guests {
    let interfaces = &cast.addresses.interfaces;
    let mut ways = BTreeMap::new();
    for (index, from) in interfaces.iter().enumerate() {
        if !cast.guests.iter().any(|guest| guest.node == from.node) {
            continue;
        }
        for to in interfaces.iter().filter(|to| to.node != from.node) {
            let Some((steps, number)) = routing.way(from.place(), to.place()) else { continue };
            if let Some(interface) = cast.addresses.at(to.node, number) {
                ways.insert((index, to.address), Way { route: add_route(network, &steps), interface });
            }
        }
    }
    Guests::new(cast.addresses.clone(), ways)
}

fn build_network<B: Copy>(scenario: &Scenario, routing: &Routing<'_>, scheduler: &mut Wheel) -> Network<B> {
    let graph = &scenario.graph;
    // A queue of so many BDPs counts the longest round trip among the flows that cross the link.
    let mut base_rtt = vec![Duration::ZERO; 2 * graph.links.len()];
    let every = scenario.flows.iter().filter(|flow| flow.transport.is_multipath());
    let others: Vec<Routes> = every.flat_map(|flow| every_way(routing, flow)).collect();
    for routes in scenario.flows.iter().map(|flow| &flow.routes).chain(&others) {
        let rtt = routes.base_rtt(graph);
        for &step in routes.out.iter().chain(&routes.back) {
            let entry = &mut base_rtt[link_id(step) as usize];
            *entry = rtt.max(*entry);
        }
    }
    let mut network = Network::default();
    let mut directions = Vec::new();
    for (index, link) in graph.links.iter().enumerate() {
        for (forward, way) in [(true, "forward"), (false, "reverse")] {
            let direction = graph.direction((index, forward));
            let base_rtt = base_rtt[link_id((index, forward)) as usize];
            let limits = direction.queue.limit().limits(direction.mean_rate(), base_rtt);
            network.add_link(direction.rate, direction.delay, direction.overhead, limits, scheduler);
            directions.push((direction, format!("{}/{way}", link.name), base_rtt));
        }
    }
    // What has slots of its own comes after the links.
    for (id, (direction, name, base_rtt)) in directions.into_iter().enumerate() {
        let id = id as u32;
        let stream = |purpose: &str| Stream::new(scenario.seed, &format!("{purpose}/{name}"));
        if let Some(impairments) = direction.impairments(stream) {
            network.set_impairments(id, impairments);
        }
        if let Some(service) = direction.service() {
            network.set_service(id, service);
        }
        let setting = Setting { rate: direction.mean_rate(), base_rtt, stream: stream("queue") };
        if let Some(discipline) = direction.discipline(&setting) {
            network.set_discipline(id, discipline, scheduler);
        }
    }
    network
}

pub(crate) fn control_factory(spec: &Arc<TransportSpec>) -> ControlFactory {
    let spec = spec.clone();
    Arc::new(move |mss, seed| {
        let given = &spec.parameters;
        let (abc_limit, initial_window) = match spec.entry.build {
            // RFC 9260 section 7.2.1: one segment for a SACK, and about as much at the start as RFC 3390 allows TCP.
            Protocol::Sctp => (1.0, given.size("initial_window").unwrap_or(3 * mss)),
            _ => (given.number("abc_limit"), mss * given.integer("initial_window")),
        };
        let slow_start = vazao_congestion::build_slow_start(spec.slow_start.0, &spec.slow_start.1, abc_limit);
        let setup = Setup {
            mss,
            initial_window,
            initial_ssthresh: given.size("initial_ssthresh"),
            slow_start: slow_start.expect("a slow start from the registry"),
            seed,
        };
        match &spec.control.plugin {
            Some(plugin) => (plugin.build)(setup),
            // What a guest sends to is a receiver; its own congestion control has nothing to do.
            None if spec.sender == Stack::Linux => {
                vazao_congestion::build("reno", &Parameters::default(), setup).expect("Reno has no parameters")
            }
            None => vazao_congestion::build(&spec.control.name, &spec.control.parameters, setup)
                .expect("a control from the registry"),
        }
    })
}

/// Roughly what a run has to do, to say beforehand how long it may last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Times a packet crosses a link.
    pub hops: f64,
    /// Times a guest sends or receives a packet: each takes a thousand times as long as a hop.
    pub guest_packets: f64,
    /// How many guests are started for it.
    pub guests: usize,
    /// Whether programs run in it: nobody can tell beforehand what they do.
    pub has_programs: bool,
}

/// Packets that open and close a connection.
const AROUND: f64 = 7.0;

/// What part of the time that a Linux guest takes for a packet a stack takes.
fn effort(stack: Stack) -> f64 {
    match stack {
        Stack::Vazao => 0.0,
        Stack::Linux => 1.0,
        Stack::Quinn => 1.0 / 40.0,
    }
}

/// Estimates the work of a run from what its flows want to send and what their ways let through.
pub fn estimate(scenario: &Scenario) -> Work {
    let graph = &scenario.graph;
    let mut offered = vec![0.0; graph.links.len()];
    let mut work = Work { guests: guests(&Routing::new(graph), &scenario.flows), ..Work::default() };
    for flow in &scenario.flows {
        // The first connection of a visit counts for all.
        if flow.part > 0 {
            continue;
        }
        let routes = &flow.routes;
        let sides = flow.sides();
        let visit = flow.visit();
        let (duration, volume) = match &visit {
            Some(visit) => (visit.duration(), visit.volume()),
            None => (sides.duration(), sides.volume()),
        };
        if sides.is_program() {
            work.has_programs = true;
            continue;
        }
        let rate = routes.out.iter().map(|&s| graph.direction(s).rate.as_bps()).min().unwrap_or(0) as f64 / 8.0;
        let left = scenario.until.map_or(f64::INFINITY, |until| until.since(flow.start).as_secs());
        let time = duration.map_or(left, |d| d.as_secs().min(left));
        let bytes = volume.unwrap_or(f64::INFINITY).min(rate * time);
        let (mss, acks) = match flow.transport.entry.build {
            Protocol::Tcp | Protocol::Mptcp => {
                let tcp = &flow.transport.parameters;
                (tcp.number("mss"), 1.0 / tcp.number("delayed_ack"))
            }
            Protocol::Quic => (flow.transport.parameters.number("datagram"), 0.5),
            Protocol::Udp => (flow.transport.parameters.number("payload"), 0.0),
            _ => (1448.0, 0.5),
        };
        // Flows that share a link cannot all have its rate.
        let narrow = routes.out.iter().min_by_key(|&&s| graph.direction(s).rate).map_or(0, |s| s.0);
        let room = scenario.until.map_or(f64::INFINITY, |until| until.since(Time::ZERO).as_secs() * rate);
        let bytes = bytes.min((room - offered[narrow]).max(0.0));
        offered[narrow] += bytes;
        let packets = bytes / mss * (1.0 + acks) + AROUND;
        let guests: f64 = flow.transport.stacks.iter().map(|stack| effort(*stack)).sum();
        work.hops += packets * routes.out.len() as f64;
        work.guest_packets += packets * guests;
    }
    work
}
