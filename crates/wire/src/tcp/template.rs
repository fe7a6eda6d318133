//! IP packets with segments that have no options but timestamps, which most have none of: what never changes is written once.

use super::{Flags, MIN_HEADER_LENGTH, NOP, PROTOCOL, TIMESTAMPS};
use crate::checksum::Checksum;
use crate::{content, ipv4};

/// Bytes of an IP packet before the payload, without and with timestamps.
const PLAIN: usize = ipv4::HEADER_LENGTH + MIN_HEADER_LENGTH;
const STAMPED: usize = PLAIN + 12;

/// Place of a segment's checksum.
const CHECKSUM: usize = 16;

/// Head of the timestamps option, with the padding before it.
const OPTION: [u8; 4] = [NOP, NOP, TIMESTAMPS, 10];

/// Fields that change from segment to segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Fields {
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: Flags,
    pub window: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// ECN codepoint of the IP packet.
    pub ecn: ipv4::Ecn,
}

/// Packets from one socket to another.
#[derive(Clone, Debug)]
pub struct Template {
    front: [u8; STAMPED],
    /// Checksum of the IP header without its length and its ECN codepoint.
    ip: Checksum,
    /// Checksum of the pseudo-header without the segment's length.
    pseudo_header: Checksum,
    /// Checksum of the pseudo-header and of all fields that never change.
    segment: Checksum,
}

impl Template {
    /// Creates the template of packets from one address and port to another.
    pub fn new((source, source_port): ([u8; 4], u16), (target, target_port): ([u8; 4], u16)) -> Template {
        let ip = ipv4::Header::new(source, target, PROTOCOL, 0);
        let mut front = [0; STAMPED];
        front[..ipv4::HEADER_LENGTH].copy_from_slice(&ip.bytes());
        front[10..12].fill(0);
        front[20..22].copy_from_slice(&source_port.to_be_bytes());
        front[22..24].copy_from_slice(&target_port.to_be_bytes());
        front[PLAIN..PLAIN + 4].copy_from_slice(&OPTION);
        let pseudo_header = ip.pseudo_header();
        Template {
            front,
            ip: Checksum::default().update(&front[..ipv4::HEADER_LENGTH]),
            pseudo_header,
            segment: pseudo_header.update(&front[20..24]),
        }
    }

    /// Appends the packet as [`encode_content`](super::encode_content) appends its segment, cut to its first `keep` bytes in the
    /// same way.
    pub fn encode(&self, fields: &Fields, (offset, length): (u64, usize), keep: usize, out: &mut Vec<u8>) {
        let head = if fields.timestamps.is_some() { STAMPED } else { PLAIN };
        let (segment, kept) = (head - ipv4::HEADER_LENGTH + length, length.min(keep.saturating_sub(head)));
        let start = out.len();
        // Fields are written where they stay: a copy of what was just written in parts waits for each of them.
        out.extend_from_slice(&self.front);
        let (ip, tcp) = out[start..].split_at_mut(ipv4::HEADER_LENGTH);
        let total = (head + length) as u16;
        ip[1] = fields.ecn as u8;
        put(ip, 2, total.to_be_bytes());
        put(ip, 10, self.ip.add_words(u64::from(total) + fields.ecn as u64).finish().to_be_bytes());
        let sum = self.put_fields(fields, head, tcp) + segment as u64;
        if kept < length {
            put(tcp, CHECKSUM, (!self.pseudo_header.add_words(segment as u64).finish()).to_be_bytes());
            // Whole words are made in less time; the caller cuts.
            out.resize(start + head + length.min(kept.next_multiple_of(8)), 0);
            return content::fill(offset, &mut out[start + head..]);
        }
        let sum = self.segment.add_words(sum);
        out.resize(start + head + length, 0);
        let (head, payload) = out[start..].split_at_mut(head);
        let sum = if length > 0 { sum.add_little_endian(content::fill_summed(offset, payload), length) } else { sum };
        put(head, ipv4::HEADER_LENGTH + CHECKSUM, sum.finish().to_be_bytes());
    }

    /// Writes the fields of a segment. Returns the sum of their words.
    #[inline]
    fn put_fields(&self, fields: &Fields, head: usize, tcp: &mut [u8]) -> u64 {
        let &Fields { sequence, acknowledgment, flags, window, timestamps, .. } = fields;
        let control = ((head - ipv4::HEADER_LENGTH) as u16 / 4) << 12 | u16::from(flags.0);
        put(tcp, 4, sequence.to_be_bytes());
        put(tcp, 8, acknowledgment.to_be_bytes());
        put(tcp, 12, control.to_be_bytes());
        put(tcp, 14, window.to_be_bytes());
        let sum = [sequence, acknowledgment, control.into(), window.into()].map(u64::from).iter().sum();
        let Some((value, echo)) = timestamps else { return sum };
        put(tcp, MIN_HEADER_LENGTH + 4, value.to_be_bytes());
        put(tcp, MIN_HEADER_LENGTH + 8, echo.to_be_bytes());
        sum + u64::from(u32::from_be_bytes(OPTION)) + u64::from(value) + u64::from(echo)
    }
}

#[inline]
fn put<const N: usize>(place: &mut [u8], at: usize, bytes: [u8; N]) {
    place[at..at + N].copy_from_slice(&bytes);
}
