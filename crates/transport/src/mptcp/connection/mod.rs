//! One end of a Multipath TCP connection.

mod handshake;
mod incoming;
mod outgoing;
mod subflows;
mod timers;

use super::config::Config;
use super::inbox::Inbox;
use super::keys::Hash;
use super::outbox::Outbox;
use super::path_manager::Way;
use super::subflow::{Stage, Subflow};
use crate::common::ByteStream;
use crate::common::PathState;
use crate::common::scheduler::PacketScheduler;
use crate::tcp::multipath::Tuple;
use crate::tcp::{self, Failure};
use std::ops::Range;
use std::sync::Arc;
use vazao_congestion::Sibling;
use vazao_engine::{Duration, Time};

/// That of version 1 of the protocol.
const HASH: Hash = Hash::Sha256;

/// What a connection counts, beside what its subflows do.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// When the client's and the server's handshake was over.
    pub established: Option<Time>,
    /// Bytes that went by another subflow after a timeout of the one that had them, or after it died.
    pub reinjected: u64,
    /// Bytes repeated because they kept the receiver's window shut (opportunistic retransmission).
    pub repeated: u64,
    /// Times that a window was halved for it (penalisation).
    pub penalties: u64,
    /// Subflows that joined.
    pub joined: u64,
    /// Subflows that died before the end.
    pub died: u64,
    /// As a receiver: segments whose checksum was wrong.
    pub checksum_failures: u64,
    /// As a receiver: segments whose payload was not what their mapping says. Above zero, data was corrupted.
    pub misplaced: u64,
    /// Probes of a receiver's window that was shut.
    pub probes: u64,
}

/// How data is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// By mappings.
    Multipath,
    /// The peer, or what lies between, does not know Multipath TCP: the one subflow's octets are the data's (section 3.7).
    Fallback,
}

/// Which side of the connection this is.
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

/// What a side has: the way pairs of addresses are numbered, and keys.
pub struct Identity {
    /// The pairs of addresses between which packets can go, the first being that of the first subflow.
    pub ways: Vec<Way>,
    /// The IPv4 addresses of the client and of the server, for their proofs.
    pub addresses: [Vec<[u8; 4]>; 2],
    /// This side's key.
    pub key: u64,
    /// The first subflow's initial sequence number.
    pub iss: u32,
}

/// One end of a Multipath TCP connection.
pub struct Connection {
    config: Arc<Config>,
    role: Role,
    identity: Identity,
    peer_key: Option<u64>,
    /// The data sequence numbers of the first octets, ours and the peer's.
    first: [u64; 2],
    mode: Mode,
    /// Whether mappings have checksums: either side has asked for them.
    checksum: bool,
    /// Of the one subflow of a connection that has fallen back: how far the data is ahead of its octets, ours and the peer's;
    /// and whether the peer is to be told.
    shifts: [u64; 2],
    infinity_due: bool,
    /// The peer has shown that it speaks Multipath TCP beyond the handshake, so that options are known to pass.
    confirmed: bool,
    subflows: Vec<Subflow>,
    /// Which subflow has each pair of ports.
    ports: Vec<Option<usize>>,
    /// Of each subflow: as schedulers see it, and when it wants to be woken.
    views: Vec<PathState>,
    dues: Vec<Time>,
    /// The first of these again, where not all that can be used may be for what is at hand; else empty.
    marked: Vec<PathState>,
    /// Bits of the subflows that may have something to send, and of those that have room.
    stirred: u64,
    roomy: u64,
    backups: bool,
    scheduler: Box<dyn PacketScheduler>,
    outbox: Outbox,
    inbox: Inbox,
    /// The subflow that keeps the receiver's window shut, and for which octet that was found.
    blocker: (u64, Option<usize>),
    /// When a shut window is probed, DATA_FIN or an announcement repeated.
    persist_at: Time,
    fin_at: Time,
    announce_at: Time,
    wake_at: Time,
    /// When it is over because no subflow is left, and none was opened.
    linger_at: Time,
    /// Probes and DATA_FINs in a row that were not answered, and that brought nothing new.
    silence: u32,
    /// The subflow by which something has come last.
    heard: usize,
    /// The peer's data sequence numbers are whole ones, and so are our DATA_ACKs.
    in_full: bool,
    backoff: u32,
    /// SYNs that are refused: of which subflow, and what the reset acknowledges.
    refused: Vec<(Tuple, u32)>,
    /// Addresses of the server's that its client knows.
    known: u64,
    /// Of the server: those that it has yet to announce.
    unannounced: u64,
    /// Our own addresses that are gone.
    withdrawn: u64,
    /// Ways over which a subflow is to be opened again, and when.
    reopen: Vec<(Time, usize)>,
    /// How many of the changes to interfaces have been made.
    changed: usize,
    /// Both sides have closed: subflows are being closed.
    closing: bool,
    failure: Option<Failure>,
    siblings: Vec<Sibling>,
    stats: Stats,
}

