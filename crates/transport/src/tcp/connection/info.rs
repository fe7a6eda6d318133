//! Sender state as reported in Linux's `struct tcp_info`.

use super::*;
use crate::common::Limit;
use crate::tcp::recovery::Episode;
use vazao_engine::Rate;

/// Congestion state of a sender (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Normal operation.
    Open,
    /// Duplicate ACKs or SACK blocks indicate possible loss.
    Disorder,
    /// The window is being reduced without a loss.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Everything in flight at a timeout, or at Tahoe's restart, is being retransmitted.
    Loss,
}

impl Connection {
    /// Congestion state.
    pub fn ca_state(&self) -> CaState {
        match self.tx.repair.episode {
            Episode::Fast { .. } | Episode::Pipe { .. } => CaState::Recovery,
            Episode::Restart { .. } => CaState::Loss,
            Episode::None if self.tx.reduction.is_lossless() => CaState::Cwr,
            Episode::None if self.tx.board.is_orderly() && self.tx.dup_ack_segments() == 0 => CaState::Open,
            Episode::None => CaState::Disorder,
        }
    }
    /// Reason why nothing more is sent now.
    #[inline]
    pub fn limit(&self) -> Limit {
        match self.state {
            State::Listen | State::SynSent | State::SynReceived if !self.is_open_early() => Limit::Handshake,
            State::Closed => Limit::Done,
            _ => self.tx.limit(),
        }
    }
    /// Number of retransmission and probe timeouts.
    #[inline]
    pub fn expiries(&self) -> u64 {
        self.tx.stats.timeouts + self.tx.stats.loss_probes
    }
    /// Segments presumed lost and not delivered since, retransmitted or not (`tcpi_lost`), rounded up from octets.
    pub fn lost_segments(&self) -> u64 {
        self.tx.board.lost().div_ceil(self.tx.peer.mss)
    }
    /// Segments that SACK blocks report, or without SACK the number of duplicate ACKs (`tcpi_sacked`): no more than are in
    /// flight and not lost, of which one at least is missing (tcp_limit_reno_sacked).
    pub fn sacked_segments(&self) -> u64 {
        if self.tx.repair.selective {
            return self.tx.board.sacked_segments();
        }
        self.tx.dup_ack_segments().min(self.tx.board.count().saturating_sub(self.lost_segments().max(1)))
    }
    /// Rate at which data leaves (`tcpi_pacing_rate`), if it is paced.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.tx.pacing_rate()
    }
    /// Bytes of the stream that the application has read.
    pub fn read_bytes(&self) -> u64 {
        self.rx.read_octet() - 1
    }
    /// Data of the stream that has arrived beyond a hole.
    pub fn beyond(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.rx.beyond().map(|(start, end)| start - 1..end - 1)
    }
    /// Estimated reordering in segments (`tcpi_reordering`), which only RACK keeps.
    pub fn reordering(&self) -> Option<u64> {
        self.tx.rack_tlp.as_ref().map(|rack_tlp| rack_tlp.rack.degree())
    }
    /// Time with data to send or unacknowledged (`tcpi_busy_time`).
    pub fn busy_time(&self, now: Time) -> Duration {
        self.tx.chronograph.busy.total(now)
    }
    /// Time that only the receiver's window limited the sender (`tcpi_rwnd_limited`).
    pub fn rwnd_limited(&self, now: Time) -> Duration {
        self.tx.chronograph.rwnd_limited.total(now)
    }
    /// Time that only the send buffer limited the sender (`tcpi_sndbuf_limited`).
    pub fn sndbuf_limited(&self, now: Time) -> Duration {
        self.tx.chronograph.sndbuf_limited.total(now)
    }
}
