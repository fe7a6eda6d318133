//! What Multipath TCP puts into the options of its subflows' segments (RFC 8684 section 3).

/// What belongs to Multipath TCP in a segment: which subflow it is of, and its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Multipath {
    /// What addresses and ports tell: by which pair of addresses it goes, and which of the connection's subflows it is of.
    pub tuple: Tuple,
    /// Data sequence signal.
    pub dss: Option<Dss>,
    /// Any other option.
    pub signal: Option<Signal>,
}

/// A subflow's four-tuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuple {
    /// The pair of addresses, as both ends number them.
    pub way: u16,
    /// The pair of ports: the number of the subflow, as its client counts them.
    pub port: u8,
}

/// The Data Sequence Signal option (section 3.3). Data sequence numbers as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// DATA_ACK: the next octet of the connection expected.
    pub ack: Option<DataAck>,
    /// Which octets of the connection the segment carries.
    pub map: Option<Mapping>,
    /// DATA_FIN: the mapping's last octet is the end of the data.
    pub fin: bool,
}

/// A DATA_ACK as an option has it. Who is sent whole data sequence numbers acknowledges with whole ones (section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAck {
    /// Its low half.
    Short(u32),
    /// The whole.
    Long(u64),
}

impl DataAck {
    /// Its low half.
    pub const fn low(self) -> u32 {
        match self {
            DataAck::Short(low) => low,
            DataAck::Long(whole) => whole as u32,
        }
    }
}

/// A data sequence mapping (section 3.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first octet, in 64 bits.
    pub dsn: u64,
    /// Its place in the subflow: 1 for the first octet after the SYN. 0: the mapping is of no payload (a bare DATA_FIN).
    pub subflow: u32,
    /// Octets mapped, DATA_FIN counted.
    pub length: u16,
    /// The checksum of what is mapped, where checksums are used.
    pub checksum: Option<u16>,
}

/// The options other than [`Dss`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// MP_CAPABLE (section 3.1): the sender's key and the receiver's, as far as they are known; `length`: of the data that the
    /// segment carries, the first of the connection.
    Capable {
        /// The key of who sends this.
        key: Option<u64>,
        /// The key of the other.
        peer: Option<u64>,
        /// The first mapping: how long it is, and its checksum, where checksums are used.
        length: Option<(u16, Option<u16>)>,
        /// Whether checksums are asked for.
        checksum: bool,
    },
    /// MP_JOIN in a SYN (section 3.2).
    Join {
        /// Whether the subflow is a backup.
        backup: bool,
        /// The address it comes from.
        address: u8,
        /// Which connection it joins.
        token: u32,
        /// The client's nonce.
        nonce: u32,
    },
    /// MP_JOIN in a SYN-ACK.
    JoinAnswer {
        /// Whether the subflow is a backup.
        backup: bool,
        /// The address it comes from.
        address: u8,
        /// The first 64 bits of the server's HMAC.
        hmac: u64,
        /// The server's nonce.
        nonce: u32,
    },
    /// MP_JOIN in the third segment: the first 160 bits of the client's HMAC.
    JoinProof([u8; 20]),
    /// ADD_ADDR (section 3.4.1).
    AddAddress {
        /// The address.
        address: Announced,
        /// The last 64 bits of its HMAC; `None` in an echo.
        hmac: Option<u64>,
    },
    /// REMOVE_ADDR (section 3.4.2).
    RemoveAddress(Announced),
    /// MP_PRIO (section 3.3.8): whether the subflow is a backup from now on.
    Priority {
        /// Whether it is.
        backup: bool,
    },
    /// MP_FAIL (section 3.7): the data sequence number from which on the mapping is infinite.
    Fail(u64),
    /// MP_FASTCLOSE (section 3.5), with the peer's key.
    FastClose(u64),
    /// MP_TCPRST (section 3.6): why a subflow is reset.
    Reset(u8),
}

/// An address as an option names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Which of its host's interfaces it is, from 0: what its digits say.
    pub number: u8,
    /// What its host calls it. 0 is the address of the first subflow (RFC 8684 section 3.4.1).
    pub identifier: u8,
}

/// What stands for the checksum of a mapping where a [stamp](crate::tcp::Segment::stamp) stands for its data: whatever alters
/// the one alters the other.
pub(crate) fn digest(stamp: u32) -> u16 {
    (stamp >> 16) as u16 ^ stamp as u16
}

/// Reasons of [`Signal::Reset`] (section 3.6).
pub mod reason {
    /// Unspecified.
    pub const UNSPECIFIED: u8 = 0;
    /// An option of Multipath TCP was not what it has to be.
    pub const MPTCP: u8 = 1;
    /// Too much outstanding data, or another reason to think the path poor.
    pub const PERFORMANCE: u8 = 5;
    /// A middlebox is in the way.
    pub const MIDDLEBOX: u8 = 6;
}

impl Multipath {
    /// Bytes of the options, each padded to a multiple of four.
    pub fn bytes(&self) -> u32 {
        self.dss.map_or(0, |dss| dss.bytes()) + self.signal.map_or(0, |signal| signal.bytes())
    }
}

impl Dss {
    /// Bytes of a DATA_ACK alone, in 32 bits.
    pub const ACK_BYTES: u32 = 8;
    /// With a mapping too.
    pub const MAP_BYTES: u32 = 24;
    /// What a DATA_ACK in 64 bits takes beside that.
    pub const LONG_BYTES: u32 = 4;

    fn bytes(self) -> u32 {
        let checksum = |map: Mapping| if map.checksum.is_some() { 2 } else { 0 };
        let ack = self.ack.map_or(0, |ack| if matches!(ack, DataAck::Long(_)) { 8 } else { 4 });
        let bytes: u32 = 4 + ack + self.map.map_or(0, |map| 14 + checksum(map));
        bytes.next_multiple_of(4)
    }
}

impl Signal {
    fn bytes(self) -> u32 {
        match self {
            Signal::Capable { key, peer, length, .. } => {
                let keys = [key, peer].iter().flatten().count() as u32;
                4 + 8 * keys + if length.is_some() { 4 } else { 0 }
            }
            Signal::Join { .. } | Signal::Fail(_) | Signal::FastClose(_) => 12,
            Signal::JoinAnswer { .. } => 16,
            Signal::JoinProof(_) => 24,
            Signal::AddAddress { hmac, .. } => 8 + if hmac.is_some() { 8 } else { 0 },
            Signal::RemoveAddress(_) | Signal::Priority { .. } | Signal::Reset(_) => 4,
        }
    }
}
