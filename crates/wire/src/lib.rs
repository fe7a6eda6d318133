//! Bytes on the wire: codecs, checksums, capture files.
//!
//! Needed only where packets carry bytes: in captures, towards guest stacks, and live. Encoders append to a caller's
//! `Vec<u8>`; decoders take a slice of whatever arrived, never panic, and return the header with the range of its
//! payload. Nothing here reads a clock or does I/O: times come in as nanoseconds.
//!
//! ```
//! use vazao_wire::{ipv4, tcp};
//! let segment = tcp::Header { source_port: 49152, destination_port: 80, flags: tcp::Flags::SYN, ..Default::default() };
//! let length = ipv4::HEADER_LENGTH + tcp::header_length(&segment.options);
//! let ip = ipv4::Header::new([10, 0, 0, 1], [10, 0, 0, 2], tcp::PROTOCOL, length as u16);
//! let mut packet = Vec::new();
//! ipv4::encode(&ip, &mut packet);
//! tcp::encode(&segment, &[], ip.pseudo_header(), &mut packet);
//!
//! let (ip, payload) = ipv4::decode(&packet)?;
//! let (decoded, _) = tcp::decode(&packet[payload], ip.pseudo_header())?;
//! assert_eq!(decoded, segment);
//! # Ok::<(), vazao_wire::DecodeError>(())
//! ```

pub mod checksum;
pub mod content;
pub mod dccp;
pub mod icmp;
pub mod ipv4;
pub mod mptcp;
pub mod payload;
pub mod pcapng;
pub mod qlog;
pub mod quic;
pub mod sctp;
pub mod stream;
pub mod tcp;
pub mod tls;
pub mod udp;

use thiserror::Error;

/// Reason for which bytes are not a packet.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end before the header or the packet does.
    #[error("truncated: {needed} bytes needed, {available} available")]
    Truncated {
        /// Bytes that the packet claims, or the least that any packet has.
        needed: usize,
        /// Available bytes.
        available: usize,
    },
    /// A length field contradicts another one or the protocol's minimum.
    #[error("a length field says {0} bytes, which is too short")]
    BadLength(usize),
    /// The checksum does not match the bytes.
    #[error("bad checksum")]
    BadChecksum,
    /// The version field names another protocol.
    #[error("IP version {0}, not 4")]
    BadVersion(u8),
    /// The packet is a fragment; nothing here reassembles.
    #[error("a fragment of a packet")]
    Fragment,
}

/// Refuses fewer than `needed` bytes.
fn require(bytes: &[u8], needed: usize) -> Result<(), DecodeError> {
    let available = bytes.len();
    if available < needed { Err(DecodeError::Truncated { needed, available }) } else { Ok(()) }
}

/// Returns the big-endian 16-bit number at `at`.
pub fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the big-endian 32-bit number at `at`.
pub fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

/// Returns the big-endian 64-bit number at `at`.
fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

#[cfg(test)]
mod tests {
    /// Parses hexadecimal text.
    pub fn hex(text: &str) -> Vec<u8> {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        text.as_bytes().chunks(2).map(byte).collect()
    }
}
