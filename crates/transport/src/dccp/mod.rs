//! DCCP (RFC 4340) as a machine: unreliable datagrams under congestion control. The receiver reports which of them arrived.
//!
//! Data flows in one direction. Its sender ends the connection once each datagram is acknowledged or declared lost. Sequence
//! windows are wider than any run needs, so there is no Sync (section 7.5). Request and Response negotiate the features that
//! CCID 2 (RFC 4341) needs.

mod packet;
mod receiver;
mod sender;

pub use packet::{Fate, Kind, LONGEST_RUN, Packet, Run};
pub use sender::Stats;

use crate::common::{ByteStream, ControlFactory, Limit, RttEstimator, datagrams};
use receiver::Receiver;
use sender::Sender;
use std::ops::Range;
use std::sync::Arc;
use vazao_congestion::{CongestionControl, Steering};
use vazao_engine::registry::{Elsewhere, Kind as Type, parameters};
use vazao_engine::{Duration, Ecn, Time};

parameters! {
    /// Settings of an endpoint.
    pub struct Config(
        /// Factory of the congestion control.
        pub control: ControlFactory,
    ) {
        pub cc: Elsewhere = Type::Entry("congestion control"), "reno",
            "congestion control; reno is that of CCID 2, TCP-like congestion control (RFC 4341)";
        pub slow_start: Elsewhere = Type::Entry("slow start"), "standard", "how the window grows below ssthresh";
        pub payload: u16 = Type::Integer(16, 1456), "1448",
            "bytes of a datagram's payload at most: what fits one packet";
        pub ack_ratio: u32 = Type::Integer(1, 64), "2",
            "packets that one acknowledgement covers; half as many, at most, open the window in slow start (RFC 4341 \
             section 5)";
        pub ecn: bool = Type::Flag, "false", "send packets that queues can mark in place of dropping them";
        pub initial_window: Elsewhere = Type::Integer(1, 1000), "3", "initial window in packets (RFC 3390)";
        pub initial_ssthresh: Elsewhere = Type::SizeOrAuto(1), "auto",
            "initial slow-start threshold; auto: as high as possible (RFC 5681)";
        pub min_rto: Duration = Type::Duration(Duration::from_millis(1), Duration::from_secs(60)), "1 s",
            "least retransmission timeout (RFC 6298 section 2.4)";
    }
}

/// Time after which the first Request is sent again.
const REQUEST_WAIT: Duration = Duration::from_secs(1);

/// Time after which the Ack that ends the handshake is sent again; also the least for a Close or CloseReq.
const HANDSHAKE_WAIT: Duration = Duration::from_millis(200);

/// Longest time between two retransmissions (sections 8.1.1 and 8.3).
const LONGEST_WAIT: Duration = Duration::from_secs(64);

/// Retransmissions of a packet of the handshake or the close before the endpoint gives up, after about four minutes.
const RETRIES: u32 = 7;

/// State of a connection at one end (section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The connection is over, or was never set up.
    Closed,
    /// The server waits for a Request.
    Listen,
    /// The client waits for a Response.
    Request,
    /// The server waits for the acknowledgement of its Response.
    Respond,
    /// The client waits for anything that shows that the server got that acknowledgement.
    PartOpen,
    /// Data flows.
    Open,
    /// The server has asked its client to close.
    CloseReq,
    /// The client has closed, and waits for the Reset.
    Closing,
    /// The connection is over for the client, which remembers it.
    TimeWait,
}

/// Reason why an endpoint gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer did not answer.
    TimedOut,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection timed out")
    }
}

/// One end of a connection.
pub struct Endpoint {
    config: Arc<Config>,
    is_client: bool,
    state: State,
    /// Sequence number of the next packet.
    next: u64,
    /// Packet of the handshake or the close that is due.
    pending: Option<Kind>,
    /// Time of its next retransmission, and how many there were.
    deadline: Time,
    tries: u32,
    opened: Time,
    ready: Option<Time>,
    failure: Option<Failure>,
    queue: datagrams::Sender,
    sender: Sender,
    receiver: Receiver,
    read: datagrams::Receiver,
    /// Whether the application has closed, and whether the peer has.
    closed: bool,
    peer_closed: bool,
    /// Sequence number of the last packet that acknowledged the peer's Acks, and whether an Ack has come since.
    acknowledged_at: u64,
    owes_ack: bool,
}

