//! From a scenario to a world that can run.

use crate::capture::{Capture, Peer};
use crate::flow::{FlowSpec, TcpSpec};
use crate::measure::FlowMeasure;
use crate::probe::Probe;
use crate::scenario::Scenario;
use crate::world::World;
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_congestion::Setup;
use vazao_engine::{Duration, Stream, Time, Wheel};
use vazao_network::{LOSS_MODELS, Network, RouteId, Routing, Step};
use vazao_transport::tcp::{Config, Connection, ControlFactory};

/// The number of one direction of a link in the network: links were added in pairs.
pub(crate) fn link_id((index, forward): Step) -> u32 {
    2 * index as u32 + u32::from(!forward)
}

/// Builds the world of a scenario around a probe.
pub(crate) fn build<P: Probe>(scenario: &Scenario, probe: P) -> World<P> {
    let graph = &scenario.graph;
    let mut scheduler = Wheel::default();
    let mut network = build_network(scenario, &mut scheduler);
    let mut route_ids: BTreeMap<(&str, &str), RouteId> = BTreeMap::new();
    let mut ids = Vec::new();
    for flow in &scenario.flows {
        let mut add = |from, to, steps: &[Step]| {
            *route_ids
                .entry((from, to))
                .or_insert_with(|| network.add_route(&steps.iter().map(|&s| link_id(s)).collect::<Vec<_>>()))
        };
        ids.push((
            add(&flow.client, &flow.server, &flow.routes.out),
            add(&flow.server, &flow.client, &flow.routes.back),
        ));
    }
    let mut world = World::new(network, scheduler, probe);
    // Flows described together share their settings, as 10 000 copies would be most of a run's memory.
    let mut configs: Vec<(*const TcpSpec, Arc<Config>)> = Vec::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let spec = Arc::as_ptr(&flow.transport);
        let config = match configs.last() {
            Some((known, config)) if *known == spec => config.clone(),
            _ => {
                let config = Arc::new(Config::new(&flow.transport.tcp, control_factory(&flow.transport)));
                configs.push((spec, config.clone()));
                config
            }
        };
        let sides = (flow.application.0.build)(&flow.application.1);
        let [client_iss, server_iss] = initial_sequences(scenario.seed, number);
        let measure = FlowMeasure::new(flow.routes.bdp(graph, sides.client_sends));
        world.add_flow(
            flow.start,
            sides.client_sends,
            [
                (Connection::connect(config.clone(), client_iss), sides.client, ids[number].0),
                (Connection::listen(config, server_iss), sides.server, ids[number].1),
            ],
            measure,
        );
    }
    world
}

/// The initial sequence numbers of a flow's client and server.
fn initial_sequences(seed: u64, flow: usize) -> [u32; 2] {
    let mut stream = Stream::new(seed, &format!("initial sequence/flow {flow}"));
    [stream.bits() as u32, stream.bits() as u32]
}

fn build_network<B: Copy>(scenario: &Scenario, scheduler: &mut Wheel) -> Network<B> {
    let graph = &scenario.graph;
    // A queue of so many BDPs counts the longest round trip among the flows that cross the link.
    let mut base_rtt = vec![Duration::ZERO; 2 * graph.links.len()];
    for FlowSpec { routes, .. } in &scenario.flows {
        let rtt = routes.base_rtt(graph);
        for &step in routes.out.iter().chain(&routes.back) {
            let entry = &mut base_rtt[link_id(step) as usize];
            *entry = rtt.max(*entry);
        }
    }
    let mut network = Network::default();
    for (index, link) in graph.links.iter().enumerate() {
        for forward in [true, false] {
            let direction = graph.direction((index, forward));
            let limits = direction.queue.limits(direction.rate, base_rtt[link_id((index, forward)) as usize]);
            let id = network.add_link(direction.rate, direction.delay, direction.overhead, limits, scheduler);
            if let Some((kind, parameters)) = &direction.loss {
                let entry = LOSS_MODELS.iter().find(|e| e.name == *kind).expect("a model from the registry");
                let way = if forward { "forward" } else { "reverse" };
                let stream = Stream::new(scenario.seed, &format!("loss/{}/{way}", link.name));
                network.set_loss(id, (entry.build)(parameters, stream));
            }
        }
    }
    network
}

fn control_factory(spec: &Arc<TcpSpec>) -> ControlFactory {
    let spec = spec.clone();
    Arc::new(move |mss| {
        let tcp = &spec.tcp;
        let slow_start =
            vazao_congestion::build_slow_start(spec.slow_start.0, &spec.slow_start.1, tcp.number("abc_limit"));
        let setup = Setup {
            mss,
            initial_window: mss * tcp.integer("initial_window"),
            initial_ssthresh: tcp.size("initial_ssthresh"),
            slow_start: slow_start.expect("a slow start from the registry"),
        };
        match &spec.control.plugin {
            Some(plugin) => (plugin.build)(setup),
            None => vazao_congestion::build(&spec.control.name, &spec.control.parameters, setup)
                .expect("a control from the registry"),
        }
    })
}

/// A capture of every host interface that a flow uses.
pub(crate) fn build_capture(scenario: &Scenario) -> Capture {
    let graph = &scenario.graph;
    let routing = Routing::new(graph);
    let mut capture = Capture::default();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let routes = &flow.routes;
        let iss = initial_sequences(scenario.seed, number);
        let ends = [(&flow.client, &routes.out, 49_152 + number % 16_384), (&flow.server, &routes.back, 5_001)];
        for ((address, route, port), iss) in ends.into_iter().zip(iss) {
            let (node, _) = routing.address(address).expect("an end was checked when the scenario was read");
            let interface = graph.interfaces(node).iter().position(|&l| l == route[0].0).expect("a route leaves here");
            let name = format!("{}.{}", graph.nodes[node].name, interface + 1);
            let interface = capture.interface(&name);
            // Flows of one host share its address and differ by port.
            let port = if port == 5_001 { 5_001 + (number % 60_000) as u16 } else { port as u16 };
            capture.add(Peer { interface, port, iss });
        }
    }
    capture
}

/// Roughly how many packet-hops a run takes, to say beforehand how long it may last.
pub fn estimate_hops(scenario: &Scenario) -> f64 {
    let graph = &scenario.graph;
    let mut offered = vec![0.0; graph.links.len()];
    let mut hops = 0.0;
    for flow in &scenario.flows {
        let routes = &flow.routes;
        let sides = (flow.application.0.build)(&flow.application.1);
        let source = sides.source();
        let rate = routes.out.iter().map(|&s| graph.direction(s).rate.as_bps()).min().unwrap_or(0) as f64 / 8.0;
        let left = scenario.until.map_or(f64::INFINITY, |until| until.since(flow.start).as_secs());
        let time = source.duration().map_or(left, |d| d.as_secs().min(left));
        let bytes = source.size().map_or(f64::INFINITY, |size| size as f64).min(rate * time);
        let mss = flow.transport.tcp.number("mss");
        let acks = 1.0 / flow.transport.tcp.number("delayed_ack");
        // Flows that share a link cannot all have its rate.
        let narrow = routes.out.iter().min_by_key(|&&s| graph.direction(s).rate).map_or(0, |s| s.0);
        let room = scenario.until.map_or(f64::INFINITY, |until| until.since(Time::ZERO).as_secs() * rate);
        let bytes = bytes.min((room - offered[narrow]).max(0.0));
        offered[narrow] += bytes;
        hops += bytes / mss * (1.0 + acks) * routes.out.len() as f64;
    }
    hops
}
