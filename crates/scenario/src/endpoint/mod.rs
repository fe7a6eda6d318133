//! What the world moves: one end of a flow, whatever protocol it speaks and whoever wrote it.

mod body;
pub(crate) mod codec;
mod contents;

pub(crate) use body::Body;
pub(crate) use contents::{Content, Contents};

use crate::measures::counts::{Counts, PathReport, Tally};
use crate::measures::measure::{FlowMeasure, SenderState};
use std::any::Any;
use vazao_application::{Application, Visit};
use vazao_engine::{Ecn, Histogram, Time};
use vazao_transport::{ByteStream, Streams};
use vazao_wire::pcapng::Direction;

/// One end of a flow: the flow's number, and 0 for its client or 1 for its server.
pub(crate) type EndId = (usize, usize);

/// A packet as it arrives at an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub body: &'a Body,
    /// Its ECN codepoint, as queues on the way have left it.
    pub ecn: Ecn,
    pub contents: &'a Contents,
}

/// A packet as an endpoint sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub body: Body,
    /// Bytes on the wire, the network header included.
    pub size: u32,
    /// By which of the flow's ways it goes.
    pub way: usize,
    pub ecn: Ecn,
}

/// A packet of an endpoint's where side `at` (0: client, 1: server) of its flow sends it or receives it.
#[derive(Clone, Copy)]
pub(crate) struct Crossing<'a> {
    pub at: usize,
    pub direction: Direction,
    /// Its ECN codepoint as it is there.
    pub ecn: Ecn,
    pub body: &'a Body,
    pub contents: &'a Contents,
}

impl Crossing<'_> {
    /// The side that sent it.
    pub fn from(&self) -> usize {
        if self.direction == Direction::Outbound { self.at } else { 1 - self.at }
    }
}

/// Something that an endpoint tells its application, as a sample of a time series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    /// Which event it is, by its code.
    pub code: u8,
    pub path: u8,
    /// What else is told of it.
    pub number: u32,
}

/// One end of a flow, a machine without a clock or a socket.
pub(crate) trait Endpoint: Any {
    /// Handles a packet that has arrived. Returns whether it brought data of the flow.
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool;

    /// Returns the time of the next timeout.
    fn next_timeout(&self) -> Time;

    /// Handles the timers that are due at `now`. Returns whether there were any.
    fn handle_timeout(&mut self, now: Time) -> bool;

    /// Lets the application at this end act.
    fn drive(&mut self, now: Time, application: &mut Application);

    /// Lets a visit act on this connection.
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool);

    /// Returns the next packet to send now, if there is one; call again until there is none.
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure>;

    /// Whether it has nothing more to do.
    fn is_over(&self) -> bool;

    /// Why it gave up, if it did, in words for the user.
    fn failure(&self) -> Option<String> {
        None
    }

    /// When data might flow, if it has a connection.
    fn ready(&self) -> Option<Time> {
        None
    }

    /// Gives back memory that it needs only while it is busy.
    fn shrink(&mut self) {}

    /// Shows the state of its sender, if it has any.
    fn with_state(&self, see: &mut dyn FnMut(&dyn SenderState));

    /// Tells a measure what has become of its sender's window.
    #[inline]
    fn observe(&self, now: Time, measure: &mut FlowMeasure) {
        self.with_state(&mut |sender| measure.on_sender_event(now, sender));
    }

    /// What it counted as a sender by `end`.
    fn counts(&self, end: Time) -> Counts<'_>;

    /// What it counted as a receiver, to which `dropped` packets were lost on the way.
    fn arrivals(&self, dropped: u64) -> Tally {
        Tally::default().with("packets_lost", dropped)
    }

    /// The paths that it sends by, watched from `start` to `end`, if it has several or might have; `receiver` is its peer, where
    /// that is ours.
    fn paths(&self, _receiver: Option<&dyn Endpoint>, _start: Time, _end: Time) -> Option<Vec<PathReport>> {
        None
    }

    /// Bytes that it has sent and knows to have arrived, for connections whose application does not tell.
    fn delivered(&self) -> Option<u64> {
        None
    }

    /// How often data came that was not what belongs at its place.
    fn misplaced(&self) -> u64 {
        0
    }

    /// Whether everything that is sent arrives at last, or is given up by name.
    fn is_reliable(&self) -> bool {
        true
    }

    /// How long its messages took, where the receiver itself knows that.
    fn latency(&self) -> Option<&Histogram> {
        None
    }

    /// Whether every message of the peer's was read or reported to be given up, where messages may be given up.
    fn accounts_for(&self, _sender: &dyn Endpoint) -> Option<bool> {
        None
    }

    /// Keeps what [`credit`](Self::credit) needs to know; told to both ends before anything happens.
    fn watch_messages(&mut self, _is_receiver: bool) {}

    /// Keeps what it tells its application, for [`notices`](Self::notices).
    fn watch_notices(&mut self) {}

    /// Tells the sender's application what the one at this end has read, as a tool that sees both ends can.
    fn credit(&mut self, now: Time, own: &Application, _peer: &mut dyn Endpoint, application: &mut Application) {
        if let Some(sink) = own.sink() {
            application.deliver(now, sink.received());
        }
    }

    /// Takes what it has told its application since the last call.
    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// Takes what it has logged since the last call: records of qlog.
    fn take_log(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes the secrets by which its packets can be read that came up since the last call: lines of a key log.
    fn take_secrets(&mut self) -> String {
        String::new()
    }

    /// Learns that the network has dropped a packet to this end, as a tool that sees both ends can. Returns whether it may act now.
    fn note_drop(&mut self, _body: &Body, _contents: &Contents) -> bool {
        false
    }

    /// How many packets it sent, if it is done and its protocol has no way to say so.
    fn unannounced_end(&self) -> Option<u64> {
        None
    }

    /// Learns how many packets were sent to it, where nothing in them says which is the last.
    fn expect(&mut self, _packets: u64) {}
}

/// An endpoint of a certain protocol, where two ends of one flow must know each other.
pub(crate) fn known<E: Endpoint>(endpoint: &dyn Endpoint) -> Option<&E> {
    (endpoint as &dyn Any).downcast_ref()
}

/// An endpoint of a certain protocol, to change.
pub(crate) fn known_mut<E: Endpoint>(endpoint: &mut dyn Endpoint) -> Option<&mut E> {
    (endpoint as &mut dyn Any).downcast_mut()
}

/// A visit's turn to act on one of its connections.
pub(crate) struct Turn<'a> {
    pub visit: &'a mut Visit,
    pub now: Time,
    pub connection: usize,
    pub is_client: bool,
}

impl Turn<'_> {
    /// Acts on a connection of one stream. Returns when it wants to act again, and whether that is as soon as what it has written
    /// has left.
    pub fn on(self, stream: &mut impl ByteStream) -> (Time, bool) {
        if self.is_client {
            (self.visit.drive_client(self.now, self.connection, stream), false)
        } else {
            (Time::NEVER, self.visit.drive_server(self.connection, stream))
        }
    }

    /// Acts on a connection with streams of its own for each response, if the visit wants those, else on its one stream.
    pub fn on_streams(self, streams: &mut impl Streams) -> (Time, bool) {
        if !self.visit.uses_streams() {
            return self.on(streams);
        }
        if self.is_client {
            return (self.visit.drive_client_streams(self.now, self.connection, streams), false);
        }
        self.visit.drive_server_streams(self.connection, streams);
        (Time::NEVER, false)
    }
}
