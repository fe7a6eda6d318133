//! Observers of a run. Observation changes no result, and costs nothing when it is off.

use crate::endpoint::{Body, Crossing, EndId, Notice};
use crate::measures::series::SenderState;
use vazao_application::Progress;
use vazao_engine::Time;
use vazao_network::{DropCause, Network};
use vazao_wire::pcapng::Direction;

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
    /// Observes a dropped packet.
    fn on_drop(&mut self, _now: Time, _cause: DropCause) {}
    /// Observes the sender of a flow after an event.
    fn on_sender(&mut self, _now: Time, _flow: u32, _sender: &dyn SenderState) {}
    /// Observes a notification of one of our machines to its application.
    fn on_notice(&mut self, _now: Time, _end: EndId, _notice: Notice) {}
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
