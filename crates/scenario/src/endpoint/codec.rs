//! Packets as bytes for captures, logs and guests.

use crate::endpoint::{Body, Contents, Crossing};
use vazao_engine::{Ecn, Time};
use vazao_wire::{ipv4, udp};

/// IPv4 address.
pub(crate) type Address = [u8; 4];

/// Address and port of one end of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub address: Address,
    pub port: u16,
}

/// Translator between one flow's packets and their bytes.
pub(crate) trait Codec {
    /// Returns the client's and the server's interface at the ends of a packet's way.
    fn interfaces(&self, crossing: &Crossing<'_>) -> [usize; 2];

    /// Appends the IP packet of a crossing. Of a packet longer than `keep` bytes, what lies beyond may be left out.
    fn encode(&mut self, crossing: &Crossing<'_>, keep: usize, out: &mut Vec<u8>);

    /// Reads an IP packet that the guest on side `from` has sent, and the interfaces at the ends of its way. `None`: it
    /// does not belong to this flow, or its checksum is wrong.
    fn decode(&mut self, _from: usize, _packet: &[u8], _contents: &mut Contents) -> Option<(Body, [usize; 2])> {
        None
    }

    /// Notes an IP payload that the guest on side `from` sends, before it arrives.
    fn note_sent(&mut self, _from: usize, _payload: &[u8]) {}

    /// Returns a key log that decrypts the packets, if the keys are known from the start.
    fn key_log(&self) -> String {
        String::new()
    }
}

/// Writer of a flow's qlog records.
pub(crate) trait Logger {
    /// Returns the group identifier of both sides' files.
    fn group(&self) -> Option<String> {
        None
    }

    /// Handles a packet at a host's interface.
    fn cross(&mut self, _crossing: &Crossing<'_>) {}

    /// Handles lines of a key log that decrypts packets.
    fn secrets(&mut self, _lines: &str) {}

    /// Appends the records that the endpoint on side `side` has logged at `now`.
    fn records(&mut self, now: Time, side: usize, records: &[u8], out: &mut Vec<u8>);
}

/// Appends an IP packet with a UDP datagram whose payload `fill` appends.
pub(crate) fn encode_datagram(
    [source, target]: [Place; 2],
    ecn: Ecn,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let mut ip = ipv4::Header::new(source.address, target.address, udp::PROTOCOL, 0);
    ip.ecn = ipv4::Ecn::from_bits(ecn as u8);
    let start = out.len();
    out.extend_from_slice(&[0; ipv4::HEADER_LENGTH]);
    udp::encode(source.port, target.port, ip.pseudo_header(), out, fill);
    ip.total_length = (out.len() - start) as u16;
    out[start..start + ipv4::HEADER_LENGTH].copy_from_slice(&ip.bytes());
}
