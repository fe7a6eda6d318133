//! What is done with web servers, as the world moves it: who is to act on which connection, and what it all came to.

use crate::endpoint::Turn;
use crate::world::probe::Probe;
use crate::world::{End, FlowEnd, World};
use vazao_application::{Application, Call, Visit, VisitEnd};
use vazao_engine::Scheduler;

/// A visit, and the flow that is the first of its connections; the others follow it.
pub(crate) struct Visited {
    pub visit: Visit,
    pub first: usize,
}

impl<P: Probe> World<P> {
    /// Lets an end of a visit's connection act, and all that this concerns.
    pub fn drive_visit(&mut self, index: usize, end: VisitEnd) {
        let before = self.visits[end.visit as usize].visit.progress();
        // What a server chooses next depends on what has left.
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
                self.open += 1;
            }
            let end = &mut self.ends[client as usize];
            end.due = self.now;
            self.scheduler.set(end.slot, self.now);
        }
    }

    /// A connection was lost: what it belongs to is given up.
    pub fn fail_visit(&mut self, end: VisitEnd) {
        self.visits[end.visit as usize].visit.end();
        self.answer_calls(end.visit as usize);
    }
}

impl<P> World<P> {
    /// The visit of which a flow is a connection.
    pub fn visit_of(&self, flow: usize) -> Option<&Visit> {
        let End::Machine(index) = self.flows[flow].ends[0] else { return None };
        let Application::Visit(end) = &self.ends[index as usize].application else { return None };
        Some(&self.visits[end.visit as usize].visit)
    }
}
