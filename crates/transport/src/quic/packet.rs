//! What two QUIC endpoints exchange: UDP datagrams with one packet or several (RFC 9000 section 17).

use super::frame::{Frame, varint};
use vazao_engine::Ecn;

/// The three packet number spaces (section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
}

impl Space {
    /// All of them, in the order of the handshake.
    pub const ALL: [Space; 3] = [Space::Initial, Space::Handshake, Space::Data];
}

/// What kind of packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Initial, with a token of so many bytes.
    Initial(u16),
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
    /// 1-RTT, with a short header.
    OneRtt,
    /// Retry, with a token of so many bytes. It has no number.
    Retry(u16),
}

impl Kind {
    /// The space of its number.
    pub const fn space(self) -> Space {
        match self {
            Kind::Initial(_) | Kind::Retry(_) => Space::Initial,
            Kind::Handshake => Space::Handshake,
            Kind::ZeroRtt | Kind::OneRtt => Space::Data,
        }
    }

    /// Bytes of the header, and of what seals the packet, around `payload` bytes: identifiers of 8 bytes, the fewest bytes of
    /// the number, AEAD tags of 16 (RFC 9001 section 5.3).
    #[inline]
    pub const fn overhead(self, number_bytes: u32) -> u32 {
        match self {
            Kind::OneRtt => 1 + IDENTIFIER + number_bytes + TAG,
            // Flags, version, two identifiers with their lengths; a length in two bytes.
            Kind::Initial(token) => LONG + varint(token as u64) + token as u32 + 2 + number_bytes + TAG,
            Kind::ZeroRtt | Kind::Handshake => LONG + 2 + number_bytes + TAG,
            Kind::Retry(token) => LONG + token as u32 + TAG,
        }
    }
}

/// Bytes of a connection identifier as this stack and others (Google's, quinn) choose it.
pub const IDENTIFIER: u32 = 8;
const TAG: u32 = 16;
const LONG: u32 = 1 + 4 + 1 + IDENTIFIER + 1 + IDENTIFIER;

/// Bytes that a packet number is written in, when `unacknowledged` packets may still be under way (section 17.1).
#[inline]
pub const fn number_bytes(unacknowledged: u64) -> u32 {
    match 2 * unacknowledged {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

/// One packet of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its kind.
    pub kind: Kind,
    /// Its number.
    pub number: u64,
    /// Bytes that the number is written in.
    pub number_bytes: u8,
    /// How many of the datagram's frames are its.
    pub frames: u16,
    /// How many of the datagram's ranges are its ACK frame's.
    pub ranges: u16,
}

/// Where the client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// One of its interfaces, from 0.
    pub way: u8,
    /// What the server sees of its host: a NAT may make another one of it.
    pub host: u8,
    /// What the server sees besides, which a NAT may change, too: each address has another number.
    pub number: u16,
}

/// A UDP datagram. Its room is used again.
#[derive(Clone, Debug, Default)]
pub struct Datagram {
    /// Its packets, in order.
    pub packets: Vec<Header>,
    /// Their frames.
    pub frames: Vec<Frame>,
    /// Ranges of packet numbers that ACK frames report: the first and the last of each, the highest first.
    pub ranges: Vec<(u64, u64)>,
    /// To which of the receiver's identifiers it is addressed.
    pub identifier: u64,
    /// For which path that is (RFC 10069); its 1-RTT packets are numbered by it.
    pub path: u8,
    /// By which of the client's addresses it goes.
    pub address: Address,
    /// Bytes of UDP payload.
    pub bytes: u32,
    /// With a frame of parity: what the packets said whose parity it is, by their numbers. It stands for their XOR.
    pub protected: Vec<(u64, Frame)>,
    /// How it is to be marked.
    pub ecn: Ecn,
}

impl Datagram {
    /// Its packets, each with its frames and the ranges of its ACK frame.
    pub fn split(&self) -> impl Iterator<Item = (&Header, &[Frame], &[(u64, u64)])> {
        let (mut frames, mut ranges) = (&self.frames[..], &self.ranges[..]);
        self.packets.iter().map(move |packet| {
            let (own, rest) = frames.split_at(packet.frames.into());
            let (told, more) = ranges.split_at(packet.ranges.into());
            (frames, ranges) = (rest, more);
            (packet, own, told)
        })
    }

    /// Empties it.
    #[inline]
    pub fn clear(&mut self) {
        self.packets.clear();
        self.frames.clear();
        self.ranges.clear();
        self.protected.clear();
        (self.identifier, self.path, self.address) = (0, 0, Address::default());
        (self.bytes, self.ecn) = (0, Ecn::NotEct);
    }
}
