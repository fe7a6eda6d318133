//! A Multipath TCP connection between one of our machines and a guest: our segments as bytes, and a guest's bytes as our
//! segments.

use super::Ours;
use crate::address::Place;
use crate::codec::{Contents, encode};
use crate::probe::Probe;
use crate::subflows;
use crate::world::{Body, End, World};
use vazao_network::{Packet, RouteId};
use vazao_transport::tcp::Segment;
use vazao_wire::ipv4;
use vazao_wire::pcapng::Direction;

impl<P: Probe> World<P> {
    /// One of our connections sends a segment to a guest; its options are those being made.
    #[cold]
    pub fn send_subflow_to_guest(&mut self, index: usize, route: RouteId, segment: &Segment) {
        let endpoint = &self.endpoints[index];
        let (number, side) = (endpoint.flow as usize, usize::from(endpoint.side));
        let End::Guest(host) = self.flows[number].ends[1 - side] else { unreachable!("its peer is a guest") };
        let extra = self.extras.scratch;
        let multipath = extra.multipath.unwrap_or_default();
        let addresses = &self.guests.addresses;
        let known = self.guests.flows.get_mut(&number).expect("a guest's flow");
        let ends = addresses.paths[number][usize::from(multipath.tuple.way)];
        let sockets = &addresses.sockets[number];
        let ports = [known.lines.client_port(sockets[0].port, multipath.tuple.port), sockets[1].port];
        let place = |side: usize| Place { address: addresses.interfaces[ends[side]].address, port: ports[side] };
        let multipath = known.lines.as_the_guest_says(&multipath);
        known.lines.firsts.note(side, &multipath);
        let offset = known.lines.firsts.offset(side, &multipath);
        let offset = offset.unwrap_or_else(|| Contents::of(segment, &mut known.offsets[side]).offset);
        let hosts = &known.lines.hosts;
        let multipath = subflows::with_checksums(&multipath, offset, segment.length);
        let options = subflows::options(&multipath, [&hosts[side], &hosts[1 - side]]);
        let mut bytes = Vec::new();
        encode(segment, Some(&extra), (place(side), place(1 - side)), Contents { offset, options }, &mut bytes);
        let ours = Ours { flow: number, side, route, ends, ecn: segment.ecn };
        self.send_bytes_to_guest(host as usize, ours, bytes, u32::from(segment.length));
    }

    /// A guest's packet arrives at one of our connections.
    pub(super) fn deliver_subflow(&mut self, index: usize, packet: &Packet<Body>, bytes: &[u8]) {
        let endpoint = &self.endpoints[index];
        let (number, side) = (endpoint.flow as usize, usize::from(endpoint.side));
        let Ok((ip, _)) = ipv4::decode(bytes) else { return };
        let addresses = &self.guests.addresses;
        let between = |ends: &[usize; 2]| {
            let at = |side: usize| addresses.interfaces[ends[side]].address;
            at(side) == ip.destination && at(1 - side) == ip.source
        };
        let Some(way) = addresses.paths[number].iter().position(between) else { return };
        if P::ON {
            self.probe.on_bytes(self.now, addresses.paths[number][way][side], Direction::Inbound, bytes);
        }
        let first = addresses.sockets[number][0].port;
        let known = self.guests.flows.get_mut(&number).expect("a guest's flow");
        // What cannot be decoded would not have passed our checksum either.
        let Some((segment, extra)) = known.lines.read(bytes, 1 - side, way as u16, first) else { return };
        self.accept_subflow(index, packet, &segment, Some(&extra));
    }
}
