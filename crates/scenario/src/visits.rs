//! What is done with web servers, as the world moves it: who is to act on which connection, and what it all came to.

use crate::account::{Account, Arrivals, Counts};
use crate::machine::Machine;
use crate::probe::Probe;
use crate::scenario::Scenario;
use crate::world::{End, Endpoint, World};
use std::borrow::Cow;
use std::ops::Range;
use vazao_application::{Application, Call, Visit, VisitEnd};
use vazao_engine::{Histogram, Scheduler, Time};
use vazao_transport::{Stream, Streams};

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
        self.heed_calls(end.visit as usize);
    }

    fn drive_end(&mut self, index: usize, end: VisitEnd) -> bool {
        let Endpoint { machine, application, tls, side, .. } = &mut self.endpoints[index];
        let visit = &mut self.visits[end.visit as usize].visit;
        let act = Act { visit, now: self.now, connection: end.connection as usize, is_client: *side == 0 };
        let (wake, goes_on) = match (machine, tls) {
            (Machine::Tcp(connection), None) => act.on(connection),
            (Machine::Tcp(connection), Some(session)) => act.on(&mut session.over(connection)),
            (Machine::Mptcp(end), _) => act.on(&mut end.connection),
            (Machine::Sctp(end), _) => act.on(&mut end.association),
            (Machine::Quic(connection), _) if act.visit.uses_streams() => act.on_streams(&mut **connection),
            (Machine::Quic(connection), _) => act.on(&mut **connection),
            (Machine::Library(end), _) => {
                end.set_clock(act.now);
                if act.visit.uses_streams() { act.on_streams(&mut **end) } else { act.on(end) }
            }
            (Machine::Udp(_), _) => unreachable!("a visit needs a stream"),
        };
        *application = Application::Visit(VisitEnd { wake, ..end });
        goes_on
    }

    /// Opens the connections that a visit wants opened, and wakes the clients that it wants driven.
    fn heed_calls(&mut self, number: usize) {
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
            let endpoint = &mut self.endpoints[client as usize];
            endpoint.due = self.now;
            self.scheduler.set(endpoint.slot, self.now);
        }
    }

    /// A connection was lost: what it belongs to is given up.
    pub fn fail_visit(&mut self, end: VisitEnd) {
        self.visits[end.visit as usize].visit.end();
        self.heed_calls(end.visit as usize);
    }
}

impl<P> World<P> {
    /// The visit of which a flow is a connection.
    fn visit_of(&self, flow: usize) -> Option<&Visit> {
        let End::Machine(index) = self.flows[flow].ends[0] else { return None };
        let Application::Visit(end) = &self.endpoints[index as usize].application else { return None };
        Some(&self.visits[end.visit as usize].visit)
    }
}

/// Who is to act when.
struct Act<'a> {
    visit: &'a mut Visit,
    now: Time,
    connection: usize,
    is_client: bool,
}

impl Act<'_> {
    /// When it wants to act again, and whether that is as soon as what it has written has left.
    fn on(self, stream: &mut impl Stream) -> (Time, bool) {
        if self.is_client {
            (self.visit.drive_client(self.now, self.connection, stream), false)
        } else {
            (Time::NEVER, self.visit.drive_server(self.connection, stream))
        }
    }

    /// The same where each response has a stream of its own.
    fn on_streams(self, streams: &mut (impl Streams + ?Sized)) -> (Time, bool) {
        if self.is_client {
            return (self.visit.drive_client_streams(self.now, self.connection, streams), false);
        }
        self.visit.drive_server_streams(self.connection, streams);
        (Time::NEVER, false)
    }
}

impl Scenario {
    /// The flows that are one row of results each: all connections of a visit together, every other flow alone.
    pub fn rows(&self) -> Vec<Range<usize>> {
        let starts = (0..self.flows.len()).filter(|&flow| self.flows[flow].part == 0);
        let ends = starts.clone().skip(1).chain([self.flows.len()]);
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }
}

/// What the flows of a row came to, each for itself: of a visit, those of its connections that were opened.
pub(crate) fn accounts<'a, P>(
    world: &'a World<P>,
    scenario: &Scenario,
    row: &Range<usize>,
) -> Vec<(usize, Account<'a>)> {
    let visit = world.visit_of(row.start);
    let opened = row.clone().filter(|flow| visit.is_none_or(|visit| visit.is_open(flow - row.start)));
    opened.map(|flow| (flow, Account::of(world, flow, &scenario.flows[flow].sides()))).collect()
}

/// What a row came to as a whole.
pub(crate) fn whole<'a, P>(world: &'a World<P>, row: &Range<usize>, parts: &[(usize, Account<'a>)]) -> Account<'a> {
    let mut whole = parts[0].1.clone();
    let Some(visit) = world.visit_of(row.start) else { return whole };
    parts[1..].iter().for_each(|(_, part)| whole.join(part));
    whole.connections = Some(parts.len() as u64);
    whole.app_bytes = visit.delivered();
    (whole.first_byte, whole.last_byte) = (visit.first_byte(), visit.last_byte());
    whole.messages = Some(visit.latency());
    whole.viewing = visit.viewing(world.now);
    whole.completed = (!visit.is_endless()).then(|| visit.is_complete());
    let failures = || parts.iter().find_map(|(_, part)| part.failure.clone());
    whole.failure = if whole.completed == Some(true) { None } else { failures() };
    whole.intact = Some(visit.is_intact() && parts.iter().all(|(_, part)| part.intact == Some(true)));
    whole
}

impl Account<'_> {
    /// Adds what another connection of the same visit came to.
    fn join(&mut self, other: &Account<'_>) {
        self.measure.to_mut().join(&other.measure);
        self.sender.join(&other.sender);
        self.arrivals.join(&other.arrivals);
    }
}

/// The sum, if both are known.
fn add(a: &mut Option<u64>, b: Option<u64>) {
    *a = a.zip(b).map(|(a, b)| a + b);
}

impl Arrivals {
    fn join(&mut self, other: &Arrivals) {
        self.lost += other.lost;
        add(&mut self.duplicates, other.duplicates);
        add(&mut self.reordered, other.reordered);
    }
}

impl Counts<'_> {
    fn join(&mut self, other: &Counts<'_>) {
        self.packets += other.packets;
        for (own, theirs) in [
            (&mut self.retransmissions, other.retransmissions),
            (&mut self.fast_retransmissions, other.fast_retransmissions),
            (&mut self.timeout_retransmissions, other.timeout_retransmissions),
            (&mut self.timeouts, other.timeouts),
            (&mut self.recoveries, other.recoveries),
            (&mut self.duplicate_acks, other.duplicate_acks),
            (&mut self.spurious_retransmissions, other.spurious_retransmissions),
            (&mut self.spurious_timeouts, other.spurious_timeouts),
            (&mut self.mark_reductions, other.mark_reductions),
            (&mut self.messages_abandoned, other.messages_abandoned),
        ] {
            add(own, theirs);
        }
        for (own, theirs) in [(&mut self.busy, other.busy), (&mut self.rwnd_limited, other.rwnd_limited)] {
            *own = own.zip(theirs).map(|(own, theirs)| own + theirs);
        }
        self.reordering = self.reordering.max(other.reordering);
        self.multipath = None;
        let mut rtt: Histogram = self.rtt.clone().into_owned();
        rtt.merge(&other.rtt);
        self.rtt = Cow::Owned(rtt);
        self.srtt = None;
        self.is_over &= other.is_over;
    }
}
