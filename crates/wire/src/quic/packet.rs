//! Packets of QUIC version 1 (RFC 9000 section 17), protected (RFC 9001 section 5).

use super::keys::{Keys, TAG, retry_tag};
use super::number::{expand_number, put_varint, put_varint_of, take_varint};
use crate::{DecodeError, be32, require};
use std::ops::Range;

/// The version of RFC 9000.
pub const VERSION: u32 = 1;

/// The two highest bits of the first byte: which form of header, and the fixed bit.
const LONG: u8 = 0xc0;
const SHORT: u8 = 0x40;

/// Kinds of packets that have a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Initial.
    Initial = 0,
    /// 0-RTT.
    ZeroRtt = 1,
    /// Handshake.
    Handshake = 2,
    /// 1-RTT, with a short header.
    OneRtt = 4,
}

/// The type of a Retry packet in its first byte.
const RETRY: u8 = 3;

/// The header of a packet that has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Kind.
    pub kind: Kind,
    /// The receiver's connection identifier.
    pub destination: &'a [u8],
    /// The sender's, in a long header.
    pub source: &'a [u8],
    /// An Initial packet's token, empty for none.
    pub token: &'a [u8],
    /// The path that a 1-RTT packet is numbered by; 0 of all others.
    pub path: u32,
    /// Packet number.
    pub number: u64,
    /// Bytes that the number is written in: 1 to 4.
    pub number_bytes: u8,
}

/// Appends a packet whose frames `fill` appends. There must be frames enough for a sample of the ciphertext: with the
/// packet number at least 4 bytes (RFC 9001 section 5.4.2).
pub fn encode(header: &Header<'_>, keys: &Keys, fill: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let start = out.len();
    let number_bytes = usize::from(header.number_bytes);
    let length_at = if header.kind == Kind::OneRtt {
        out.push(SHORT | (header.number_bytes - 1));
        out.extend(header.destination);
        None
    } else {
        let first = LONG | (header.kind as u8) << 4 | (header.number_bytes - 1);
        long_header(first, header.destination, header.source, out);
        if header.kind == Kind::Initial {
            put_varint(header.token.len() as u64, out);
            out.extend(header.token);
        }
        out.extend([0; 2]);
        Some(out.len() - 2)
    };
    let number_at = out.len();
    out.extend(&header.number.to_be_bytes()[8 - number_bytes..]);
    let payload_at = out.len();
    fill(out);
    if let Some(at) = length_at {
        // Two bytes whatever it is, as every stack reserves them before it knows.
        let mut length = Vec::with_capacity(2);
        put_varint_of((out.len() - number_at + TAG) as u64, 2, &mut length);
        out[at..at + 2].copy_from_slice(&length);
    }
    let (before, payload) = out.split_at_mut(payload_at);
    let tag = keys.seal((header.path, header.number), &before[start..], payload);
    out.extend(tag);
    protect(keys, start, number_at..payload_at, out);
}

/// Hides the first byte's low bits and the packet number, or shows them again (RFC 9001 section 5.4.1).
fn protect(keys: &Keys, first: usize, number: Range<usize>, packet: &mut [u8]) {
    let mask = keys.mask(&sample(packet, number.start));
    packet[first] ^= mask[0] & hidden_bits(packet[first]);
    packet[number].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
}

/// Returns the sample, which begins where the payload would if the packet number had 4 bytes (RFC 9001 section 5.4.2).
fn sample(packet: &[u8], number_at: usize) -> [u8; 16] {
    std::array::from_fn(|i| packet[number_at + 4 + i])
}

fn hidden_bits(first: u8) -> u8 {
    if first & 0x80 != 0 { 0x0f } else { 0x1f }
}

/// Appends a Retry packet: from `source`, to a client `destination` that had addressed `original` (section 17.2.5).
pub fn encode_retry(original: &[u8], destination: &[u8], source: &[u8], token: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    // Four bits have no meaning; the example in RFC 9001's appendix A.4 sets them.
    long_header(LONG | RETRY << 4 | 0x0f, destination, source, out);
    out.extend(token);
    let tag = retry_tag(original, &out[start..]);
    out.extend(tag);
}

/// Appends the common part of long headers.
fn long_header(first: u8, destination: &[u8], source: &[u8], out: &mut Vec<u8>) {
    out.push(first);
    out.extend(VERSION.to_be_bytes());
    for identifier in [destination, source] {
        out.push(identifier.len() as u8);
        out.extend(identifier);
    }
}

