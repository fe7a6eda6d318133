//! One endpoint of a QUIC connection.

mod acknowledged;
mod carrier;
mod chlo;
mod datagrams;
mod handshake;
mod incoming;
mod limit;
mod migration;
mod multipath;
mod outgoing;
mod parity;
mod path;
mod schedule;
mod streams;
mod table;
mod timers;

use super::acks::Acks;
use super::config::Config;
use super::ecn::Marking;
use super::event::{DropReason, Event, Phase};
use super::frame::Frame;
use super::packet::{Address, Kind, Space};
use super::sent::SentPackets;
use super::stream::{StreamState, Window};
use crate::common::counters;
use crate::common::{Bucket, RttEstimator};
use carrier::Carrier;
use datagrams::Datagrams;
use handshake::Progress;
use migration::Addresses;
pub use multipath::MAX_PATH_ID;
use multipath::MultipathState;
use parity::Parity;
use path::{Path, Stage};
pub use path::{PathStats, PathView};
use schedule::PathScheduling;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use streams::StreamSet;
use vazao_congestion::{CongestionControl, Steering};
use vazao_engine::{Duration, Histogram, Rate, Time};

/// Side of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// Reason that a connection ended other than by a normal close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The idle timeout elapsed.
    Idle,
    /// The peer closed the connection prematurely.
    Closed,
    /// The peer exceeded a flow control limit (RFC 9000 section 4.1).
    FlowControl,
    /// The peer exceeded a stream limit (section 4.6).
    StreamLimit,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Idle => "the connection timed out: nothing was heard for the idle timeout",
            Failure::Closed => "the peer gave the connection up",
            Failure::FlowControl => "the peer broke flow control",
            Failure::StreamLimit => "the peer opened more streams than it may",
        })
    }
}

counters! {
    /// Counters of an endpoint, as a sender unless stated otherwise.
    pub struct Stats {
        /// Datagrams sent, and packets in them.
        pub datagrams: u64 = "packets_sent",
        /// See `datagrams`.
        pub packets: u64,
        /// Packets declared lost.
        pub lost: u64,
        /// Packets declared lost by the time threshold alone.
        pub lost_by_time: u64,
        /// Packets declared lost that arrived later.
        pub spurious_losses: u64 = "spurious_retransmissions",
        /// Packets with retransmitted data.
        pub retransmissions: u64 = "retransmissions",
        /// Parts of streams that a scheduler sent on a second path too.
        pub copies: u64,
        /// Expiries of the probe timer.
        pub probes: u64 = "timeouts",
        /// FEC parity packets.
        pub parities: u64 = "parity_packets",
        /// Receiver: packets recovered by FEC.
        pub recovered: u64 = receiver "recovered_packets",
        /// Window reductions taken back, as every packet whose loss they answered had arrived.
        pub spurious_recoveries: u64,
        /// Window reductions due to losses, and occurrences of persistent congestion.
        pub recoveries: u64 = "recoveries",
        /// See `recoveries`.
        pub persistent_congestions: u64,
        /// Window reductions due to ECN marks.
        pub mark_reductions: u64 = "mark_reductions",
        /// Server: migrations of the client.
        pub migrations: u64,
        /// Round-trip time samples.
        pub rtt: Histogram,
        /// Receiver: packets that had arrived before, and packets with stream data of which all had.
        pub duplicates_received: u64 = receiver "duplicates",
        /// Receiver: STREAM frames whose data does not match their stream offset.
        pub misplaced: u64,
        /// Time at which data could first be sent, and time of handshake completion.
        pub ready: Option<Time>,
        /// See `ready`.
        pub established: Option<Time>,
    }
}

/// Lifecycle of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Open,
    /// CONNECTION_CLOSE must be sent, and repeated for each packet that arrives.
    Closing,
    Closed,
}

