//! TCP segments as bytes, and bytes as segments, for captures and for guests.

use crate::endpoint::codec::{Codec, Place};
use crate::endpoint::dissector::Unwrapped;
use crate::endpoint::{Body, Contents as Kept, Crossing};
use crate::model::address::{Addresses, Socket};
use vazao_engine::Ecn;
use vazao_transport::stamp;
use vazao_transport::tcp::{Cookie, CookieOption, Extra, Flags, Segment, SynOptions};
use vazao_wire::{DecodeError, content, ipv4, mptcp, tcp};

/// Codec of a connection's segments.
pub(crate) struct Bytes {
    sockets: [Socket; 2],
    /// Streams from client and server.
    offsets: [Offsets; 2],
    /// Packets from client and server.
    templates: [tcp::Template; 2],
}

impl Bytes {
    pub fn new(addresses: &Addresses, number: usize) -> Bytes {
        let sockets = addresses.sockets[number];
        let places = sockets.map(|socket| (socket.address, socket.port));
        Bytes {
            sockets,
            offsets: sockets.map(|socket| Offsets::from(socket.iss)),
            templates: [0, 1].map(|from| tcp::Template::new(places[from], places[1 - from])),
        }
    }
}

impl Codec for Bytes {
    fn interfaces(&self, _crossing: &Crossing<'_>) -> [usize; 2] {
        self.sockets.map(|socket| socket.interface)
    }

    fn encode(&mut self, crossing: &Crossing<'_>, keep: usize, out: &mut Vec<u8>) {
        let from = crossing.from();
        let Body::Tcp(segment) = crossing.body else { return };
        let contents = Contents::of(segment, &mut self.offsets[from]);
        if segment.has_extra {
            let ends = (self.sockets[from].place(), self.sockets[1 - from].place());
            return encode(segment, crossing.contents.extra(segment), ends, contents, keep, out);
        }
        let fields = tcp::Fields {
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgment,
            flags: tcp::Flags(segment.flags.bits()),
            window: segment.window,
            timestamps: segment.has_timestamps.then_some((segment.timestamp, segment.echo)),
            ecn: ipv4::Ecn::from_bits(segment.ecn as u8),
        };
        self.templates[from].encode(&fields, (contents.offset, segment.length.into()), keep, out);
    }

    fn decode(&mut self, from: usize, packet: &[u8], contents: &mut Kept) -> Option<(Body, [usize; 2])> {
        let (mut segment, extra) = decode(packet, &mut self.offsets[from]).ok()?;
        segment.extra = extra.map_or(0, |extra| contents.insert_extra(extra));
        Some((Body::Tcp(segment), self.sockets.map(|socket| socket.interface)))
    }
}

/// Stream of one direction, by its initial sequence number, and the offset of its latest segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offsets(Unwrapped);

impl Default for Offsets {
    fn default() -> Offsets {
        Offsets::from(0)
    }
}

impl Offsets {
    pub fn from(initial: u32) -> Offsets {
        // The SYN takes the number before the stream's first byte.
        Offsets(Unwrapped::from(initial.wrapping_add(1)))
    }

    /// Returns the stream offset of a sequence number that is nearest to the last one. A probe of the octet before the stream
    /// counts as its start.
    fn of(&mut self, sequence: u32) -> u64 {
        self.0.of(sequence)
    }
}

/// Parts of a segment's bytes that its fields do not determine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    /// Offset of the payload in the stream.
    pub offset: u64,
    /// Options of Multipath TCP.
    pub options: mptcp::Options,
}

impl Contents {
    /// Returns the contents of a plain TCP segment.
    pub fn of(segment: &Segment, offsets: &mut Offsets) -> Contents {
        let offset = if segment.length > 0 { offsets.of(segment.sequence) } else { 0 };
        Contents { offset, options: mptcp::Options::NONE }
    }
}

/// Appends the IP packet of a segment from `source` to `target`; its payload is the stream's content. Of one that is longer
/// than `keep` bytes, the rest of the payload is left out.
pub(crate) fn encode(
    segment: &Segment,
    extra: Option<&Extra>,
    (source, target): (Place, Place),
    contents: Contents,
    keep: usize,
    out: &mut Vec<u8>,
) {
    let mut header = header(segment, extra, source.port, target.port);
    header.options.mptcp = contents.options;
    let mut ip = ipv4::Header::new(source.address, target.address, tcp::PROTOCOL, 0);
    ip.ecn = ipv4::Ecn::from_bits(segment.ecn as u8);
    let start = out.len();
    out.extend_from_slice(&[0; ipv4::HEADER_LENGTH]);
    let payload = (contents.offset, usize::from(segment.length));
    let keep = keep.saturating_sub(ipv4::HEADER_LENGTH);
    let length = tcp::encode_content(&header, payload, keep, ip.pseudo_header(), out);
    ip.total_length = (ipv4::HEADER_LENGTH + length) as u16;
    out[start..start + ipv4::HEADER_LENGTH].copy_from_slice(&ip.bytes());
}

/// Returns the TCP header in an IP packet, its payload, and the packet's ECN codepoint.
pub(crate) fn open(packet: &[u8]) -> Result<(tcp::Header, &[u8], Ecn), DecodeError> {
    let (ip, inside) = ipv4::decode(packet)?;
    let (header, payload) = tcp::decode(&packet[inside.clone()], ip.pseudo_header())?;
    Ok((header, &packet[inside][payload], Ecn::from_bits(ip.ecn as u32)))
}

