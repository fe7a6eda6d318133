//! Visits to web servers over HTTP: loading a page, watching a video.
//!
//! A [`Visit`] is the whole of it, both sides and all connections, and whoever moves the connections owns it; an application
//! at the end of one of them is no more than its name ([`VisitEnd`]).

mod adaptation;
mod http;
pub(crate) mod page;
mod streams;
pub(crate) mod video;

pub use adaptation::{ADAPTATIONS, Adaptation, BufferBased, RateBased, Situation};
pub use http::{Http, Version};
pub use video::Viewing;

use crate::RandomStreams;
use page::Page;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use vazao_engine::registry::Parameters;
use vazao_engine::{Duration, Histogram, Rate, Time};
use vazao_transport::ByteStream;
use video::Player;

/// One end of one connection of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitEnd {
    /// Number of its visit.
    pub visit: u32,
    /// Number of the connection in the visit.
    pub connection: u32,
    /// Time at which it wants to be driven even if nothing happens.
    pub wake: Time,
}

/// Task for another connection of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Open it at the client.
    Open(usize),
    /// Drive its client.
    Drive(usize),
}

/// Progress of a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Responses that have come whole: objects of a page, segments of a video.
    pub objects: u64,
    /// Video in the buffer, when the latest segment came.
    pub buffer: Option<Duration>,
    /// The rate of that segment.
    pub bitrate: Option<Rate>,
}

/// User of a visit.
#[derive(Debug)]
enum User {
    Page(Page),
    Video(Box<Player>),
}

impl User {
    /// Returns the number of objects that could be requested now.
    fn wishes(&mut self, now: Time) -> usize {
        match self {
            User::Page(page) => page.wishes(),
            User::Video(player) => player.wishes(now),
        }
    }

    /// Returns the size of the next object.
    fn wish(&mut self, now: Time) -> Option<u64> {
        match self {
            User::Page(page) => page.wish(),
            User::Video(player) => player.wish(now),
        }
    }
}

/// A request and its response.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// Bytes of the body.
    body: u64,
    /// Unwritten rest of the response: bytes before the body, and of the body.
    head: u64,
    left: u64,
    /// Bytes of the response, and those of them that the client has read.
    wire: u64,
    read: u64,
}

/// A connection, both ends of it. Stream offsets.
#[derive(Clone, Debug, Default)]
struct HttpConnection {
    /// Whether it was opened.
    is_open: bool,
    /// Whether its client has seen it established.
    stands: bool,
    /// Requests without their whole response.
    waiting: usize,
    /// Ends of the requests under way.
    requests: VecDeque<(u64, usize)>,
    /// The client's: the end of what is to be written, of what was written.
    asked: u64,
    asked_written: u64,
    /// The server's: what it has read, the end of what is to be written, of what was written.
    heard: u64,
    offered: u64,
    written: u64,
    /// Responses that the server has to write, the one whose turn it is first.
    serving: VecDeque<usize>,
    /// Ends of the parts of responses under way, and the end of the data that was read.
    parts: VecDeque<(u64, usize)>,
    read: u64,
    /// Exchange on each stream, if each exchange has one.
    streams: BTreeMap<u64, usize>,
}

/// Most bytes that a server leaves in its send buffer before it chooses the next data, so that late requests get their
/// turn: what `tcp_notsent_lowat` is set to for that (P. Meenan, *Optimizing HTTP/2 prioritization with BBR and
/// tcp_notsent_lowat*, 2018).
const LOW_WATER: u64 = 16_384;

/// A page or a video from beginning to end.
#[derive(Debug)]
pub struct Visit {
    http: Http,
    user: User,
    start: Time,
    exchanges: Vec<Exchange>,
    connections: Vec<HttpConnection>,
    calls: VecDeque<Call>,
    first: Option<Time>,
    last: Option<Time>,
    /// Latencies from the start of the visit to the last byte of each response.
    latency: Histogram,
    disordered: bool,
    /// Whether no more requests follow.
    closing: bool,
}

impl Visit {
    /// Returns whether each response has a stream of its own, so that ends are driven by their streams.
    pub fn uses_streams(&self) -> bool {
        self.http.version == Version::Http3
    }

    fn new(http: Http, user: User) -> Visit {
        Visit {
            http,
            user,
            start: Time::ZERO,
            exchanges: Vec::new(),
            connections: vec![HttpConnection::default(); http.connections],
            calls: VecDeque::new(),
            first: None,
            last: None,
            latency: Histogram::default(),
            disordered: false,
            closing: false,
        }
    }

    pub(crate) fn page(parameters: &Parameters, streams: RandomStreams) -> Visit {
        Visit::new(page::http(parameters), User::Page(Page::new(parameters, streams)))
    }

    pub(crate) fn video(parameters: &Parameters, _: RandomStreams) -> Visit {
        let settings = video::Settings::from(parameters);
        Visit::new(Http::serial(settings.request, settings.header), User::Video(Box::new(Player::new(settings))))
    }

