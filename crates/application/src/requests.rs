//! Requests and responses: a client that asks, thinks and asks again, and a server that answers.

use crate::{Messages, RandomStreams, Sink};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use vazao_engine::registry::{Kind, parameters};
use vazao_engine::{Dimension, Duration, Law, RandomStream, Time};
use vazao_transport::ByteStream;

/// Sizes of requests and responses in order: both sides draw the same ones, as if each request said what it wants.
#[derive(Clone, Debug)]
struct Sizes {
    law: Law,
    stream: RandomStream,
}

impl Sizes {
    fn next(&mut self) -> u64 {
        self.law.bytes(&mut self.stream)
    }
}

parameters! {
    /// Settings of a dialogue.
    pub struct Dialogue {
        pub request: Law = Kind::Distribution(Dimension::Size), "200 B", "bytes of a request";
        pub response: Law = Kind::Distribution(Dimension::Size), "10 kB", "bytes of a response";
        pub think: Law = Kind::Distribution(Dimension::Time), "0 s", "from a response to the request after it";
        pub pipeline: u64 = Kind::Integer(1, 10_000), "1", "how many requests may wait for their responses at a time";
        pub count: Option<u64> = Kind::Integer(1, 1_000_000_000), "",
            "how many requests; without it, until the run ends";
        pub duration: Option<Duration> = Kind::Duration(Duration::from_nanos(1), Duration::MAX), "",
            "for how long requests are made, from the moment the connection stands";
    }
}

/// Asks: a closed loop of `pipeline` users, each of which waits for its response and thinks before it asks again.
#[derive(Clone, Debug)]
pub struct Client {
    dialogue: Dialogue,
    requests: Sizes,
    responses: Sizes,
    thinking: RandomStream,
    pub(crate) sink: Sink,
    pub(crate) messages: Messages,
    /// Times at which idle users want to ask.
    ready: BinaryHeap<Reverse<Time>>,
    started: bool,
    deadline: Time,
    asked: u64,
    /// Whether more requests follow.
    asking: bool,
    /// Stream offsets: the end of what was offered and written, and of the last response.
    offered: u64,
    written: u64,
    expected: u64,
    finished: bool,
    /// Whether the connection is not established: nothing is to be done until it is.
    is_cut_off: bool,
}

/// Answers.
#[derive(Clone, Debug)]
pub struct Server {
    requests: Sizes,
    responses: Sizes,
    pub(crate) sink: Sink,
    /// End of the awaited request.
    awaited: u64,
    offered: u64,
    written: u64,
}

impl Dialogue {
    /// Both sides.
    pub fn sides(self, streams: RandomStreams) -> (Client, Server) {
        let requests = Sizes { law: self.request.clone(), stream: streams.of("request") };
        let responses = Sizes { law: self.response.clone(), stream: streams.of("response") };
        let mut server = Server {
            requests: requests.clone(),
            responses: responses.clone(),
            sink: Sink::default(),
            awaited: 0,
            offered: 0,
            written: 0,
        };
        server.awaited = server.requests.next();
        let client = Client {
            dialogue: self,
            requests,
            responses,
            thinking: streams.of("think"),
            sink: Sink::default(),
            messages: Messages::default(),
            ready: BinaryHeap::new(),
            started: false,
            deadline: Time::NEVER,
            asked: 0,
            asking: true,
            offered: 0,
            written: 0,
            expected: 0,
            finished: false,
            is_cut_off: false,
        };
        (client, server)
    }
}

impl Client {
    // Kept out of the loop that every bulk transfer runs through, as a message by message source is.
    #[inline(never)]
    pub(crate) fn drive(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.sink.drive(now, stream);
        self.is_cut_off = !stream.is_connected();
        if self.finished || self.is_cut_off {
            return;
        }
        if !self.started {
            self.started = true;
            self.deadline = self.dialogue.duration.map_or(Time::NEVER, |span| now.saturating_add(span));
            self.ready = (0..self.dialogue.pipeline).map(|_| Reverse(now)).collect();
        }
        for _ in 0..self.messages.read(self.sink.received(), now) {
            let think = Duration::from_nanos(self.dialogue.think.draw(&mut self.thinking).round() as u64);
            self.ready.push(Reverse(now.saturating_add(think)));
        }
        self.asking &= now < self.deadline;
        while self.asking && self.ready.peek().is_some_and(|&Reverse(time)| time <= now) {
            self.ready.pop();
            self.ask(now);
        }
        write_whole(stream, &mut self.written, self.offered);
        if !self.asking && !self.messages.are_under_way() {
            stream.close();
            self.finished = true;
        }
    }

    fn ask(&mut self, now: Time) {
        self.asked += 1;
        self.asking = self.dialogue.count.is_none_or(|count| self.asked < count);
        self.offered += self.requests.next();
        self.expected += self.responses.next();
        self.messages.write(self.expected, now);
    }

    #[inline(never)]
    pub(crate) fn next_wake(&self) -> Time {
        let asks = match self.ready.peek() {
            _ if self.is_cut_off || !self.asking => Time::NEVER,
            Some(&Reverse(time)) => time.min(self.deadline),
            None => self.deadline,
        };
        asks.min(self.sink.next_wake())
    }

    pub(crate) fn is_endless(&self) -> bool {
        self.dialogue.count.is_none() && self.dialogue.duration.is_none()
    }

    /// Returns the duration of its requests.
    pub(crate) fn duration(&self) -> Option<Duration> {
        self.dialogue.duration
    }

    /// Bytes of all responses on average, if their number is given.
    pub(crate) fn volume(&self) -> Option<f64> {
        Some(self.dialogue.count? as f64 * self.dialogue.response.mean())
    }

    /// Returns its requests, from the write of each to the last byte of its response.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }
}

/// Goes on with what was offered; where all of it is written, a request or a response ends.
fn write_whole(stream: &mut impl ByteStream, written: &mut u64, offered: u64) {
    if *written < offered {
        *written += stream.write(offered - *written);
        if *written == offered {
            stream.end_message();
        }
    }
}

impl Server {
    #[inline(never)]
    pub(crate) fn drive(&mut self, now: Time, stream: &mut impl ByteStream) {
        self.sink.drive(now, stream);
        while self.awaited <= self.sink.received() {
            self.offered += self.responses.next();
            self.awaited += self.requests.next();
        }
        write_whole(stream, &mut self.written, self.offered);
    }

    /// Bytes of responses, once the client has closed.
    pub(crate) fn written(&self) -> Option<u64> {
        self.sink.is_closed().then_some(self.written)
    }
}
