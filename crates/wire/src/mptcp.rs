//! The options of Multipath TCP (RFC 8684, section 3; those of version 0 as RFC 6824 has them).
//!
//! All have the TCP option kind [`KIND`] and a subtype. [`MptcpOption`] is one of them, [`Options`] those of a segment, as
//! bytes: what is of another subtype or cannot be stays there unread.

mod options;
mod read;
mod write;

pub use options::{NoRoom, Options};

use crate::checksum::Checksum;

/// The TCP option kind of all of them.
pub const KIND: u8 = 30;

/// Subtypes (RFC 8684, section 7.2).
mod subtype {
    pub const MP_CAPABLE: u8 = 0;
    pub const MP_JOIN: u8 = 1;
    pub const DSS: u8 = 2;
    pub const ADD_ADDR: u8 = 3;
    pub const REMOVE_ADDR: u8 = 4;
    pub const MP_PRIO: u8 = 5;
    pub const MP_FAIL: u8 = 6;
    pub const MP_FASTCLOSE: u8 = 7;
    pub const MP_TCPRST: u8 = 8;
}

/// One option of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MptcpOption {
    /// MP_CAPABLE: opens a connection (section 3.1).
    Capable(Capable),
    /// MP_JOIN: adds a subflow to one (section 3.2).
    Join(Join),
    /// DSS: where data lies in the stream of the connection, and how far that has come (section 3.3).
    Dss(Dss),
    /// ADD_ADDR: another address of the sender (section 3.4.1).
    AddAddress(AddAddress),
    /// REMOVE_ADDR: addresses that the sender has no longer (section 3.4.2).
    RemoveAddress(AddressIds),
    /// MP_PRIO: a subflow's priority changes (section 3.3.8).
    Priority {
        /// Whether it is to be used only where no other can be.
        backup: bool,
        /// Address identifier; only version 0 can name another address than the one that this segment comes from.
        address_id: Option<u8>,
    },
    /// MP_FAIL: a checksum was wrong (section 3.7).
    Fail {
        /// The data sequence number from which on data is not to be trusted.
        data_sequence: u64,
    },
    /// MP_FASTCLOSE: the connection is given up (section 3.5).
    FastClose {
        /// The key of whom it is sent to.
        receiver_key: u64,
    },
    /// MP_TCPRST: why a subflow is reset (section 3.6); not in version 0.
    Reset {
        /// Whether it may be tried again.
        transient: bool,
        /// Reason.
        reason: ResetReason,
    },
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RFC 6824: HMAC-SHA1, and the client's key is in its SYN.
    V0,
    /// RFC 8684: HMAC-SHA256.
    #[default]
    V1,
}

/// MP_CAPABLE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capable {
    /// The version that is spoken.
    pub version: Version,
    /// Bit A: checksums of the data are required.
    pub checksum_required: bool,
    /// Bit B, of extensions to come: who does not know what it means ignores the option.
    pub extended: bool,
    /// Bit C: no subflow is to be opened to the address and port that this segment comes from. Not in version 0.
    pub no_join: bool,
    /// Bit H: the HMAC of this version, which is the only algorithm that there is.
    pub hmac: bool,
    /// Keys and data, by the handshake's step.
    pub keys: Keys,
}

/// Keys and data of an MP_CAPABLE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// A SYN of version 1.
    #[default]
    None,
    /// A SYN/ACK; in version 0 a SYN, too.
    Sender(u64),
    /// The first ACK.
    Both {
        /// Key of this segment's sender.
        sender: u64,
        /// Key of its receiver.
        receiver: u64,
    },
    /// The first data, in version 1: the keys again, as an ACK alone may have been lost.
    WithData {
        /// Key of this segment's sender.
        sender: u64,
        /// Key of its receiver.
        receiver: u64,
        /// Bytes of data from the stream's first on.
        length: u16,
        /// Over that data, where the connection has checksums: see [`pseudo_header`].
        checksum: Option<u16>,
    },
}

/// MP_JOIN, by the handshake's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Join {
    /// Bit B and the address's ID, the receiver's token and a random number.
    Syn { backup: bool, address_id: u8, token: u32, nonce: u32 },
    /// MP_JOIN of the answering side, with the leftmost 64 bits of its HMAC.
    SynAck { backup: bool, address_id: u8, truncated_hmac: u64, nonce: u32 },
    /// The leftmost 160 bits of the opening side's HMAC.
    Ack { hmac: [u8; 20] },
}

