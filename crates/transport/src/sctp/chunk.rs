//! What two SCTP endpoints exchange: packets of bundled chunks (RFC 9260 section 3).

use super::cause::Cause;
use super::cookie::Cookie;
use super::unknown::Unknown;
use vazao_engine::Time;

/// Bytes of the common header: ports, verification tag, checksum.
pub const COMMON_HEADER: u32 = 12;

/// Bytes of a DATA chunk before its payload, and of an I-DATA chunk (RFC 8260 section 2.1).
pub const fn data_header(interleaved: bool) -> u32 {
    if interleaved { 20 } else { 16 }
}

/// One packet. Vectors keep their room when it is [cleared](Packet::clear), so that one in use allocates nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    /// Verification tag.
    pub tag: u32,
    /// Chunks of the association's own business, which go first.
    pub control: Vec<Control>,
    /// A selective acknowledgement.
    pub sack: Option<Sack>,
    /// Its gap ack blocks: first and last TSN of each, as offsets from the cumulative one.
    pub gaps: Vec<(u16, u16)>,
    /// TSNs that arrived again, as the SACK reports them.
    pub duplicates: Vec<u32>,
    /// A FORWARD TSN: up to this TSN the receiver is not to wait for anything (RFC 3758 section 3.2).
    pub forward: Option<u32>,
    /// What it skips.
    pub skips: Vec<Skip>,
    /// User data.
    pub data: Vec<Data>,
    /// Whether these two are I-FORWARD-TSN and I-DATA chunks.
    pub interleaved: bool,
}

/// A DATA chunk (section 3.3.1), or an I-DATA chunk (RFC 8260 section 2.1). Its payload is not there: a digest of its place stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Message identifier; in DATA its low 16 bits alone, the stream sequence number.
    pub number: u32,
    /// Fragment sequence number; DATA has none.
    pub fsn: u32,
    /// Bytes of payload.
    pub length: u16,
    /// Control bits.
    pub flags: DataFlags,
    /// Which of all the messages that its sender wrote it is a part of, as the payload itself would say.
    pub message: u32,
    /// [Digest](stamp) of the payload's place, with which the receiver verifies that it delivers it there.
    pub stamp: u32,
}

/// What a FORWARD TSN skips in a stream: every message up to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Stream identifier.
    pub stream: u16,
    /// Whether it is of messages without order, which only I-FORWARD-TSN tells (RFC 8260 section 2.3.1).
    pub unordered: bool,
    /// Message identifier; in FORWARD TSN its low 16 bits alone, the stream sequence number.
    pub number: u32,
}

/// Control bits of a DATA chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataFlags(pub u8);

impl DataFlags {
    /// E: the last fragment of a message.
    pub const END: DataFlags = DataFlags(1);
    /// B: the first fragment of a message.
    pub const BEGIN: DataFlags = DataFlags(2);
    /// U: the message has no place in its stream's order.
    pub const UNORDERED: DataFlags = DataFlags(4);
    /// A whole message in one chunk.
    pub const WHOLE: DataFlags = DataFlags(3);

    /// Whether all of `bits` are set.
    pub fn has(self, bits: DataFlags) -> bool {
        self.0 & bits.0 == bits.0
    }
    /// These and `bits`.
    #[must_use]
    pub fn with(self, bits: DataFlags) -> DataFlags {
        DataFlags(self.0 | bits.0)
    }
}

/// The fixed part of a SACK chunk (section 3.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// The last TSN before the first gap.
    pub cumulative: u32,
    /// Receive buffer that is left, in bytes (a_rwnd).
    pub window: u32,
    /// Packets with data that it answers, as CMT's delayed acknowledgements report in the chunk's flags; 0: not said.
    pub packets: u8,
    /// Whether its gap ack blocks are for good: an NR-SACK chunk (draft-natarajan-tsvwg-sctp-nrsack).
    pub non_renegable: bool,
}

impl Sack {
    /// Bytes of the chunk before its blocks; an NR-SACK counts two kinds of them.
    pub fn fixed_bytes(&self) -> u32 {
        if self.non_renegable { 20 } else { 16 }
    }
}

