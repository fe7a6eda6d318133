//! A segment as it passes.

use crate::headers::Headers;
use crate::moment::Moment;
use vazao_wire::tcp::{Flags, Options, decode_options};
use vazao_wire::{be16, be32};

/// A segment as it passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: Flags,
    /// As it stands in the header.
    pub window: u16,
    pub options: Options,
    /// Bytes of payload on the wire.
    pub payload: u64,
    pub is_marked: bool,
    pub moment: Moment,
}

impl Segment {
    /// Reads a segment, as much of it as was kept; `None`: not even its header was.
    pub fn read(headers: &Headers<'_>, time: u64) -> Option<Segment> {
        let bytes = headers.bytes;
        let fixed: &[u8; 20] = bytes.first_chunk()?;
        let length = usize::from(fixed[12] >> 4) * 4;
        let options = decode_options(&bytes[20..bytes.len().clamp(20, length.max(20))]);
        // RFC 6864: an atomic packet's number says nothing; those that do not count are zero.
        let identification = headers.identification.filter(|&number| number != 0);
        let stamp = options.timestamps.map(|(value, _)| value);
        Some(Segment {
            sequence: be32(fixed, 4),
            acknowledgment: be32(fixed, 8),
            flags: Flags(fixed[13]),
            window: be16(fixed, 14),
            options,
            payload: headers.length.saturating_sub(length.max(20)) as u64,
            is_marked: headers.is_marked,
            moment: Moment { time, stamp, identification },
        })
    }
}
