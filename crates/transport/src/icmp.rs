//! ICMP's echo (RFC 792) as a state machine: requests as the application writes them, each answered by a reply with the
//! same data, and the round-trip times between them, as ping tells them.

use crate::common::ByteStream;
use crate::common::counters;
use crate::common::datagrams::{Datagram, Receiver, Sender, Stats as Arrivals};
use std::collections::VecDeque;
use std::ops::Range;
use vazao_engine::registry::{Kind, parameters};
use vazao_engine::{Duration, Histogram, Time};

/// Bytes of an echo message's header.
pub const HEADER: u32 = 8;

/// Most bytes of data in a request, which fit one packet of 1500 bytes.
pub const LARGEST: u16 = 1472;

parameters! {
    /// Configuration of an endpoint.
    #[derive(Copy)]
    pub struct Config {
        pub linger: Duration = Kind::Duration(Duration::ZERO, Duration::from_secs(3600)), "10 s",
            "how long the last replies are waited for where none has come; else twice the longest round trip, as \
             iputils' ping does";
    }
}

counters! {
    /// Counters of the end that asks.
    pub struct Stats {
        /// Replies, each request's counted once.
        pub replies: u64 = "replies",
        /// Round-trip times.
        pub rtt: Histogram,
    }
}

/// One end: the one that asks, or the one that answers.
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: Config,
    asks: bool,
    sender: Sender,
    /// Requests at the end that answers, replies at the end that asks.
    receiver: Receiver,
    /// Replies that are to leave.
    replies: VecDeque<Datagram>,
    stats: Stats,
    /// Sum of the squares of the round-trip times, in seconds.
    squares: f64,
    latest: Duration,
    shortest: Option<Duration>,
    /// When the last request left.
    asked: Time,
    closed: bool,
    over: bool,
}

impl Endpoint {
    /// Creates the end that asks, or the one that answers.
    pub fn new(config: Config, asks: bool) -> Endpoint {
        Endpoint {
            config,
            asks,
            sender: Sender::new(LARGEST, None),
            receiver: Receiver::default(),
            replies: VecDeque::new(),
            stats: Stats::default(),
            squares: 0.0,
            latest: Duration::ZERO,
            shortest: None,
            asked: Time::ZERO,
            closed: false,
            over: false,
        }
    }

    /// Returns the next message to send at `now`; call again until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if !self.asks {
            return self.replies.pop_front();
        }
        let request = self.sender.next(now)?;
        self.asked = now;
        Some(request)
    }

    /// Handles a message that has arrived: a request is answered at once, a reply measured against its request.
    pub fn handle(&mut self, now: Time, message: &Datagram) {
        if !self.asks {
            self.receiver.handle(now, message);
            // A request that came twice is answered twice.
            return self.replies.push_back(*message);
        }
        let before = self.receiver.stats.datagrams;
        self.receiver.handle(now, message);
        if self.receiver.stats.datagrams > before {
            let rtt = now.since(message.sent);
            self.latest = rtt;
            self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
            self.stats.replies += 1;
            self.stats.rtt.record(rtt);
            self.squares += rtt.as_secs() * rtt.as_secs();
        }
        self.settle(now);
    }

    /// Returns when replies are not waited for any more.
    pub fn next_timeout(&self) -> Time {
        if self.over || !self.has_asked_all() {
            return Time::NEVER;
        }
        let longest = self.stats.rtt.max().map(|seconds| Duration::from_nanos((2e9 * seconds) as u64));
        self.asked.saturating_add(longest.unwrap_or(self.config.linger))
    }

    /// Gives up waiting for replies, if that is due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.over |= self.next_timeout() <= now;
    }

    fn has_asked_all(&self) -> bool {
        self.asks && self.closed && self.sender.is_idle()
    }

    fn settle(&mut self, now: Time) {
        let all = self.has_asked_all() && self.stats.replies == self.sender.datagrams();
        self.over |= all || self.next_timeout() <= now;
    }

    /// Returns whether nothing is left to do: every reply has come or is given up, or the requests are all answered.
    pub fn is_over(&self) -> bool {
        if self.asks { self.over } else { self.closed && self.replies.is_empty() }
    }

    /// Returns the number of requests sent.
    pub fn asked(&self) -> u64 {
        self.sender.datagrams()
    }
    /// Returns the counters of the end that asks.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Returns the latest round-trip time; none yet: zero.
    pub fn latest(&self) -> Duration {
        self.latest
    }
    /// Returns the shortest round-trip time.
    pub fn shortest(&self) -> Option<Duration> {
        self.shortest
    }
    /// Returns the standard deviation of the round-trip times in seconds, of all of them and not of a sample: ping's mdev.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.stats.rtt.mean()?;
        Some((self.squares / self.stats.replies as f64 - mean * mean).max(0.0).sqrt())
    }
    /// Returns what the end that answers counts of requests.
    pub fn received(&self) -> &Arrivals {
        &self.receiver.stats
    }
    /// Returns the number of requests that were lost.
    pub fn lost(&self) -> u64 {
        self.receiver.lost()
    }
    /// Sets the number of requests, which no message says.
    pub fn expect(&mut self, requests: u64) {
        self.receiver.expected = Some(requests);
    }
    /// Reports the loss of a message to this end.
    pub fn lose(&mut self, message: &Datagram) {
        self.receiver.lose(message);
    }
    /// Keeps the latency of each request that arrives, for [`take_latencies`](Self::take_latencies).
    pub fn watch_latencies(&mut self) {
        self.receiver.watch_latencies();
    }
    /// Takes the latencies of the requests that arrived since the last call, in their order.
    pub fn take_latencies(&mut self) -> Vec<Duration> {
        if self.asks { Vec::new() } else { self.receiver.take_latencies() }
    }
}

/// Data of requests; a reply brings the asker nothing to read.
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
