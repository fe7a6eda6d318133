//! Traffic: what endpoints send and receive. An application knows a [`Stream`], no protocol and no network.

mod bulk;
mod registry;

pub use bulk::{Pace, Sink, Source};
pub use registry::{APPLICATIONS, Constructor, Sides};

use vazao_engine::Time;
use vazao_transport::Stream;

/// One side of an application, at one end of a connection.
#[derive(Clone, Debug)]
pub enum Application {
    /// Sends in bulk.
    Source(Source),
    /// Receives and checks.
    Sink(Sink),
    /// A program of the user's, as a shell's command; only a guest can run it.
    Program(String),
}

impl Application {
    /// Does what can be done at `now`: called once the connection is set up and whenever something has happened.
    #[inline]
    pub fn drive(&mut self, now: Time, stream: &mut impl Stream) {
        match self {
            Application::Source(source) => source.drive(now, stream),
            Application::Sink(sink) => sink.drive(now, stream),
            Application::Program(_) => {}
        }
    }

    /// When it wants to be driven even if nothing happens.
    #[inline]
    pub fn next_wake(&self) -> Time {
        match self {
            Application::Source(source) => source.next_wake(),
            Application::Sink(sink) => sink.next_wake(),
            Application::Program(_) => Time::NEVER,
        }
    }
}
