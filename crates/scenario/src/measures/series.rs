//! State of a sender, and the measures that can be traced over time, each declared once.

use vazao_application::Progress;
use vazao_engine::{Duration, Rate};

/// Measure of a time series.
pub struct Measure {
    /// Name.
    pub name: &'static str,
    /// Title of an axis.
    pub title: &'static str,
    /// Unit; empty for a number.
    pub unit: &'static str,
    /// Meaning and unit.
    pub help: &'static str,
    pub(crate) source: Source,
}

/// Source of a measure's values; `None`: there is no value yet.
pub(crate) enum Source {
    /// State of each path of a flow's sender.
    Path(fn(&PathState) -> Option<f64>),
    /// Loss recovery of each path of a flow's sender.
    Repair(fn(&Repair) -> f64),
    /// State of a flow's sender as a whole.
    Sender(fn(&dyn SenderState) -> f64),
    /// Progress of a page or a video.
    Visit(fn(&Progress) -> Option<f64>),
    /// Queue of each direction of a link.
    Queue,
    /// Notifications of endpoints to their applications.
    Notices,
    /// Messages and requests that have arrived.
    Messages,
    /// Account of what a flow's sender waits for.
    Limit,
}

/// Loss recovery of a TCP, as `struct tcp_info` reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repair {
    /// `tcpi_ca_state`.
    pub ca_state: u8,
    /// Segments presumed lost.
    pub lost: u64,
    /// Segments reported by SACK blocks.
    pub sacked: u64,
}

/// State of one path of a sender, as its pack fills it in: a measure of paths is a field here, its line below, and a value in
/// the packs that have it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathState {
    pub cwnd: u64,
    pub ssthresh: Option<u64>,
    pub srtt: Option<Duration>,
    pub latest_rtt: Option<Duration>,
    /// Timeout after which data is sent again or probed for, back-off included.
    pub rto: Option<Duration>,
    pub pacing_rate: Option<Rate>,
    /// Phase of the congestion control, where it names any.
    pub phase: Option<&'static str>,
    pub flight: u64,
}

/// What a sender has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// Segments.
    pub segments: u64,
    /// Bytes of the stream sent at least once.
    pub bytes: u64,
    /// Bytes sent and not cumulatively acknowledged.
    pub flight: u64,
}

/// State of a flow's sender, whatever its stack. Sizes are in bytes.
pub(crate) trait SenderState {
    /// Congestion window.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold, if it was ever set.
    fn ssthresh(&self) -> Option<u64> {
        self.path(0).ssthresh
    }
    /// Returns whether the window grows as in slow start.
    fn in_slow_start(&self) -> bool;
    /// Returns whether losses are being repaired.
    fn is_repairing(&self) -> bool;
    /// Returns how often the window was cut: recoveries, timeouts and answers to marks.
    fn cuts(&self) -> u64;
    /// What it has sent.
    fn sent(&self) -> Sent;
    /// Number of paths.
    fn paths(&self) -> usize {
        1
    }
    /// State of one path.
    fn path(&self, number: usize) -> PathState;
    /// Loss recovery of one path, if it is a TCP's. Apart from the rest, as it is found by asking the scoreboard.
    fn repair(&self, _number: usize) -> Option<Repair> {
        None
    }
}

/// Declares the measures in their order: title and unit of each, its source by what it is found from, and its help.
macro_rules! measures {
    ($($name:literal ($title:literal, $unit:literal): $source:ident $(($of:ident) = $value:expr)?, $help:literal;)+) => {
        /// All measures. Samples hold their index here.
        pub const MEASURES: &[Measure] = &[$(Measure {
            name: $name,
            title: $title,
            unit: $unit,
            help: $help,
            source: Source::$source $((|$of| $value))?,
        }),+];
    };
}

measures! {
    "cwnd" ("Congestion window", "B"): Path(path) = Some(path.cwnd as f64), "congestion window in bytes";
    "ssthresh" ("Slow-start threshold", "B"): Path(path) = path.ssthresh.map(|bytes| bytes as f64), "slow-start threshold in bytes";
    "srtt" ("Smoothed round-trip time", "s"): Path(path) = path.srtt.map(Duration::as_secs), "smoothed round-trip time in seconds";
    "rtt" ("Round-trip time", "s"): Path(path) = path.latest_rtt.map(Duration::as_secs),
        "the latest measurement of the round-trip time in seconds";
    "rto" ("Retransmission timeout", "s"): Path(path) = path.rto.map(Duration::as_secs),
        "retransmission timeout (QUIC's: probe timeout) in seconds, back-off included";
    "pacing_rate" ("Pacing rate", "bit/s"): Path(path) = path.pacing_rate.map(|rate| rate.as_bps() as f64),
        "rate in bit/s at which a sender that paces lets data leave";
    "flight" ("Bytes in flight", "B"): Path(path) = Some(path.flight as f64), "bytes that were sent and are not cumulatively acknowledged";
    "ca_state" ("Congestion state", ""): Repair(repair) = f64::from(repair.ca_state),
        "TCP's congestion state as Linux tells it (`tcpi_ca_state`), a number from 0 to 4";
    "lost" ("Lost", "segments"): Repair(repair) = repair.lost as f64,
        "segments of TCP that are presumed lost (`tcpi_lost`)";
    "sacked" ("SACKed", "segments"): Repair(repair) = repair.sacked as f64,
        "segments of TCP that SACK blocks report (`tcpi_sacked`)";
    "sequence" ("Sequence number", "B"): Sender(sender) = sender.sent().bytes as f64,
        "bytes of payload that were sent at least once, over all paths together";
    // FIN takes a place in the flight that no byte has.
    "delivered" ("Delivered", "B"): Sender(sender) = sender.sent().bytes.saturating_sub(sender.sent().flight) as f64,
        "bytes of payload that were acknowledged, over all paths together";
    "objects" ("Objects", ""): Visit(visit) = Some(visit.objects as f64), "objects of a page or a video that have come";
    "buffer" ("Buffered video", "s"): Visit(visit) = visit.buffer.map(Duration::as_secs), "seconds of a video in its buffer";
    "bitrate" ("Bitrate", "bit/s"): Visit(visit) = visit.bitrate.map(|rate| rate.as_bps() as f64),
        "rate of a video's latest segment in bit/s";
    "queue" ("Queue", "B"): Queue, "bytes that wait in the queue of a link's direction";
    "message_latency" ("Message latency", "s"): Messages,
        "a sample for each message or request when the last of it has been read, in order: its latency in seconds";
    "limit" ("Limit", ""): Limit,
        "what keeps a flow's sender from sending more, a number: 0 handshake (also before the first sample), 1 application, 2 send \
         buffer, 3 receive window, 4 connection's window, 5 slow start, 6 congestion avoidance, 7 recovery, 8 pacing, 9 a timeout \
         (known when it expires), 10 scheduler, 11 Nagle's algorithm, 12 none: all is done; and the columns `path_…_s` of flows";
    "notifications" ("Notifications", ""): Notices, "what associations tell their applications; each is an event";
}

/// Returns the names of all measures.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    MEASURES.iter().map(|measure| measure.name)
}
