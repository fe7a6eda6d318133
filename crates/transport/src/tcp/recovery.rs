//! How losses are found and repaired: what makes Tahoe, Reno, NewReno and SACK TCP different.

/// A loss recovery. All share the retransmission timer (RFC 6298), after which everything outstanding counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The timer alone (TCP before Tahoe's fast retransmit).
    TahoeNoFastRetransmit,
    /// Three duplicate ACKs: everything outstanding counts as lost, and slow start from one segment resends it
    /// (Jacobson 1988; Fall and Floyd 1996).
    Tahoe,
    /// Three duplicate ACKs: one segment is resent, the window is halved and inflated by what leaves the network until
    /// the next new ACK (RFC 5681 section 3.2).
    Reno,
    /// As Reno, but an ACK that covers only part of the window shows the next hole (RFC 6582).
    NewReno,
    /// The scoreboard of SACK blocks says what is lost and what is still in the network (RFC 6675).
    Sack,
    /// The time at which each segment was sent says what is lost (RACK-TLP, RFC 8985): also what was sent again, and
    /// with a probe of the tail before the timer. The window comes down in proportion to what is delivered (PRR,
    /// RFC 9937). Linux's recovery since 4.18.
    Rack,
}

impl Recovery {
    /// All of them with their names, oldest first.
    pub const ALL: &[(&'static str, Recovery)] = &[
        ("tahoe-no-fast-retransmit", Recovery::TahoeNoFastRetransmit),
        ("tahoe", Recovery::Tahoe),
        ("reno", Recovery::Reno),
        ("newreno", Recovery::NewReno),
        ("sack", Recovery::Sack),
        ("rack", Recovery::Rack),
    ];

    /// Whether it goes by SACK blocks.
    pub fn is_selective(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

/// RFC 5681's and RFC 6675's DupThresh.
pub(crate) const DUP_THRESHOLD: u32 = 3;

/// What a sender is repairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Episode {
    /// Nothing.
    None,
    /// A loss seen by duplicate ACKs or SACK; over once `recover` is acknowledged. `inflation` is what Reno and NewReno
    /// add to the window for segments that left the network, less what partial ACKs cover; `first_partial` is NewReno's.
    Fast { recover: u64, inflation: i64, first_partial: bool },
    /// A timeout, or Tahoe's restart: slow start resends everything up to `recover`.
    Restart { recover: u64 },
}

impl Episode {
    pub fn recover(self) -> u64 {
        match self {
            Episode::None => 0,
            Episode::Fast { recover, .. } | Episode::Restart { recover } => recover,
        }
    }
    pub fn is_fast(self) -> bool {
        matches!(self, Episode::Fast { .. })
    }
    pub fn inflation(self) -> i64 {
        match self {
            Episode::Fast { inflation, .. } => inflation,
            _ => 0,
        }
    }
}
