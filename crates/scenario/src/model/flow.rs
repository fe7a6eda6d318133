//! Flows: who sends what to whom, over which transport.

use super::stack::Stack;
use super::transport::TransportSpec;
use std::collections::BTreeSet;
use std::sync::Arc;
use vazao_application::{Build, Sides, Streams, Visit};
use vazao_engine::registry::{Entry, Parameters};
use vazao_engine::{Duration, Time};
use vazao_network::{Graph, Routing, Step};

/// A flow as described.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Address of the side that opens the connection.
    pub client: String,
    /// Address of the other side.
    pub server: String,
    /// When it opens.
    pub start: Time,
    /// Which `[[flow]]` table it comes from, counted from 0.
    pub group: usize,
    /// Its application and the application's parameters.
    pub application: (&'static Entry<Build>, Parameters),
    /// Where its application draws from.
    pub streams: Streams,
    /// Its transport.
    pub transport: Arc<TransportSpec>,
    /// The way of its packets.
    pub routes: Routes,
    /// Which of a visit's connections it is, counted from 0; every other flow is its first and only one.
    pub part: u32,
}

/// Classes of flow sizes in studies of short flows (Alizadeh et al., *pFabric*, SIGCOMM 2013): their upper ends in bytes.
const SIZE_CLASSES: [(f64, &str); 3] =
    [(100e3, "up to 100 kB"), (10e6, "100 kB to 10 MB"), (f64::INFINITY, "above 10 MB")];

impl FlowSpec {
    /// Both sides of its application, as they are when it opens.
    pub(crate) fn sides(&self) -> Sides {
        sides(&self.application, self.streams)
    }

    /// What is done with a web server, if that is its application.
    pub(crate) fn visit(&self) -> Option<Visit> {
        visit(&self.application, self.streams)
    }

    /// How large it is, if its size was given.
    pub(crate) fn size_class(&self) -> Option<&'static str> {
        let size = self.sides().source()?.size()? as f64;
        SIZE_CLASSES.iter().find(|(most, _)| size <= *most).map(|(_, name)| *name)
    }
}

/// The routes of a flow, there and back.
#[derive(Clone, Debug)]
pub struct Routes {
    /// From client to server.
    pub out: Vec<Step>,
    /// From server to client.
    pub back: Vec<Step>,
}

impl Routes {
    /// Round-trip propagation delay.
    pub fn base_rtt(&self, graph: &Graph) -> Duration {
        graph.delay(&self.out) + graph.delay(&self.back)
    }

    /// Bandwidth-delay product in bytes: the lowest rate on the way of the data times the base round-trip time.
    pub fn bdp(&self, graph: &Graph, client_sends: bool) -> u64 {
        let data = if client_sends { &self.out } else { &self.back };
        let rate = data.iter().map(|&s| graph.direction(s).rate).min().expect("a route has links");
        rate.bytes_in(self.base_rtt(graph)).get()
    }
}

/// An application as described.
pub(crate) type Described = (&'static Entry<Build>, Parameters);

/// Both sides of an application.
pub(crate) fn sides((entry, parameters): &Described, streams: Streams) -> Sides {
    match entry.build {
        Build::Sides(build) => build(parameters, streams),
        Build::Arrivals(_) => unreachable!("arrivals are flows of other applications"),
        Build::Visit(_) => Sides::of_visit(0, 0),
    }
}

/// What is done with a web server, if that is an application's business.
pub(crate) fn visit((entry, parameters): &Described, streams: Streams) -> Option<Visit> {
    if let Build::Visit(build) = entry.build { Some(build(parameters, streams)) } else { None }
}

/// How many hosts are guests.
pub(crate) fn guests(routing: &Routing<'_>, flows: &[FlowSpec]) -> usize {
    let ends = flows.iter().flat_map(|flow| flow.transport.stacks.into_iter().zip([&flow.client, &flow.server]));
    let guests = ends.filter(|(stack, _)| *stack == Stack::Linux);
    let host = |address: &String| routing.address(address).expect("an end was checked when its flow was read").0;
    guests.map(|(_, address)| host(address)).collect::<BTreeSet<_>>().len()
}

/// The number of one direction of a link in the network: links were added in pairs.
pub(crate) fn link_id((index, forward): Step) -> u32 {
    2 * index as u32 + u32::from(!forward)
}

/// The name of a direction of a link.
pub(crate) fn way(forward: bool) -> &'static str {
    if forward { "forward" } else { "reverse" }
}
