//! One end of a Multipath TCP connection.

mod handshake;
mod incoming;
mod limit;
mod outgoing;
mod overview;
mod subflows;
mod timers;

use super::config::Config;
use super::inbox::Inbox;
use super::keys::Hash;
use super::outbox::Outbox;
use super::path_manager::AddressPair;
use super::subflow::{Stage, Subflow};
use crate::common::scheduler::PacketScheduler;
use crate::common::{ByteStream, PathState, RangeSet, counters};
use crate::tcp::multipath::Tuple;
use crate::tcp::{self, Failure};
use overview::Overview;
use std::ops::Range;
use std::sync::Arc;
use vazao_engine::{Duration, Time};

/// Hash of version 1 of the protocol.
const HASH: Hash = Hash::Sha256;

counters! {
    /// Connection-level counters, besides those of the subflows.
    pub struct Stats {
        /// Time at which the handshake completed, on either side.
        pub established: Option<Time>,
        /// Bytes reinjected on another subflow after a timeout or failure of the original one.
        pub reinjected: u64 = "reinjected_bytes",
        /// Bytes retransmitted because they blocked the receiver's window (opportunistic retransmission).
        pub repeated: u64 = "repeated_bytes",
        /// Number of times that a window was halved for that (penalisation).
        pub penalties: u64 = "penalties",
        /// Subflows joined.
        pub joined: u64 = "subflows_joined",
        /// Subflows that failed.
        pub died: u64 = "subflows_died",
        /// Receiver: segments with a wrong checksum.
        pub checksum_failures: u64,
        /// Receiver: segments whose payload does not match their mapping; above zero, data was corrupted.
        pub misplaced: u64,
        /// Zero-window probes sent.
        pub probes: u64,
    }
}

/// Correspondence between data and subflow octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Data sequence mappings.
    Multipath,
    /// Plain TCP after a fallback: the subflow's octets are the data (section 3.7).
    Fallback,
}

/// Side of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

impl Role {
    fn peer(self) -> Role {
        if self == Role::Client { Role::Server } else { Role::Client }
    }
}

/// Addresses and keys of one side.
pub struct Identity {
    /// Address pairs between which packets can travel; the first is that of the initial subflow.
    pub pairs: Vec<AddressPair>,
    /// IPv4 addresses of the client and of the server, for HMACs.
    pub addresses: [Vec<[u8; 4]>; 2],
    /// Key of this side.
    pub key: u64,
    /// Initial sequence number of the initial subflow.
    pub iss: u32,
    /// What is remembered of the pairs of addresses from one connection to the next.
    pub metrics: Option<Arc<tcp::Metrics>>,
}

/// One end of a Multipath TCP connection.
pub struct Connection {
    config: Arc<Config>,
    role: Role,
    identity: Identity,
    peer_key: Option<u64>,
    /// Data sequence numbers of the first octets, ours and the peer's.
    first: [u64; 2],
    mode: Mode,
    /// Whether DSS checksums are used, because either side requires them.
    checksum: bool,
    /// After a fallback: offset from subflow octets to data, for ours and the peer's; and whether the peer must be told
    /// by an infinite mapping.
    data_offsets: [u64; 2],
    infinite_mapping_due: bool,
    /// Whether the peer has used Multipath TCP options beyond the handshake, so that options are known to pass.
    confirmed: bool,
    subflows: Vec<Subflow>,
    /// Subflow of each port pair.
    ports: Vec<Option<usize>>,
    overview: Overview,
    /// Copy of the views that excludes subflows unusable for the data at hand; empty if there are none.
    filtered_views: Vec<PathState>,
    /// Subflows that may have something to send, as a bitmask.
    pollable: u64,
    backups: bool,
    scheduler: Box<dyn PacketScheduler>,
    outbox: Outbox,
    /// Whether the send buffer did not take all of the application's last write.
    lacks_buffer: bool,
    inbox: Inbox,
    /// Octet that blocks the receiver's window and the subflow that carries it.
    blocker: (u64, Option<usize>),
    /// Times to probe a closed window, and to repeat DATA_FIN or ADD_ADDR.
    persist_at: Time,
    fin_at: Time,
    announce_at: Time,
    wake_at: Time,
    /// Time to give up because no subflow is left.
    linger_at: Time,
    /// Consecutive probes and DATA_FINs without an answer.
    unanswered: u32,
    /// Subflow that last received a segment.
    last_heard: usize,
    /// Whether the peer uses 64-bit data sequence numbers, so that DATA_ACKs have 64 bits too.
    long_acks: bool,
    backoff: u32,
    /// Refused SYNs: four-tuple, and acknowledgement number of the reset.
    refused: Vec<(Tuple, u32)>,
    /// Server addresses known to the client, as a bitmask.
    known: u64,
    /// Server: addresses not yet echoed.
    unannounced: u64,
    /// Own addresses that are gone.
    withdrawn: u64,
    /// Address pairs on which to reopen a subflow, and when.
    reopen: Vec<(Time, usize)>,
    /// Number of interface changes applied.
    changed: usize,
    /// Whether both sides have closed and the subflows are being closed.
    closing: bool,
    failure: Option<Failure>,
    stats: Stats,
}

