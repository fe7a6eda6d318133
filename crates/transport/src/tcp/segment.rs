//! TCP segments.

use super::fast_open::CookieOption;
use super::multipath::Multipath;
use vazao_engine::Ecn;

/// TCP segment, its fields as on the wire. Options that few segments carry are in [`Extra`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first octet (of SYN, if set).
    pub sequence: u32,
    /// Next sequence number expected, if `ACK` is set.
    pub acknowledgment: u32,
    /// Timestamp value, if `has_timestamps`, in milliseconds (RFC 7323).
    pub timestamp: u32,
    /// Timestamp echo reply, if `has_timestamps`.
    pub echo: u32,
    /// Digest of the stream offset of the payload's first byte, in place of the payload. It lets the receiver verify
    /// that it puts the bytes where the sender took them from.
    pub stamp: u32,
    /// Handle of this segment's [`Extra`], for the code that carries segments.
    pub extra: u32,
    /// Receive window as on the wire, before scaling.
    pub window: u16,
    /// Payload bytes.
    pub length: u16,
    /// Control bits.
    pub flags: Flags,
    /// ECN codepoint of the IP packet.
    pub ecn: Ecn,
    /// Whether the timestamps option is present.
    pub has_timestamps: bool,
    /// Whether an [`Extra`] holds further options.
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
    /// Push: end of a write by the application.
    pub const PSH: Flags = Flags(8);
    /// Acknowledgment field is valid.
    pub const ACK: Flags = Flags(16);
    /// Congestion experienced (RFC 3168); on a SYN: ECN-capable.
    pub const ECE: Flags = Flags(64);
    /// Congestion window reduced (RFC 3168); on a SYN: ECN-capable.
    pub const CWR: Flags = Flags(128);

    /// Union of the flags.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// Flags not in `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Flags as in the TCP header.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Flags from the bits of a TCP header.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
}

/// Options that only some segments carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// SYN options.
    pub syn: Option<SynOptions>,
    /// SACK blocks, a D-SACK block first.
    pub sack: SackBlocks,
    /// Multipath TCP options, on segments of a subflow.
    pub multipath: Option<Multipath>,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size that the sender of this SYN accepts.
    pub mss: u16,
    /// Window scale shift (RFC 7323), if offered.
    pub window_scale: Option<u8>,
    /// Whether SACK may be used (RFC 2018).
    pub sack_permitted: bool,
    /// Fast Open cookie, or request for one (RFC 7413).
    pub fast_open: Option<CookieOption>,
}

/// Up to four SACK blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Appends a block, given by its first sequence number and the one after its last; ignored when full.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (left, right);
            self.count += 1;
        }
    }
    /// Removes the last block, if there is one.
    pub(crate) fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Blocks in order.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Maximum bytes of options in a header.
pub(crate) const OPTIONS_BYTES: u32 = 40;
/// Bytes of the timestamps option including padding.
pub(crate) const TIMESTAMPS_BYTES: u32 = 12;

impl Segment {
    /// Bytes of the TCP header including options, laid out as in Linux.
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

    /// Sequence space of the segment: payload, SYN and FIN.
    #[inline]
    pub fn span(&self) -> u64 {
        u64::from(self.length) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
}

impl Extra {
    /// Whether it has options of TCP itself, rather than of Multipath TCP only.
    #[inline]
    pub(crate) fn concerns_tcp(&self) -> bool {
        self.syn.is_some() || !self.sack.is_empty()
    }

    fn bytes(&self, timestamps: bool) -> u32 {
        let syn = self.syn.map_or(0, |syn| {
            // SACK-permitted uses the padding of the timestamps option if there is one.
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