/// One endpoint of a QUIC connection. An application opens [streams](Connection::open_stream), or uses the connection
/// as a single [`ByteStream`](crate::common::ByteStream).
pub struct Connection {
    config: Arc<Config>,
    role: Role,
    progress: Progress,
    /// Paths; the first is that of the handshake.
    paths: Vec<Path>,
    addresses: Addresses,
    multipath: Option<Box<MultipathState>>,
    seed: u64,
    last_heard: Time,
    streams: StreamSet,
    carrier: Carrier,
    datagrams: Datagrams,
    /// Whether this side knows that the client's streams exist.
    knows_streams: bool,
    /// Whether the connection closes once all streams are finished.
    finishes: bool,
    parity: Parity,
    /// Control frames to send.
    frames: VecDeque<Frame>,
    /// Scratch space for the ranges of an acknowledgement.
    parts: Vec<(u64, u64)>,
    idle_at: Time,
    /// Whether anything has been received since an ack-eliciting packet was sent.
    answered: bool,
    keep_at: Time,
    /// Time of the next address change or path challenge.
    change_at: Time,
    /// Acknowledgement frequency requested by the peer: frame number, packets per acknowledgement, maximum delay.
    asked: Option<(u64, u32, Duration)>,
    life: Life,
    closes: bool,
    /// Path, address and bytes of the packet that CONNECTION_CLOSE answers.
    closes_to: Option<(usize, Address, u32)>,
    failure: Option<Failure>,
    stats: Stats,
    /// Events for an observer, if recorded.
    events: Option<Vec<Event>>,
}

impl Connection {
    fn new(config: Arc<Config>, role: Role, seed: u64) -> Connection {
        let first = Path::new(config.clone(), role, seed);
        let mut connection = Connection {
            role,
            progress: Progress::new(&config, role),
            paths: vec![first],
            addresses: Addresses::default(),
            multipath: config
                .packet_scheduler
                .as_ref()
                .map(|create| Box::new(MultipathState::new(PathScheduling::new(create())))),
            seed,
            last_heard: Time::ZERO,
            streams: StreamSet::new(&config),
            carrier: Carrier::default(),
            datagrams: Datagrams::default(),
            knows_streams: false,
            finishes: false,
            keep_at: Time::NEVER,
            change_at: Time::NEVER,
            asked: None,
            parity: Parity::default(),
            frames: VecDeque::new(),
            parts: Vec::new(),
            idle_at: Time::NEVER,
            answered: true,
            life: Life::Open,
            closes: false,
            closes_to: None,
            failure: None,
            stats: Stats::default(),
            events: None,
            config,
        };
        connection.begin_carrying();
        connection
    }

    /// Opens a connection as client; `seed` is for its congestion control.
    pub fn connect(config: Arc<Config>, seed: u64) -> Connection {
        Connection::new(config, Role::Client, seed)
    }

    /// Opens a connection as server.
    pub fn listen(config: Arc<Config>, seed: u64) -> Connection {
        Connection::new(config, Role::Server, seed)
    }

