//! Chunks as the peer writes them.

use super::habits::Offer;
use vazao_wire::content;
use vazao_wire::sctp::{Header, Writer, kind, parameter};
use vazao_wire::{ipv4, sctp};

/// Initial TSN.
pub const TSN: u32 = 1_000_000;

/// Verification tags: of its first life, and of the one after a restart.
pub const TAGS: [u32; 2] = [0x1111_1111, 0x2222_2222];

/// A chunk: its type, its flags and its value.
pub(super) type Chunk = (u8, u8, Vec<u8>);

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn halves(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_be_bytes()).collect()
}

/// Returns a chunk without value.
pub(super) fn bare(kind: u8) -> Chunk {
    (kind, 0, Vec::new())
}

/// Returns an INIT, or an INIT ACK with a cookie. The last parameter but the unknown ones is the cookie.
pub(super) fn init(kind: u8, tag: u32, offer: &Offer, address: [u8; 4]) -> Chunk {
    let tag = if offer.has_tag { tag } else { 0 };
    let mut value = words(&[tag, offer.window]);
    value.extend(halves(&[offer.streams.0, offer.streams.1]));
    value.extend(words(&[TSN]));
    let mut add = |kind: u16, bytes: &[u8]| parameter(kind, &mut value, |out| out.extend(bytes));
    if offer.lists {
        add(parameter::IPV4_ADDRESS, &address);
    }
    if offer.ecn {
        add(parameter::ECN_CAPABLE, &[]);
    }
    if offer.extensions {
        add(parameter::SUPPORTED_EXTENSIONS, &[0x82, 0x0f]);
    }
    if offer.partial {
        add(parameter::FORWARD_TSN_SUPPORTED, &[]);
    }
    if offer.host_name {
        add(parameter::HOST_NAME_ADDRESS, b"peer.example\0\0\0\0");
    }
    if kind == kind::INIT_ACK && offer.cookie > 0 {
        let cookie: Vec<u8> = (0..offer.cookie).map(|byte| byte as u8).collect();
        add(parameter::STATE_COOKIE, &cookie);
    }
    offer.unknown.iter().for_each(|kind| add(*kind, &[1, 2, 3, 4, 5, 6]));
    (kind, 0, value)
}

/// Returns a SACK.
pub(super) fn sack(cumulative: u32, window: u32, gaps: &[(u16, u16)], duplicates: &[u32]) -> Chunk {
    let mut value = words(&[cumulative, window]);
    value.extend(halves(&[gaps.len() as u16, duplicates.len() as u16]));
    value.extend(gaps.iter().flat_map(|&(first, last)| halves(&[first, last])));
    value.extend(words(duplicates));
    (kind::SACK, 0, value)
}

/// Returns a DATA chunk whose payload is a flow's from `offset` on.
pub(super) fn data(tsn: u32, stream: u16, number: u16, flags: u8, offset: u64, length: usize) -> Chunk {
    let mut value = words(&[tsn]);
    value.extend(halves(&[stream, number]));
    value.extend(words(&[0]));
    let start = value.len();
    value.resize(start + length, 0);
    content::fill(offset, &mut value[start..]);
    (kind::DATA, flags, value)
}

/// Returns a HEARTBEAT with so many bytes of information.
pub(super) fn heartbeat(bytes: u16) -> Chunk {
    let mut value = Vec::new();
    parameter(parameter::HEARTBEAT_INFO, &mut value, |out| out.extend((0..bytes).map(|byte| byte as u8)));
    (kind::HEARTBEAT, 0, value)
}

/// Returns an ERROR, or an ABORT, with one cause.
pub(super) fn with_cause(kind: u8, flags: u8, code: u16, details: &[u8]) -> Chunk {
    let mut value = Vec::new();
    parameter(code, &mut value, |out| out.extend(details));
    (kind, flags, value)
}

/// Returns a chunk that says one TSN.
pub(super) fn shutdown(cumulative: u32) -> Chunk {
    (kind::SHUTDOWN, 0, words(&[cumulative]))
}

/// Writes a packet with chunks from one end to the other; `spoil` may spoil it before its checksum is made.
pub(super) fn packet(
    [own, other]: [([u8; 4], u16); 2],
    verification_tag: u32,
    chunks: &[Chunk],
    spoil: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let header = Header { source_port: own.1, destination_port: other.1, verification_tag };
    let mut inside = Vec::new();
    let mut writer = Writer::new(&header, &mut inside);
    chunks.iter().for_each(|(kind, flags, value)| writer.chunk(*kind, *flags, |out| out.extend(value)));
    writer.finish();
    spoil(&mut inside);
    inside[8..12].fill(0);
    let sum = sctp::crc32c(&inside).to_le_bytes();
    inside[8..12].copy_from_slice(&sum);
    let length = (ipv4::HEADER_LENGTH + inside.len()) as u16;
    let mut bytes = Vec::with_capacity(usize::from(length));
    ipv4::encode(&ipv4::Header::new(own.0, other.0, sctp::PROTOCOL, length), &mut bytes);
    bytes.extend(inside);
    bytes
}
