//! Window growth rules: five pure functions that determine which newly acknowledged bytes of a path count.
//!
//! With several paths at once gaps are normal, so RFC 4960's requirement that the cumulative TSN advance starves
//! windows. CUC (Iyengar, Amer, Stewart, *Concurrent multipath transfer using SCTP multihoming over independent
//! end-to-end paths*, IEEE/ACM ToN 14(5), 2006) tracks the advance on each path separately. RFC 8540 section 3.22
//! dropped the requirement in congestion avoidance; `gap-acked` drops it in slow start too and leaves it to fast
//! recovery to stop growth.

use vazao_engine::registry::choice;

choice! {
    /// Window growth rule.
    pub enum Growth {
        /// RFC 4960 sections 7.2.1 and 7.2.2: a SACK counts if it advances the cumulative TSN.
        Rfc4960 = "rfc4960",
        /// RFC 8540 and RFC 9260: in congestion avoidance all newly acknowledged bytes count.
        Rfc8540 = "rfc8540",
        /// All newly acknowledged bytes count.
        GapAcked = "gap-acked",
        /// CUC: a SACK counts for a path if it advances the path's pseudo-cumulative TSN.
        Cuc = "cuc",
        /// CUC version 2: also if it advances the pseudo-cumulative TSN of retransmitted chunks.
        CucV2 = "cuc-v2",
    }
}

/// Information of a SACK about one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackProgress {
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Whether the association's cumulative TSN advanced.
    pub advances: bool,
    /// Whether the path's pseudo-cumulative TSN advanced, and that of retransmitted chunks.
    pub pseudo: [bool; 2],
}

impl Growth {
    /// Returns the bytes that count towards growth, outside fast recovery.
    pub fn counts(self, progress: &SackProgress, slow_start: bool) -> u64 {
        let counts = match self {
            Growth::Rfc4960 => progress.advances,
            Growth::Rfc8540 => progress.advances || !slow_start,
            Growth::GapAcked => true,
            Growth::Cuc => progress.pseudo[0],
            Growth::CucV2 => progress.pseudo[0] || progress.pseudo[1],
        };
        if counts { progress.acked } else { 0 }
    }

    /// Chunks of a path that each of its pseudo-cumulative TSNs tracks.
    pub(super) fn follows(self) -> &'static [Chunks] {
        match self {
            Growth::Cuc => &[Chunks::All],
            Growth::CucV2 => &[Chunks::SentOnce, Chunks::SentAgain],
            _ => &[],
        }
    }
}

/// Subset of a path's chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    All,
    SentOnce,
    SentAgain,
}

impl Chunks {
    pub fn include(self, transmissions: u16) -> bool {
        match self {
            Chunks::All => true,
            Chunks::SentOnce => transmissions == 1,
            Chunks::SentAgain => transmissions > 1,
        }
    }
}

/// Variables of CUC (the paper's figure) for one path: pseudo_cumack, find_pseudo_cumack, new_pseudo_cumack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PseudoCumack {
    pub tsn: Option<u64>,
    pub find: bool,
    pub new: bool,
    /// Position of the loop over the retransmission queue: the next candidate is at or above it.
    passed: u64,
}

impl Default for PseudoCumack {
    /// State at the beginning of an association.
    fn default() -> Self {
        PseudoCumack { tsn: None, find: true, new: false, passed: 0 }
    }
}

impl PseudoCumack {
    /// Step 1: begins a SACK.
    pub fn begin(&mut self) {
        self.new = false;
        self.passed = 0;
    }

    /// Step 2: a chunk of the path that no gap report covered is cumulatively acknowledged.
    pub fn on_cumulative(&mut self) {
        self.find = true;
        self.new = true;
    }

    /// A chunk of the path is sent again by another one. If it was the one expected, the path's acknowledgements would
    /// never reach it, and the window would stand still until the cumulative TSN has passed the path's later chunks.
    pub fn on_departure(&mut self) {
        self.find = true;
    }

    /// Step 3 (ii); `lowest` returns the lowest chunk at or above a TSN that was not acknowledged before. Called only
    /// when the result may matter: before a chunk of the path is newly acknowledged, and at the end of the loop.
    pub fn seek(&mut self, lowest: impl FnOnce(u64) -> Option<u64>) {
        if self.find
            && let Some(tsn) = lowest(self.passed)
        {
            self.tsn = Some(tsn);
            self.find = false;
        }
    }

    /// Step 3 (iii): a gap report newly acknowledges a chunk of the path.
    pub fn on_gap(&mut self, tsn: u64) {
        if self.tsn == Some(tsn) {
            self.new = true;
            self.find = true;
        }
        self.passed = tsn + 1;
    }
}