    /// Begins the visit at `start`, when its first connection is opened.
    pub fn begin(mut self, start: Time) -> Visit {
        self.start = start;
        self.connections[0].is_open = true;
        if let User::Video(player) = &mut self.user {
            player.begin(start);
        }
        self
    }

    /// Returns the most connections that it opens.
    pub fn most_connections(&self) -> usize {
        self.connections.len()
    }
    /// Returns whether only the run's end would end it.
    pub fn is_endless(&self) -> bool {
        matches!(&self.user, User::Video(player) if player.is_endless())
    }
    /// Returns its duration, if one was given.
    pub fn duration(&self) -> Option<Duration> {
        match &self.user {
            User::Page(_) => None,
            User::Video(player) => player.duration(),
        }
    }
    /// Bytes of all bodies, at most, if that was said.
    pub fn volume(&self) -> Option<f64> {
        match &self.user {
            User::Page(page) => Some(page.volume() as f64),
            User::Video(player) => player.volume(),
        }
    }

    /// Returns the next task for another connection.
    pub fn next_call(&mut self) -> Option<Call> {
        self.calls.pop_front()
    }

    /// Every client closes its connection: all has come, or a connection was lost and with it what was asked for there.
    pub fn end(&mut self) {
        if !self.closing {
            self.closing = true;
            let open =
                |(number, connection): (usize, &HttpConnection)| connection.is_open.then_some(Call::Drive(number));
            self.calls = self.connections.iter().enumerate().filter_map(open).collect();
        }
    }

    // ---- the client --------------------------------------------------------------------------------------------

    /// Runs the client on a connection at `now`. Returns the time at which it wants to be driven again.
    pub fn drive_client(&mut self, now: Time, number: usize, stream: &mut impl ByteStream) -> Time {
        self.receive(now, number, stream);
        let stands = stream.is_connected();
        self.connections[number].stands = stands;
        if stands && !self.closing {
            self.ask(now, number);
            let connection = &mut self.connections[number];
            connection.asked_written += stream.write(connection.asked - connection.asked_written);
        }
        self.go_on(now, number, stream)
    }

    /// Closes once all has come; until then the other connections hear what there is to do. Says when to look again.
    fn go_on(&mut self, now: Time, number: usize, stream: &mut (impl ByteStream + ?Sized)) -> Time {
        if self.is_complete() {
            self.end();
        }
        if self.closing {
            stream.close();
            return Time::NEVER;
        }
        self.hire(now, number);
        match &self.user {
            User::Video(player) if self.connections[number].stands => player.next_wake(),
            _ => Time::NEVER,
        }
    }

    /// Returns whether all its objects have come.
    pub fn is_complete(&self) -> bool {
        match &self.user {
            User::Page(page) => page.is_done(),
            User::Video(player) => player.is_fetched(),
        }
    }

    /// Asks for as much as the connection may have waiting.
    fn ask(&mut self, now: Time, number: usize) {
        while self.connections[number].waiting < self.http.depth() {
            let Some(body) = self.user.wish(now) else { return };
            let connection = &mut self.connections[number];
            let is_first = connection.asked == 0;
            connection.waiting += 1;
            connection.asked += self.http.request_bytes(is_first);
            connection.requests.push_back((connection.asked, self.exchanges.len()));
            let (head, wire) = (self.http.head_bytes(is_first), self.http.response_bytes(body, is_first));
            self.exchanges.push(Exchange { body, head, left: body, wire, read: 0 });
        }
    }

    /// While there is more to ask for: connections that stand idle are told, and if they are too few, one more is opened.
    fn hire(&mut self, now: Time, number: usize) {
        let wishes = self.user.wishes(now);
        let mut idle = 0;
        for (other, connection) in self.connections.iter_mut().enumerate() {
            if idle < wishes && !connection.is_open {
                connection.is_open = true;
                self.calls.push_back(Call::Open(other));
            } else if idle < wishes && other != number && connection.stands && connection.waiting == 0 {
                self.calls.push_back(Call::Drive(other));
            }
            idle += usize::from(connection.waiting == 0);
        }
    }

    /// Reads what has come, and credits it to the responses that it belongs to.
    fn receive(&mut self, now: Time, number: usize, stream: &mut impl ByteStream) {
        let connection = &mut self.connections[number];
        let Some(range) = stream.read() else { return };
        self.disordered |= range.start != connection.read || range.end > connection.offered;
        self.first.get_or_insert(now);
        self.last = Some(now);
        let mut from = connection.read;
        connection.read = range.end;
        while let Some(&(end, exchange)) = self.connections[number].parts.front() {
            let to = end.min(range.end);
            self.exchanges[exchange].read += to - from;
            from = to;
            if to < end {
                break;
            }
            self.connections[number].parts.pop_front();
            if self.exchanges[exchange].read == self.exchanges[exchange].wire {
                self.finish(now, number);
            }
        }
    }

