//! UDP (RFC 768) as a state machine, with the extras of a measuring tool such as iperf: numbered, timestamped
//! datagrams, and a receiver that counts losses, duplicates and reordering.

use crate::common::ByteStream;
pub use crate::common::datagrams::{Datagram, Stats};
use crate::common::datagrams::{Receiver, Sender};
use std::ops::Range;
use vazao_engine::registry::{Kind, Parameter, parameters};
use vazao_engine::{Duration, Rate, Time};

/// Bytes of the UDP header.
pub const HEADER: u32 = 8;

parameters! {
    /// Configuration of an endpoint. Without a rate each write is a message that leaves at once, in one or more
    /// datagrams.
    #[derive(Copy)]
    pub struct Config {
        pub rate: Option<Rate> = Parameter::shared(
            Kind::Rate, "", "rate of an upload's payload: 1 Mbps unless given; others have their own pace",
        ).eg("5 Mbps"),
            else Some(Rate::from_bps(1_000_000));
        pub payload: u16 = Kind::Integer(16, 1472), "1472",
            "bytes of a datagram's payload at most: what fits one packet";
    }
}

/// One endpoint of a datagram flow.
///
/// Without feedback a receiver cannot detect losses at the end. The code that carries the datagrams informs it, like a
/// measuring tool that sees both ends: how many datagrams there were ([`expect`](Self::expect)), and which are lost
/// ([`lose`](Self::lose)). The flow is complete once each datagram has arrived or is known to be lost.
#[derive(Clone, Debug)]
pub struct Endpoint {
    sender: Sender,
    receiver: Receiver,
    closed: bool,
}

impl Endpoint {
    /// Creates an endpoint.
    pub fn new(config: Config) -> Endpoint {
        Endpoint { sender: Sender::new(config.payload, config.rate), receiver: Receiver::default(), closed: false }
    }

    /// Returns the next datagram to send at `now`; call again until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        self.sender.next(now)
    }
    /// Handles an arriving datagram.
    pub fn handle(&mut self, now: Time, datagram: &Datagram) {
        self.receiver.handle(now, datagram);
    }
    /// Time at which the next datagram is due.
    pub fn next_timeout(&self) -> Time {
        self.sender.due()
    }
    /// Whether the application has closed and everything has been sent.
    pub fn is_over(&self) -> bool {
        self.closed && self.sender.is_idle()
    }

    /// Datagrams sent.
    pub fn sent(&self) -> u64 {
        self.sender.datagrams()
    }
    /// Counters of the receiver.
    pub fn stats(&self) -> &Stats {
        &self.receiver.stats
    }
    /// Keeps the latency of each message that comes whole, for [`take_latencies`](Self::take_latencies).
    pub fn watch_latencies(&mut self) {
        self.receiver.watch_latencies();
    }
    /// Takes the latencies of the messages that came whole since the last call, in their order.
    pub fn take_latencies(&mut self) -> Vec<Duration> {
        self.receiver.take_latencies()
    }
    /// Datagrams lost, without those of which another copy arrived.
    pub fn lost(&self) -> u64 {
        self.receiver.lost()
    }
    /// Sets the total number of datagrams in the flow.
    pub fn expect(&mut self, datagrams: u64) {
        self.receiver.expected = Some(datagrams);
    }
    /// Reports the loss of a datagram to this end.
    pub fn lose(&mut self, datagram: &Datagram) {
        self.receiver.lose(datagram);
    }
}

/// Datagrams have no stream offsets: reads count bytes that have arrived, each datagram's once.
impl ByteStream for Endpoint {
    fn write(&mut self, bytes: u64) -> u64 {
        self.sender.write(bytes);
        bytes
    }
    fn discard_unsent(&mut self) -> u64 {
        self.sender.discard_unsent()
    }
    fn read(&mut self) -> Option<Range<u64>> {
        self.receiver.read(u64::MAX)
    }
    fn read_at_most(&mut self, limit: u64) -> Option<Range<u64>> {
        self.receiver.read(limit)
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn is_connected(&self) -> bool {
        true
    }
    fn peer_closed(&self) -> bool {
        self.receiver.is_complete()
    }
}