impl Endpoint {
    /// Creates the client's end; its congestion control draws from `seed`.
    pub fn connect(config: Arc<Config>, seed: u64) -> Endpoint {
        Endpoint { pending: Some(Kind::Request), ..Endpoint::new(config, seed, State::Request) }
    }

    /// Creates the server's end.
    pub fn listen(config: Arc<Config>, seed: u64) -> Endpoint {
        Endpoint::new(config, seed, State::Listen)
    }

    fn new(config: Arc<Config>, seed: u64, state: State) -> Endpoint {
        Endpoint {
            is_client: state == State::Request,
            state,
            next: 0,
            pending: None,
            deadline: Time::NEVER,
            tries: 0,
            opened: Time::ZERO,
            ready: None,
            failure: None,
            queue: datagrams::Sender::new(config.payload, None),
            sender: Sender::new(&config, seed),
            receiver: Receiver::new(config.ack_ratio),
            read: datagrams::Receiver::default(),
            closed: false,
            peer_closed: false,
            acknowledged_at: 0,
            owes_ack: false,
            config,
        }
    }

    /// Handles a packet that has arrived with this ECN codepoint.
    pub fn handle(&mut self, now: Time, packet: &Packet, ecn: Ecn) {
        if self.is_over() {
            // The Reset that answered the Close was lost (section 8.3).
            if packet.kind == Kind::Close && self.failure.is_none() {
                self.pending = Some(Kind::Reset);
            }
            return;
        }
        let is_strange = match self.state {
            State::Listen => packet.kind != Kind::Request,
            State::Request => !matches!(packet.kind, Kind::Response | Kind::Reset),
            _ => false,
        };
        if is_strange {
            return;
        }
        self.receiver.handle(now, packet.sequence, ecn == Ecn::Ce, packet.kind.has_data());
        match (self.state, packet.kind) {
            (State::Listen | State::Respond, Kind::Request) => {
                (self.state, self.pending) = (State::Respond, Some(Kind::Response));
            }
            (State::Request, Kind::Response) => self.enter(now, State::PartOpen),
            (State::PartOpen, Kind::Response) => self.pending = Some(Kind::Ack),
            (State::Respond, Kind::Ack | Kind::DataAck | Kind::Close) => self.enter(now, State::Open),
            (State::PartOpen, kind) if kind != Kind::Reset => self.stop_waiting(State::Open),
            _ => {}
        }
        match packet.kind {
            Kind::Request | Kind::Response => {}
            Kind::Data | Kind::DataAck | Kind::Ack => self.handle_data(now, packet),
            Kind::CloseReq => self.begin_close(State::Closing, Kind::Close),
            Kind::Close => {
                self.peer_closed = true;
                self.stop_waiting(State::Closed);
                self.pending = Some(Kind::Reset);
            }
            Kind::Reset => {
                self.peer_closed = true;
                self.stop_waiting(if self.state == State::Closing { State::TimeWait } else { State::Closed });
            }
        }
    }

    fn handle_data(&mut self, now: Time, packet: &Packet) {
        if let Some(datagram) = &packet.datagram {
            self.read.handle(now, datagram);
        }
        if packet.kind != Kind::Data {
            self.receiver.on_acknowledged(packet.acknowledgment);
        }
        if !packet.vector.is_empty() {
            self.sender.on_ack(now, packet.acknowledgment, &packet.vector, packet.elapsed.unwrap_or_default());
            self.owes_ack = true;
        }
    }

