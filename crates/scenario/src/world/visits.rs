//! Visits to web servers.

use crate::endpoint::Turn;
use crate::measures::limits::Limits;
use crate::world::probe::Probe;
use crate::world::{End, FlowEnd, World};
use vazao_application::{Application, Call, Visit, VisitEnd};
use vazao_engine::EventScheduler;

/// Visit, and the flow that is the first of its connections; the others follow it.
pub(crate) struct Visited {
    pub visit: Visit,
    pub first: usize,
}

impl<P: Probe> World<P> {
    /// Runs a visit at an end of one of its connections, and opens or wakes the others that it calls.
    pub fn drive_visit(&mut self, index: usize, end: VisitEnd) {
        let before = self.visits[end.visit as usize].visit.progress();
        // A server's next choice depends on the data that has left.
        while self.drive_end(index, end) {
            self.transmit(index);
        }
        let visited = &self.visits[end.visit as usize];
        let progress = visited.visit.progress();
        if P::ON && progress.objects > before.objects {
            self.probe.on_progress(self.now, visited.first, progress);
        }
        self.answer_calls(end.visit as usize);
    }

    /// Runs a visit at one end. Returns whether it goes on as soon as its data has left.
    fn drive_end(&mut self, index: usize, end: VisitEnd) -> bool {
        let FlowEnd { machine, application, side, .. } = &mut self.ends[index];
        let visit = &mut self.visits[end.visit as usize].visit;
        let turn = Turn { visit, now: self.now, connection: end.connection as usize, is_client: *side == 0 };
        let (wake, goes_on) = machine.drive_visit(turn);
        *application = Application::Visit(VisitEnd { wake, ..end });
        goes_on
    }

    /// Opens the connections that a visit wants opened, and wakes the clients that it wants driven.
    fn answer_calls(&mut self, number: usize) {
        let visited = &mut self.visits[number];
        while let Some(call) = visited.visit.next_call() {
            let (connection, opens) = match call {
                Call::Open(connection) => (connection, true),
                Call::Drive(connection) => (connection, false),
            };
            let flow = &mut self.flows[visited.first + connection];
            let End::Machine(client) = flow.ends[0] else { unreachable!("guests make no visits") };
            if opens {
                flow.start = self.now;
                flow.measure.limits = Limits::since(self.now);
                self.open += 1;
            }
            let end = &mut self.ends[client as usize];
            end.due = self.now;
            self.scheduler.set(end.slot, self.now);
        }
    }

    /// Ends a visit that has lost a connection.
    pub fn fail_visit(&mut self, end: VisitEnd) {
        self.visits[end.visit as usize].visit.end();
        self.answer_calls(end.visit as usize);
    }
}

impl<P> World<P> {
    /// Returns the visit of which a flow is a connection.
    pub fn visit_of(&self, flow: usize) -> Option<&Visit> {
        let End::Machine(index) = self.flows[flow].ends[0] else { return None };
        let Application::Visit(end) = &self.ends[index as usize].application else { return None };
        Some(&self.visits[end.visit as usize].visit)
    }
}