/// Reads the segment in an IP packet. It has the stamp of its place if its payload belongs there, else a wrong one.
pub(crate) fn decode(packet: &[u8], offsets: &mut Offsets) -> Result<(Segment, Option<Extra>), DecodeError> {
    let (header, payload, ecn) = open(packet)?;
    if header.flags.contains(tcp::Flags::SYN) {
        *offsets = Offsets::from(header.sequence);
    }
    let (mut segment, extra) = segment(&header, payload.len(), ecn);
    if !payload.is_empty() {
        segment.stamp = stamp_of(payload, offsets.of(header.sequence));
    }
    Ok((segment, segment.has_extra.then_some(extra)))
}

/// Returns the stamp of a payload that should lie at `offset` of its stream.
pub(crate) fn stamp_of(payload: &[u8], offset: u64) -> u32 {
    let right = stamp(offset);
    if content::verify(offset, payload) { right } else { !right }
}

/// Converts a header to a segment without stamp and its rare options.
pub(crate) fn segment(header: &tcp::Header, length: usize, ecn: Ecn) -> (Segment, Extra) {
    let (timestamp, echo) = header.options.timestamps.unwrap_or_default();
    let mut extra = Extra::default();
    for block in header.options.sack.as_slice() {
        extra.sack.push(block.left, block.right);
    }
    extra.syn = header.flags.contains(tcp::Flags::SYN).then(|| SynOptions {
        // The default is 536 (RFC 9293 section 3.7.1).
        mss: header.options.mss.unwrap_or(536),
        window_scale: header.options.window_scale,
        sack_permitted: header.options.sack_permitted,
        fast_open: header.options.fast_open.and_then(|option| match option {
            tcp::FastOpen::Request => Some(CookieOption::Request),
            tcp::FastOpen::Cookie(cookie) => Cookie::new(cookie.as_slice()).map(CookieOption::Cookie),
        }),
    });
    let segment = Segment {
        sequence: header.sequence,
        acknowledgment: header.acknowledgment,
        timestamp,
        echo,
        stamp: 0,
        extra: 0,
        window: header.window,
        length: length as u16,
        flags: Flags::from_bits(header.flags.0),
        ecn,
        has_timestamps: header.options.timestamps.is_some(),
        has_extra: extra.syn.is_some() || !extra.sack.as_slice().is_empty(),
    };
    (segment, extra)
}

/// Converts a segment to a header.
fn header(segment: &Segment, extra: Option<&Extra>, source_port: u16, destination_port: u16) -> tcp::Header {
    let mut options = tcp::Options::default();
    if segment.has_timestamps {
        options.timestamps = Some((segment.timestamp, segment.echo));
    }
    if let Some(extra) = extra {
        if let Some(syn) = extra.syn {
            options.mss = Some(syn.mss);
            options.window_scale = syn.window_scale;
            options.sack_permitted = syn.sack_permitted;
            options.fast_open = syn.fast_open.and_then(|option| match option {
                CookieOption::Request => Some(tcp::FastOpen::Request),
                CookieOption::Cookie(cookie) => tcp::Cookie::new(cookie.as_slice()).map(tcp::FastOpen::Cookie),
            });
        }
        for &(left, right) in extra.sack.as_slice() {
            options.sack.push(tcp::SackBlock { left, right });
        }
    }
    tcp::Header {
        source_port,
        destination_port,
        sequence: segment.sequence,
        acknowledgment: segment.acknowledgment,
        flags: tcp::Flags(segment.flags.bits()),
        window: segment.window,
        urgent: 0,
        options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(last: u8, port: u16) -> Place {
        Place { address: [10, 0, 0, last], port }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            initial: u32, offset in 0..1_u32 << 30, length in 0..1448_u16, ack: u32, window: u16, timestamps: bool,
            blocks in prop::collection::vec((any::<u32>(), any::<u32>()), 0..3),
        ) {
            let mut extra = Extra::default();
            blocks.iter().for_each(|&(left, right)| extra.sack.push(left, right));
            let segment = Segment {
                sequence: initial.wrapping_add(1).wrapping_add(offset),
                acknowledgment: ack,
                timestamp: u32::from(timestamps) * 7,
                echo: u32::from(timestamps) * 9,
                stamp: if length > 0 { stamp(u64::from(offset)) } else { 0 },
                window,
                length,
                flags: Flags::ACK,
                has_timestamps: timestamps,
                has_extra: !blocks.is_empty(),
                ..Segment::default()
            };
            let mut bytes = Vec::new();
            let ends = (place(1, 49_152), place(2, 5_001));
            let extra = segment.has_extra.then_some(extra);
            let contents = Contents::of(&segment, &mut Offsets::from(initial));
            encode(&segment, extra.as_ref(), ends, contents, usize::MAX, &mut bytes);
            let size = 20 + segment.header_bytes(&extra.unwrap_or_default()) + u32::from(length);
            prop_assert_eq!(bytes.len(), size as usize);
            prop_assert_eq!(decode(&bytes, &mut Offsets::from(initial)), Ok((segment, extra)));
            if length >= 8 {
                // At another place of the stream the same bytes are the wrong ones.
                let (moved, _) = decode(&bytes, &mut Offsets::from(initial.wrapping_sub(1))).expect("a segment");
                prop_assert_ne!(moved.stamp, stamp(u64::from(offset) + 1));
            }
        }
    }

    #[test]
    fn a_stream_goes_on_beyond_the_sequence_numbers() {
        let mut offsets = Offsets::from(1000);
        let mut at = 0_u64;
        for _ in 0..40 {
            assert_eq!(offsets.of(1001_u32.wrapping_add(at as u32)), at);
            at += 1 << 28;
        }
        // A retransmission from before the wrap is where it was.
        let back = at - (1 << 28) - 5000;
        assert_eq!(offsets.of(1001_u32.wrapping_add(back as u32)), back);
    }
}
