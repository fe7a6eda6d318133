//! What may watch a run. Watching changes nothing, and costs nothing when it is off.

use vazao_engine::Time;
use vazao_network::{Cause, Network, Packet};
use vazao_transport::tcp::{Connection, Extra, Segment};

/// An observer of a run: time series, captures.
pub(crate) trait Probe {
    /// Whether it wants to know at all; when false the calls compile to nothing.
    const ON: bool;

    /// Endpoint `endpoint` sends a segment.
    fn on_send(&mut self, _now: Time, _endpoint: usize, _segment: &Segment, _extra: &Extra) {}
    /// Endpoint `endpoint` receives a packet.
    fn on_receive(&mut self, _now: Time, _endpoint: usize, _packet: &Packet<Segment>, _extra: Option<&Extra>) {}
    /// A packet was dropped.
    fn on_drop(&mut self, _now: Time, _packet: &Packet<Segment>, _cause: Cause) {}
    /// The sender of a flow has handled an event and sent what it could.
    fn on_sender(&mut self, _now: Time, _flow: u32, _sender: &Connection) {}
    /// It is time to look at the links.
    fn on_links(&mut self, _now: Time, _network: &mut Network<Segment>) {}
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
