//! Observers of a run. Observation changes no result, and costs nothing when it is off.

use crate::endpoint::{Body, Crossing, EndId, Endpoint, Notice};
use crate::measures::series::SenderState;
use vazao_application::{Progress, Visit};
use vazao_engine::{Duration, Place, Time};
use vazao_network::{DropCause, LinkId, Network, PacketId};
use vazao_transport::common::Limit;
use vazao_wire::pcapng::Direction;

/// Place of an event in the order of all: its time, and its place among those of that time.
pub(crate) type Moment = (Time, Place);

/// Packet that is sent into the network.
pub(crate) struct Leaving<'a> {
    /// Flow and side that send it; `None`: a guest's packet of no flow.
    pub end: Option<EndId>,
    /// Path of the flow.
    pub path: usize,
    /// Bytes on the wire.
    pub size: u32,
    pub content: Leaves<'a>,
}

/// Content of a packet that is sent.
pub(crate) enum Leaves<'a> {
    /// Packet of one of our machines.
    Crossing(&'a Crossing<'a>),
    /// IP packet to or from a guest.
    Bytes(&'a [u8]),
}

/// Observer of a run: time series, captures, logs.
pub(crate) trait Probe {
    /// Whether it observes at all; when false, the calls compile to nothing.
    const ON: bool;

    /// Observes a packet that one of our machines sends, or has handled.
    fn on_packet(&mut self, _now: Time, _flow: usize, _crossing: &Crossing<'_>) {}
    /// Observes an IP packet to or from a guest at an interface.
    fn on_bytes(&mut self, _now: Time, _interface: usize, _direction: Direction, _packet: &[u8]) {}
    /// Observes qlog records of one of our machines.
    fn on_log(&mut self, _now: Time, _end: EndId, _records: &[u8]) {}
    /// Observes lines of a flow's key log.
    fn on_secrets(&mut self, _flow: usize, _lines: &str) {}
    /// Returns whether it is content to be shown each end's events in their order, whatever those of others: it looks at no
    /// packet and no link.
    fn follows_ends(&self) -> bool {
        true
    }
    /// Returns whether it wants to hear of notifications and messages.
    fn hears_ends(&self) -> bool {
        true
    }
    /// Returns whether it wants to see the states of senders.
    fn sees_senders(&self) -> bool {
        true
    }
    /// Returns whether it keeps the contents of packets, and keys and logs with them.
    fn keeps_contents(&self) -> bool {
        true
    }
    /// Learns the place of the event of which it is shown more, where ends may be ahead of the run.
    fn on_moment(&mut self, _moment: Moment) {}
    /// Learns what the run has come to, so that nothing more will be shown of before; `None`: its end.
    fn on_reached(&mut self, _moment: Option<Moment>) {}
    /// Returns whether it follows packets over the links.
    fn follows(&self) -> bool {
        false
    }
    /// Observes a packet that is sent, before the network has it.
    fn on_departure(&mut self, _now: Time, _packet: PacketId, _leaving: &Leaving<'_>) {}
    /// Observes the state of one of our machines that explains why it has sent its latest packet.
    fn on_reason(&mut self, _packet: PacketId, _sender: &dyn SenderState) {}
    /// Observes the copy that a link has made of a packet.
    fn on_copy(&mut self, _now: Time, _packet: PacketId, _copy: PacketId) {}
    /// Observes a packet at the end of a link.
    fn on_hop(&mut self, _now: Time, _packet: PacketId, _link: LinkId) {}
    /// Observes a packet at the end of its route.
    fn on_arrival(&mut self, _now: Time, _packet: PacketId) {}
    /// Observes a packet dropped at a link.
    fn on_drop(&mut self, _now: Time, _packet: PacketId, _link: LinkId, _cause: DropCause) {}
    /// Observes the sender of a flow after an event.
    fn on_sender(&mut self, _now: Time, _flow: u32, _sender: &dyn SenderState) {}
    /// Observes the receiver of a flow's data after an event, with its visit, if it makes one.
    fn on_receiver(&mut self, _now: Time, _end: EndId, _machine: &dyn Endpoint, _visit: Option<(usize, &Visit)>) {}
    /// Observes that from `_since` on something else limits the sender of a flow.
    fn on_limit(&mut self, _since: Time, _flow: u32, _limit: Limit) {}
    /// Observes a notification of one of our machines to its application.
    fn on_notice(&mut self, _now: Time, _end: EndId, _notice: Notice) {}
    /// Observes a message or a request of a flow that has arrived, which took so long.
    fn on_message(&mut self, _now: Time, _flow: u32, _latency: Duration) {}
    /// Observes the progress of a page or a video, of which `_flow` is the first flow.
    fn on_progress(&mut self, _now: Time, _flow: usize, _progress: Progress) {}
    /// Samples the links. Returns whether any packet waits in a queue.
    fn on_links(&mut self, _now: Time, _network: &mut Network<Body>) -> bool {
        false
    }
    /// Writes buffered records.
    ///
    /// # Errors
    /// The records cannot be written.
    fn check(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Probe that observes nothing.
pub(crate) struct Silent;

impl Probe for Silent {
    const ON: bool = false;
}
