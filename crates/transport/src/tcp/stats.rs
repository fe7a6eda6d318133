//! Counters of a TCP endpoint.

use crate::common::counters;
use vazao_engine::{Histogram, Time};

counters! {
    /// Counters of one TCP endpoint, as a sender unless said otherwise.
    pub struct Stats {
        /// Segments sent, of any kind.
        pub segments: u64 = "packets_sent",
        /// Payload bytes sent, including retransmissions.
        pub bytes: u64,
        /// Data segments retransmitted, for any reason.
        pub retransmissions: u64 = "retransmissions",
        /// Retransmissions due to duplicate ACKs or SACK.
        pub fast_retransmissions: u64 = "fast_retransmissions",
        /// Retransmissions after a timeout.
        pub timeout_retransmissions: u64 = "timeout_retransmissions",
        /// Expiries of the retransmission timer with data in flight.
        pub timeouts: u64 = "timeouts",
        /// Expiries of the SYN retransmission timer.
        pub syn_timeouts: u64,
        /// Fast recoveries.
        pub recoveries: u64 = "recoveries",
        /// Duplicate ACKs received.
        pub duplicate_acks: u64 = "duplicate_acks",
        /// D-SACK blocks received (RFC 2883): segments that had already arrived.
        pub duplicate_reports: u64,
        /// Spurious retransmissions according to D-SACK.
        pub spurious_retransmissions: u64 = "spurious_retransmissions",
        /// Fast recoveries found spurious and undone.
        pub spurious_recoveries: u64,
        /// Timeouts found spurious and undone.
        pub spurious_timeouts: u64 = "spurious_timeouts",
        /// Window reductions due to ECN marks (RFC 3168).
        pub mark_reductions: u64 = "mark_reductions",
        /// Expiries of the probe timer (RFC 8985 section 7).
        pub loss_probes: u64,
        /// Zero-window probes sent.
        pub probes: u64,
        /// Round-trip time samples.
        pub rtt: Histogram,
        /// Receiver: data segments whose octets had all arrived before.
        pub duplicates_received: u64 = receiver "duplicates",
        /// Receiver: segments whose payload does not match its stream offset; above zero, data was corrupted.
        pub misplaced: u64,
        /// Time at which data could first flow; with TCP Fast Open (RFC 7413), before `established`.
        pub ready: Option<Time>,
        /// Time at which the connection was established.
        pub established: Option<Time>,
    }
}
