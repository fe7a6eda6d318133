//! Addresses, ports and initial sequence numbers of packets as bytes, for captures and guests.

use super::flow::FlowSpec;
use super::scenario::Scenario;
use super::transport::PlannedWay;
use crate::endpoint::codec::{Address, Place};
use std::collections::BTreeMap;
use vazao_engine::RandomStream;
use vazao_network::{Routing, Step};

/// Interface of a host.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    /// Host's name with the interface's number from 1, as in `a.2`.
    pub name: String,
    /// Host's node in the graph.
    pub node: usize,
    /// Number among the host's interfaces, from 0.
    pub number: usize,
    pub address: Address,
}

impl Interface {
    /// Returns node and number.
    pub fn place(&self) -> (usize, usize) {
        (self.node, self.number)
    }
}

/// Address and port of one end of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Socket {
    /// Index into the interfaces.
    pub interface: usize,
    pub address: Address,
    pub port: u16,
    /// Initial sequence number, unless a guest plays the end.
    pub iss: u32,
}

impl Socket {
    pub fn place(&self) -> Place {
        Place { address: self.address, port: self.port }
    }
}

/// Interface and address of the client and of the server at the ends of a path.
pub(crate) type PathEnds = [(usize, Address); 2];

/// Interfaces that flows use, and all interfaces of guests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    pub interfaces: Vec<Interface>,
    /// Client and server of each flow.
    pub sockets: Vec<[Socket; 2]>,
    /// Interfaces of client and server at the ends of each path of an association, or of each possible subflow; empty
    /// for other flows.
    pub paths: Vec<Vec<[usize; 2]>>,
    by_place: BTreeMap<(usize, usize), usize>,
}

/// First port of servers.
const SERVER_PORT: u16 = 5_001;
/// First port of clients.
const CLIENT_PORT: u16 = 49_152;

impl Addresses {
    pub fn new(scenario: &Scenario) -> Addresses {
        let routing = Routing::new(&scenario.graph);
        let mut all = Addresses::default();
        for (number, flow) in scenario.flows.iter().enumerate() {
            let iss = initial_sequences(scenario.seed, number);
            let uses_all = flow.transport.has_guest()
                || flow.transport.is_multipath()
                || (flow.transport.pack().leaves_by_several)(&flow.transport.parameters);
            let mut end = |address: &str, route: &[Step], port, iss| {
                let (node, _) = routing.address(address).expect("an end was checked when the scenario was read");
                let links = routing.interfaces(node);
                let used = links.iter().position(|&l| l == route[0].0).expect("a route leaves here");
                let interface = all.interface(&scenario.graph.nodes[node].name, node, used);
                if uses_all {
                    for other in 0..links.len() {
                        all.interface(&scenario.graph.nodes[node].name, node, other);
                    }
                }
                Socket { interface, address: all.interfaces[interface].address, port, iss }
            };
            // Flows of one host share its address and differ by port.
            let client = end(&flow.client, &flow.routes.out, CLIENT_PORT + (number % 16_384) as u16, iss[0]);
            let server = end(&flow.server, &flow.routes.back, SERVER_PORT + (number % 44_000) as u16, iss[1]);
            all.sockets.push([client, server]);
            let paths = all.paths(&routing, flow);
            all.paths.push(paths);
        }
        all
    }

    /// Returns the interfaces at the ends of a flow's paths.
    fn paths(&self, routing: &Routing<'_>, flow: &FlowSpec) -> Vec<[usize; 2]> {
        let sockets = self.sockets.last().expect("the flow's were added");
        let nodes = sockets.map(|socket| self.interfaces[socket.interface].node);
        let leaves = |side: usize, (link, _): Step| {
            let known = routing.interfaces(nodes[side]).iter().position(|&known| known == link);
            known.expect("a way leaves here")
        };
        let ends = |way: PlannedWay| {
            let numbers = match way.addresses {
                Some(way) => [way.client, way.server].map(usize::from),
                None => [leaves(0, way.routes.out[0]), leaves(1, way.routes.back[0])],
            };
            [0, 1].map(|side| self.at(nodes[side], numbers[side]).expect("all interfaces of its hosts have addresses"))
        };
        flow.ways(routing).into_iter().map(ends).collect()
    }

    /// Returns the index of a host's interface, which is added at first.
    fn interface(&mut self, host: &str, node: usize, number: usize) -> usize {
        *self.by_place.entry((node, number)).or_insert_with(|| {
            let index = self.interfaces.len();
            let [_, b, c, d] = (index as u32 + 1).to_be_bytes();
            let name = format!("{host}.{}", number + 1);
            self.interfaces.push(Interface { name, node, number, address: [10, b, c, d] });
            index
        })
    }

    /// Returns the interface of a node by its number from 0, if it has an address.
    pub fn at(&self, node: usize, number: usize) -> Option<usize> {
        self.by_place.get(&(node, number)).copied()
    }

    /// Returns the interfaces of a node in order.
    pub fn of(&self, node: usize) -> impl Iterator<Item = usize> {
        self.by_place.range((node, 0)..(node + 1, 0)).map(|(_, &index)| index)
    }

    /// Returns the interface with an address.
    pub fn owner(&self, [net, b, c, d]: Address) -> Option<usize> {
        let index = u32::from_be_bytes([0, b, c, d]).checked_sub(1)? as usize;
        (net == 10 && index < self.interfaces.len()).then_some(index)
    }

    /// Returns the addresses of a flow's client and of its server, by their interfaces' numbers.
    pub fn of_flow(&self, number: usize) -> [Vec<Address>; 2] {
        let Some(sockets) = self.sockets.get(number) else { return Default::default() };
        sockets.map(|socket| {
            let node = self.interfaces[socket.interface].node;
            self.of(node).map(|index| self.interfaces[index].address).collect()
        })
    }

    /// Returns the interfaces and addresses of client and server at the ends of a flow's paths.
    pub fn path_ends(&self, number: usize) -> Vec<PathEnds> {
        let end = |interface: usize| (interface, self.interfaces[interface].address);
        self.paths[number].iter().map(|ends| ends.map(end)).collect()
    }

    /// Returns the flow of a server's port.
    pub fn flow_of(&self, port: u16) -> Option<usize> {
        let number = usize::from(port.checked_sub(SERVER_PORT)?);
        (number < self.sockets.len()).then_some(number)
    }
}

/// Draws the initial sequence numbers of a flow's client and server.
pub(crate) fn initial_sequences(seed: u64, flow: usize) -> [u32; 2] {
    let mut stream = RandomStream::new(seed, &format!("initial sequence/flow {flow}"));
    [stream.bits() as u32, stream.bits() as u32]
}
