//! What an endpoint counts.

use vazao_engine::{Histogram, Time};

/// Counters of one TCP endpoint, as a sender unless said otherwise.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Segments sent, of any kind.
    pub segments: u64,
    /// Payload bytes sent, resent ones included.
    pub bytes: u64,
    /// Data segments sent again, for any reason.
    pub retransmissions: u64,
    /// Of these, those that duplicate ACKs or SACK called for.
    pub fast_retransmissions: u64,
    /// Of these, those after a timeout.
    pub timeout_retransmissions: u64,
    /// Expiries of the retransmission timer with data in flight.
    pub timeouts: u64,
    /// Expiries of the timer that waits for the answer to a SYN.
    pub syn_timeouts: u64,
    /// Recovery episodes that duplicate ACKs or SACK started.
    pub recoveries: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// D-SACK reports received (RFC 2883): segments that had arrived already.
    pub duplicate_reports: u64,
    /// Of these, those of segments that were sent again: needlessly.
    pub spurious_retransmissions: u64,
    /// Fast recoveries that proved needless, so that the reduction was taken back.
    pub spurious_recoveries: u64,
    /// Timeouts that proved needless, likewise.
    pub spurious_timeouts: u64,
    /// Times that the window came down because the network marked data (RFC 3168).
    pub mark_reductions: u64,
    /// Zero-window probes sent.
    pub probes: u64,
    /// Round-trip times measured.
    pub rtt: Histogram,
    /// As a receiver: segments with payload whose octets had all arrived before.
    pub duplicates_received: u64,
    /// As a receiver: segments whose payload was not what belongs at their place. Above zero, data was corrupted.
    pub misplaced: u64,
    /// When data might flow: before that with TCP Fast Open (RFC 7413).
    pub ready: Option<Time>,
    /// When the connection was set up.
    pub established: Option<Time>,
}