/// A packet as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protected<'a> {
    /// Kind; `None` for Retry.
    pub kind: Option<Kind>,
    /// The receiver's connection identifier.
    pub destination: &'a [u8],
    /// The sender's, in a long header.
    pub source: &'a [u8],
    /// The token of an Initial or a Retry packet.
    pub token: &'a [u8],
    /// The packet itself, and where its number begins.
    bytes: &'a [u8],
    number_at: usize,
}

/// Reads the packet at the start of a datagram, or of what remains of it, where short headers have identifiers of
/// `identifier` bytes; and what remains after it.
///
/// # Errors
/// When it is truncated, or of another version.
pub fn decode(datagram: &[u8], identifier: usize) -> Result<(Protected<'_>, &[u8]), DecodeError> {
    require(datagram, 1)?;
    if datagram[0] & 0x80 == 0 {
        require(datagram, 1 + identifier + 4 + TAG)?;
        let destination = &datagram[1..=identifier];
        let kind = Some(Kind::OneRtt);
        let number_at = 1 + identifier;
        let packet = Protected { kind, destination, source: &[], token: &[], bytes: datagram, number_at };
        return Ok((packet, &[]));
    }
    require(datagram, 5)?;
    if be32(datagram, 1) != VERSION {
        return Err(DecodeError::BadVersion(be32(datagram, 1) as u8));
    }
    let mut rest = &datagram[5..];
    let destination = take_short(&mut rest)?;
    let source = take_short(&mut rest)?;
    let mut packet = Protected { kind: None, destination, source, token: &[], bytes: datagram, number_at: 0 };
    packet.kind = Some(match datagram[0] >> 4 & 3 {
        RETRY => {
            require(rest, TAG)?;
            packet.token = &rest[..rest.len() - TAG];
            return Ok((packet, &[]));
        }
        0 => Kind::Initial,
        1 => Kind::ZeroRtt,
        _ => Kind::Handshake,
    });
    if packet.kind == Some(Kind::Initial) {
        let length = take_varint(&mut rest)?;
        packet.token = take(&mut rest, length)?;
    }
    let length = take_varint(&mut rest)?;
    packet.number_at = datagram.len() - rest.len();
    let protected = take(&mut rest, length)?;
    require(protected, 4 + TAG)?;
    packet.bytes = &datagram[..packet.number_at + protected.len()];
    Ok((packet, rest))
}

/// Takes an identifier with its length in a byte before it.
fn take_short<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = take(bytes, 1)?[0];
    take(bytes, length.into())
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    require(bytes, length)?;
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    Ok(taken)
}

