//! A subflow as a scheduler sees it.

use vazao_engine::Duration;

/// A subflow as a scheduler sees it. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` while there is none.
    pub ssthresh: u64,
    /// What is believed to be in the network.
    pub flight: u64,
    /// What was assigned to it and has not left so far.
    pub queued: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// How far it varies (RFC 6298's RTTVAR).
    pub rttvar: Duration,
    /// The latest round-trip time.
    pub rtt: Duration,
    /// The least one.
    pub min_rtt: Duration,
    /// Nanoseconds to the receiver by both ends' clocks, whose difference is in it: of two paths it tells how much later a
    /// segment arrives by the one.
    pub forward: i64,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Bytes acknowledged.
    pub acknowledged: u64,
    /// It has itself sent all octets of the connection before this one ([`Decision::Copy`](super::Decision::Copy)).
    pub copied: u64,
    /// Segments sent again, of all segments with data sent.
    pub retransmissions: u64,
    /// Segments sent.
    pub segments: u64,
    /// Whether what is at hand may be sent on it at all: it is established, no timeout is being repaired, it has not sent the
    /// same before, and it is no backup while others can be used.
    pub usable: bool,
    /// Whether a segment would leave at once: its windows and its pacing let it.
    pub has_room: bool,
    /// Whether it is in slow start.
    pub slow_start: bool,
    /// Whether it is in a fast recovery.
    pub recovering: bool,
    /// Whether it is a backup (RFC 8684 section 3.3.8).
    pub backup: bool,
}

impl PathState {
    /// A path that is there and has nothing: for tests, and before anything is known.
    pub const UNKNOWN: PathState = PathState {
        cwnd: 0,
        ssthresh: u64::MAX,
        flight: 0,
        queued: 0,
        mss: 1448,
        srtt: Duration::ZERO,
        rttvar: Duration::ZERO,
        rtt: Duration::ZERO,
        min_rtt: Duration::MAX,
        forward: 0,
        rto: Duration::from_secs(1),
        acknowledged: 0,
        copied: 0,
        retransmissions: 0,
        segments: 0,
        usable: false,
        has_room: false,
        slow_start: true,
        recovering: false,
        backup: false,
    };

    /// Whether a scheduler may choose it for what is to leave now.
    #[inline]
    pub fn is_available(&self) -> bool {
        self.usable && self.has_room
    }
    /// Whether others may wait for it, or data for room on it: not before its round-trip time is known, which after a handshake that
    /// lost a segment takes data.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.usable && (self.has_room || self.srtt > Duration::ZERO)
    }
    /// What the window leaves free, below zero after a cut.
    #[inline]
    pub fn space(&self) -> i64 {
        self.cwnd as i64 - self.flight as i64 - self.queued as i64
    }
    /// The window in whole segments, as Linux counts.
    #[inline]
    pub fn segments(&self) -> i64 {
        quotient(self.cwnd, self.mss)
    }
    /// What it leaves free, likewise.
    #[inline]
    pub fn free_segments(&self) -> i64 {
        self.segments() - quotient(self.flight + self.queued + self.mss - 1, self.mss)
    }
    /// Seconds until so many bytes have left, at the rate of a window in a round-trip time; none before the first measurement.
    #[inline]
    pub fn time_for(&self, bytes: u64) -> f64 {
        bytes as f64 * self.srtt.as_secs() / self.cwnd.max(1) as f64
    }
    /// Bytes that more than fill the window where another segment comes.
    #[inline]
    pub fn excess(&self) -> u64 {
        (self.flight + self.queued + self.mss).saturating_sub(self.cwnd)
    }
    /// Bytes a second: the window over the smoothed round-trip time; infinite before the first measurement.
    pub fn rate(&self) -> f64 {
        if self.srtt == Duration::ZERO { f64::INFINITY } else { self.cwnd as f64 / self.srtt.as_secs() }
    }
}

/// A whole quotient, exact below 2^53, in a fraction of the time that a whole division takes.
#[inline]
fn quotient(dividend: u64, divisor: u64) -> i64 {
    (dividend as i64 as f64 / divisor as i64 as f64) as i64
}
