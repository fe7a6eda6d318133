//! Addresses and ports that the hosts and flows of a scenario get.

use super::address::{Addresses, Interface, SERVER_PORT, Socket, initial_sequences};
use super::routes::PlannedWay;
use super::scenario::{FlowSpec, Scenario};
use vazao_network::{Routing, Step};

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
}
