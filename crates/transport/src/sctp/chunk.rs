//! SCTP packets and chunks (RFC 9260 section 3).

use super::authentication::Hmac;
use super::cause::Cause;
use super::cookie::Cookie;
use super::init::Init;
use super::unknown::Unknown;
use vazao_engine::Time;

/// Bytes of the common header: ports, verification tag, checksum.
pub const COMMON_HEADER: u32 = 12;

/// Bytes of header of a DATA chunk, or of an I-DATA chunk (RFC 8260 section 2.1).
pub const fn data_header(interleaved: bool) -> u32 {
    if interleaved { 20 } else { 16 }
}

/// SCTP packet. Its vectors keep their capacity when it is [cleared](Packet::clear), so that reuse allocates nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// Verification tag.
    pub tag: u32,
    /// Control chunks, which come first.
    pub control: Vec<Control>,
    /// Selective acknowledgement.
    pub sack: Option<Sack>,
    /// Gap ack blocks of the SACK: first and last TSN, as offsets from the cumulative TSN.
    pub gaps: Vec<(u16, u16)>,
    /// Duplicate TSNs of the SACK.
    pub duplicates: Vec<u32>,
    /// AUTH chunk, which authenticates what follows here (RFC 4895).
    pub auth: Option<Hmac>,
    /// New cumulative TSN of a FORWARD TSN chunk (RFC 3758 section 3.2).
    pub forward: Option<u32>,
    /// Streams and messages that it skips.
    pub skips: Vec<Skip>,
    /// User data.
    pub data: Vec<Data>,
    /// Whether the last two are I-FORWARD-TSN and I-DATA chunks.
    pub interleaved: bool,
}

/// DATA chunk (section 3.3.1) or I-DATA chunk (RFC 8260 section 2.1), with a digest in place of its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Message identifier; in DATA only its low 16 bits, the stream sequence number.
    pub number: u32,
    /// Fragment sequence number; absent in DATA.
    pub fsn: u32,
    /// Bytes of payload.
    pub length: u16,
    /// Control bits.
    pub flags: DataFlags,
    /// Global number of its message, which a real payload would identify.
    pub message: u32,
    /// [Digest](stamp) of the payload's position, with which the receiver verifies that it delivers it there.
    pub stamp: u32,
}

/// Messages of a stream that a FORWARD TSN skips: all up to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Stream identifier.
    pub stream: u16,
    /// Whether they are unordered, which only I-FORWARD-TSN can express (RFC 8260 section 2.3.1).
    pub unordered: bool,
    /// Message identifier; in FORWARD TSN only its low 16 bits, the stream sequence number.
    pub number: u32,
}

/// Control bits of a DATA chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataFlags(pub u8);

impl DataFlags {
    /// E: last fragment of a message.
    pub const END: DataFlags = DataFlags(1);
    /// B: first fragment of a message.
    pub const BEGIN: DataFlags = DataFlags(2);
    /// U: unordered message.
    pub const UNORDERED: DataFlags = DataFlags(4);
    /// Whole message in one chunk.
    pub const WHOLE: DataFlags = DataFlags(3);

    /// Whether all of `bits` are set.
    pub fn has(self, bits: DataFlags) -> bool {
        self.0 & bits.0 == bits.0
    }
    /// Union with `bits`.
    #[must_use]
    pub fn with(self, bits: DataFlags) -> DataFlags {
        DataFlags(self.0 | bits.0)
    }
}

/// Fixed part of a SACK chunk (section 3.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Cumulative TSN ack.
    pub cumulative: u32,
    /// Free receive buffer in bytes (a_rwnd).
    pub window: u32,
    /// Data packets that it acknowledges, which CMT's delayed ACKs report in the chunk flags; 0: not reported.
    pub packets: u8,
    /// Whether its gap ack blocks are non-renegable: an NR-SACK chunk (draft-natarajan-tsvwg-sctp-nrsack).
    pub non_renegable: bool,
}

impl Sack {
    /// Bytes of the chunk before its blocks; an NR-SACK has counts for two kinds of them.
    pub fn fixed_bytes(&self) -> u32 {
        if self.non_renegable { 20 } else { 16 }
    }
}