/// What both sides say of themselves in INIT and INIT ACK (section 3.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Init {
    /// The verification tag that its sender wants to see.
    pub tag: u32,
    /// Its receive buffer in bytes (a_rwnd).
    pub window: u32,
    /// Streams that it wants to send, and the most that it can receive.
    pub streams: (u16, u16),
    /// Its first TSN.
    pub tsn: u32,
    /// The addresses that it has.
    pub addresses: Addresses,
    /// What it has beyond RFC 9260.
    pub extensions: Extensions,
    /// By how many milliseconds more the cookie should be good (Cookie Preservative), which INIT alone can ask; 0: not asked.
    pub preservative: u32,
    /// A host's name among its addresses, which may not be.
    pub host_name: Option<Unknown>,
    /// Parameters that are not known and to be reported: of an INIT ACK made here those of the INIT that it answers.
    pub unknown: Option<Unknown>,
}

/// An endpoint's addresses, known by the paths that lead to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Bit p: it has the one of path p.
    paths: u8,
    /// A digest of those to which no path leads; 0: there are none.
    others: u16,
}

impl Addresses {
    /// The addresses of the first `paths` paths, of which eight can be told apart.
    pub fn of_paths(paths: usize) -> Addresses {
        (0..paths.min(8)).fold(Addresses::default(), Addresses::with_path)
    }
    /// With the address of a path too.
    #[must_use]
    pub fn with_path(self, path: usize) -> Addresses {
        Addresses { paths: self.paths | 1_u8.checked_shl(path as u32).unwrap_or(0), ..self }
    }
    /// With an address too to which no path leads; the order in which such addresses are added does not matter.
    #[must_use]
    pub fn with_other(self, address: &[u8]) -> Addresses {
        let mixed = address.iter().fold(0, |digest: u32, &byte| (digest ^ u32::from(byte)).wrapping_mul(0x9e37_79b1));
        Addresses { others: self.others.wrapping_add((mixed >> 16) as u16 | 1).max(1), ..self }
    }
    /// How many of them a path leads to.
    pub fn count(self) -> u32 {
        self.paths.count_ones()
    }
    /// Whether all of `others` are among them. Those to which no path leads have one digest: they are the same set, or count as others.
    pub fn include(self, others: Addresses) -> bool {
        others.paths & !self.paths == 0 && (others.others == 0 || others.others == self.others)
    }
    /// As the cookie keeps them.
    pub fn bits(self) -> u32 {
        u32::from(self.others) << 16 | u32::from(self.paths)
    }
    /// The addresses that [`bits`](Self::bits) wrote.
    pub fn from_bits(bits: u32) -> Addresses {
        Addresses { paths: bits as u8, others: (bits >> 16) as u16 }
    }
}

/// What an endpoint has beyond RFC 9260: used if both sides have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Partial reliability: FORWARD TSN chunks (RFC 3758).
    pub partial: bool,
    /// User message interleaving: I-DATA chunks (RFC 8260).
    pub interleaving: bool,
}

impl Extensions {
    /// What both have.
    #[must_use]
    pub fn and(self, other: Extensions) -> Extensions {
        Extensions { partial: self.partial && other.partial, interleaving: self.interleaving && other.interleaving }
    }
    /// The chunk types that the Supported Extensions parameter lists (RFC 5061 section 4.2.7): I-DATA and I-FORWARD-TSN.
    /// FORWARD TSN has a parameter of its own.
    pub fn chunk_types(self) -> impl Iterator<Item = u8> {
        let types = [(self.interleaving, 64), (self.interleaving && self.partial, 194)];
        types.into_iter().filter(|&(has, _)| has).map(|(_, kind)| kind)
    }
    /// As the cookie keeps them.
    pub fn bits(self) -> u8 {
        u8::from(self.interleaving) | u8::from(self.partial) << 1
    }
    /// See [`bits`](Self::bits).
    pub fn from_bits(bits: u8) -> Extensions {
        Extensions { interleaving: bits & 1 == 1, partial: bits & 2 == 2 }
    }
    /// Bytes of the parameters that tell of them.
    fn bytes(self) -> u32 {
        let types = self.chunk_types().count() as u32;
        4 * u32::from(self.partial) + if types > 0 { 4 + types.next_multiple_of(4) } else { 0 }
    }
}

