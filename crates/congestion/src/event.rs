//! What a congestion control is told.

use vazao_engine::{Duration, Time};

/// One acknowledgement: of new data, or a duplicate that shows that something else has left the network.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes cumulatively acknowledged for the first time, by which a window grows; zero for a duplicate. A sender that
    /// recovers by time counts those that arrived out of order when they did, as Linux does, and not again here.
    pub acked: u64,
    /// Bytes newly known to have arrived: acknowledged cumulatively or selectively, each counted once. Without SACK a
    /// duplicate stands for one segment, and what duplicates stood for is not counted again.
    pub delivered: u64,
    /// Bytes in flight before it arrived.
    pub flight: u64,
    /// The round-trip time it measured, if it measured one (Karn: never from retransmitted data).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time of the connection so far; `Duration::MAX` before the first sample.
    pub min_rtt: Duration,
    /// Whether the data in flight when this was last true has been acknowledged: true once a round trip.
    pub round: bool,
    /// Whether the window, not the application or the receiver, limited what was in flight.
    pub window_limited: bool,
    /// Whether a loss-recovery episode is under way (also on the acknowledgement that ends it).
    pub in_recovery: bool,
}

/// One sign of congestion: at most one a recovery episode, then one for each timeout.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was noticed.
    pub now: Time,
    /// What was noticed.
    pub signal: Signal,
    /// Bytes in flight when it was noticed (RFC 5681's FlightSize).
    pub flight: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time so far; `Duration::MAX` before the first sample.
    pub min_rtt: Duration,
}

/// What showed the congestion, and so how far the window falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A lost packet, repaired by fast recovery: the window falls to the new slow-start threshold.
    Loss,
    /// A lost packet, answered as TCP Tahoe did: the window falls to one segment, then slow start.
    Restart,
    /// The retransmission timer expired for the first time since data was last acknowledged, and no fast recovery that
    /// cut the window was under way.
    Timeout,
    /// It expired again with nothing acknowledged in between, or in a fast recovery: the threshold stays (RFC 5681
    /// section 3.1).
    RepeatedTimeout,
}
