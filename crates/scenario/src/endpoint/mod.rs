//! Endpoints: one end of a flow, whatever its protocol.

mod body;
pub(crate) mod codec;
mod contents;
pub(crate) mod dissector;

pub(crate) use body::Body;
pub(crate) use contents::{Content, Contents};

use crate::measures::counts::{Counts, PathReport, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::SenderState;
use std::any::Any;
use std::ops::Range;
use vazao_application::{Application, Visit};
use vazao_congestion::Steering;
use vazao_engine::{Duration, Ecn, Histogram, Time};
use vazao_transport::common::Limit;
use vazao_transport::{ByteStream, Streams};
use vazao_wire::pcapng::Direction;

/// Identifier of one end of a flow: the flow's number, and 0 for the client or 1 for the server.
pub(crate) type EndId = (usize, usize);

/// Packet as it arrives at an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub body: &'a Body,
    /// ECN codepoint, as queues on the way have left it.
    pub ecn: Ecn,
    pub contents: &'a Contents,
}

/// Packet as an endpoint sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub body: Body,
    /// Bytes on the wire, the network header included.
    pub size: u32,
    /// Index among the flow's ways.
    pub way: usize,
    pub ecn: Ecn,
}

/// Packet where side `at` (0: client, 1: server) of its flow sends or receives it.
#[derive(Clone, Copy)]
pub(crate) struct Crossing<'a> {
    pub at: usize,
    pub direction: Direction,
    /// ECN codepoint at this place.
    pub ecn: Ecn,
    pub body: &'a Body,
    pub contents: &'a Contents,
}

impl Crossing<'_> {
    /// Returns the side that sent it.
    pub fn from(&self) -> usize {
        if self.direction == Direction::Outbound { self.at } else { 1 - self.at }
    }
}

/// Notification of an endpoint to its application, as a sample of a time series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    /// Code of the event.
    pub code: u8,
    pub path: u8,
    /// Detail of the event.
    pub number: u32,
}

/// Data of one stream that has arrived at its receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Inflow {
    /// Number of the stream.
    pub stream: u64,
    /// Bytes that the application has read, or messages delivered to it.
    pub read: u64,
    pub counts_messages: bool,
    /// Bytes that have arrived and wait for earlier data of the stream.
    pub waiting: u64,
    /// Places of the waiting bytes in the stream, unless it is one of messages.
    pub beyond: Vec<Range<u64>>,
}

impl Inflow {
    /// Returns the state of a stream of bytes.
    pub fn bytes(stream: u64, read: u64, beyond: Vec<Range<u64>>) -> Inflow {
        let waiting = beyond.iter().map(|range| range.end - range.start).sum();
        Inflow { stream, read, counts_messages: false, waiting, beyond }
    }
}

/// One end of a flow: a state machine without a clock or a socket.
pub(crate) trait Endpoint: Any {
    /// Handles a packet that has arrived. Returns whether it brought data of the flow.
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool;

    /// Returns the time of the next timeout.
    fn next_timeout(&self) -> Time;

    /// Handles the timers that are due at `now`. Returns whether there were any.
    fn handle_timeout(&mut self, now: Time) -> bool;

    /// Runs the application at this end.
    fn drive(&mut self, now: Time, application: &mut Application);

