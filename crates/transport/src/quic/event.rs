//! What an observer of a connection cannot see in its datagrams.

use super::packet::{Kind, Space};

/// Something that happened inside a connection which is [watched](super::Connection::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet that arrived was not taken.
    Dropped {
        /// Its kind.
        kind: Kind,
        /// Its number.
        number: u64,
        /// Why.
        reason: DropReason,
    },
    /// A packet was declared lost.
    Lost {
        /// The space of its number.
        space: Space,
        /// Its number.
        number: u64,
        /// Why.
        reason: Loss,
    },
}

/// Why a packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It cannot be opened yet, or not any more.
    NoKeys,
    /// It came before.
    Duplicate,
    /// Its sender is to prove its address first.
    NoToken,
}

/// Why a packet was declared lost (RFC 9002 section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// One sent kPacketThreshold later has arrived.
    Reordering,
    /// One sent later has arrived, and its time is over.
    Time,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing was said yet.
    Idle,
    /// The client has asked for it.
    Attempted,
    /// There are keys of Handshake packets.
    Handshake,
    /// Both sides have said Finished, as far as this one knows (RFC 9001 section 4.1.1).
    Complete,
    /// The peer is known to have all keys (section 4.1.2).
    Confirmed,
    /// It was given up, or is done, and says so.
    Closing,
    /// It is over.
    Closed,
}
