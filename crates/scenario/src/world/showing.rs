//! What the observer of a run is shown of the ends of flows.

use crate::endpoint::{Crossing, Departure};
use crate::world::World;
use crate::world::probe::{Leaves, Leaving, Probe};
use vazao_application::Application;
use vazao_wire::pcapng::Direction;

impl<P: Probe> World<P> {
    /// Shows the probe an end's notifications and the state of a sender or of a receiver.
    pub fn show(&mut self, index: usize) {
        if self.probe.hears_ends() {
            self.show_notices(index);
            self.show_latencies(index);
        }
        let end = &mut self.ends[index];
        if end.sends {
            if self.probe.sees_senders() {
                end.machine.with_state(&mut |sender| self.probe.on_sender(self.now, end.flow, sender));
            }
        } else if self.probe.follows() {
            let visit = match end.application {
                Application::Visit(own) => Some((own.connection as usize, &self.visits[own.visit as usize].visit)),
                _ => None,
            };
            self.probe.on_receiver(self.now, end.id(), &*end.machine, visit);
        }
    }

    fn show_notices(&mut self, index: usize) {
        let end = &mut self.ends[index];
        for notice in end.machine.notices() {
            self.probe.on_notice(self.now, end.id(), notice);
        }
    }

    /// Shows the probe a packet that an end sends.
    pub fn show_sent(&mut self, index: usize, departure: &Departure) {
        let Departure { body, size, way, ecn } = departure;
        let end = &self.ends[index];
        let (flow, at) = end.id();
        let crossing = Crossing { at, direction: Direction::Outbound, ecn: *ecn, body, contents: &self.contents };
        self.probe.on_packet(self.now, flow, &crossing);
        if self.probe.follows() {
            let packet = self.network.next_packet();
            let content = Leaves::Crossing(&crossing);
            let leaving = Leaving { end: Some(end.id()), path: *way, size: *size, content };
            self.probe.on_departure(self.now, packet, &leaving);
            end.machine.with_state(&mut |sender| self.probe.on_reason(packet, sender));
        }
    }

    /// Shows the probe an end's key log.
    pub fn show_secrets(&mut self, index: usize) {
        let end = &mut self.ends[index];
        let lines = end.machine.take_secrets();
        if !lines.is_empty() {
            self.probe.on_secrets(end.flow as usize, &lines);
        }
    }

    /// Shows the probe an end's qlog records.
    pub fn show_log(&mut self, index: usize) {
        let end = &mut self.ends[index];
        let id = end.id();
        end.machine.take_log(&mut |records| self.probe.on_log(self.now, id, records));
    }

    /// Shows the probe the messages of an end that have arrived.
    pub fn show_latencies(&mut self, index: usize) {
        let end = &mut self.ends[index];
        for latency in end.application.take_latencies().into_iter().chain(end.machine.take_latencies()) {
            self.probe.on_message(self.now, end.flow, latency);
        }
    }
}
