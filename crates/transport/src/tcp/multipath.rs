//! Multipath TCP options in the segments of subflows (RFC 8684 section 3).

/// Multipath TCP part of a segment: its subflow and its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Multipath {
    /// Four-tuple of the subflow, in place of addresses and ports.
    pub tuple: Tuple,
    /// Data sequence signal.
    pub dss: Option<Dss>,
    /// Any other option.
    pub signal: Option<Signal>,
}

/// A subflow's four-tuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuple {
    /// Address pair, numbered alike at both ends.
    pub pair: u16,
    /// Port pair: the subflow's number, assigned by the client.
    pub port: u8,
}

/// Data Sequence Signal option (section 3.3), with data sequence numbers as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// DATA_ACK: next connection-level octet expected.
    pub ack: Option<DataAck>,
    /// Mapping of the segment's payload to connection-level octets.
    pub map: Option<Mapping>,
    /// DATA_FIN: the last octet of the mapping ends the data.
    pub fin: bool,
}

/// DATA_ACK as encoded. A peer that uses 64-bit data sequence numbers is sent 64-bit DATA_ACKs (section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAck {
    /// Lower 32 bits.
    Short(u32),
    /// All 64 bits.
    Long(u64),
}

impl DataAck {
    /// Lower 32 bits.
    pub const fn low(self) -> u32 {
        match self {
            DataAck::Short(low) => low,
            DataAck::Long(whole) => whole as u32,
        }
    }
}

/// Data sequence mapping (section 3.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of the first octet, in 64 bits.
    pub dsn: u64,
    /// Relative subflow sequence number: 1 for the first octet after the SYN, 0 for a DATA_FIN without payload.
    pub subflow: u32,
    /// Octets mapped, including DATA_FIN.
    pub length: u16,
    /// Checksum, if checksums are used.
    pub checksum: Option<u16>,
}

/// Options other than [`Dss`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// MP_CAPABLE (section 3.1): the sender's and the receiver's key, if known, and the mapping of the first data.
    Capable {
        /// Key of the sender.
        key: Option<u64>,
        /// Key of the receiver.
        peer: Option<u64>,
        /// Data-level length and, if checksums are used, checksum of the segment's data, the first of the connection.
        length: Option<(u16, Option<u16>)>,
        /// Whether checksums are required.
        checksum: bool,
    },
    /// MP_JOIN in a SYN (section 3.2).
    Join {
        /// Whether the subflow is a backup.
        backup: bool,
        /// Address identifier of the source.
        address: u8,
        /// Receiver's token, which identifies the connection.
        token: u32,
        /// Nonce of the client.
        nonce: u32,
    },
    /// MP_JOIN in a SYN-ACK.
    JoinAnswer {
        /// Whether the subflow is a backup.
        backup: bool,
        /// Address identifier of the source.
        address: u8,
        /// First 64 bits of the server's HMAC.
        hmac: u64,
        /// Nonce of the server.
        nonce: u32,
    },
    /// MP_JOIN in the third ACK: the first 160 bits of the client's HMAC.
    JoinProof([u8; 20]),
    /// ADD_ADDR (section 3.4.1).
    AddAddress {
        /// Advertised address.
        address: Announced,
        /// Last 64 bits of its HMAC; `None` in an echo.
        hmac: Option<u64>,
    },
    /// REMOVE_ADDR (section 3.4.2).
    RemoveAddress(Announced),
    /// MP_PRIO (section 3.3.8): changes the backup flag of the subflow.
    Priority {
        /// Whether the subflow is a backup from now on.
        backup: bool,
    },
    /// MP_FAIL (section 3.7): data sequence number from which the mapping is infinite.
    Fail(u64),
    /// MP_FASTCLOSE (section 3.5) with the peer's key.
    FastClose(u64),
    /// MP_TCPRST (section 3.6) with the reason for the reset.
    Reset(u8),
}

/// Address as advertised in an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Number of the host's interface, from 0, in place of the IP address.
    pub number: u8,
    /// Address identifier. 0 is the address of the initial subflow (RFC 8684 section 3.4.1).
    pub identifier: u8,
}

/// Checksum of a mapping whose data is represented by a [stamp](crate::tcp::Segment::stamp): a change of the stamp
/// changes the checksum.
pub(crate) fn digest(stamp: u32) -> u16 {
    (stamp >> 16) as u16 ^ stamp as u16
}

/// Reason codes of [`Signal::Reset`] (section 3.6).
pub mod reason {
    /// Unspecified.
    pub const UNSPECIFIED: u8 = 0;
    /// MPTCP-specific error.
    pub const MPTCP: u8 = 1;
    /// Unacceptable performance.
    pub const PERFORMANCE: u8 = 5;
    /// Middlebox interference.
    pub const MIDDLEBOX: u8 = 6;
}

impl Multipath {
    /// Bytes of the options, each padded to a multiple of four.
    pub fn bytes(&self) -> u32 {
        self.dss.map_or(0, |dss| dss.bytes()) + self.signal.map_or(0, |signal| signal.bytes())
    }
}

impl Dss {
    /// Bytes of the option with a 32-bit DATA_ACK only.
    pub const ACK_BYTES: u32 = 8;
    /// Bytes of the option with a 32-bit DATA_ACK and a mapping.
    pub const MAP_BYTES: u32 = 24;
    /// Additional bytes of a 64-bit DATA_ACK.
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
