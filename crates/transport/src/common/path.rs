//! State of a subflow as schedulers see it.

use vazao_engine::{Duration, Rate};

/// State of a subflow as schedulers see it. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` while there is none.
    pub ssthresh: u64,
    /// Bytes estimated to be in the network.
    pub flight: u64,
    /// Bytes assigned to the path but not sent yet.
    pub queued: u64,
    /// Bytes assigned to the path and not acknowledged, sent or not: what its send buffer holds.
    pub held: u64,
    /// Rate at which the path paces; `None`: it does not pace.
    pub pacing_rate: Option<Rate>,
    /// Maximum segment size (payload).
    pub mss: u64,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Round-trip time variation (RFC 6298's RTTVAR).
    pub rttvar: Duration,
    /// The latest round-trip time.
    pub rtt: Duration,
    /// Minimum round-trip time.
    pub min_rtt: Duration,
    /// One-way delay to the receiver in nanoseconds, including the offset between the two clocks: the difference
    /// between two paths tells how much later a segment arrives on one of them.
    pub forward: i64,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Bytes acknowledged.
    pub acknowledged: u64,
    /// Connection-level offset below which this path has itself sent all data
    /// ([`Decision::Copy`](super::Decision::Copy)).
    pub copied: u64,
    /// Retransmitted segments, out of all data segments sent.
    pub retransmissions: u64,
    /// Data segments sent.
    pub segments: u64,
    /// Whether the data at hand may be sent on this path at all: the path is established, is not recovering from a
    /// timeout, has not sent that data before, and is not a backup while others are usable.
    pub usable: bool,
    /// Whether a segment would leave at once, as far as its windows and pacing are concerned.
    pub has_room: bool,
    /// Whether the path is in slow start.
    pub slow_start: bool,
    /// Whether the path is in fast recovery.
    pub recovering: bool,
    /// Whether the path is a backup (RFC 8684 section 3.3.8).
    pub backup: bool,
}

impl PathState {
    /// An empty path, for tests and before anything is known.
    pub const UNKNOWN: PathState = PathState {
        cwnd: 0,
        ssthresh: u64::MAX,
        flight: 0,
        queued: 0,
        held: 0,
        pacing_rate: None,
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

    /// Whether a scheduler may choose this path for data that leaves now.
    #[inline]
    pub fn is_available(&self) -> bool {
        self.usable && self.has_room
    }
    /// Whether schedulers may wait for this path or queue data on it: not before its round-trip time is known. After a
    /// handshake with a lost segment, only data measures it.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.usable && (self.has_room || self.srtt > Duration::ZERO)
    }
    /// Free space in the window, negative after a reduction.
    #[inline]
    pub fn space(&self) -> i64 {
        self.cwnd as i64 - self.flight as i64 - self.queued as i64
    }
    /// Congestion window in whole segments, as Linux counts it.
    #[inline]
    pub fn segments(&self) -> i64 {
        quotient(self.cwnd, self.mss)
    }
    /// Free space in the window in whole segments.
    #[inline]
    pub fn free_segments(&self) -> i64 {
        self.segments() - quotient(self.flight + self.queued + self.mss - 1, self.mss)
    }
    /// Seconds to send `bytes` at a window per round-trip time; zero before the first RTT measurement.
    #[inline]
    pub fn time_for(&self, bytes: u64) -> f64 {
        bytes as f64 * self.srtt.as_secs() / self.cwnd.max(1) as f64
    }
    /// Bytes by which one more segment would exceed the window.
    #[inline]
    pub fn excess(&self) -> u64 {
        (self.flight + self.queued + self.mss).saturating_sub(self.cwnd)
    }
    /// Bytes a second: the window over the smoothed round-trip time; infinite before the first measurement.
    pub fn rate(&self) -> f64 {
        if self.srtt == Duration::ZERO { f64::INFINITY } else { self.cwnd as f64 / self.srtt.as_secs() }
    }
}

/// Integer quotient. Both fit in 32 bits nearly always, for which division is much faster.
#[inline]
fn quotient(dividend: u64, divisor: u64) -> i64 {
    (dividend / divisor) as i64
}