impl Connection {
    fn new(config: Arc<Config>, role: Role, identity: Identity) -> Connection {
        let scheduler = (config.packet_scheduler)();
        let most = config.tcp.largest_receive_buffer();
        let shares = config.tcp.receive_buffer.is_none();
        let inbox = if shares { Inbox::sharing(most) } else { Inbox::new(config.receive_buffer, most) };
        let server = identity.pairs[0].server;
        let first = [HASH.initial_data_sequence(identity.key).wrapping_add(1), 0];
        let mut connection = Connection {
            checksum: config.checksum,
            config,
            role,
            identity,
            peer_key: None,
            first,
            mode: Mode::Multipath,
            data_offsets: [0; 2],
            infinite_mapping_due: false,
            confirmed: false,
            subflows: Vec::new(),
            ports: Vec::new(),
            overview: Overview::default(),
            filtered_views: Vec::new(),
            pollable: 0,
            backups: false,
            scheduler,
            outbox: Outbox::default(),
            lacks_buffer: false,
            inbox,
            blocker: (u64::MAX, None),
            persist_at: Time::NEVER,
            fin_at: Time::NEVER,
            announce_at: Time::NEVER,
            wake_at: Time::NEVER,
            linger_at: Time::NEVER,
            unanswered: 0,
            last_heard: 0,
            long_acks: false,
            backoff: 0,
            refused: Vec::new(),
            known: 1 << server,
            unannounced: 0,
            withdrawn: 0,
            reopen: Vec::new(),
            changed: 0,
            closing: false,
            failure: None,
            stats: Stats::default(),
        };
        let (tcp, iss) = (connection.config.tcp.clone(), connection.identity.iss);
        let open = if role == Role::Client { tcp::Connection::connect } else { tcp::Connection::listen };
        connection.add_subflow(open(tcp, iss), Tuple::default(), false);
        connection
    }

    /// Opens a connection actively.
    pub fn connect(config: Arc<Config>, identity: Identity) -> Connection {
        Connection::new(config, Role::Client, identity)
    }

    /// Opens a connection passively.
    pub fn listen(config: Arc<Config>, identity: Identity) -> Connection {
        Connection::new(config, Role::Server, identity)
    }

    // ---- queries ------------------------------------------------------------------------------------------------