impl Protected<'_> {
    /// Opens the packet. Returns its number and its frames; `expected` is the next expected number.
    ///
    /// # Errors
    /// [`DecodeError::BadChecksum`] if the keys are not its, or it was changed; Retry packets cannot be opened.
    pub fn open(&self, keys: &Keys, path: u32, expected: u64) -> Result<(u64, Vec<u8>), DecodeError> {
        self.kind.ok_or(DecodeError::BadChecksum)?;
        let mut packet = self.bytes.to_vec();
        let first = packet[0] ^ keys.mask(&sample(&packet, self.number_at))[0] & hidden_bits(packet[0]);
        let number_bytes = (first & 3) + 1;
        let payload_at = self.number_at + usize::from(number_bytes);
        protect(keys, 0, self.number_at..payload_at, &mut packet);
        let truncated = packet[self.number_at..payload_at].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let number = expand_number(truncated, number_bytes, expected);
        let (header, payload) = packet.split_at_mut(payload_at);
        let (payload, tag) = payload.split_last_chunk_mut().expect("there is room for a sample and a tag");
        if !keys.open((path, number), header, payload, tag) {
            return Err(DecodeError::BadChecksum);
        }
        Ok((number, payload.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hex;
    use proptest::prelude::*;

    const ORIGINAL: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
    const SERVER: [u8; 8] = [0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62, 0xb5];

    /// RFC 9001 appendix A.2. The tag at the end is of all that is before it.
    #[test]
    fn the_clients_initial_of_the_rfc() {
        let frames = [
            hex(concat!(
                "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c00000413011302",
                "010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d0017001800100007000504",
                "616c706e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce15d43",
                "e994ec74d748002b0003020304000d0010000e0403050306030203080408050806002d00020101001c00024001003900",
                "320408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e515708060480",
                "00ffff",
            )),
            vec![0; 917],
        ]
        .concat();
        let [client, _] = Keys::initial(&ORIGINAL);
        let header = Header {
            kind: Kind::Initial,
            destination: &ORIGINAL,
            source: &[],
            token: &[],
            path: 0,
            number: 2,
            number_bytes: 4,
        };
        let mut packet = Vec::new();
        encode(&header, &client, |out| out.extend(&frames), &mut packet);
        assert_eq!(packet.len(), 1200);
        let start = "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9bd8bab936b47d92ec356c";
        assert_eq!(packet[..48], hex(start));
        assert_eq!(packet[1184..], hex("e221af44860018ab0856972e194cd934"));
        let (protected, rest) = decode(&packet, 8).unwrap();
        assert_eq!((protected.kind, protected.destination, rest), (Some(Kind::Initial), &ORIGINAL[..], &[][..]));
        assert_eq!(protected.open(&client, 0, 0), Ok((2, frames)));
    }

    /// RFC 9001 appendix A.3.
    #[test]
    fn the_servers_initial_of_the_rfc() {
        let frames = hex(concat!(
            "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a1200130100",
            "002e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00020304",
        ));
        let [client, server] = Keys::initial(&ORIGINAL);
        let header = Header {
            kind: Kind::Initial,
            destination: &[],
            source: &SERVER,
            token: &[],
            path: 0,
            number: 1,
            number_bytes: 2,
        };
        let mut packet = Vec::new();
        encode(&header, &server, |out| out.extend(&frames), &mut packet);
        assert_eq!(
            packet,
            hex(concat!(
                "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5",
                "a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4",
                "cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
            ))
        );
        let (protected, _) = decode(&packet, 0).unwrap();
        assert_eq!(protected.open(&server, 0, 1), Ok((1, frames)));
        assert_eq!(protected.open(&client, 0, 1), Err(DecodeError::BadChecksum));
    }

    /// RFC 9001 appendix A.4.
    #[test]
    fn the_retry_of_the_rfc() {
        let mut packet = Vec::new();
        encode_retry(&ORIGINAL, &[], &SERVER, b"token", &mut packet);
        assert_eq!(packet, hex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba"));
        let (protected, _) = decode(&packet, 8).unwrap();
        assert_eq!((protected.kind, protected.source, protected.token), (None, &SERVER[..], &b"token"[..]));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_a_flipped_bit_is_noticed(
            kind in prop::sample::select(vec![Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::OneRtt]),
            destination: [u8; 8], source: [u8; 8], given: Vec<u8>, secret: [u8; 32], path: u32, number in 0_u64..1 << 20,
            number_bytes in 3_u8..=4, frames in prop::collection::vec(any::<u8>(), 1..1400), bit: prop::sample::Index,
        ) {
            let keys = Keys::new(&secret);
            let token = if kind == Kind::Initial { &given[..] } else { &[] };
            let from = if kind == Kind::OneRtt { &[][..] } else { &source };
            let header = Header { kind, destination: &destination, source: from, token, path, number, number_bytes };
            let mut packet = Vec::new();
            encode(&header, &keys, |out| out.extend(&frames), &mut packet);
            let (protected, rest) = decode(&packet, 8).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!((protected.kind, protected.destination), (Some(kind), &destination[..]));
            prop_assert_eq!((protected.source, protected.token), (from, token));
            prop_assert_eq!(protected.open(&keys, path, number), Ok((number, frames)));
            let bit = bit.index(8 * packet.len());
            packet[bit / 8] ^= 1 << (bit % 8);
            let opened = decode(&packet, 8).and_then(|(protected, _)| protected.open(&keys, path, number));
            prop_assert!(opened.is_err());
        }

        #[test]
        fn nothing_makes_it_panic(mut bytes: Vec<u8>, version: bool, first: Option<u8>) {
            if version && bytes.len() > 5 {
                bytes[1..5].copy_from_slice(&[0, 0, 0, 1]);
            }
            if let (Some(first), [byte, ..]) = (first, &mut bytes[..]) {
                *byte = first;
            }
            if let Ok((protected, _)) = decode(&bytes, 8) {
                let _ = protected.open(&Keys::new(&[0; 32]), 0, 0);
            }
        }
    }
}
