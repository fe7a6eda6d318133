//! What a sender tells of itself, as Linux does in `struct tcp_info`.

use super::*;
use crate::tcp::recovery::Episode;

/// What a sender does about losses and marks (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Nothing is amiss.
    Open,
    /// Duplicate acknowledgements or SACK blocks show that something may be.
    Disorder,
    /// The window comes down although nothing was lost.
    Cwr,
    /// A fast recovery is under way.
    Recovery,
    /// Everything that was in flight at a timeout, or at Tahoe's restart, is sent again.
    Loss,
}

impl Connection {
    /// What it does about losses and marks.
    pub fn ca_state(&self) -> CaState {
        match self.tx.episode {
            Episode::Fast { .. } => CaState::Recovery,
            Episode::Restart { .. } => CaState::Loss,
            Episode::None if self.tx.reduction.is_lossless() => CaState::Cwr,
            Episode::None if self.tx.board.is_orderly() && self.tx.stands_for() == 0 => CaState::Open,
            Episode::None => CaState::Disorder,
        }
    }
    /// Segments that are presumed lost and have not arrived since, sent again or not (`tcpi_lost`). Octets are what is
    /// counted: each started segment of them is one.
    pub fn lost_segments(&self) -> u64 {
        self.tx.board.lost().div_ceil(self.tx.mss)
    }
    /// Segments that SACK blocks report; without SACK, those for which duplicate acknowledgements stand (`tcpi_sacked`).
    pub fn sacked_segments(&self) -> u64 {
        if self.tx.selective { self.tx.board.sacked_segments() } else { self.tx.stands_for() }
    }
    /// By how many segments the network is believed to reorder at most (`tcpi_reordering`), where that is estimated: by
    /// RACK.
    pub fn reordering(&self) -> Option<u64> {
        self.tx.modern.as_ref().map(|modern| modern.rack.degree())
    }
    /// For how long it had something to send, or something of its own to be acknowledged (`tcpi_busy_time`).
    pub fn busy_time(&self, now: Time) -> Duration {
        self.tx.chronograph.busy.total(now)
    }
    /// For how long the receiver's window alone kept data back (`tcpi_rwnd_limited`).
    pub fn rwnd_limited(&self, now: Time) -> Duration {
        self.tx.chronograph.rwnd_limited.total(now)
    }
}
