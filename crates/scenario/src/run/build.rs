//! Building a world from a scenario.

use crate::guests::plan::{GuestPlan, plan};
use crate::guests::{Guests, Way};
use crate::measures::measure::FlowMeasure;
use crate::model::address::Addresses;
use crate::model::routes::{PlannedWay, Routes, link_id};
use crate::model::scenario::{FlowSpec, Making, Scenario};
use crate::packs::library::Libraries;
use crate::world::probe::Probe;
use crate::world::visits::Visited;
use crate::world::window::Windowed;
use crate::world::{End, Side, World};
use std::collections::BTreeMap;
use vazao_application::Sides;
use vazao_engine::{Duration, RandomStream, Time, Wheel};
use vazao_network::queue::Setting;
use vazao_network::{Network, RouteId, Routing, Step};

/// Guests of a scenario, and the addresses of its hosts.
#[derive(Default)]
pub(crate) struct Planned {
    pub addresses: Addresses,
    pub guests: Vec<GuestPlan>,
}

impl Planned {
    /// Plans guests and addresses; without guests and captures there are none.
    ///
    /// # Errors
    /// A guest cannot be planned.
    pub fn new(scenario: &Scenario, is_captured: bool) -> Result<Planned, String> {
        if !is_captured && !scenario.flows.iter().any(|flow| flow.transport.has_guest()) {
            return Ok(Planned::default());
        }
        let addresses = Addresses::new(scenario);
        let guests = plan(scenario, &addresses)?;
        Ok(Planned { addresses, guests })
    }

    /// Returns the guest that plays a side of a flow.
    fn guest(&self, flow: usize, side: usize) -> u32 {
        let node = self.addresses.interfaces[self.addresses.sockets[flow][side].interface].node;
        self.guests.iter().position(|guest| guest.node == node).expect("every guest is planned") as u32
    }
}

/// Builds the world of a scenario around a probe, without its guests.
pub(crate) fn build<P: Probe>(
    scenario: &Scenario,
    planned: &Planned,
    mut libraries: Libraries,
    probe: P,
    logs: bool,
) -> World<P> {
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
    let guests = build_guests(&routing, planned, &mut network);
    let mut world = World::new(network, scheduler, probe, scenario.flows.len());
    (world.guests, world.window) = (guests, scenario.measure.map(Windowed::new));
    let mut making = Making::new(scenario, &routing, &planned.addresses, logs);
    for (number, flow) in scenario.flows.iter().enumerate() {
        let spec = &flow.transport;
        let (mut sides, mut start) = (flow.sides(), flow.start);
        if let Some(visit) = flow.visit() {
            if flow.part == 0 {
                world.visits.push(Visited { visit: visit.begin(start), first: number });
            } else {
                start = Time::NEVER;
            }
            sides = Sides::of_visit(world.visits.len() as u32 - 1, flow.part);
        }
        let bdp = flow.routes.bdp(graph, sides.client_sends);
        let measure = FlowMeasure::new(bdp, spec.segment(), flow.routes.base_rtt(graph));
        if spec.has_guest() {
            world.guests.add_flow(number, spec, &sides);
        }
        let machines = match spec.has_library() {
            true => libraries.take(number),
            false => (spec.pack().ends)(&mut making, number, &sides),
        };
        let mut machines = machines.into_iter();
        let client_sends = sides.client_sends;
        let mut end = |side: usize, application| {
            let machine = machines.next().expect("a flow has two ends");
            match spec.stacks[side].is_guest() {
                true => Side::Guest(planned.guest(number, side)),
                false => Side::Machine(machine, application, ids[number][side]),
            }
        };
        let ends = [end(0, sides.client), end(1, sides.server)];
        world.add_flow(start, client_sends, ends, measure);
        add_ways(&mut world, &routing, flow);
    }
    world
}

/// Adds several ways to the ends of the flow that was added last.
fn add_ways<P: Probe>(world: &mut World<P>, routing: &Routing<'_>, flow: &FlowSpec) {
    let ways = flow.ways(routing);
    if ways.len() < 2 {
        return;
    }
    let added = world.flows.last().expect("a flow was added").ends;
    for (side, end) in added.into_iter().enumerate() {
        let End::Machine(index) = end else { continue };
        let end = &mut world.ends[index as usize];
        end.ways.push(end.route);
        for PlannedWay { routes, .. } in &ways[1..] {
            end.ways.push(add_route(&mut world.network, if side == 0 { &routes.out } else { &routes.back }));
        }
    }
}

fn add_route<B: Copy>(network: &mut Network<B>, steps: &[Step]) -> RouteId {
    network.add_route(&steps.iter().map(|&s| link_id(s)).collect::<Vec<_>>())
}

/// Builds the ways of guests' packets, from each of their interfaces to every reachable address.
fn build_guests<B: Copy>(routing: &Routing<'_>, planned: &Planned, network: &mut Network<B>) -> Guests {
    let interfaces = &planned.addresses.interfaces;
    let mut ways = BTreeMap::new();
    for (index, from) in interfaces.iter().enumerate() {
        if !planned.guests.iter().any(|guest| guest.node == from.node) {
            continue;
        }
        for to in interfaces.iter().filter(|to| to.node != from.node) {
            let Some((steps, number)) = routing.way(from.place(), to.place()) else { continue };
            if let Some(interface) = planned.addresses.at(to.node, number) {
                ways.insert((index, to.address), Way { route: add_route(network, &steps), interface });
            }
        }
    }
    Guests::new(planned.addresses.clone(), ways)
}

fn build_network<B: Copy>(scenario: &Scenario, routing: &Routing<'_>, scheduler: &mut Wheel) -> Network<B> {
    let graph = &scenario.graph;
    // A queue of so many BDPs counts the longest round trip among the flows that cross the link.
    let mut base_rtt = vec![Duration::ZERO; 2 * graph.links.len()];
    let every = scenario.flows.iter().filter(|flow| flow.transport.is_multipath());
    let others: Vec<Routes> = every.flat_map(|flow| (flow.transport.pack().every_way)(routing, flow)).collect();
    for routes in scenario.flows.iter().map(|flow| &flow.routes).chain(&others) {
        let rtt = routes.base_rtt(graph);
        for &step in routes.out.iter().chain(&routes.back) {
            let entry = &mut base_rtt[link_id(step) as usize];
            *entry = rtt.max(*entry);
        }
    }
    let mut network = Network::with_links(2 * graph.links.len());
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
    // Disciplines with timers get their slots after the links.
    for (id, (direction, name, base_rtt)) in directions.into_iter().enumerate() {
        let id = id as u32;
        let stream = |purpose: &str| RandomStream::new(scenario.seed, &format!("{purpose}/{name}"));
        if let Some(impairments) = direction.impairments(&name, stream) {
            network.set_impairments(id, impairments);
        }
        if let Some(service) = direction.service() {
            network.set_service(id, service);
        }
        let setting = Setting { rate: direction.mean_rate(), base_rtt, stream: stream("queue") };
        if let Some(discipline) = direction.discipline(&name, &setting) {
            network.set_discipline(id, discipline, scheduler);
        }
    }
    network
}
