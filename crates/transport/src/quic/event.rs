//! Events inside a connection that an observer cannot see in its datagrams.

use super::packet::{Kind, Space};

/// Event inside a connection that is [watched](super::Connection::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A received packet was dropped.
    Dropped {
        /// Kind of packet.
        kind: Kind,
        /// Packet number.
        number: u64,
        /// Reason.
        reason: DropReason,
    },
    /// A packet was declared lost.
    Lost {
        /// Packet number space.
        space: Space,
        /// Packet number.
        number: u64,
        /// Reason.
        reason: Loss,
    },
}

/// Reason for dropping a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Its keys are not available yet, or were discarded.
    NoKeys,
    /// It had arrived before.
    Duplicate,
    /// Its sender must validate its address first.
    NoToken,
}

/// Reason for declaring a packet lost (RFC 9002 section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Packet threshold: a packet sent kPacketThreshold later was acknowledged.
    Reordering,
    /// Time threshold: a later packet was acknowledged, and enough time has passed.
    Time,
}

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing sent or received.
    Idle,
    /// The client has sent its first packet.
    Attempted,
    /// Handshake keys are available.
    Handshake,
    /// Handshake complete on this side (RFC 9001 section 4.1.1).
    Complete,
    /// Handshake confirmed (section 4.1.2).
    Confirmed,
    /// Closing: CONNECTION_CLOSE is sent.
    Closing,
    /// Closed.
    Closed,
}
