//! What an endpoint counts. Retransmissions are counted in DATA chunks.

use vazao_engine::{Histogram, Time};

/// Counters of an association.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Packets sent, of any kind.
    pub packets: u64,
    /// Chunks that arrived for the first time and more than once.
    pub chunks_received: u64,
    /// See `chunks_received`.
    pub duplicates_received: u64,
    /// Chunks whose payload was not what belongs at their place. Above zero, data was corrupted.
    pub misplaced: u64,
    /// TSNs that the peer reported to have arrived again: sent again needlessly.
    pub duplicate_reports: u64,
    /// Messages sent as a whole, and delivered.
    pub messages_sent: u64,
    /// See `messages_sent`.
    pub messages_delivered: u64,
    /// Messages of which the application was given a part before the rest was there.
    pub partial_deliveries: u64,
    /// Messages given up, and those of them that had not been sent as a whole.
    pub messages_abandoned: u64,
    /// See `messages_abandoned`.
    pub abandoned_unsent: u64,
    /// SACKs received.
    pub sacks: u64,
    /// Packets with another tag, or that fit no state.
    pub out_of_the_blue: u64,
    /// Expiries of the timer that waits in the handshake, and in the shutdown.
    pub handshake_timeouts: u64,
    /// Times that the peer has restarted.
    pub restarts: u64,
    /// Times that this end has lost its state, and opened anew.
    pub reopened: u64,
    /// Cookies that came back too late.
    pub stale_cookies: u64,
    /// Round-trip times measured.
    pub rtt: Histogram,
    /// When the association stood.
    pub established: Option<Time>,
}

/// Counters of one path, as a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Packets sent, of any kind.
    pub packets: u64,
    /// DATA chunks sent, and their payload in bytes; those sent again among them.
    pub chunks: u64,
    /// See `chunks`.
    pub bytes: u64,
    /// DATA chunks sent by this path that had been sent before, by any.
    pub retransmissions: u64,
    /// Of these, those that missing reports called for.
    pub fast_retransmissions: u64,
    /// Of these, those after a timeout.
    pub timeout_retransmissions: u64,
    /// Chunks sent by this path that were taken for lost.
    pub losses: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Fast recoveries that cut this path's window.
    pub recoveries: u64,
    /// Heartbeats sent.
    pub heartbeats: u64,
    /// Times that the path was given up.
    pub failures: u64,
}
