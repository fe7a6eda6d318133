//! Events of a congestion control.

use vazao_engine::{Duration, Time};

/// One acknowledgement: of new data, or a duplicate that shows that something else has left the network.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time at which it arrived.
    pub now: Time,
    /// Bytes cumulatively acknowledged for the first time, by which a window grows; zero for a duplicate. A sender that
    /// recovers by time counts those that arrived out of order when they did, as Linux does, and not again here.
    pub acked: u64,
    /// Bytes newly known to have arrived: acknowledged cumulatively or selectively, each counted once. Without SACK a
    /// duplicate stands for one segment, and what duplicates stood for is not counted again.
    pub delivered: u64,
    /// Bytes by which the cumulative acknowledgement moved, those that had arrived out of order before among them.
    pub advance: u64,
    /// Whether it carries SACK blocks: something has arrived out of order, or twice.
    pub blocks: bool,
    /// Whether it offers the same receive window as the one before.
    pub same_window: bool,
    /// Bytes in flight before it arrived.
    pub flight: u64,
    /// Bytes believed to be in the network after it (RFC 6675's pipe); for a control that
    /// [wants rates](crate::CongestionControl::wants_rate) losses have been looked for then.
    pub pipe: u64,
    /// The round-trip time it measured, if it measured one (Karn: never from retransmitted data).
    pub rtt: Option<Duration>,
    /// Round-trip time by the echoed time stamp if only retransmitted data is acknowledged (RFC 7323
    /// section 4), which tells the copies apart but is cut to milliseconds. Linux's controls get it as any other.
    pub echo_rtt: Option<Duration>,
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
    /// Whether what a timeout called lost is being sent again; the window grows meanwhile.
    pub after_timeout: bool,
    /// Time for which the pacer will keep the next packet back; only for a control that wants rates.
    pub held: Duration,
    /// Bytes that it showed to be lost; only for a control that wants rates.
    pub lost: u64,
    /// Bytes of `delivered` that arrived with a mark of congestion (RFC 3168's CE), as far as the receiver tells.
    pub marked: u64,
    /// One-way delay of the last newly acknowledged data, in nanoseconds by two clocks that may be any
    /// amount apart: only differences mean anything. Only for a control that
    /// [wants it](crate::CongestionControl::wants_one_way).
    pub one_way: Option<i64>,
    /// Whether the transport has no timestamps by which one-way delays could be known.
    pub untimed: bool,
    /// Whether the control has [observed](crate::CongestionControl::observe) it already.
    pub observed: bool,
    /// Delivery rate; only for a control that [wants it](crate::CongestionControl::wants_rate).
    pub rate: Option<RateSample>,
}

impl Default for Ack {
    /// Creates an acknowledgement of nothing, with nothing measured.
    fn default() -> Self {
        Ack {
            now: Time::ZERO,
            acked: 0,
            delivered: 0,
            advance: 0,
            blocks: false,
            same_window: false,
            flight: 0,
            pipe: 0,
            rtt: None,
            echo_rtt: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            round: false,
            window_limited: false,
            in_recovery: false,
            after_timeout: false,
            held: Duration::ZERO,
            lost: 0,
            marked: 0,
            one_way: None,
            untimed: false,
            observed: false,
            rate: None,
        }
    }
}

impl Ack {
    /// Returns whether a loss is being repaired, by fast recovery or after a timeout.
    pub fn repairing(&self) -> bool {
        self.in_recovery || self.after_timeout
    }

    /// Delay of the path in nanoseconds, of which only differences mean anything: one-way, or of the round trip where the
    /// transport has no timestamps, so that a queue on the way back counts too.
    pub fn path_delay(&self) -> Option<i64> {
        if self.untimed { self.rtt.map(|rtt| rtt.as_nanos() as i64) } else { self.one_way }
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation): what was delivered between the sending of the
/// packet that the acknowledgement covers, the one sent last, and the acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the times it took to send and to acknowledge them, so that neither a burst of acknowledgements nor
    /// one of packets is taken for bandwidth. At least the least round-trip time.
    pub interval: Duration,
    /// Bytes of the connection delivered when the packet was sent (P.delivered), and now (C.delivered).
    pub prior_delivered: u64,
    /// See `prior_delivered`.
    pub total_delivered: u64,
    /// Bytes presumed lost over the sample's span.
    pub lost: u64,
    /// Bytes in flight when the packet was sent, itself counted.
    pub tx_in_flight: u64,
    /// Whether the application, not the network, limited the sample: it may be too low.
    pub app_limited: bool,
}

impl RateSample {
    /// Returns the rate in bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.delivered as f64 / self.interval.as_secs().max(1e-9)
    }
}

/// Data is about to leave.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Time.
    pub now: Time,
    /// Bytes in the network before it.
    pub flight: u64,
    /// Whether the last sample is [limited by the application](RateSample::app_limited): there was nothing to send.
    pub app_limited: bool,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time so far; `Duration::MAX` before the first sample.
    pub min_rtt: Duration,
}

/// One sign of congestion: at most one a recovery episode, then one for each timeout.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Time at which it was noticed.
    pub now: Time,
    /// Sign of congestion.
    pub signal: Signal,
    /// Bytes in flight when it was noticed (RFC 5681's FlightSize).
    pub flight: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time so far; `Duration::MAX` before the first sample.
    pub min_rtt: Duration,
}

/// Sign of congestion, which decides how far the window falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The network marked packets instead of dropping them (RFC 3168); at most once a round trip.
    Mark,
    /// A lost packet, repaired by fast recovery: the window falls to the new slow-start threshold.
    Loss,
    /// A lost packet, answered as TCP Tahoe did: the window falls to one segment, then slow start.
    Restart,
    /// The retransmission timer expired for the first time since data was last acknowledged, and no fast recovery that
    /// cut the window was under way.
    Timeout,
    /// Further expiry with nothing acknowledged in between, or in a fast recovery: the threshold stays (RFC 5681
    /// section 3.1).
    RepeatedTimeout,
}
