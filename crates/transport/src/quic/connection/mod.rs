//! One end of a QUIC connection.

mod acknowledged;
mod carrier;
mod chlo;
mod datagrams;
mod handshake;
mod incoming;
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
use super::stream::{Stream as Flow, Window};
use crate::common::{Bucket, RttEstimator};
use carrier::Carrier;
use datagrams::Datagrams;
use handshake::Progress;
use migration::Addresses;
pub use multipath::MAX_PATH_ID;
use multipath::{Multipath, Stage};
use parity::Parity;
use path::Path;
pub use path::{PathStats, PathView};
use schedule::Spread;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use streams::Streams;
use vazao_congestion::CongestionControl;
use vazao_engine::{Duration, Histogram, Rate, Time};

/// Which side this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// How a connection ended, if not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing was heard for the idle timeout.
    Idle,
    /// The peer gave it up.
    Closed,
    /// The peer sent more than it was allowed (RFC 9000 section 4.1).
    FlowControl,
    /// The peer opened more streams than it was allowed (section 4.6).
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

/// What an endpoint counts, as a sender unless said otherwise.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Datagrams sent, and packets in them.
    pub datagrams: u64,
    /// See `datagrams`.
    pub packets: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of these, those that only time had shown to be lost.
    pub lost_by_time: u64,
    /// Packets declared lost that arrived after all.
    pub spurious_losses: u64,
    /// Packets with data that had been sent before.
    pub retransmissions: u64,
    /// Parts of streams that a scheduler has had sent by another path too.
    pub copies: u64,
    /// Expiries of the probe timer.
    pub probes: u64,
    /// Packets of parity.
    pub parities: u64,
    /// As a receiver: packets made again from parity.
    pub recovered: u64,
    /// Times that the window was cut for losses, and that congestion was persistent.
    pub recoveries: u64,
    /// See `recoveries`.
    pub persistent_congestions: u64,
    /// Times that the window was cut for marks of congestion.
    pub mark_reductions: u64,
    /// As a server: times that the client was found at another address.
    pub migrations: u64,
    /// Round-trip times measured.
    pub rtt: Histogram,
    /// As a receiver: packets that had arrived before.
    pub duplicates_received: u64,
    /// As a receiver: STREAM frames whose data was not what belongs at their place.
    pub misplaced: u64,
    /// When data might flow, and when the handshake was over.
    pub ready: Option<Time>,
    /// See `ready`.
    pub established: Option<Time>,
}

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Open,
    /// CONNECTION_CLOSE is to be sent, again for each packet that comes.
    Closing,
    Closed,
}

