//! What may watch a run. Watching changes nothing, and costs nothing when it is off.

use crate::measure::SenderState;
use crate::world::Body;
use vazao_application::Progress;
use vazao_engine::{Ecn, Time};
use vazao_network::{Cause, Network};
use vazao_transport::tcp::Extra;
use vazao_transport::{library, quic, sctp};
use vazao_wire::pcapng::Direction;

/// One end of a flow: the flow's number, and 0 for its client or 1 for its server.
pub(crate) type FlowEnd = (usize, usize);

/// A datagram where it is sent or received.
#[derive(Clone, Copy)]
pub(crate) struct Crossing<'a> {
    pub way: Direction,
    pub ecn: Ecn,
    pub datagram: &'a quic::Datagram,
}

/// An observer of a run: time series, captures, logs.
pub(crate) trait Probe {
    /// Whether it wants to know at all; when false the calls compile to nothing.
    const ON: bool;

    /// One of our machines sends a packet; the extra is a segment's that has one.
    fn on_send(&mut self, _now: Time, _end: FlowEnd, _body: &Body, _extra: &Extra) {}
    /// One of our machines receives a packet.
    fn on_receive(&mut self, _now: Time, _end: FlowEnd, _body: &Body, _extra: Option<&Extra>) {}
    /// One of our associations sends or receives a packet by a path.
    fn on_parcel(&mut self, _now: Time, _end: FlowEnd, _way: Direction, _path: u8, _packet: &sctp::Packet) {}
    /// Whether QUIC connections of ours are to be watched, whose events are then taken by the next two.
    fn watches_connections(&self) -> bool {
        false
    }
    /// One of our QUIC connections has sent a datagram, or handled one, marked as it is there.
    fn on_datagram(&mut self, _now: Time, _end: FlowEnd, _datagram: Crossing<'_>, _connection: &mut quic::Connection) {}
    /// One of our QUIC connections has handled its timers.
    fn on_timeout(&mut self, _now: Time, _end: FlowEnd, _connection: &mut quic::Connection) {}
    /// A library sends or receives a datagram, marked as it is there.
    fn on_payload(&mut self, _now: Time, _end: FlowEnd, _way: Direction, _datagram: &library::Datagram, _ecn: Ecn) {}
    /// A library has logged what it does: records of qlog, perhaps none.
    fn on_log(&mut self, _now: Time, _end: FlowEnd, _records: &[u8]) {}
    /// Secrets came up by which a library's packets can be read: lines of a key log.
    fn on_secrets(&mut self, _flow: usize, _lines: &str) {}
    /// A guest sends or receives an IP packet at an interface.
    fn on_bytes(&mut self, _now: Time, _interface: usize, _direction: Direction, _packet: &[u8]) {}
    /// A packet was dropped.
    fn on_drop(&mut self, _now: Time, _cause: Cause) {}
    /// The sender of a flow has handled an event and sent what it could.
    fn on_sender(&mut self, _now: Time, _flow: u32, _sender: &impl SenderState) {}
    /// One of our associations tells its application of something.
    fn on_notification(&mut self, _now: Time, _end: FlowEnd, _what: sctp::Notification) {}
    /// A flow is the first of a page's or a video's, of which more has come whole.
    fn on_progress(&mut self, _now: Time, _flow: usize, _progress: Progress) {}
    /// It is time to look at the links. Says whether anything waits in one of their queues.
    fn on_links(&mut self, _now: Time, _network: &mut Network<Body>) -> bool {
        false
    }
    /// Says why the run cannot go on, if it cannot.
    fn check(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Watches nothing.
pub(crate) struct Silent;

impl Probe for Silent {
    const ON: bool = false;
}
