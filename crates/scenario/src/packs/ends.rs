//! Ends of a QUIC connection's ways, whoever plays it.

use crate::endpoint::Crossing;
use crate::endpoint::codec::Place;
use crate::model::address::{Addresses, PathEnds, Socket};
use vazao_transport::quic;

/// Ends of a connection's ways.
pub(crate) struct Ends {
    sockets: [Socket; 2],
    ways: Vec<PathEnds>,
}

impl Ends {
    pub fn new(addresses: &Addresses, number: usize) -> Ends {
        Ends { sockets: addresses.sockets[number], ways: addresses.path_ends(number) }
    }

    /// Returns the interfaces of client and server at the ends of a way.
    pub fn interfaces(&self, way: u8) -> [usize; 2] {
        self.ways[usize::from(way)].map(|(interface, _)| interface)
    }

    /// Returns source and destination of a datagram as seen at its crossing; `client` is the address that the client uses.
    pub fn places(&self, crossing: &Crossing<'_>, client: quic::Address) -> [Place; 2] {
        let ends = self.ways[usize::from(client.interface)];
        let mut places = [0, 1].map(|side| Place { address: ends[side].1, port: self.sockets[side].port });
        if crossing.at == 1 {
            // Beyond a NAT, the client's address has another port, or is a shared one of its carrier (RFC 6598).
            places[0].port = places[0].port.wrapping_add(client.number);
            if client.host > 0 {
                places[0].address[..2].copy_from_slice(&[100, 64 + (client.host - 1) % 64]);
            }
        }
        [crossing.from(), 1 - crossing.from()].map(|side| places[side])
    }
}
