//! Counters of an SCTP endpoint. Retransmissions are counted in DATA chunks.

use crate::common::counters;
use vazao_engine::{Histogram, Time};

counters! {
    /// Counters of an association.
    pub struct Stats {
        /// Packets sent, of any kind.
        pub packets: u64 = "packets_sent",
        /// DATA chunks received, and duplicates.
        pub chunks_received: u64,
        /// See `chunks_received`.
        pub duplicates_received: u64 = receiver "duplicates",
        /// DATA chunks whose payload does not match their position; above zero, data was corrupted.
        pub misplaced: u64,
        /// Duplicate TSNs reported by the peer: spurious retransmissions.
        pub duplicate_reports: u64 = "spurious_retransmissions",
        /// Messages sent completely, and messages delivered.
        pub messages_sent: u64,
        /// See `messages_sent`.
        pub messages_delivered: u64,
        /// Messages delivered in part.
        pub partial_deliveries: u64,
        /// Messages abandoned, and those among them not sent completely.
        pub messages_abandoned: u64 = "messages_abandoned",
        /// See `messages_abandoned`.
        pub abandoned_unsent: u64,
        /// SACKs received.
        pub sacks: u64,
        /// Out-of-the-blue packets.
        pub out_of_the_blue: u64,
        /// Expiries of the handshake and shutdown timers.
        pub handshake_timeouts: u64,
        /// Restarts of the peer.
        pub restarts: u64,
        /// Restarts of this end.
        pub reopened: u64,
        /// Stale cookies.
        pub stale_cookies: u64,
        /// Round-trip time samples.
        pub rtt: Histogram,
        /// Time of establishment.
        pub established: Option<Time>,
    }
}

counters! {
    /// Counters of one path as a sender.
    #[derive(Copy, PartialEq, Eq)]
    pub struct PathStats {
        /// Packets sent, of any kind.
        pub packets: u64,
        /// DATA chunks sent and their payload bytes, including retransmissions.
        pub chunks: u64,
        /// See `chunks`.
        pub bytes: u64,
        /// Retransmissions on this path, whichever path the chunks were sent on before.
        pub retransmissions: u64 = "retransmissions",
        /// Retransmissions due to missing reports.
        pub fast_retransmissions: u64 = "fast_retransmissions",
        /// Retransmissions after a timeout.
        pub timeout_retransmissions: u64 = "timeout_retransmissions",
        /// Chunks sent on this path that were presumed lost.
        pub losses: u64,
        /// Expiries of T3-rtx.
        pub timeouts: u64 = "timeouts",
        /// Fast recoveries that cut this path's window.
        pub recoveries: u64 = "recoveries",
        /// Heartbeats sent.
        pub heartbeats: u64,
        /// Path failures.
        pub failures: u64,
    }
}
