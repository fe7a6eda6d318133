//! Traffic: what endpoints send and receive. An application knows a [`ByteStream`], no protocol and no network.

mod arrivals;
mod bulk;
mod messages;
mod pattern;
mod registry;
mod requests;
mod streams;
mod web;

pub use arrivals::{Arrival, Arrivals};
pub use bulk::{Sink, Source};
pub use messages::Messages;
pub use pattern::{Pattern, Script, ScriptFactory};
pub use registry::{APPLICATIONS, Build, COMMAND, PING, SCRIPTED, Sides};
pub use requests::{Client, Dialogue, Server};
pub use streams::RandomStreams;
pub use web::{
    ADAPTATIONS, Adaptation, BufferBased, Call, Http, Progress, RateBased, Situation, Version, Viewing, Visit, VisitEnd,
};

use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;

/// One side of an application, at one end of a connection.
#[derive(Clone, Debug)]
pub enum Application {
    /// Sends in bulk or message by message.
    Source(Source),
    /// Receives and checks.
    Sink(Sink),
    /// Asks.
    Client(Box<Client>),
    /// Answers.
    Server(Box<Server>),
    /// A program of the user's, as a shell's command; only a guest can run it.
    Program(String),
    /// One of several connections: what to do on it, its [`Visit`] knows, which whoever moves it drives.
    Visit(VisitEnd),
}

impl Application {
    /// Does what can be done at `now`: called once the connection is set up and whenever something has happened.
    #[inline]
    pub fn drive(&mut self, now: Time, stream: &mut impl ByteStream) {
        match self {
            Application::Source(source) => source.drive(now, stream),
            Application::Sink(sink) => sink.drive(now, stream),
            Application::Client(client) => client.drive(now, stream),
            Application::Server(server) => server.drive(now, stream),
            Application::Program(_) | Application::Visit(_) => {}
        }
    }

    /// Returns the time at which it wants to be driven even if nothing happens.
    #[inline]
    pub fn next_wake(&self) -> Time {
        match self {
            Application::Source(source) => source.next_wake(),
            Application::Sink(sink) => sink.next_wake(),
            Application::Client(client) => client.next_wake(),
            Application::Visit(end) => end.wake,
            Application::Server(_) | Application::Program(_) => Time::NEVER,
        }
    }

    /// Notes that the other end has read everything before a stream offset.
    pub fn deliver(&mut self, now: Time, offset: u64) {
        if let Application::Source(source) = self {
            source.deliver(now, offset);
        }
    }

    /// Notes that the other end has read a message, by its number among all that were written here, from
    /// 0 in 32 bits.
    pub fn deliver_message(&mut self, now: Time, number: u32) {
        if let Application::Source(source) = self {
            source.deliver_message(now, number);
        }
    }

    /// Notes that the transport has abandoned a message: if it has not been read, it will not be.
    pub fn abandon_message(&mut self, number: u32) {
        if let Application::Source(source) = self {
            source.abandon_message(number);
        }
    }

    /// Returns the sink, with its reading rate and counts.
    pub fn sink(&self) -> Option<&Sink> {
        match self {
            Application::Sink(sink) => Some(sink),
            Application::Client(client) => Some(&client.sink),
            Application::Server(server) => Some(&server.sink),
            Application::Source(_) | Application::Program(_) | Application::Visit(_) => None,
        }
    }

    /// Bytes of the measured data that it has written, once that is all.
    pub fn written(&self) -> Option<u64> {
        match self {
            Application::Source(source) => source.is_finished().then(|| source.written()),
            Application::Server(server) => server.written(),
            _ => None,
        }
    }

    /// Returns its messages, or its requests.
    pub fn messages(&self) -> Option<&Messages> {
        match self {
            Application::Source(source) => source.messages(),
            Application::Client(client) => Some(client.messages()),
            _ => None,
        }
    }

    fn messages_mut(&mut self) -> Option<&mut Messages> {
        match self {
            Application::Source(source) => source.messages_mut(),
            Application::Client(client) => Some(&mut client.messages),
            _ => None,
        }
    }

    /// Keeps the latency of each of its messages, or requests, for [`take_latencies`](Self::take_latencies).
    pub fn watch_latencies(&mut self) {
        if let Some(messages) = self.messages_mut() {
            messages.watch();
        }
    }

    /// Takes the latencies of its messages, or requests, that have arrived since the last call, in their order.
    pub fn take_latencies(&mut self) -> Vec<Duration> {
        self.messages_mut().map(Messages::take_latencies).unwrap_or_default()
    }
}
