//! Addresses, ports and initial sequence numbers of packets as bytes, for captures and guests.

use crate::endpoint::codec::{Address, Place};
use std::collections::BTreeMap;
use vazao_engine::RandomStream;

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
    pub(super) by_place: BTreeMap<(usize, usize), usize>,
}

/// First port of servers.
pub(super) const SERVER_PORT: u16 = 5_001;

impl Addresses {
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