    // ---- queries ------------------------------------------------------------------------------------------------

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Reason of the failure, if the connection failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Whether the connection is finished and all received data was read.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.life != Life::Open
            && (self.failure.is_some() || self.streams.map.values().all(|stream| stream.inc.order.is_read()))
    }
    /// Frees memory that is only needed while the connection is busy.
    pub fn shrink(&mut self) {
        let recoveries = self.paths.iter_mut().map(|path| &mut path.recovery);
        recoveries.flat_map(|recovery| &mut recovery.spaces).for_each(SentPackets::shrink);
    }
    /// Congestion window in bytes, summed over all open paths.
    pub fn cwnd(&self) -> u64 {
        self.paths.iter().filter(|path| path.stage == Stage::Open).map(|path| path.cwnd).sum()
    }
    /// Congestion control of the first path.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.paths[0].control
    }
    /// Passes what the first path's steered congestion control has seen and answers to a function, which may change its
    /// answers.
    pub fn steer(&mut self, see: &mut dyn FnMut(&mut Steering)) {
        let path = &mut self.paths[0];
        let answers = |path: &Path| (path.control.cwnd(), path.control.pacing_rate());
        let before = answers(path);
        path.control.steering().map(see);
        if answers(path) != before {
            path.follow_control();
        }
    }
    /// Round-trip time estimator of the first path.
    #[inline]
    pub fn rtt(&self) -> &RttEstimator {
        &self.paths[0].recovery.rtt
    }
    /// Whether there is an RTT sample.
    pub fn is_measured(&self) -> bool {
        self.stats.rtt.count() > 0
    }
    /// Bytes in flight.
    pub fn flight(&self) -> u64 {
        self.paths.iter().map(|path| path.recovery.in_flight()).sum()
    }
    /// Whether a recovery is under way: not everything in flight at the last window reduction is acknowledged.
    pub fn is_repairing(&self) -> bool {
        self.paths.iter().any(|path| path.cut_at.is_some())
    }
    /// Stream bytes sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        self.streams.data_sent
    }
    /// Paths in the order of their identifiers (RFC 10069), up to the last one used.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = PathView> {
        let unused = self.paths.iter().rev().take_while(|path| path.is_reserved()).count();
        self.paths[..self.paths.len() - unused].iter().map(Path::report)
    }
    /// Size of a full datagram, the unit of windows.
    pub fn datagram(&self) -> u64 {
        u64::from(self.config.datagram)
    }

    /// Consecutive probe timeouts without an acknowledgement.
    pub fn pto_count(&self) -> u32 {
        self.paths[0].recovery.pto_count
    }
    /// Longest round-trip time of the open paths.
    #[inline]
    fn longest_rtt(&self) -> Duration {
        match &self.paths[..] {
            [only] => only.recovery.rtt.srtt(),
            several => {
                let open = several.iter().filter(|path| path.stage == Stage::Open);
                open.map(|path| path.recovery.rtt.srtt()).max().unwrap_or(Duration::ZERO)
            }
        }
    }
    fn longest_pto(&self) -> Duration {
        self.paths.iter().map(|path| path.recovery.pto(Space::Data)).max().unwrap_or(Duration::ZERO)
    }
    /// Phase of the connection.
    pub fn phase(&self) -> Phase {
        match self.life {
            Life::Closed => Phase::Closed,
            Life::Closing => Phase::Closing,
            Life::Open if self.progress.confirmed => Phase::Confirmed,
            Life::Open if self.progress.complete => Phase::Complete,
            Life::Open if self.progress.sends[Space::Handshake as usize] => Phase::Handshake,
            Life::Open if self.progress.started => Phase::Attempted,
            Life::Open => Phase::Idle,
        }
    }

    /// Starts recording events for [`take_events`](Self::take_events).
    pub fn watch(&mut self) {
        self.events = Some(Vec::new());
    }
    /// Takes the events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }
    /// Time before which it does not give up, as seen at `now`: it is not idle so long, and no path is removed.
    pub fn stands_until(&self, now: Time) -> Time {
        if self.life != Life::Open || !self.progress.confirmed || !self.config.changes.is_empty() {
            return now;
        }
        self.idle_at.min(now.saturating_add(self.config.idle_timeout))
    }
    fn drop_packet(&mut self, kind: Kind, number: u64, reason: DropReason) {
        if let Some(events) = &mut self.events {
            events.push(Event::Dropped { kind, number, reason });
        }
    }

    /// Closes the connection once all streams are finished.
    pub fn finish(&mut self) {
        self.finishes = true;
    }

    fn give_up(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.abort();
    }

    /// Closes the connection immediately and tells the peer.
    pub fn abort(&mut self) {
        self.life = Life::Closing;
        self.closes = true;
        self.idle_at = Time::NEVER;
    }
}
