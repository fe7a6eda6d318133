//! Capture files in pcapng (draft-ietf-opsawg-pcapng), for tshark and Wireshark.
//!
//! A file is one section header, then every interface, then secrets if there are any, then packets; the functions below append one block each. Numbers
//! are little-endian whatever the machine, so that equal runs give equal files.
//!
//! ```
//! use vazao_wire::pcapng::{self, Direction, Packet};
//! let mut file = Vec::new();
//! pcapng::section(&mut file);
//! pcapng::interface("left1", 0, &mut file);
//! pcapng::packet(&Packet::new(0, 1_500_000_000, Direction::Outbound, &[0x45, 0, 0, 20]), &mut file);
//!
//! let packet = pcapng::Reader::new(&file)?.next().expect("one packet")?;
//! assert_eq!((packet.time_ns, packet.ip()), (1_500_000_000, Some(&[0x45, 0, 0, 20][..])));
//! # Ok::<(), pcapng::ReadError>(())
//! ```

mod reader;

use crate::ipv4;

pub(crate) use reader::Section;
pub use reader::{Captured, ReadError, Reader};

/// IP packets with no link header (LINKTYPE_RAW in the registry of link types).
const LINKTYPE_RAW: u16 = 101;

/// Block types (section 4).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;

/// A key log of TLS as its secrets (section 4.7).
const TLS_KEY_LOG: u32 = 0x544c_534b;

/// Bytes of a packet's block before the packet, and after it and its padding where it has no comment.
const FRONT: usize = 7 * 4;
const TAIL: usize = 4 * 4;

/// Number in a section header that shows the byte order of the section.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Option codes (sections 3.5, 4.1, 4.2 and 4.3).
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_TIME_RESOLUTION: u16 = 9;
const INTERFACE_TIME_OFFSET: u16 = 14;
const PACKET_FLAGS: u16 = 2;

/// Direction in which a packet crossed the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received packet.
    Inbound = 1,
    /// Sent packet.
    Outbound = 2,
}

/// One captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The number of its interface: how many were described before that one.
    pub interface: u32,
    /// Time in nanoseconds since 1970, where simulations begin.
    pub time_ns: u64,
    /// Sent or received.
    pub direction: Direction,
    /// The packet from its IP header on, as much as was kept.
    pub bytes: &'a [u8],
    /// Length on the wire in bytes.
    pub original_length: u32,
    /// Comment shown by Wireshark, which may be empty. Cut after 65535 bytes.
    pub comment: &'a str,
}

impl<'a> Packet<'a> {
    /// Creates a packet kept whole, with no comment.
    pub const fn new(interface: u32, time_ns: u64, direction: Direction, bytes: &'a [u8]) -> Packet<'a> {
        Packet { interface, time_ns, direction, bytes, original_length: bytes.len() as u32, comment: "" }
    }

    /// Writes what stands before the packet's bytes in a block of `length` bytes (section 4.3).
    #[inline]
    fn put_front(&self, length: u32, front: &mut [u8]) {
        let (high, low) = ((self.time_ns >> 32) as u32, self.time_ns as u32);
        let (kept, original) = (self.bytes.len() as u32, self.original_length);
        let words = [ENHANCED_PACKET, length, self.interface, high, low, kept, original];
        front.as_chunks_mut().0.iter_mut().zip(&words).for_each(|(place, word)| *place = word.to_le_bytes());
    }

    /// Returns the option that tells its direction.
    const fn flags(&self) -> [u8; 8] {
        ((self.direction as u64) << 32 | 4 << 16 | PACKET_FLAGS as u64).to_le_bytes()
    }
}

/// Appends a section header, which begins every file and names this program and its version.
pub fn section(out: &mut Vec<u8>) {
    block(SECTION_HEADER, out, |out| {
        out.extend(BYTE_ORDER.to_le_bytes());
        out.extend([1, 0, 0, 0]); // version 1.0
        out.extend(u64::MAX.to_le_bytes()); // section of unspecified length
        option(SECTION_APPLICATION, concat!("vazao ", env!("CARGO_PKG_VERSION")).as_bytes(), out);
        option(END_OF_OPTIONS, &[], out);
    });
}

/// Appends the description of an interface that carries IP packets with times in nanoseconds. `snap_length` is the most
/// bytes kept of a packet, 0 for no limit; the caller cuts. A name is cut after 65535 bytes.
pub fn interface(name: &str, snap_length: u32, out: &mut Vec<u8>) {
    block(INTERFACE_DESCRIPTION, out, |out| {
        out.extend(LINKTYPE_RAW.to_le_bytes());
        out.extend([0, 0]);
        out.extend(snap_length.to_le_bytes());
        option(INTERFACE_NAME, text(name), out);
        option(INTERFACE_TIME_RESOLUTION, &[9], out);
        option(END_OF_OPTIONS, &[], out);
    });
}

/// Appends secrets by which what follows can be decrypted, as lines of a TLS key log.
pub fn key_log(lines: &str, out: &mut Vec<u8>) {
    block(DECRYPTION_SECRETS, out, |out| {
        out.extend(TLS_KEY_LOG.to_le_bytes());
        out.extend((lines.len() as u32).to_le_bytes());
        padded(lines.as_bytes(), out);
    });
}

/// Appends a packet of the first interface that `fill` appends, kept as far as its first `keep` bytes. Its original length is
/// what its IP header tells.
#[inline]
pub fn packet_in_place(
    time_ns: u64,
    direction: Direction,
    keep: usize,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len() + FRONT;
    out.extend_from_slice(&[0; FRONT]);
    fill(out);
    let length = out.len() - start;
    let original_length = ipv4::total_length(&out[start..]).unwrap_or(length as u32);
    out.truncate(start + length.min(keep));
    let (before, bytes) = out.split_at_mut(start);
    let packet = Packet { original_length, ..Packet::new(0, time_ns, direction, bytes) };
    let (kept, flags) = (bytes.len(), packet.flags());
    let block = (FRONT + kept.next_multiple_of(4) + TAIL) as u32;
    packet.put_front(block, &mut before[start - FRONT..]);
    pad(kept, out);
    out.extend_from_slice(&flags);
    out.extend_from_slice(&(u64::from(block) << 32).to_le_bytes());
}

/// Appends a packet.
pub fn packet(packet: &Packet<'_>, out: &mut Vec<u8>) {
    let comment = text(packet.comment);
    let commented = if comment.is_empty() { 0 } else { 4 + comment.len().next_multiple_of(4) };
    let length = (FRONT + packet.bytes.len().next_multiple_of(4) + commented + TAIL) as u32;
    let start = out.len();
    out.extend_from_slice(&[0; FRONT]);
    packet.put_front(length, &mut out[start..]);
    padded(packet.bytes, out);
    out.extend_from_slice(&packet.flags());
    if commented > 0 {
        option(COMMENT, comment, out);
    }
    option(END_OF_OPTIONS, &[], out);
    out.extend(length.to_le_bytes());
}

/// Appends a block: its type, its length before and after, and in between what `body` appends.
fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    padded(value, out);
}

/// Appends `bytes` and zeros up to a multiple of four.
fn padded(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    pad(bytes.len(), out);
}

/// Appends as many zeros as `length` bytes lack to a multiple of four.
#[inline]
fn pad(length: usize, out: &mut Vec<u8>) {
    if !length.is_multiple_of(4) {
        out.extend_from_slice(&[0; 3][..length.next_multiple_of(4) - length]);
    }
}

/// Cuts a text to an option's longest length, between characters.
fn text(text: &str) -> &[u8] {
    let mut end = text.len().min(u16::MAX.into());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}