    /// Subflows in the order in which they were opened.
    pub fn subflows(&self) -> &[Subflow] {
        &self.subflows
    }
    /// Reason of the failure, if the connection failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Whether data is mapped, rather than fallen back to TCP.
    pub fn is_multipath(&self) -> bool {
        self.mode == Mode::Multipath
    }
    /// Whether the connection is finished. After both sides' data is delivered, the peer's FINs are not waited for.
    pub fn is_over(&self) -> bool {
        let mapped = self.mode == Mode::Multipath;
        let is_done = |subflow: &Subflow| subflow.tcp.is_over() || mapped && subflow.tcp.is_fin_acknowledged();
        self.failure.is_some() || self.closing && self.subflows.iter().all(is_done)
    }
    /// Whether it shares nothing with other connections: no memory of paths.
    pub fn is_isolated(&self) -> bool {
        self.identity.metrics.is_none()
    }
    /// Time before which it does not give up, as seen at `now`: one of its subflows stands so long, and neither is its address
    /// removed nor its data found altered; and probes and DATA_FINs have not gone unanswered.
    pub fn stands_until(&self, now: Time) -> Time {
        if self.closing || self.checksum || !self.config.changes.is_empty() {
            return now;
        }
        let open = self.subflows.iter().filter(|subflow| subflow.is_open());
        let stands = open.map(|subflow| subflow.tcp.stands_until(now)).max().unwrap_or(now);
        let left = self.config.tcp.retries.saturating_sub(self.unanswered + 1);
        stands.min(now.saturating_add(self.config.tcp.shortest_rto() * u64::from(left)))
    }
    /// Sum of the congestion windows of open subflows in bytes.
    pub fn cwnd(&self) -> u64 {
        self.overview.cwnd()
    }
    /// Subflows whose window has changed since the last call, as a bitmask.
    pub fn take_updated(&mut self) -> u64 {
        self.overview.take_updated()
    }
    /// Bytes sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        self.outbox.nxt
    }
    /// Bytes sent and not yet covered by a DATA_ACK.
    pub fn outstanding(&self) -> u64 {
        self.outbox.nxt.saturating_sub(self.outbox.una)
    }
    /// Receiver: bytes that had all arrived before.
    pub fn duplicate_bytes(&self) -> u64 {
        self.inbox.duplicate_bytes
    }
    /// Bytes of the stream that the application has read.
    pub fn read_bytes(&self) -> u64 {
        self.inbox.order().read
    }
    /// Data of the stream that has arrived beyond a hole, of the stream or of a subflow.
    pub fn beyond(&self) -> RangeSet {
        let order = self.inbox.order();
        let mut beyond = RangeSet::default();
        for range in order.beyond().chain(self.subflows.iter().flat_map(Subflow::beyond)) {
            let start = range.start.max(order.next);
            if start < range.end {
                beyond.insert(start, range.end, |_, _| {});
            }
        }
        beyond
    }

    /// Aborts the connection and tells the peer (MP_FASTCLOSE, RFC 8684 section 3.5).
    pub fn abort(&mut self) {
        self.fail(Failure::Reset);
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.subflows.iter_mut().for_each(|subflow| subflow.tcp.abort());
        self.pollable = u64::MAX;
        self.stop_timers();
        self.overview.stop();
    }

    /// Ends the connection without hearing from the peer; no failure if both directions were complete.
    fn give_up(&mut self, failure: Failure) {
        if self.outbox.closing && self.outbox.una >= self.outbox.end && self.inbox.is_finished() {
            self.closing = true;
            self.subflows.iter_mut().for_each(|subflow| subflow.tcp.abort());
            self.stop_timers();
        } else {
            self.fail(failure);
        }
    }

    /// Stops the connection's timers; the subflows may still have some.
    fn stop_timers(&mut self) {
        (self.persist_at, self.fin_at, self.announce_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        (self.wake_at, self.linger_at) = (Time::NEVER, Time::NEVER);
        self.reopen.clear();
    }

    // ---- octets and data sequence numbers -------------------------------------------------------------------------

    /// Data sequence number of one of our octets.
    fn own_dsn(&self, octet: u64) -> u64 {
        self.first[0].wrapping_add(octet)
    }
    /// Octet of the peer with this data sequence number.
    fn peer_octet(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.first[1])
    }
    /// Our octet nearest to the DATA_ACK with these low 32 bits.
    fn acknowledged(&self, dsn: u32) -> Option<u64> {
        let distance = dsn.wrapping_sub(self.own_dsn(self.outbox.una) as u32) as i32;
        self.outbox.una.checked_add_signed(i64::from(distance))
    }

    /// Longest receiver-side round-trip time of the subflows.
    fn max_receiver_rtt(&self) -> Duration {
        let seen = |subflow: &Subflow| {
            if subflow.is_open() { subflow.receiver_rtt.max(subflow.tcp.rtt().srtt()) } else { Duration::ZERO }
        };
        self.subflows.iter().map(seen).max().unwrap_or(Duration::ZERO)
    }

    /// Payload bytes of a full segment.
    fn segment(&self) -> u64 {
        self.subflows[0].tcp.payload()
    }
}

impl ByteStream for Connection {
    fn write(&mut self, bytes: u64) -> u64 {
        if self.outbox.closing {
            return 0;
        }
        let room = match self.config.send_buffer {
            Some(limit) => limit.saturating_sub(self.outbox.end - self.outbox.una),
            None => u64::MAX,
        };
        let taken = bytes.min(room);
        self.lacks_buffer = taken < bytes;
        if taken > 0 && self.outbox.waiting() == 0 {
            self.subflows.iter_mut().filter(|subflow| subflow.is_open()).for_each(|subflow| subflow.tcp.note_idle());
        }
        self.outbox.end += taken;
        taken
    }

    fn unsent(&self) -> u64 {
        self.outbox.waiting()
    }

    fn discard_unsent(&mut self) -> u64 {
        if !self.outbox.closing {
            self.outbox.end = self.outbox.sent_end();
        }
        self.outbox.end
    }

    fn read(&mut self) -> Option<Range<u64>> {
        self.read_at_most(u64::MAX)
    }

    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        let (range, opens) = self.inbox.take(limit, 2 * self.segment())?;
        if opens {
            // The window reopens: tell a waiting sender on whichever path is fastest.
            for (number, subflow) in self.subflows.iter_mut().enumerate().filter(|(_, subflow)| subflow.is_open()) {
                subflow.tcp.acknowledge_now();
                self.pollable |= 1 << number;
            }
        }
        Some(range)
    }

    fn close(&mut self) {
        if self.outbox.closing || self.failure.is_some() {
            return;
        }
        if !self.is_connected() {
            return self.fail(Failure::Reset);
        }
        self.outbox.closing = true;
    }

    fn is_connected(&self) -> bool {
        self.stats.established.is_some() && self.failure.is_none()
    }

    fn peer_closed(&self) -> bool {
        self.inbox.is_drained()
    }
}
