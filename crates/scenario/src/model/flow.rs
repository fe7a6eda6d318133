//! Flows: hosts, application, transport and routes.

use super::plugin::ScriptSpec;
use super::stack::Stack;
use super::transport::{PlannedWay, TransportSpec};
use std::collections::BTreeSet;
use std::sync::Arc;
use vazao_application::{Build, RandomStreams, Sides, Visit};
use vazao_engine::registry::{Entry, Parameters};
use vazao_engine::{Duration, Time};
use vazao_network::{Graph, Routing, Step};

/// Flow as described.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Address of the side that opens the connection.
    pub client: String,
    /// Address of the other side.
    pub server: String,
    /// Time at which it opens.
    pub start: Time,
    /// Index of its `[[flow]]` table.
    pub group: usize,
    /// Application and its parameters.
    pub application: Described,
    /// Script of the user's own that writes the application's messages.
    pub script: Option<ScriptSpec>,
    /// Random streams of its application.
    pub streams: RandomStreams,
    /// Transport.
    pub transport: Arc<TransportSpec>,
    /// Routes of its packets.
    pub routes: Routes,
    /// Index among the connections of a visit; 0 for every other flow.
    pub part: u32,
}

/// Classes of flow sizes in studies of short flows (Alizadeh et al., *pFabric*, SIGCOMM 2013), with their upper ends in
/// bytes.
const SIZE_CLASSES: [(f64, &str); 3] =
    [(100e3, "up to 100 kB"), (10e6, "100 kB to 10 MB"), (f64::INFINITY, "above 10 MB")];

impl FlowSpec {
    /// Returns both sides of its application at the start.
    pub(crate) fn sides(&self) -> Sides {
        let sides = sides(&self.application, self.streams);
        match self.script.as_ref().and_then(|script| script.plugin.as_ref()) {
            Some(plugin) => sides.scripted(plugin.build.clone(), self.streams),
            None => sides,
        }
    }

    /// Returns the name of its application.
    pub fn app(&self) -> &str {
        self.script.as_ref().map_or(self.application.0.name, |script| &script.name)
    }

    /// Returns the visit to a web server, if its application is one.
    pub(crate) fn visit(&self) -> Option<Visit> {
        visit(&self.application, self.streams)
    }

    /// Returns its ways, its own route first, if it has several or might have.
    pub(crate) fn ways(&self, routing: &Routing<'_>) -> Vec<PlannedWay> {
        (self.transport.pack().ways)(routing, self)
    }

    /// Returns the class of its size, if a size was given.
    pub(crate) fn size_class(&self) -> Option<&'static str> {
        let size = self.sides().source()?.size()? as f64;
        SIZE_CLASSES.iter().find(|(most, _)| size <= *most).map(|(_, name)| *name)
    }
}

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

/// Application as described.
pub type Described = (&'static Entry<Build>, Parameters);

/// Returns both sides of an application.
pub(crate) fn sides((entry, parameters): &Described, streams: RandomStreams) -> Sides {
    match entry.build {
        Build::Sides(build) => build(parameters, streams),
        Build::Arrivals(_) => unreachable!("arrivals are flows of other applications"),
        Build::Visit(_) => Sides::of_visit(0, 0),
    }
}

/// Returns the visit of an application to a web server, if it makes one.
pub(crate) fn visit((entry, parameters): &Described, streams: RandomStreams) -> Option<Visit> {
    if let Build::Visit(build) = entry.build { Some(build(parameters, streams)) } else { None }
}

/// Returns the number of hosts that are guests.
pub(crate) fn guests(routing: &Routing<'_>, flows: &[FlowSpec]) -> usize {
    let ends = flows.iter().flat_map(|flow| flow.transport.stacks.into_iter().zip([&flow.client, &flow.server]));
    let guests = ends.filter(|(stack, _)| *stack == Stack::Linux);
    let host = |address: &String| routing.address(address).expect("an end was checked when its flow was read").0;
    guests.map(|(_, address)| host(address)).collect::<BTreeSet<_>>().len()
}

/// Returns the number of one direction of a link in the network, to which links were added in pairs.
pub(crate) fn link_id((index, forward): Step) -> u32 {
    2 * index as u32 + u32::from(!forward)
}

/// Returns the name of a direction of a link.
pub(crate) fn direction_name(forward: bool) -> &'static str {
    if forward { "forward" } else { "reverse" }
}