    /// Enters PARTOPEN or OPEN: from this end's point of view the connection stands.
    fn enter(&mut self, now: Time, state: State) {
        let measured = (state == State::PartOpen && self.tries == 0).then(|| now.since(self.opened));
        if let Some(rtt) = measured {
            self.sender.rtt.sample(rtt);
        }
        self.sender.control.on_established(measured);
        self.ready = Some(now);
        self.stop_waiting(state);
        if state == State::PartOpen {
            self.pending = Some(Kind::Ack);
        }
    }

    fn stop_waiting(&mut self, state: State) {
        self.state = state;
        (self.deadline, self.tries, self.pending) = (Time::NEVER, 0, None);
    }

    fn begin_close(&mut self, state: State, kind: Kind) {
        if self.state != state {
            self.stop_waiting(state);
        }
        self.pending = Some(kind);
    }

    /// Returns the time after which the packet just sent is sent again, if its kind ever is.
    fn wait(&self, kind: Kind) -> Option<Duration> {
        let wait = match (kind, self.state) {
            (Kind::Request, _) => REQUEST_WAIT,
            (Kind::Ack, State::PartOpen) => HANDSHAKE_WAIT,
            // Two round trips (section 8.3).
            (Kind::Close | Kind::CloseReq, _) => (self.sender.rtt.srtt() * 2).max(HANDSHAKE_WAIT),
            _ => return None,
        };
        Some((wait * (1 << self.tries)).min(LONGEST_WAIT))
    }

    /// Time of the next timeout.
    pub fn next_timeout(&self) -> Time {
        if self.is_over() {
            return Time::NEVER;
        }
        self.deadline.min(self.sender.next_timeout(self.sendable())).min(self.receiver.due())
    }