    /// Handles the end of a response.
    fn finish(&mut self, now: Time, number: usize) {
        self.connections[number].waiting -= 1;
        self.latency.record(now.since(self.start));
        match &mut self.user {
            User::Page(page) => page.on_response(),
            User::Video(player) => player.on_response(now),
        }
    }

    // ---- the server --------------------------------------------------------------------------------------------

    /// Runs the server on a connection. Returns whether it would write more once its data has left.
    pub fn drive_server(&mut self, number: usize, stream: &mut impl ByteStream) -> bool {
        let connection = &mut self.connections[number];
        if let Some(range) = stream.read() {
            self.disordered |= range.start != connection.heard || range.end > connection.asked;
            connection.heard = range.end;
        }
        while let Some(&(end, exchange)) = connection.requests.front()
            && end <= connection.heard
        {
            connection.requests.pop_front();
            connection.serving.push_back(exchange);
        }
        let before = connection.written;
        loop {
            let connection = &mut self.connections[number];
            connection.written += stream.write(connection.offered - connection.written);
            if connection.written < connection.offered || stream.unsent() >= LOW_WATER || !self.offer(number) {
                break;
            }
        }
        if stream.peer_closed() {
            stream.close();
        }
        let connection = &self.connections[number];
        connection.written > before && !connection.serving.is_empty()
    }

    /// Adds the next part of a response to what is to be written, if there is one.
    fn offer(&mut self, number: usize) -> bool {
        let connection = &mut self.connections[number];
        let Some(&turn) = connection.serving.front() else { return false };
        let exchange = &mut self.exchanges[turn];
        let part = self.http.part(exchange.left);
        connection.offered += exchange.head + self.http.part_bytes(part);
        (exchange.head, exchange.left) = (0, exchange.left - part);
        connection.parts.push_back((connection.offered, turn));
        if exchange.left == 0 {
            connection.serving.pop_front();
        } else if self.http.turn.is_some() {
            connection.serving.rotate_left(1);
        }
        true
    }

    // ---- what became of it -------------------------------------------------------------------------------------

    /// Returns the number of responses that were asked for.
    pub fn asked(&self) -> usize {
        self.exchanges.len()
    }
    /// Returns the bytes of a response, headers and frames included, and those of them that the client has read.
    pub fn response(&self, number: usize) -> (u64, u64) {
        let Exchange { wire, read, .. } = self.exchanges[number];
        (wire, read)
    }
    /// Calls a function with each response to which unread bytes `range` of a connection's stream belong, and their number.
    pub fn split(&self, connection: usize, stream: u64, range: &Range<u64>, mut see: impl FnMut(usize, u64)) {
        let connection = &self.connections[connection];
        if self.uses_streams() {
            let response = connection.streams.get(&stream);
            return response.into_iter().for_each(|&response| see(response, range.end - range.start));
        }
        let mut start = connection.read;
        for &(end, response) in &connection.parts {
            let bytes = range.end.min(end).saturating_sub(range.start.max(start));
            if bytes > 0 {
                see(response, bytes);
            }
            start = end;
        }
    }
    /// Returns the video in the buffer at `now`, and whether it plays.
    pub fn level(&self, now: Time) -> Option<(Duration, bool)> {
        match &self.user {
            User::Page(_) => None,
            User::Video(player) => Some(player.level(now)),
        }
    }
    /// Returns its progress.
    pub fn progress(&self) -> Progress {
        let objects = self.latency.count();
        let (buffer, bitrate) = match &self.user {
            User::Page(_) => (None, None),
            User::Video(player) => (Some(player.buffer()), player.bitrate()),
        };
        Progress { objects, buffer, bitrate }
    }
    /// Bytes of bodies that have come whole.
    pub fn delivered(&self) -> u64 {
        self.exchanges.iter().filter(|exchange| exchange.read == exchange.wire).map(|exchange| exchange.body).sum()
    }
    /// Returns whether every byte of every response was read once and in its place, and none that was not written.
    pub fn is_intact(&self) -> bool {
        !self.disordered && self.exchanges.iter().all(|exchange| exchange.read <= exchange.wire)
    }
    /// Returns the time at which the first byte of a response was read.
    pub fn first_byte(&self) -> Option<Time> {
        self.first
    }
    /// Returns the time at which the last byte so far was read.
    pub fn last_byte(&self) -> Option<Time> {
        self.last
    }
    /// Returns the latencies from the start to the last byte of each response that has come.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }
    /// Returns whether a connection was opened.
    pub fn is_open(&self, number: usize) -> bool {
        self.connections[number].is_open
    }
    /// Returns the viewing of a video until now.
    pub fn viewing(&self, now: Time) -> Option<Viewing> {
        match &self.user {
            User::Page(_) => None,
            User::Video(player) => Some(player.viewing(now)),
        }
    }
}
