//! SCTP packets (RFC 9260 section 3): the common header with its CRC32c, and chunks.

use crate::{DecodeError, be16, be32, require};

/// The protocol's number in the IP header.
pub const PROTOCOL: u8 = 132;

/// Bytes of the common header.
pub const HEADER_LENGTH: usize = 12;

/// Chunk types (section 3.2; RFC 3758 section 3.2, RFC 4895 section 4, RFC 8260 section 2).
#[allow(missing_docs)]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const INIT: u8 = 1;
    pub const INIT_ACK: u8 = 2;
    pub const SACK: u8 = 3;
    pub const HEARTBEAT: u8 = 4;
    pub const HEARTBEAT_ACK: u8 = 5;
    pub const ABORT: u8 = 6;
    pub const SHUTDOWN: u8 = 7;
    pub const SHUTDOWN_ACK: u8 = 8;
    pub const ERROR: u8 = 9;
    pub const COOKIE_ECHO: u8 = 10;
    pub const COOKIE_ACK: u8 = 11;
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    pub const AUTH: u8 = 15;
    pub const I_DATA: u8 = 64;
    /// draft-natarajan-tsvwg-sctp-nrsack.
    pub const NR_SACK: u8 = 16;
    pub const FORWARD_TSN: u8 = 192;
    pub const I_FORWARD_TSN: u8 = 194;
}

/// Types of the parameters in INIT, INIT ACK and HEARTBEAT (sections 3.3.2, 3.3.3, 3.3.5; RFC 3758 section 3.1, RFC 4895
/// section 3, RFC 5061 section 4.2.7).
#[allow(missing_docs)]
pub mod parameter {
    pub const HEARTBEAT_INFO: u16 = 1;
    pub const IPV4_ADDRESS: u16 = 5;
    pub const IPV6_ADDRESS: u16 = 6;
    pub const STATE_COOKIE: u16 = 7;
    pub const UNRECOGNIZED_PARAMETER: u16 = 8;
    pub const COOKIE_PRESERVATIVE: u16 = 9;
    pub const HOST_NAME_ADDRESS: u16 = 11;
    pub const SUPPORTED_ADDRESS_TYPES: u16 = 12;
    /// Reserved for ECN (RFC 9260 appendix A).
    pub const ECN_CAPABLE: u16 = 0x8000;
    pub const RANDOM: u16 = 0x8002;
    pub const CHUNKS: u16 = 0x8003;
    pub const HMAC_ALGORITHMS: u16 = 0x8004;
    pub const SUPPORTED_EXTENSIONS: u16 = 0x8008;
    pub const FORWARD_TSN_SUPPORTED: u16 = 0xc000;
}

/// The common header, its checksum aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Header {
    pub source_port: u16,
    pub destination_port: u16,
    pub verification_tag: u32,
}

/// A chunk: its type, its flags, and what follows its length, without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Chunk<'a> {
    pub kind: u8,
    pub flags: u8,
    pub value: &'a [u8],
}

/// A packet in the making at the end of a buffer.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Writer<'a> {
    /// Begins a packet.
    pub fn new(header: &Header, out: &'a mut Vec<u8>) -> Writer<'a> {
        let start = out.len();
        out.extend_from_slice([header.source_port, header.destination_port].map(u16::to_be_bytes).as_flattened());
        out.extend(header.verification_tag.to_be_bytes());
        out.extend([0; 4]);
        Writer { out, start }
    }

    /// Adds a chunk whose value `fill` appends.
    pub fn chunk(&mut self, kind: u8, flags: u8, fill: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend([kind, flags]);
        with_length(self.out, fill);
        pad(self.out, self.start);
    }

    /// Fills in the checksum.
    pub fn finish(self) {
        // The register's low byte goes first (appendix A).
        let sum = crc32c(&self.out[self.start..]).to_le_bytes();
        self.out[self.start + 8..self.start + 12].copy_from_slice(&sum);
    }
}

/// Appends a parameter of a chunk: the padding of what is before it in `out`, where a chunk begins at a multiple of four
/// bytes, then its type, its length and its value. The padding of the last parameter is the chunk's (section 3.2).
pub fn parameter(kind: u16, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    pad(out, 0);
    out.extend(kind.to_be_bytes());
    with_length(out, fill);
}

/// Appends a length that counts its own four bytes, and what `fill` appends.
fn with_length(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 2]);
    fill(out);
    let length = out.len() - at + 2;
    out[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
}

/// Makes what follows `start` a multiple of four bytes.
fn pad(out: &mut Vec<u8>, start: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}

/// Reads the packet that `bytes` are.
///
/// # Errors
/// When it is truncated, a chunk's length is impossible, or the checksum is wrong.
pub fn decode(bytes: &[u8]) -> Result<(Header, Vec<Chunk<'_>>), DecodeError> {
    require(bytes, HEADER_LENGTH)?;
    let sum = crc32c::crc32c_append(crc32c(&bytes[..8]), &[0; 4]);
    let sum = crc32c::crc32c_append(sum, &bytes[HEADER_LENGTH..]);
    if sum.to_le_bytes() != bytes[8..12] {
        return Err(DecodeError::BadChecksum);
    }
    let header =
        Header { source_port: be16(bytes, 0), destination_port: be16(bytes, 2), verification_tag: be32(bytes, 4) };
    let mut chunks = Vec::new();
    let mut rest = &bytes[HEADER_LENGTH..];
    while !rest.is_empty() {
        require(rest, 4)?;
        let length = usize::from(be16(rest, 2));
        if length < 4 {
            return Err(DecodeError::BadLength(length));
        }
        require(rest, length)?;
        chunks.push(Chunk { kind: rest[0], flags: rest[1], value: &rest[4..length] });
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    Ok((header, chunks))
}

/// CRC32c (Castagnoli's polynomial, reflected), as RFC 3720 and RFC 9260's appendix A have it.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 3720 section B.4, and the check value of the CRC catalogues.
    #[test]
    fn the_vectors_of_rfc_3720() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        for (bytes, sum) in [
            (&[0; 32][..], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
            (b"123456789", 0xe306_9283),
        ] {
            assert_eq!(crc32c(bytes), sum);
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_a_flipped_bit_is_noticed(
            source_port: u16, destination_port: u16, verification_tag: u32,
            given in prop::collection::vec((any::<u8>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..6),
            bit: prop::sample::Index,
        ) {
            let header = Header { source_port, destination_port, verification_tag };
            let mut bytes = Vec::new();
            let mut writer = Writer::new(&header, &mut bytes);
            for (kind, flags, value) in &given {
                writer.chunk(*kind, *flags, |out| out.extend(value));
            }
            writer.finish();
            prop_assert_eq!(bytes.len() % 4, 0);
            let chunks: Vec<_> = given.iter().map(|(kind, flags, value)| Chunk { kind: *kind, flags: *flags, value }).collect();
            prop_assert_eq!(decode(&bytes), Ok((header, chunks)));
            let bit = bit.index(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode(&bytes), Err(DecodeError::BadChecksum));
        }

        #[test]
        fn nothing_makes_it_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
