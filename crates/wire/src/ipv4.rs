//! The IPv4 header (RFC 791), with the second byte as DSCP (RFC 2474) and ECN (RFC 3168).

use crate::checksum::{Checksum, checksum};
use crate::{DecodeError, be16, require};
use std::ops::Range;

/// The length of the header we write, which has no options, in bytes.
pub const HEADER_LENGTH: usize = 20;

/// Flags and fragment offset, bytes 6 and 7.
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// The ECN codepoint (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, ECT(1).
    Ect1 = 1,
    /// ECN-capable transport, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns the codepoint of the two lowest bits.
    pub const fn from_bits(bits: u8) -> Ecn {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][(bits & 3) as usize]
    }
}

/// An IPv4 header. Options are not kept, and fragments are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: [u8; 4],
    /// Destination address.
    pub destination: [u8; 4],
    /// Protocol of the payload: 6 for TCP, 17 for UDP, 132 for SCTP.
    pub protocol: u8,
    /// Remaining hops.
    pub ttl: u8,
    /// Identification among packets of its source, destination and protocol.
    pub identification: u16,
    /// Whether routers must not fragment it.
    pub dont_fragment: bool,
    /// Differentiated services codepoint, 6 bits; the encoder drops higher ones.
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Bytes of header and payload together.
    pub total_length: u16,
}

impl Header {
    /// Creates the header of an ordinary packet of `total_length` bytes: TTL 64, not to be fragmented, everything else
    /// zero.
    pub const fn new(source: [u8; 4], destination: [u8; 4], protocol: u8, total_length: u16) -> Header {
        Header {
            source,
            destination,
            protocol,
            ttl: 64,
            identification: 0,
            dont_fragment: true,
            dscp: 0,
            ecn: Ecn::NotEct,
            total_length,
        }
    }

    /// Returns the addresses and the protocol, summed: where the checksums of TCP and UDP begin. The transport itself
    /// adds its length.
    pub fn pseudo_header(&self) -> Checksum {
        Checksum::default().update(&self.source).update(&self.destination).update(&[0, self.protocol])
    }

    /// Returns the header as bytes with its checksum, without options.
    pub fn bytes(&self) -> [u8; HEADER_LENGTH] {
        let fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let mut bytes = [0; HEADER_LENGTH];
        bytes[0] = 0x45;
        bytes[1] = self.dscp << 2 | self.ecn as u8;
        bytes[2..4].copy_from_slice(&self.total_length.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.identification.to_be_bytes());
        bytes[6..8].copy_from_slice(&fragment.to_be_bytes());
        bytes[8] = self.ttl;
        bytes[9] = self.protocol;
        bytes[12..16].copy_from_slice(&self.source);
        bytes[16..20].copy_from_slice(&self.destination);
        let sum = checksum(&bytes);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// Returns the length in bytes that the header of the packet in `bytes` tells, of which there may be fewer; `None` without a
/// whole length field.
pub fn total_length(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk::<4>().map(|_| u32::from(be16(bytes, 2)))
}

/// Appends `header` with its checksum, without options. Its payload, `total_length - 20` bytes, is the caller's to
/// append.
pub fn encode(header: &Header, out: &mut Vec<u8>) {
    out.extend_from_slice(&header.bytes());
}

/// Changes the ECN codepoint of the packet in `bytes`, and its checksum by the difference (RFC 1624, equation 3), as a
/// router does. Bytes that are no packet stay as they are.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    if bytes.len() < HEADER_LENGTH || Ecn::from_bits(bytes[1]) == ecn {
        return;
    }
    let (old, sum) = (be16(bytes, 0), be16(bytes, 10));
    bytes[1] = bytes[1] & !3 | ecn as u8;
    let total = u32::from(!sum) + u32::from(!old) + u32::from(be16(bytes, 0));
    let folded = (total & 0xffff) + (total >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    bytes[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// Reads the header at the start of `bytes` and where its payload lies; bytes after the packet (link padding) are
/// ignored.
///
/// # Errors
/// Any [`DecodeError`].
pub fn decode(bytes: &[u8]) -> Result<(Header, Range<usize>), DecodeError> {
    require(bytes, HEADER_LENGTH)?;
    if bytes[0] >> 4 != 4 {
        return Err(DecodeError::BadVersion(bytes[0] >> 4));
    }
    let header_length = usize::from(bytes[0] & 15) * 4;
    if header_length < HEADER_LENGTH {
        return Err(DecodeError::BadLength(header_length));
    }
    require(bytes, header_length)?;
    if checksum(&bytes[..header_length]) != 0 {
        return Err(DecodeError::BadChecksum);
    }
    let total_length = be16(bytes, 2);
    if usize::from(total_length) < header_length {
        return Err(DecodeError::BadLength(total_length.into()));
    }
    require(bytes, total_length.into())?;
    let fragment = be16(bytes, 6);
    if fragment & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0 {
        return Err(DecodeError::Fragment);
    }
    let header = Header {
        source: [bytes[12], bytes[13], bytes[14], bytes[15]],
        destination: [bytes[16], bytes[17], bytes[18], bytes[19]],
        protocol: bytes[9],
        ttl: bytes[8],
        identification: be16(bytes, 4),
        dont_fragment: fragment & DONT_FRAGMENT != 0,
        dscp: bytes[1] >> 2,
        ecn: Ecn::from_bits(bytes[1]),
        total_length,
    };
    Ok((header, header_length..total_length.into()))
}