/// One end of a QUIC connection. An application opens [streams](Connection::open_stream), or takes it for a
/// [`ByteStream`](crate::common::ByteStream) by itself.
pub struct Connection {
    config: Arc<Config>,
    role: Role,
    progress: Progress,
    /// The handshake's is the first.
    paths: Vec<Path>,
    addresses: Addresses,
    /// With several paths (RFC 10069).
    multipath: Option<Box<Multipath>>,
    seed: u64,
    last_heard: Time,
    streams: Streams,
    carrier: Carrier,
    datagrams: Datagrams,
    /// Whether the client's streams are known to be there.
    heard_of_streams: bool,
    /// It ends once everything was said and heard.
    finishes: bool,
    parity: Parity,
    /// Other frames that wait.
    frames: VecDeque<Frame>,
    /// Room for what an acknowledgement names.
    parts: Vec<(u64, u64)>,
    idle_at: Time,
    /// Whether something has been heard since something was sent that asks for an answer.
    answered: bool,
    /// When a silence becomes too long for who stands between the two.
    keep_at: Time,
    /// When something becomes of the path.
    change_at: Time,
    /// What the peer has asked for of acknowledgements: the number of its frame, packets for each, the longest wait.
    asked: Option<(u64, u32, Duration)>,
    life: Life,
    closes: bool,
    failure: Option<Failure>,
    stats: Stats,
    /// What is told to who watches, if anybody does.
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
                .multipath
                .as_ref()
                .map(|given| Box::new(Multipath::new(Spread::new((given.scheduler)())))),
            seed,
            last_heard: Time::ZERO,
            streams: Streams::new(&config),
            carrier: Carrier::default(),
            datagrams: Datagrams::default(),
            heard_of_streams: false,
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
            failure: None,
            stats: Stats::default(),
            events: None,
            config,
        };
        connection.begin_carrying();
        connection
    }

    /// A connection that is being opened; `seed` is what its congestion control draws from.
    pub fn connect(config: Arc<Config>, seed: u64) -> Connection {
        Connection::new(config, Role::Client, seed)
    }

    /// A connection that waits for its peer.
    pub fn listen(config: Arc<Config>, seed: u64) -> Connection {
        Connection::new(config, Role::Server, seed)
    }

    // ---- what the outside can see -------------------------------------------------------------------------------

    /// What it counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// How it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Whether all is done, and everything that came was read.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.life != Life::Open
            && (self.failure.is_some() || self.streams.map.values().all(|stream| stream.inc.order.is_read()))
    }
    /// Gives back memory that a connection needs only while it is busy.
    pub fn shrink(&mut self) {
        let recoveries = self.paths.iter_mut().map(|path| &mut path.recovery);
        recoveries.flat_map(|recovery| &mut recovery.spaces).for_each(SentPackets::shrink);
    }
    /// Its congestion windows in bytes, of all paths that are open.
    pub fn cwnd(&self) -> u64 {
        self.paths.iter().filter(|path| path.stage == Stage::Open).map(|path| path.cwnd).sum()
    }
    /// Its congestion control, on the first path.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.paths[0].control
    }
    /// Its round-trip time estimator, on the first path.
    #[inline]
    pub fn rtt(&self) -> &RttEstimator {
        &self.paths[0].recovery.rtt
    }
    /// Whether a round-trip time was measured.
    pub fn is_measured(&self) -> bool {
        self.stats.rtt.count() > 0
    }
    /// Bytes in flight.
    pub fn flight(&self) -> u64 {
        self.paths.iter().map(|path| path.recovery.in_flight()).sum()
    }
    /// Whether losses are being repaired: what was in flight when the window was cut is not all acknowledged.
    pub fn is_repairing(&self) -> bool {
        self.paths.iter().any(|path| path.cut_at.is_some())
    }
    /// Bytes of streams sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        self.streams.data_sent
    }
    /// Its paths in the order of their identifiers (RFC 10069), up to the last that was used.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = PathView> {
        let unused = self.paths.iter().rev().take_while(|path| path.is_reserved()).count();
        self.paths[..self.paths.len() - unused].iter().map(Path::report)
    }
    /// Payload bytes of a full packet, as windows count.
    pub fn datagram(&self) -> u64 {
        u64::from(self.config.datagram)
    }

    /// Timeouts of the probe timer since something was heard.
    pub fn pto_count(&self) -> u32 {
        self.paths[0].recovery.pto_count
    }
    /// The longest round-trip time of the paths by which data goes.
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
    /// How far it has come.
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

    /// Has it keep what [`take_events`](Self::take_events) gives.
    pub fn watch(&mut self) {
        self.events = Some(Vec::new());
    }
    /// What has happened since the last call, in order; nothing if it is not watched.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }
    fn drop_packet(&mut self, kind: Kind, number: u64, reason: DropReason) {
        if let Some(events) = &mut self.events {
            events.push(Event::Dropped { kind, number, reason });
        }
    }

    /// Ends the connection once everything was said and heard on all streams.
    pub fn finish(&mut self) {
        self.finishes = true;
    }

    fn give_up(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.abort();
    }

    /// Gives it up and tells the peer.
    pub fn abort(&mut self) {
        self.life = Life::Closing;
        self.closes = true;
        self.idle_at = Time::NEVER;
    }
}