    /// Handles the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.sender.handle_timeout(now);
        if self.deadline > now {
            return;
        }
        self.deadline = Time::NEVER;
        self.tries += 1;
        if self.tries > RETRIES {
            self.failure = Some(Failure::TimedOut);
            return self.stop_waiting(State::Closed);
        }
        self.pending = match self.state {
            State::Request => Some(Kind::Request),
            State::PartOpen => Some(Kind::Ack),
            State::CloseReq => Some(Kind::CloseReq),
            State::Closing => Some(Kind::Close),
            _ => None,
        };
    }

    /// Bytes of the next datagram, if one may be sent in this state.
    fn sendable(&self) -> u64 {
        if self.is_open() { self.queue.next_payload() } else { 0 }
    }

    /// Fills in the next packet that is to leave at `now`, if there is one; call again until there is none.
    pub fn poll_transmit(&mut self, now: Time, packet: &mut Packet) -> bool {
        self.close_when_done();
        packet.sequence = self.next;
        let is_sent = self.send_control(now, packet) || self.send_data(now, packet) || self.send_ack(now, packet);
        self.next += u64::from(is_sent);
        is_sent
    }

    /// Closes once the application has, nothing waits to be sent, and nothing that was sent is in doubt.
    fn close_when_done(&mut self) {
        if !self.is_open() || !self.closed || !self.queue.is_idle() || self.sender.flight() > 0 {
            return;
        }
        if self.is_client {
            self.begin_close(State::Closing, Kind::Close);
        } else {
            self.begin_close(State::CloseReq, Kind::CloseReq);
        }
    }

    fn send_control(&mut self, now: Time, packet: &mut Packet) -> bool {
        let Some(kind) = self.pending.take() else { return false };
        if kind == Kind::Request && self.tries == 0 {
            self.opened = now;
        }
        packet.kind = kind;
        packet.acknowledgment = self.receiver.greatest();
        self.deadline = self.wait(kind).map_or(Time::NEVER, |wait| now + wait);
        true
    }

    fn send_data(&mut self, now: Time, packet: &mut Packet) -> bool {
        let bytes = self.sendable();
        if bytes == 0 {
            self.sender.on_idle();
            return false;
        }
        if !self.sender.may_send(now, bytes) {
            return false;
        }
        packet.datagram = self.queue.next(now);
        packet.kind = if self.acknowledges_with_data() { Kind::DataAck } else { Kind::Data };
        if packet.kind == Kind::DataAck {
            packet.acknowledgment = self.receiver.greatest();
            (self.acknowledged_at, self.owes_ack) = (self.next, false);
        }
        self.sender.on_sent(now, packet.sequence, bytes as u32);
        true
    }

    /// Whether the next datagram acknowledges too: each does until the peer is known to be there (section 8.1.5), and then one in
    /// a window, so that the receiver can forget what it has told (RFC 4341 section 6.2).
    fn acknowledges_with_data(&self) -> bool {
        let window = self.sender.control.cwnd() / u64::from(self.config.payload);
        self.state == State::PartOpen || self.owes_ack && self.next >= self.acknowledged_at + window.max(1)
    }

    fn send_ack(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.receiver.due() > now || self.is_over() {
            return false;
        }
        packet.kind = Kind::Ack;
        self.receiver.acknowledge(now, packet);
        true
    }

    /// ECN codepoint for a packet.
    pub fn ecn(&self, packet: &Packet) -> Ecn {
        if self.config.ecn && packet.kind.has_data() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::PartOpen | State::Open)
    }
    /// State of the connection.
    pub fn state(&self) -> State {
        self.state
    }
    /// Whether the connection is over.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }
    /// Reason why it gave up, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }
    /// Time from which data may flow.
    pub fn ready(&self) -> Option<Time> {
        self.ready
    }
    /// The congestion control.
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.sender.control
    }
    /// Passes what a steered congestion control has seen and answers to a function, which may change its answers.
    pub fn steer(&mut self, see: &mut dyn FnMut(&mut Steering)) {
        self.sender.control.steering().map(see);
    }
    /// Round-trip times.
    pub fn rtt(&self) -> &RttEstimator {
        &self.sender.rtt
    }
    /// Reason why nothing more is sent `now`.
    pub fn limit(&self, now: Time) -> Limit {
        match self.state {
            State::Listen | State::Request | State::Respond => Limit::Handshake,
            State::PartOpen | State::Open if self.sendable() > 0 => self.sender.limit(now, self.sendable()),
            State::PartOpen | State::Open => Limit::Application,
            State::CloseReq | State::Closing | State::TimeWait | State::Closed => Limit::Done,
        }
    }
    /// Number of retransmission timeouts.
    pub fn expiries(&self) -> u64 {
        self.sender.stats.timeouts
    }
    /// Statistics of the sender.
    pub fn stats(&self) -> &Stats {
        &self.sender.stats
    }
    /// Statistics of the receiver.
    pub fn received(&self) -> &datagrams::Stats {
        &self.read.stats
    }
    /// Bytes of payload in flight.
    pub fn flight(&self) -> u64 {
        self.sender.flight()
    }
    /// Packets of all types that it has sent.
    pub fn packets(&self) -> u64 {
        self.next
    }
    /// Bytes of payload sent.
    pub fn sent_bytes(&self) -> u64 {
        self.queue.bytes()
    }
    /// Whether the window was cut and no packet sent since has been acknowledged.
    pub fn is_recovering(&self) -> bool {
        self.sender.is_recovering()
    }
    /// Records the numbers of messages that arrive whole, for [`take_message`](Self::take_message).
    pub fn watch_messages(&mut self) {
        self.read.watch_messages();
    }
    /// Takes the number of the next message that arrived whole.
    pub fn take_message(&mut self) -> Option<u32> {
        self.read.take_message()
    }
}

/// Datagrams have no place in a stream: what is read counts bytes that have arrived.
impl ByteStream for Endpoint {
    fn write(&mut self, bytes: u64) -> u64 {
        self.queue.write(bytes);
        bytes
    }
    fn unsent(&self) -> u64 {
        self.queue.unsent()
    }
    fn discard_unsent(&mut self) -> u64 {
        self.queue.discard_unsent()
    }
    fn read(&mut self) -> Option<Range<u64>> {
        self.read.read(u64::MAX)
    }
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        self.read.read(limit)
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn is_connected(&self) -> bool {
        self.ready.is_some() && !self.is_over()
    }
    fn peer_closed(&self) -> bool {
        self.peer_closed && self.read.is_drained()
    }
}
