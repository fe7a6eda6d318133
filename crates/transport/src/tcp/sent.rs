//! Segments in flight and their state.

use vazao_engine::Time;

/// Segment in flight. Offsets count from the SYN, which is octet 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub start: u64,
    pub at: Time,
    /// Sequence space occupied: payload and FIN.
    pub span: u32,
    pub state: Status,
}

impl Sent {
    /// Key of the transmission order: send time, and end for segments sent at the same time.
    #[inline]
    pub fn order(&self) -> (Time, u64) {
        (self.at, self.start + u64::from(self.span))
    }
    /// Whether the segment is lost and was not retransmitted.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.state.has(Status::LOST) && !self.state.has(Status::RESENT)
    }
}

/// State flags of a segment in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status(u8);

impl Status {
    pub const SACKED: Status = Status(1);
    /// Presumed lost: not in the network, unless also `RESENT`.
    pub const LOST: Status = Status(2);
    /// Retransmitted since it was marked lost.
    pub const RESENT: Status = Status(4);
    /// Sent more than once: gives no RTT sample (Karn's algorithm).
    pub const AMBIGUOUS: Status = Status(8);
    /// Marked lost by the retransmission timer.
    pub const TIMED_OUT: Status = Status(16);
    /// Passed over by RACK until it is sent again.
    pub const JUDGED: Status = Status(32);

    /// Union of the flags.
    pub const fn or(self, other: Status) -> Status {
        Status(self.0 | other.0)
    }
    /// Whether the segment was sent once and is neither SACKed nor lost.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.0 & !Status::JUDGED.0 == 0
    }
    #[inline]
    pub fn has(self, other: Status) -> bool {
        self.0 & other.0 != 0
    }
    pub fn set(&mut self, other: Status) {
        self.0 |= other.0;
    }
    pub fn clear(&mut self, other: Status) {
        self.0 &= !other.0;
    }
}
