//! What two TCP endpoints exchange.

use super::fast_open::CookieOption;
use super::multipath::Multipath;
use vazao_engine::Ecn;

/// A segment, its fields as on the wire. Options that few segments carry are in [`Extra`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first octet (of SYN, if set).
    pub sequence: u32,
    /// Next sequence number expected, if `ACK` is set.
    pub acknowledgment: u32,
    /// Timestamp value, if `has_timestamps`, in milliseconds (RFC 7323).
    pub timestamp: u32,
    /// Timestamp echo reply, likewise.
    pub echo: u32,
    /// Stands for the payload: a digest of the stream offset of its first byte, with which the receiver verifies that
    /// it puts the bytes where the sender took them from.
    pub stamp: u32,
    /// For whoever carries segments: where it keeps this segment's [`Extra`].
    pub extra: u32,
    /// Receive window as on the wire, before scaling.
    pub window: u16,
    /// Payload bytes.
    pub length: u16,
    /// Control bits.
    pub flags: Flags,
    /// The ECN codepoint of the packet that carries the segment.
    pub ecn: Ecn,
    /// Whether the timestamps option is present.
    pub has_timestamps: bool,
    /// Whether there is an [`Extra`] with the rest of the options.
    pub has_extra: bool,
}

/// Control bits as in the TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(1);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(2);
    /// Reset the connection.
    pub const RST: Flags = Flags(4);
    /// Push: the end of what the application wrote.
    pub const PSH: Flags = Flags(8);
    /// The acknowledgment field counts.
    pub const ACK: Flags = Flags(16);
    /// Congestion was experienced (RFC 3168); on a SYN: ECN is understood.
    pub const ECE: Flags = Flags(64);
    /// The congestion window was reduced (RFC 3168); on a SYN: ECN is understood.
    pub const CWR: Flags = Flags(128);

    /// Both sets of bits.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The bits that are not in `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// The bits as in the TCP header.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// The bits of a TCP header.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
}

/// The options that only some segments carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// On SYN segments.
    pub syn: Option<SynOptions>,
    /// SACK blocks, a D-SACK block first.
    pub sack: SackBlocks,
    /// What belongs to Multipath TCP, if this is a segment of a subflow of it.
    pub multipath: Option<Multipath>,
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size the sender of this SYN accepts.
    pub mss: u16,
    /// Window scale shift (RFC 7323), if offered.
    pub window_scale: Option<u8>,
    /// Whether SACK may be used (RFC 2018).
    pub sack_permitted: bool,
    /// A cookie, or the wish for one (RFC 7413).
    pub fast_open: Option<CookieOption>,
}

/// Up to four SACK blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Appends a block, the sequence numbers of its first octet and of the one after its last; ignored when full.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (left, right);
            self.count += 1;
        }
    }
    /// Takes the last block off, if there is one.
    pub(crate) fn pop(&mut self) -> bool {
        let is_there = self.count > 0;
        self.count -= u8::from(is_there);
        is_there
    }
    /// The blocks in order.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Bytes of options that a header has room for.
pub(crate) const OPTIONS_BYTES: u32 = 40;
/// Bytes of the timestamps option with its padding.
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;

impl Segment {
    /// Bytes of the TCP header with options, as Linux lays them out.
    #[inline]
    pub fn header_bytes(&self, extra: &Extra) -> u32 {
        let mut bytes = 20;
        if self.has_timestamps {
            bytes += TIMESTAMPS_BYTES;
        }
        if self.has_extra {
            bytes += extra.bytes(self.has_timestamps);
        }
        bytes
    }

    /// Sequence space the segment occupies: its payload, SYN and FIN.
    #[inline]
    pub fn span(&self) -> u64 {
        u64::from(self.length) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
}

impl Extra {
    fn bytes(&self, timestamps: bool) -> u32 {
        let syn = self.syn.map_or(0, |syn| {
            // SACK-permitted shares the timestamps' padding where there are any.
            let sack = if syn.sack_permitted && !timestamps { 4 } else { 0 };
            let cookie = match syn.fast_open {
                None => 0,
                Some(CookieOption::Request) => 4,
                Some(CookieOption::Cookie(cookie)) => (2 + cookie.as_slice().len() as u32).next_multiple_of(4),
            };
            4 + sack + cookie + if syn.window_scale.is_some() { 4 } else { 0 }
        });
        let blocks = u32::from(self.sack.count);
        let multipath = self.multipath.map_or(0, |multipath| multipath.bytes());
        syn + multipath + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }
}
