//! What a protocol's pack gives to whoever wants its packets as bytes: captures, logs, and guests at the other end.

use crate::endpoint::{Body, Contents, Crossing};
use vazao_engine::{Ecn, Time};
use vazao_wire::{ipv4, udp};

/// An IPv4 address.
pub(crate) type Address = [u8; 4];

/// Where packets of a flow come from, or go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub address: Address,
    pub port: u16,
}

/// The packets of one flow as bytes, and bytes of a guest as packets.
pub(crate) trait Codec {
    /// Appends the IP packet of a crossing. Returns the interfaces of client and server at the ends of its way.
    fn encode(&mut self, crossing: &Crossing<'_>, out: &mut Vec<u8>) -> [usize; 2];

    /// Reads an IP packet that the guest on side `from` has sent, and the interfaces at the ends of its way. `None`: it is none of
    /// this flow's, or its checksum is wrong.
    fn decode(&mut self, _from: usize, _packet: &[u8], _contents: &mut Contents) -> Option<(Body, [usize; 2])> {
        None
    }

    /// Notes what the guest on side `from` sends, an IP packet's payload, before anything of it arrives.
    fn note_sent(&mut self, _from: usize, _payload: &[u8]) {}

    /// Lines by which a capture's readers can decrypt the packets, if they are encrypted by keys known from the start.
    fn key_log(&self) -> String {
        String::new()
    }
}

/// The records of a flow's log.
pub(crate) trait Logger {
    /// What both sides' files are to have in common.
    fn group(&self) -> Option<String> {
        None
    }

    /// A packet has crossed one of the hosts' interfaces.
    fn cross(&mut self, _crossing: &Crossing<'_>) {}

    /// Secrets have come up by which packets can be read: lines of a key log.
    fn secrets(&mut self, _lines: &str) {}

    /// Appends what an endpoint on side `side` has logged at `now`.
    fn records(&mut self, now: Time, side: usize, records: &[u8], out: &mut Vec<u8>);
}

/// Appends the UDP datagram with this payload in an IP packet.
pub(crate) fn encode_datagram([source, target]: [Place; 2], ecn: Ecn, payload: &[u8], out: &mut Vec<u8>) {
    let length = ipv4::HEADER_LENGTH + udp::HEADER_LENGTH + payload.len();
    let mut ip = ipv4::Header::new(source.address, target.address, udp::PROTOCOL, length as u16);
    ip.ecn = ipv4::Ecn::from_bits(ecn as u8);
    ipv4::encode(&ip, out);
    udp::encode(source.port, target.port, payload, ip.pseudo_header(), out);
}