/// What a HEARTBEAT carries there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The path that it probes, by its sender's number.
    pub path: u8,
    /// When it left.
    pub sent: Time,
    /// Which one of its path it is.
    pub nonce: u32,
}

/// Any other chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Control {
    Init(Init),
    /// Its cookie is missing only where its sender errs.
    InitAck(Init, Option<Cookie>),
    CookieEcho(Cookie),
    CookieAck,
    Error(Cause),
    Heartbeat(Probe),
    HeartbeatAck(Probe),
    /// Its sender has received everything up to this TSN.
    Shutdown(u32),
    ShutdownAck,
    /// Whether the tag is the peer's own (bit T), as its sender no longer knows a better one; likewise for ABORT.
    ShutdownComplete(bool),
    Abort(bool, Option<Cause>),
    /// A chunk of a type that is not known here.
    Unknown(Unknown),
}

impl Packet {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.control.clear();
        self.sack = None;
        self.gaps.clear();
        self.duplicates.clear();
        self.forward = None;
        self.skips.clear();
        self.data.clear();
        self.interleaved = false;
    }

    /// Whether it carries nothing.
    pub fn is_empty(&self) -> bool {
        self.chunks() == 0
    }

    /// How many chunks it carries.
    pub fn chunks(&self) -> usize {
        let others = usize::from(self.sack.is_some()) + usize::from(self.forward.is_some());
        self.control.len() + others + self.data.len()
    }

    /// Bytes of all of it, the common header among them.
    pub fn bytes(&self) -> u32 {
        let control: u32 = self.control.iter().map(Control::bytes).sum();
        let sack =
            self.sack.map_or(0, |sack| sack.fixed_bytes() + 4 * (self.gaps.len() + self.duplicates.len()) as u32);
        let data: u32 = self.data.iter().map(|data| data.bytes(self.interleaved)).sum();
        let forward = self.forward.map_or(0, |_| forward_bytes(self.skips.len(), self.interleaved));
        COMMON_HEADER + control + sack + forward + data
    }
}

/// Bytes of a FORWARD TSN or I-FORWARD-TSN chunk.
pub(super) fn forward_bytes(skips: usize, interleaved: bool) -> u32 {
    8 + if interleaved { 8 } else { 4 } * skips as u32
}

impl Data {
    /// Bytes of the chunk, padded.
    pub fn bytes(&self, interleaved: bool) -> u32 {
        data_header(interleaved) + u32::from(self.length).next_multiple_of(4)
    }
}

/// Bytes of an INIT: the fixed part, an IPv4 address parameter for each address if there are several, a longer life for the
/// cookie, and extensions.
fn init_bytes(init: &Init) -> u32 {
    let addresses = init.addresses.count();
    let addresses = if addresses > 1 { 8 * addresses } else { 0 };
    let preservative = if init.preservative > 0 { 8 } else { 0 };
    20 + addresses + preservative + init.extensions.bytes() + init.unknown.map_or(0, Unknown::wrapped_bytes)
}

impl Control {
    /// Bytes of the chunk, padded.
    pub fn bytes(&self) -> u32 {
        match self {
            Control::Init(init) => init_bytes(init),
            Control::InitAck(init, cookie) => init_bytes(init) + cookie.map_or(0, |_| 4 + Cookie::BYTES),
            Control::CookieEcho(_) => 4 + Cookie::BYTES,
            Control::CookieAck | Control::ShutdownAck | Control::ShutdownComplete(_) => 4,
            Control::Unknown(unknown) => u32::from(unknown.bytes),
            Control::Abort(_, cause) => 4 + cause.map_or(0, Cause::bytes),
            Control::Error(cause) => 4 + cause.bytes(),
            Control::Heartbeat(_) | Control::HeartbeatAck(_) => 4 + 4 + 16,
            Control::Shutdown(_) => 8,
        }
    }
}

/// The digest of a fragment's place: its stream, the message's number among the stream's, and the offset in the message.
#[inline]
pub fn stamp(stream: u16, message: u64, offset: u64) -> u32 {
    let place = (message ^ u64::from(stream) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ offset;
    ((place ^ place >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}