/// DSS: a data sequence signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// The stream ends with the data of this mapping; its end counts as a byte of it.
    pub data_fin: bool,
    /// The next data sequence number that is expected.
    pub ack: Option<DataSequence>,
    /// Mapping of bytes of this subflow to the stream.
    pub mapping: Option<Mapping>,
}

/// A data sequence number as an option has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSequence {
    /// Low half.
    Short(u32),
    /// The whole.
    Long(u64),
}

/// Bytes of a subflow and their place in the connection's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Sequence number of the first byte in the connection.
    pub data_sequence: DataSequence,
    /// Sequence number of the first byte in the subflow, counted from its initial sequence number: its first byte has
    /// 1. An end of the stream without data has 0.
    pub subflow_sequence: u32,
    /// Bytes; 0 stands for all that follow (section 3.7).
    pub length: u16,
    /// Over that data, where the connection has checksums: see [`pseudo_header`].
    pub checksum: Option<u16>,
}

/// ADD_ADDR with an IPv4 address; with one of IPv6 it stays unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddAddress {
    /// Identifier of the address in other options.
    pub address_id: u8,
    /// The address.
    pub address: [u8; 4],
    /// The port, if it is another than the connection's.
    pub port: Option<u16>,
    /// Proof of its origin.
    pub proof: Proof,
}

/// Proof of an [`AddAddress`]'s origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The rightmost 64 bits of an HMAC.
    TruncatedHmac(u64),
    /// No proof: an echo of the peer's announcement, which says that it has arrived.
    Echo,
    /// No proof, as in version 0.
    Version0,
}

/// The IDs of a REMOVE_ADDR, at least one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddressIds {
    ids: [u8; AddressIds::CAPACITY],
    length: u8,
}

impl AddressIds {
    /// Number of IDs in the longest option.
    pub const CAPACITY: usize = 37;

    /// Creates a list of IDs; `None` if there are none, or more than an option holds.
    pub fn new(ids: &[u8]) -> Option<AddressIds> {
        let mut all = [0; AddressIds::CAPACITY];
        all.get_mut(..ids.len())?.copy_from_slice(ids);
        (!ids.is_empty()).then_some(AddressIds { ids: all, length: ids.len() as u8 })
    }

    /// Returns the IDs.
    pub fn as_slice(&self) -> &[u8] {
        &self.ids[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for AddressIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// Reason for which a subflow is reset (section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// 0: it is not said.
    Unspecified,
    /// 1: an error of Multipath TCP, as an option that should not be there.
    Mptcp,
    /// 2: of memory, of subflows.
    LackOfResources,
    /// 3: by whoever decides.
    AdministrativelyProhibited,
    /// 4: it does not send what it was given.
    TooMuchOutstandingData,
    /// 5: it is too slow.
    UnacceptablePerformance,
    /// 6: someone on the way changes what is sent.
    MiddleboxInterference,
    /// Any other code.
    Other(u8),
}

impl ResetReason {
    const CODES: [ResetReason; 7] = [
        ResetReason::Unspecified,
        ResetReason::Mptcp,
        ResetReason::LackOfResources,
        ResetReason::AdministrativelyProhibited,
        ResetReason::TooMuchOutstandingData,
        ResetReason::UnacceptablePerformance,
        ResetReason::MiddleboxInterference,
    ];

    fn from_code(code: u8) -> ResetReason {
        ResetReason::CODES.get(usize::from(code)).copied().unwrap_or(ResetReason::Other(code))
    }

    fn code(self) -> u8 {
        match self {
            ResetReason::Other(code) => code,
            named => ResetReason::CODES.iter().position(|reason| *reason == named).unwrap_or(0) as u8,
        }
    }
}

/// Returns the checksum of a mapping before its data (section 3.3.1): continue it over the bytes of the data, without
/// padding. The data sequence number counts whole, whatever the option has of it; a mapping in an MP_CAPABLE begins at
/// the stream's first number, and at 1 in the subflow.
pub fn pseudo_header(data_sequence: u64, subflow_sequence: u32, length: u16) -> Checksum {
    Checksum::default()
        .update(&data_sequence.to_be_bytes())
        .update(&subflow_sequence.to_be_bytes())
        .update(&length.to_be_bytes())
}
