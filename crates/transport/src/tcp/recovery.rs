//! Loss detection and recovery: the differences between Tahoe, Reno, NewReno and SACK TCP.

use vazao_engine::registry::choice;

choice! {
    /// Loss recovery algorithm. After the retransmission timer (RFC 6298) expires, all outstanding data counts as lost.
    pub enum Recovery {
        /// Retransmission timer only (TCP before Tahoe's fast retransmit).
        TahoeNoFastRetransmit = "tahoe-no-fast-retransmit",
        /// Three duplicate ACKs: everything outstanding counts as lost, and slow start from one segment retransmits it
        /// (Jacobson 1988; Fall and Floyd 1996).
        Tahoe = "tahoe",
        /// Three duplicate ACKs: one segment is retransmitted, and the window is halved and then inflated by segments
        /// that leave the network until the next new ACK (RFC 5681 section 3.2).
        Reno = "reno",
        /// Reno, except that a partial ACK reveals the next hole (RFC 6582).
        NewReno = "newreno",
        /// Scoreboard of SACK blocks, before RFC 6675: what is in the network is counted from the third duplicate ACK on,
        /// a segment less for each ACK and two for a partial one. Losses are not taken off, and a timeout forgets the
        /// scoreboard (RFC 2018 section 5.1; Fall and Floyd 1996; ns-2's Sack1).
        Pipe = "pipe",
        /// Scoreboard of SACK blocks, which tells what is lost and what is still in the network (RFC 6675).
        Sack = "sack",
        /// Send times of the segments (RACK-TLP, RFC 8985): also detects lost retransmissions, and probes the tail
        /// before the timer expires. The window is reduced by PRR (RFC 9937). Linux's recovery since 4.18.
        Rack = "rack",
    }
}

impl Recovery {
    /// Whether the algorithm uses SACK blocks.
    pub fn is_selective(self) -> bool {
        matches!(self, Recovery::Pipe | Recovery::Sack | Recovery::Rack)
    }

    /// Algorithm to follow with a peer that does SACK, or that does not: without it there is no scoreboard to use.
    pub(super) fn with_peer(self, selective: bool) -> Recovery {
        if self.is_selective() && !selective { Recovery::NewReno } else { self }
    }
}

/// RFC 5681's and RFC 6675's DupThresh.
pub(crate) const DUP_THRESHOLD: u32 = 3;

/// Loss recovery under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Episode {
    /// None.
    None,
    /// Fast recovery after duplicate ACKs or SACK, until `recover` is acknowledged. `inflation` is what Reno and
    /// NewReno add to the window for segments that left the network, less what partial ACKs cover; `first_partial` is
    /// NewReno's.
    Fast { recover: u64, inflation: i64, first_partial: bool },
    /// Fast recovery that counts the octets in the network itself.
    Pipe { recover: u64, pipe: i64 },
    /// Recovery after a timeout or Tahoe's restart: slow start retransmits everything up to `recover`.
    Restart { recover: u64 },
}

impl Episode {
    pub fn recover(self) -> u64 {
        match self {
            Episode::None => 0,
            Episode::Fast { recover, .. } | Episode::Pipe { recover, .. } | Episode::Restart { recover } => recover,
        }
    }
    pub fn is_fast(self) -> bool {
        matches!(self, Episode::Fast { .. } | Episode::Pipe { .. })
    }
    /// Records octets that entered the network, or that an acknowledgement took out of it.
    #[inline]
    pub fn count(&mut self, octets: i64) {
        if let Episode::Pipe { pipe, .. } = self {
            *pipe += octets;
        }
    }
    pub fn inflation(self) -> i64 {
        match self {
            Episode::Fast { inflation, .. } => inflation,
            _ => 0,
        }
    }
}

/// State of loss detection and repair, as far as the algorithms share it; RACK has [its own](super::rack_tlp) besides.
#[derive(Debug)]
pub(crate) struct Repair {
    pub algorithm: Recovery,
    /// Whether SACK blocks are used; recoveries based on duplicate ACKs ignore them.
    pub selective: bool,
    pub episode: Episode,
    /// Duplicate ACKs up to this octet may be caused by spurious retransmissions.
    pub guard: u64,
    /// Duplicate ACKs in a row.
    pub duplicates: u32,
    /// Without SACK: octets for which duplicate ACKs were counted and that are not yet cumulatively acknowledged.
    pub credit: u64,
    /// Whether the next retransmission ignores the window: the first of an episode, or NewReno's next hole.
    pub force: bool,
    /// Whether this episode's rescue retransmission has been sent.
    pub rescued: bool,
    /// New ACKs since the last retransmission that Vegas still checks.
    pub vegas_checks: u8,
}

impl Repair {
    /// Creates the state for an algorithm that suits the peer.
    pub fn new(algorithm: Recovery) -> Self {
        Repair {
            algorithm,
            selective: algorithm.is_selective(),
            episode: Episode::None,
            guard: 0,
            duplicates: 0,
            credit: 0,
            force: false,
            rescued: false,
            vegas_checks: 0,
        }
    }

    /// Without SACK: number of duplicate ACKs that stand for delivered segments of `mss` octets.
    pub fn duplicate_segments(&self, mss: u64) -> u64 {
        match self.episode {
            _ if self.selective => 0,
            Episode::Fast { .. } => self.credit / mss,
            _ => u64::from(self.duplicates),
        }
    }

    /// RFC 3042: octets that the first two duplicate ACKs release, a segment of `mss` octets each. With SACK, pipe accounts for
    /// that.
    #[inline]
    pub fn limited_transmit(&self, mss: u64) -> u64 {
        if self.selective || self.episode != Episode::None {
            return 0;
        }
        u64::from(self.duplicates.min(DUP_THRESHOLD - 1)) * mss
    }

    /// Takes off what duplicate ACKs stood for of `newly` acknowledged octets, and returns it: it has been counted already.
    #[inline]
    pub fn take_credit(&mut self, newly: u64, mss: u64) -> u64 {
        let credit = if newly > mss { self.credit.min(newly - mss) } else { 0 };
        self.credit -= credit;
        credit
    }
}
