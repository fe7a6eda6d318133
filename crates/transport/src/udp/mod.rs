//! UDP (RFC 768) as a machine, with what a measuring tool such as iperf adds to it: numbered, time-stamped datagrams,
//! and a receiver that counts what became of them.

use crate::common::ByteStream;
pub use crate::common::datagrams::{Datagram, Stats};
use crate::common::datagrams::{Receiver, Sender};
use std::ops::Range;
use vazao_engine::{Rate, Time};

/// Bytes of the UDP header.
pub const HEADER: u32 = 8;

/// How an endpoint sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of a datagram's payload, at most.
    pub payload: u16,
    /// The pace of what is written, as payload; without one, each write is a message that leaves at once, in as many
    /// datagrams as it needs.
    pub rate: Option<Rate>,
}

/// One end of a datagram flow.
///
/// There is no feedback, so a receiver cannot know what it missed at the end. Whoever carries the datagrams tells it, as
/// a measuring tool that sees both ends does: how many there were ([`expect`](Self::expect)), and which will not come
/// ([`lose`](Self::lose)). The flow is over once each has arrived or is known to be lost.
#[derive(Clone, Debug)]
pub struct Endpoint {
    sender: Sender,
    receiver: Receiver,
    closed: bool,
}

impl Endpoint {
    /// An end of a flow that has sent and received nothing.
    pub fn new(config: Config) -> Endpoint {
        Endpoint { sender: Sender::new(config.payload, config.rate), receiver: Receiver::default(), closed: false }
    }

    /// The next datagram that is to leave at `now`; call again until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        self.sender.next(now)
    }
    /// A datagram arrives.
    pub fn handle(&mut self, now: Time, datagram: &Datagram) {
        self.receiver.handle(now, datagram);
    }
    /// When the next datagram is due.
    pub fn next_timeout(&self) -> Time {
        self.sender.due()
    }
    /// Whether the application has closed and everything has left.
    pub fn is_over(&self) -> bool {
        self.closed && self.sender.is_idle()
    }

    /// Datagrams sent.
    pub fn sent(&self) -> u64 {
        self.sender.datagrams()
    }
    /// What has arrived.
    pub fn stats(&self) -> &Stats {
        &self.receiver.stats
    }
    /// Datagrams that were lost: those known to be, less those of which another copy came.
    pub fn lost(&self) -> u64 {
        self.receiver.lost()
    }
    /// The flow had so many datagrams in all.
    pub fn expect(&mut self, datagrams: u64) {
        self.receiver.expected = Some(datagrams);
    }
    /// A datagram to this end will not come.
    pub fn lose(&mut self, datagram: &Datagram) {
        self.receiver.lose(datagram);
    }
}

/// Datagrams have no place in a stream: what is read counts bytes that have arrived, each datagram's once.
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
