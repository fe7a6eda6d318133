//! QUIC packets and the UDP datagrams that carry them (RFC 9000 section 17).

use super::frame::{Frame, varint};
use vazao_engine::Ecn;

/// Packet number space (section 12.3).
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
    /// All spaces, in the order of the handshake.
    pub const ALL: [Space; 3] = [Space::Initial, Space::Handshake, Space::Data];
}

/// Kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Initial, with the bytes of its token.
    Initial(u16),
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
    /// 1-RTT, with a short header.
    OneRtt,
    /// Retry, with the bytes of its token. It has no packet number.
    Retry(u16),
}

impl Kind {
    /// Packet number space.
    pub const fn space(self) -> Space {
        match self {
            Kind::Initial(_) | Kind::Retry(_) => Space::Initial,
            Kind::Handshake => Space::Handshake,
            Kind::ZeroRtt | Kind::OneRtt => Space::Data,
        }
    }

    /// Bytes of header and AEAD tag around the payload: connection IDs of 8 bytes, the shortest packet number encoding,
    /// tags of 16 bytes (RFC 9001 section 5.3).
    #[inline]
    pub const fn overhead(self, number_bytes: u32) -> u32 {
        match self {
            Kind::OneRtt => 1 + IDENTIFIER + number_bytes + TAG,
            // Flags, version, two connection IDs with their lengths, and a two-byte length field.
            Kind::Initial(token) => LONG + varint(token as u64) + token as u32 + 2 + number_bytes + TAG,
            Kind::ZeroRtt | Kind::Handshake => LONG + 2 + number_bytes + TAG,
            Kind::Retry(token) => LONG + token as u32 + TAG,
        }
    }
}

/// Bytes of a connection ID, as chosen by this and other implementations (Google's, quinn).
pub const IDENTIFIER: u32 = 8;
const TAG: u32 = 16;
const LONG: u32 = 1 + 4 + 1 + IDENTIFIER + 1 + IDENTIFIER;

/// Bytes of a packet number when `unacknowledged` packets may be in flight (section 17.1).
#[inline]
pub const fn number_bytes(unacknowledged: u64) -> u32 {
    match 2 * unacknowledged {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

/// Packet in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of packet.
    pub kind: Kind,
    /// Packet number.
    pub number: u64,
    /// Bytes of the packet number encoding.
    pub number_bytes: u8,
    /// Number of the datagram's frames that belong to it.
    pub frames: u16,
    /// Number of the datagram's ranges that belong to its ACK frame.
    pub ranges: u16,
}

/// Address of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// Client interface, from 0.
    pub interface: u8,
    /// Host as seen by the server, which a NAT may change.
    pub host: u8,
    /// Number that makes each address unique, as a port does; a NAT may change it too.
    pub number: u16,
}

/// UDP datagram, whose vectors are reused.
#[derive(Clone, Debug, Default)]
pub struct Datagram {
    /// Packets in order.
    pub packets: Vec<Header>,
    /// Frames of all packets.
    pub frames: Vec<Frame>,
    /// Ranges of packet numbers in ACK frames: first and last of each, the highest first.
    pub ranges: Vec<(u64, u64)>,
    /// Destination connection ID.
    pub identifier: u64,
    /// Path of that connection ID (RFC 10069), which also numbers the 1-RTT packets.
    pub path: u8,
    /// Client address used.
    pub address: Address,
    /// Bytes of UDP payload.
    pub bytes: u32,
    /// With a parity frame: frames of the protected packets by packet number, in place of their XOR.
    pub protected: Vec<(u64, Frame)>,
    /// ECN codepoint.
    pub ecn: Ecn,
}

impl Datagram {
    /// Returns each packet with its frames and the ranges of its ACK frame.
    pub fn split(&self) -> impl Iterator<Item = (&Header, &[Frame], &[(u64, u64)])> {
        let (mut frames, mut ranges) = (&self.frames[..], &self.ranges[..]);
        self.packets.iter().map(move |packet| {
            let (own, rest) = frames.split_at(packet.frames.into());
            let (acked, more) = ranges.split_at(packet.ranges.into());
            (frames, ranges) = (rest, more);
            (packet, own, acked)
        })
    }

    /// Removes all contents.
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