/// Heartbeat information, which a HEARTBEAT ACK returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Path probed, as numbered by the sender.
    pub path: u8,
    /// Send time.
    pub sent: Time,
    /// Sequence number of the heartbeat on its path.
    pub nonce: u32,
}

/// Any other chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Control {
    Init(Init),
    /// The cookie is missing only in an erroneous INIT ACK.
    InitAck(Init, Option<Cookie>),
    CookieEcho(Cookie),
    CookieAck,
    Error(Cause),
    Heartbeat(Probe),
    HeartbeatAck(Probe),
    /// Carries the cumulative TSN received.
    Shutdown(u32),
    ShutdownAck,
    /// The flag is bit T: the tag is the receiver's own, because the sender has no other; likewise for ABORT.
    ShutdownComplete(bool),
    Abort(bool, Option<Cause>),
    /// Chunk of an unrecognized type.
    Unknown(Unknown),
}

impl Packet {
    /// Removes all contents.
    pub fn clear(&mut self) {
        self.control.clear();
        self.sack = None;
        self.gaps.clear();
        self.duplicates.clear();
        self.auth = None;
        self.forward = None;
        self.skips.clear();
        self.data.clear();
        self.interleaved = false;
    }

    /// Whether it has no chunks.
    pub fn is_empty(&self) -> bool {
        self.chunks() == 0
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        let others = [self.sack.is_some(), self.auth.is_some(), self.forward.is_some()].map(usize::from);
        self.control.len() + others.iter().sum::<usize>() + self.data.len()
    }

    /// Bytes of the packet, including the common header.
    pub fn bytes(&self) -> u32 {
        let control: u32 = self.control.iter().map(Control::bytes).sum();
        let sack =
            self.sack.map_or(0, |sack| sack.fixed_bytes() + 4 * (self.gaps.len() + self.duplicates.len()) as u32);
        let data: u32 = self.data.iter().map(|data| data.bytes(self.interleaved)).sum();
        let forward = self.forward.map_or(0, |_| forward_bytes(self.skips.len(), self.interleaved));
        COMMON_HEADER + control + sack + self.auth.map_or(0, Hmac::chunk_bytes) + forward + data
    }
}

/// Bytes of a FORWARD TSN or I-FORWARD-TSN chunk.
pub(super) fn forward_bytes(skips: usize, interleaved: bool) -> u32 {
    8 + if interleaved { 8 } else { 4 } * skips as u32
}

impl Data {
    /// Bytes of the chunk, including padding.
    pub fn bytes(&self, interleaved: bool) -> u32 {
        data_header(interleaved) + u32::from(self.length).next_multiple_of(4)
    }
}

impl Control {
    /// Whether it must be the only chunk in its packet (section 6.10).
    pub(super) fn is_solitary(&self) -> bool {
        matches!(self, Control::Init(_) | Control::InitAck(..) | Control::ShutdownComplete(_))
    }

    /// Bytes of the chunk, including padding.
    pub fn bytes(&self) -> u32 {
        match self {
            Control::Init(init) => init.bytes(),
            Control::InitAck(init, cookie) => init.bytes() + cookie.map_or(0, |_| 4 + Cookie::BYTES),
            Control::CookieEcho(_) => 4 + Cookie::BYTES,
            Control::CookieAck | Control::ShutdownAck | Control::ShutdownComplete(_) => 4,
            Control::Unknown(unknown) => unknown.padded(),
            Control::Abort(_, cause) => 4 + cause.map_or(0, Cause::bytes),
            Control::Error(cause) => 4 + cause.bytes(),
            Control::Heartbeat(_) | Control::HeartbeatAck(_) => 4 + 4 + 16,
            Control::Shutdown(_) => 8,
        }
    }
}

/// Digest of a fragment's position: stream, number of the message in the stream, and offset in the message.
#[inline]
pub fn stamp(stream: u16, message: u64, offset: u64) -> u32 {
    let place = (message ^ u64::from(stream) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset;
    ((place ^ place >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}