impl Connection {
    fn new(config: Arc<Config>, role: Role, identity: Identity) -> Connection {
        let scheduler = (config.scheduler)();
        let inbox = Inbox::new(config.receive_buffer);
        let server = identity.ways[0].server;
        let first = [HASH.initial_data_sequence(identity.key).wrapping_add(1), 0];
        let mut connection = Connection {
            checksum: config.checksum,
            config,
            role,
            identity,
            peer_key: None,
            first,
            mode: Mode::Multipath,
            shifts: [0; 2],
            infinity_due: false,
            confirmed: false,
            subflows: Vec::new(),
            ports: Vec::new(),
            views: Vec::new(),
            dues: Vec::new(),
            marked: Vec::new(),
            stirred: 0,
            roomy: 0,
            backups: false,
            scheduler,
            outbox: Outbox::default(),
            inbox,
            blocker: (u64::MAX, None),
            persist_at: Time::NEVER,
            fin_at: Time::NEVER,
            announce_at: Time::NEVER,
            wake_at: Time::NEVER,
            linger_at: Time::NEVER,
            silence: 0,
            heard: 0,
            in_full: false,
            backoff: 0,
            refused: Vec::new(),
            known: 1 << server,
            unannounced: 0,
            withdrawn: 0,
            reopen: Vec::new(),
            changed: 0,
            closing: false,
            failure: None,
            siblings: Vec::new(),
            stats: Stats::default(),
        };
        let (tcp, iss) = (connection.config.tcp.clone(), connection.identity.iss);
        let open = if role == Role::Client { tcp::Connection::connect } else { tcp::Connection::listen };
        connection.add_subflow(open(tcp, iss), Tuple::default(), false);
        connection
    }

    /// A connection that is being opened.
    pub fn connect(config: Arc<Config>, identity: Identity) -> Connection {
        Connection::new(config, Role::Client, identity)
    }

    /// A connection that waits for its peer.
    pub fn listen(config: Arc<Config>, identity: Identity) -> Connection {
        Connection::new(config, Role::Server, identity)
    }

    // ---- what the outside can see -------------------------------------------------------------------------------

    /// Its subflows, in the order in which they were opened.
    pub fn subflows(&self) -> &[Subflow] {
        &self.subflows
    }
    /// How it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// What it counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Whether its data is numbered by mappings, or it has fallen back to TCP.
    pub fn is_multipath(&self) -> bool {
        self.mode == Mode::Multipath
    }
    /// Whether all is done. Both sides' data being where it should be, no one waits for the peer to close a subflow too.
    pub fn is_over(&self) -> bool {
        let mapped = self.mode == Mode::Multipath;
        let is_done = |subflow: &Subflow| subflow.tcp.is_over() || mapped && subflow.tcp.has_said_farewell();
        self.failure.is_some() || self.closing && self.subflows.iter().all(is_done)
    }
    /// Bytes sent at least once.
    pub fn sent_bytes(&self) -> u64 {
        self.outbox.nxt
    }
    /// Bytes sent and not acknowledged by DATA_ACKs.
    pub fn outstanding(&self) -> u64 {
        self.outbox.nxt.saturating_sub(self.outbox.una)
    }
    /// As a receiver: bytes that had all arrived before.
    pub fn duplicate_bytes(&self) -> u64 {
        self.inbox.duplicate_bytes
    }

    /// Gives the connection up and tells the peer (MP_FASTCLOSE, RFC 8684 section 3.5).
    pub fn abort(&mut self) {
        self.fail(Failure::Reset);
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.subflows.iter_mut().for_each(|subflow| subflow.tcp.abort());
        self.stirred = u64::MAX;
        self.stop_timers();
        self.dues.fill(Time::NEVER);
    }

    /// Nothing more is heard of the peer. If it has everything and has said everything, nothing has failed.
    fn give_up(&mut self, failure: Failure) {
        if self.outbox.closing && self.outbox.una >= self.outbox.end && self.inbox.is_finished() {
            self.closing = true;
            self.subflows.iter_mut().for_each(|subflow| subflow.tcp.abort());
            self.stop_timers();
        } else {
            self.fail(failure);
        }
    }

    /// The connection has nothing to wait for any more, but its subflows may.
    fn stop_timers(&mut self) {
        (self.persist_at, self.fin_at, self.announce_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        (self.wake_at, self.linger_at) = (Time::NEVER, Time::NEVER);
        self.reopen.clear();
    }

    // ---- octets and data sequence numbers -------------------------------------------------------------------------

    /// The data sequence number of one of our octets.
    fn own_dsn(&self, octet: u64) -> u64 {
        self.first[0].wrapping_add(octet)
    }
    /// The octet of the peer's that a data sequence number stands for.
    fn peer_octet(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.first[1])
    }
    /// The octet of ours nearest to what is acknowledged that ends in these 32 bits.
    fn acknowledged(&self, dsn: u32) -> Option<u64> {
        let distance = dsn.wrapping_sub(self.own_dsn(self.outbox.una) as u32) as i32;
        self.outbox.una.checked_add_signed(i64::from(distance))
    }

    /// The longest round-trip time of its subflows, as the receiver sees them.
    fn longest_loop(&self) -> Duration {
        let seen = |subflow: &Subflow| {
            if subflow.is_open() { subflow.loop_rtt.max(subflow.tcp.rtt().srtt()) } else { Duration::ZERO }
        };
        self.subflows.iter().map(seen).max().unwrap_or(Duration::ZERO)
    }

    /// Payload of a full segment.
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
            // The window opens again: a sender that waits hears of it by whichever path is fastest.
            for (number, subflow) in self.subflows.iter_mut().enumerate().filter(|(_, subflow)| subflow.is_open()) {
                subflow.tcp.acknowledge_now();
                self.stirred |= 1 << number;
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
