//! An association between one of our machines and a guest: our packets as bytes, and a guest's bytes as our packets.

use super::Ours;
use crate::address::Place;
use crate::chunks::{encode_chunks, read_chunks};
use crate::machine::Machine;
use crate::multihomed::Parcel;
use crate::probe::Probe;
use crate::world::{Body, End, World};
use vazao_network::{Ecn, Packet};
use vazao_wire::ipv4;
use vazao_wire::pcapng::Direction;

impl<P: Probe> World<P> {
    /// One of our associations sends a packet to a guest.
    #[cold]
    pub fn send_to_guest(&mut self, index: usize, path: usize, parcel: u32) {
        let endpoint = &self.endpoints[index];
        let (number, side) = (endpoint.flow as usize, usize::from(endpoint.side));
        let (End::Guest(host), Machine::Sctp(end)) = (self.flows[number].ends[1 - side], &endpoint.machine) else {
            unreachable!("an association whose peer is a guest")
        };
        let route = end.ways[path];
        let addresses = &self.guests.addresses;
        let (paths, interfaces) = (&addresses.paths[number], &addresses.interfaces);
        let place = |side: usize| {
            let port = addresses.sockets[number][side].port;
            Place { address: interfaces[paths[path][side]].address, port }
        };
        let across = paths[path];
        let ends = (place(side), place(1 - side));
        let known = self.guests.flows.get_mut(&number).expect("a guest's flow");
        let packet = self.parcels.get(parcel);
        packet.data.iter().for_each(|data| known.beyond.courses[side].note(data.tsn, data.length, data.flags));
        let mut bytes = Vec::new();
        let all = &known.beyond.addresses[side];
        encode_chunks(packet, ends, all, Some((&known.beyond, side)), &mut bytes);
        let payload = packet.data.iter().map(|data| u32::from(data.length)).sum();
        let ours = Ours { flow: number, side, route, ends: across, ecn: Ecn::NotEct };
        self.parcels.discard(parcel);
        self.send_bytes_to_guest(host as usize, ours, bytes, payload);
    }

    /// A guest's packet arrives at one of our associations.
    pub(super) fn deliver_chunks(&mut self, index: usize, packet: &Packet<Body>, bytes: &[u8]) {
        let endpoint = &self.endpoints[index];
        let (number, side) = (endpoint.flow as usize, usize::from(endpoint.side));
        let Ok((ip, inside)) = ipv4::decode(bytes) else { return };
        let addresses = &self.guests.addresses;
        let is_from = |ends: &[usize; 2]| addresses.interfaces[ends[1 - side]].address == ip.source;
        let paths = &addresses.paths[number];
        let path = paths.iter().position(is_from).unwrap_or(0);
        if P::ON {
            self.probe.on_bytes(self.now, paths[path][side], Direction::Inbound, bytes);
        }
        let known = self.guests.flows.get_mut(&number).expect("a guest's flow");
        let parcel = self.parcels.fresh();
        let content = self.parcels.get_mut(parcel);
        // What cannot be decoded would not have passed our checksum either.
        match read_chunks(&bytes[inside], &mut known.beyond, 1 - side, content) {
            Ok(()) => self.accept_parcel(index, packet, Parcel { packet: parcel, path: path as u8 }),
            Err(_) => self.parcels.discard(parcel),
        }
    }
}
