//! What may watch a run. Watching changes nothing, and costs nothing when it is off.

use crate::endpoint::Body;
use crate::endpoint::{Crossing, EndId, Notice};
use crate::measures::measure::SenderState;
use vazao_application::Progress;
use vazao_engine::Time;
use vazao_network::{Cause, Network};
use vazao_wire::pcapng::Direction;

/// An observer of a run: time series, captures, logs.
pub(crate) trait Probe {
    /// Whether it wants to know at all; when false the calls compile to nothing.
    const ON: bool;

    /// One of our machines sends a packet, or has handled one.
    fn on_packet(&mut self, _now: Time, _flow: usize, _crossing: &Crossing<'_>) {}
    /// A guest sends or receives an IP packet at an interface, or one of our machines one of a guest's.
    fn on_bytes(&mut self, _now: Time, _interface: usize, _direction: Direction, _packet: &[u8]) {}
    /// One of our machines has logged what it does: records of qlog.
    fn on_log(&mut self, _now: Time, _end: EndId, _records: &[u8]) {}
    /// Secrets came up by which a flow's packets can be read: lines of a key log.
    fn on_secrets(&mut self, _flow: usize, _lines: &str) {}
    /// A packet was dropped.
    fn on_drop(&mut self, _now: Time, _cause: Cause) {}
    /// The sender of a flow has handled an event and sent what it could.
    fn on_sender(&mut self, _now: Time, _flow: u32, _sender: &dyn SenderState) {}
    /// One of our machines tells its application of something.
    fn on_notice(&mut self, _now: Time, _end: EndId, _notice: Notice) {}
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