    /// Runs a visit on this connection.
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool);

    /// Returns the next packet to send now, if there is one; call again until there is none.
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure>;

    /// Returns whether nothing is left to do.
    fn is_over(&self) -> bool;

    /// Returns the reason of a failure, in words for the user.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Returns the time from which data might flow, if there is a connection.
    fn ready(&self) -> Option<Time> {
        None
    }

    /// Returns whether it shares nothing with other endpoints and asks nobody but the packets that come and its timers.
    fn is_isolated(&self) -> bool {
        false
    }

    /// Returns the bytes that its application has written and that were never sent, where that is known.
    fn unsent(&self) -> u64 {
        0
    }

    /// Returns a time before which it cannot give up, as seen at `now`; `None`: that is never known.
    fn stands_until(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Releases memory that only a busy endpoint needs.
    fn shrink(&mut self) {}

    /// Passes the state of its sender to a function, if there is one.
    fn with_state(&self, see: &mut dyn FnMut(&dyn SenderState));

    /// Returns what has arrived of each stream; nothing, where data has no order.
    fn inflows(&self) -> Vec<Inflow> {
        Vec::new()
    }

    /// Passes what the congestion control that an agent steers has seen and answers to a function, which may change its
    /// answers; nothing happens where there is none.
    fn steer(&mut self, _see: &mut dyn FnMut(&mut Steering)) {}

    /// Records the state of its sender in a measure.
    #[inline]
    fn observe(&self, now: Time, measure: &mut FlowMeasure) {
        self.with_state(&mut |sender| measure.on_sender_event(now, sender));
    }

    /// Returns the reason why it sends nothing more `now`, if a congestion control and a connection decide that.
    fn limit(&self, _now: Time) -> Option<Limit> {
        None
    }

    /// Returns how often a timeout after which it sends again, or probes, has expired.
    fn expiries(&self) -> u64 {
        0
    }

    /// Returns its counts as a sender until `end`.
    fn counts(&self, end: Time) -> Counts<'_>;

    /// Returns its counts as a receiver, to which `dropped` packets were lost on the way.
    fn arrivals(&self, dropped: u64) -> Tally {
        Tally::default().with("packets_lost", dropped)
    }

    /// Returns reports on its paths from `start` to `end`, if it has several or might have; `receiver` is its peer,
    /// unless a guest plays it.
    fn paths(&self, _receiver: Option<&dyn Endpoint>, _start: Time, _end: Time) -> Option<Vec<PathReport>> {
        None
    }

    /// Returns the bytes that it knows to have arrived at its peer, for connections whose application does not count them.
    fn delivered(&self) -> Option<u64> {
        None
    }

    /// Returns how often data came that does not belong at its place in the stream.
    fn misplaced(&self) -> u64 {
        0
    }

    /// Returns whether all data arrives at last or is reported as abandoned.
    fn is_reliable(&self) -> bool {
        true
    }

    /// Returns the latencies of its messages, if the receiver itself knows them.
    fn latency(&self) -> Option<&Histogram> {
        None
    }

    /// Returns whether every message of the sender was read or reported as abandoned; `None`: messages are never abandoned.
    fn accounts_for(&self, _sender: &dyn Endpoint) -> Option<bool> {
        None
    }

    /// Records what [`credit`](Self::credit) needs; called at both ends before the flow starts.
    fn watch_messages(&mut self, _is_receiver: bool) {}

    /// Records notifications for [`notices`](Self::notices), and latencies for [`take_latencies`](Self::take_latencies).
    fn watch_notices(&mut self) {}

    /// Takes the latencies of its messages since the last call, if the receiver itself knows them.
    fn take_latencies(&mut self) -> Vec<Duration> {
        Vec::new()
    }

    /// Tells the sender's application what the application at this end has read.
    fn credit(&mut self, now: Time, own: &Application, _peer: &mut dyn Endpoint, application: &mut Application) {
        if let Some(sink) = own.sink() {
            application.deliver(now, sink.received());
        }
    }

    /// Takes the notifications since the last call.
    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// Hands the qlog records since the last call to a function.
    fn take_log(&mut self, _take: &mut dyn FnMut(&[u8])) {}

    /// Takes the lines of its key log since the last call.
    fn take_secrets(&mut self) -> String {
        String::new()
    }

    /// Learns that the network has dropped a packet to this end. Returns whether it may act now.
    fn note_drop(&mut self, _body: &Body, _contents: &Contents) -> bool {
        false
    }

    /// Returns the number of packets sent, if it is done and its protocol has no way to say so.
    fn unannounced_end(&self) -> Option<u64> {
        None
    }

    /// Learns the number of packets sent to it, where none of them is marked as the last.
    fn expect(&mut self, _packets: u64) {}
}

/// Returns an endpoint as one of a certain protocol.
pub(crate) fn known<E: Endpoint>(endpoint: &dyn Endpoint) -> Option<&E> {
    (endpoint as &dyn Any).downcast_ref()
}

/// Returns an endpoint as a mutable one of a certain protocol.
pub(crate) fn known_mut<E: Endpoint>(endpoint: &mut dyn Endpoint) -> Option<&mut E> {
    (endpoint as &mut dyn Any).downcast_mut()
}

/// Turn of a visit to act on one of its connections.
pub(crate) struct Turn<'a> {
    pub visit: &'a mut Visit,
    pub now: Time,
    pub connection: usize,
    pub is_client: bool,
}

impl Turn<'_> {
    /// Acts on a connection of one stream. Returns the time of the next turn, and whether it wants one as soon as its
    /// data has left.
    pub fn on(self, stream: &mut impl ByteStream) -> (Time, bool) {
        if self.is_client {
            (self.visit.drive_client(self.now, self.connection, stream), false)
        } else {
            (Time::NEVER, self.visit.drive_server(self.connection, stream))
        }
    }

    /// Acts on a connection with a stream for each response, if the visit uses streams, else on its one stream.
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
