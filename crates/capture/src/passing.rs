//! A segment as it passes, told by what is known of its connection then.

use crate::pairing::Mark;
use crate::tcp::{Half, Judgement, Segment};
use std::ops::Range;
use vazao_wire::tcp::{Flags, Header};

/// Segment that passes the place of the capture. Offsets are of the streams, whose first octets are 0.
#[derive(Clone, Debug)]
pub struct Passing {
    /// Number of its connection.
    pub connection: u32,
    /// Time in nanoseconds since 1970, never before that of the packet before.
    pub time: u64,
    /// Bytes on the wire, from the link header on.
    pub size: u32,
    /// Side that sent it.
    pub from: usize,
    /// Its header, without the ports.
    pub header: Header,
    /// What it is known by elsewhere.
    pub mark: Mark,
    /// Data that it carries.
    pub data: Option<Range<u64>>,
    /// Offset in the other side's stream up to which it acknowledges.
    pub ack: Option<u64>,
    /// Window that it advertises, where the scale is known.
    pub window: Option<u64>,
    /// SACK blocks in the other side's stream.
    pub sacks: Vec<Range<u64>>,
    /// It was sent again.
    pub is_again: bool,
    /// It was sent again after a silence that tells of a timer.
    pub is_expiry: bool,
    /// Nanoseconds since what it acknowledges passed, if that tells a round trip.
    pub round_trip: Option<u64>,
    /// Octets of either side that have passed and are not acknowledged, with this segment.
    pub outstanding: [u64; 2],
}

impl Passing {
    pub(crate) fn new(
        from: usize,
        segment: &Segment,
        halves: &[Half; 2],
        window: Option<u64>,
        judgement: Judgement,
        round_trip: Option<u64>,
    ) -> Passing {
        let has = |flag| segment.flags.contains(flag);
        let (own, peer) = (&halves[from], &halves[1 - from]);
        let first = segment.sequence.wrapping_add(u32::from(has(Flags::SYN)));
        let start = own.offset(first).filter(|_| segment.payload > 0);
        let block = |left: u32, right: u32| {
            let (start, length) = (peer.offset(left)?, right.wrapping_sub(left));
            (length < 1 << 31).then(|| start..start + u64::from(length))
        };
        let blocks = segment.options.sack.as_slice();
        Passing {
            connection: 0,
            time: segment.moment.time,
            size: 0,
            from,
            header: Header {
                source_port: 0,
                destination_port: 0,
                sequence: segment.sequence,
                acknowledgment: segment.acknowledgment,
                flags: segment.flags,
                window: segment.window,
                urgent: 0,
                options: segment.options,
            },
            mark: Mark {
                sequence: first,
                length: segment.payload.try_into().unwrap_or(u32::MAX),
                rest: (segment.acknowledgment, segment.window, segment.flags.0),
                stamps: segment.options.timestamps,
                identification: segment.moment.identification,
            },
            data: start.map(|start| start..start + segment.payload),
            ack: peer.offset(segment.acknowledgment).filter(|_| has(Flags::ACK)),
            window: window.filter(|_| has(Flags::ACK)),
            sacks: blocks.iter().filter_map(|one| block(one.left, one.right)).collect(),
            is_again: judgement.is_again,
            is_expiry: judgement.is_expiry,
            round_trip,
            outstanding: halves.each_ref().map(Half::outstanding),
        }
    }
}
