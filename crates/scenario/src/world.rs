//! A run: endpoints on a network, moved from event to event.

use crate::extras::Extras;
use crate::guests::Guests;
use crate::machine::Machine;
use crate::measure::FlowMeasure;
use crate::multihomed::Parcel;
use crate::pool::Pool;
use crate::probe::{FlowEnd, Probe};
use crate::sampler::Sampler;
use crate::visits::Visited;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vazao_application::Application;
use vazao_engine::{Scheduler, Slot, Time, Wheel};
use vazao_network::{Ecn, Fate, Network, Outgoing, Packet, PacketId, RouteId};
use vazao_transport::tcp::{Extra, Segment};
use vazao_transport::tls;
use vazao_transport::udp::{self, Datagram};
use vazao_transport::{library, quic, sctp};

/// Bytes of an IPv4 header without options.
pub(crate) const IP_HEADER: u32 = 20;

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A segment of one of our machines.
    Tcp(Segment),
    /// A datagram of one of our machines.
    Udp(Datagram),
    /// A packet of an association of ours.
    Sctp(Parcel),
    /// A datagram of a QUIC connection of ours: where the world keeps it.
    Quic(u32),
    /// A datagram of a library's, as bytes: where the world keeps them.
    Payload(u32),
    /// Bytes of a guest's: the number of a frame that [`Guests`] keeps.
    Bytes(u32),
}

// A body that outgrows this no longer fits a cache line with the rest of its packet.
const _: () = assert!(size_of::<Body>() == 32);

/// Set in a segment's destination when that is the guest's side of a flow; the rest is then the flow's number.
pub(crate) const TO_GUEST: u32 = 1 << 31;

/// One end of a flow that is ours.
pub(crate) struct Endpoint {
    pub machine: Machine,
    pub application: Application,
    /// TLS between the two.
    pub tls: Option<Box<tls::Session>>,
    pub route: RouteId,
    /// Those by the client's interfaces, if there are several.
    pub ways: Vec<RouteId>,
    /// Index of the endpoint at the other end, or [`TO_GUEST`] and the flow's number.
    pub peer: u32,
    pub flow: u32,
    /// 0: client, 1: server.
    pub side: u8,
    /// Whether the measured data leaves here.
    pub sends: bool,
    /// Whether there is more to do than its application knows: see [`World::attend`].
    attended: bool,
    over: bool,
    pub slot: Slot,
    /// What the slot is set to: no later than the endpoint's next deadline, so a deadline that moves away costs nothing.
    pub due: Time,
}

impl Endpoint {
    /// Which end of which flow it is.
    pub fn end(&self) -> FlowEnd {
        (self.flow as usize, usize::from(self.side))
    }
    /// When its data might flow.
    pub fn ready(&self) -> Option<Time> {
        self.tls.as_ref().map_or_else(|| self.machine.established(), |session| session.ready())
    }
}

/// Who plays one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// One of our machines: the endpoint's index.
    Machine(u32),
    /// A guest: its index.
    Guest(u32),
}

/// One end of a flow as it is added: our machine, or the guest that plays it.
pub(crate) enum Side {
    Machine(Box<Machine>, Application, Option<Box<tls::Session>>, RouteId),
    Guest(u32),
}

/// A flow: its two ends and what is measured of it.
pub(crate) struct Flow {
    pub start: Time,
    /// The client, which opens the connection, and the server.
    pub ends: [End; 2],
    /// Whether the client sends the measured data.
    pub client_sends: bool,
    pub measure: FlowMeasure,
    /// Which ends are done.
    over: [bool; 2],
    ended: bool,
}

impl Flow {
    /// Whether it is over, for its results at least.
    pub fn has_ended(&self) -> bool {
        self.ended
    }
    /// Whether it is not over and `end`, which plays one of its ends, is not done.
    pub fn waits_for(&self, end: End) -> bool {
        !self.ended && (0..2).any(|side| self.ends[side] == end && !self.over[side])
    }
    /// Whether an end is done.
    pub fn is_over(&self, side: usize) -> bool {
        self.over[side]
    }
    /// The end that sends the measured data, and the one that it goes to.
    pub fn sender(&self) -> End {
        self.ends[usize::from(!self.client_sends)]
    }
    pub fn receiver(&self) -> End {
        self.ends[usize::from(self.client_sends)]
    }
}

/// Why a run stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Someone asked for it.
    Cancelled,
    /// The probe could not keep what it recorded.
    Probe(String),
    /// What it needs is not there; nothing was run.
    NotRun(String),
    /// A guest failed.
    Guest(String),
}

/// Everything a run is made of.
pub(crate) struct World<P> {
    pub network: Network<Body>,
    pub scheduler: Wheel,
    pub endpoints: Vec<Endpoint>,
    pub flows: Vec<Flow>,
    pub probe: P,
    pub now: Time,
    pub events: u64,
    /// When the run ends at the latest.
    pub end: Time,
    pub extras: Extras,
    pub parcels: Pool<sctp::Packet>,
    pub datagrams: Pool<quic::Datagram>,
    pub payloads: Pool<library::Datagram>,
    pub visits: Vec<Visited>,
    /// How many flows are open, or will be without being called.
    pub open: usize,
    pub sampler: Option<Sampler>,
    pub guests: Guests,
}

/// How many events pass between two looks at the request to stop.
const STOP_CHECK: u64 = 1 << 14;

impl<P: Probe> World<P> {
    pub fn new(network: Network<Body>, scheduler: Wheel, probe: P) -> Self {
        World {
            network,
            scheduler,
            endpoints: Vec::new(),
            flows: Vec::new(),
            probe,
            now: Time::ZERO,
            events: 0,
            end: Time::NEVER,
            extras: Extras::default(),
            parcels: Pool::default(),
            datagrams: Pool::default(),
            payloads: Pool::default(),
            visits: Vec::new(),
            open: 0,
            sampler: None,
            guests: Guests::default(),
        }
    }

    /// Adds a flow that opens at `start`, or when it is called if that is never, between its client's side and its server's.
    /// Add all flows before the guests.
    pub fn add_flow(&mut self, start: Time, client_sends: bool, sides: [Side; 2], measure: FlowMeasure) {
        let number = self.flows.len() as u32;
        let first = self.endpoints.len() as u32;
        let both = sides.iter().all(|side| matches!(side, Side::Machine(..)));
        let paced =
            |side: &Side| matches!(side, Side::Machine(_, Application::Source(source), ..) if source.is_paced());
        let delivers = both && sides.iter().any(paced);
        let mut index = 0;
        let ends = sides.map(|side| {
            let is_client = index == 0;
            index += 1;
            let (mut machine, application, tls, route) = match side {
                Side::Guest(guest) => return End::Guest(guest),
                Side::Machine(machine, application, tls, route) => (*machine, application, tls, route),
            };
            if let (Machine::Quic(connection), true) = (&mut machine, delivers) {
                connection.watch_messages();
            }
            let delivers = delivers && is_client != client_sends;
            if let (Machine::Sctp(end), true) = (&mut machine, delivers) {
                end.association.watch_messages();
            }
            if let (Machine::Sctp(end), true) = (&mut machine, P::ON) {
                end.association.watch_notifications();
            }
            if let (Machine::Quic(connection), true) = (&mut machine, P::ON && self.probe.watches_connections()) {
                connection.watch();
            }
            let slot = self.scheduler.add_slot();
            if is_client && start < Time::NEVER {
                self.scheduler.set(slot, start);
            }
            let attended = delivers || matches!(application, Application::Visit(_));
            self.endpoints.push(Endpoint {
                machine,
                application,
                tls,
                route,
                ways: Vec::new(),
                peer: if both { first + u32::from(is_client) } else { TO_GUEST | number },
                flow: number,
                side: u8::from(!is_client),
                sends: is_client == client_sends,
                attended,
                over: false,
                slot,
                due: if is_client { start } else { Time::NEVER },
            });
            End::Machine(self.endpoints.len() as u32 - 1)
        });
        self.flows.push(Flow { start, ends, client_sends, measure, over: [false; 2], ended: false });
        self.open += usize::from(start < Time::NEVER);
    }

    /// Adds another way, out and back, to the flow that was added last, whose own are `first`.
    pub fn add_way(&mut self, first: [RouteId; 2], way: [RouteId; 2]) {
        let count = self.endpoints.len();
        for (endpoint, (first, way)) in self.endpoints[count - 2..].iter_mut().zip(first.into_iter().zip(way)) {
            if endpoint.ways.is_empty() {
                endpoint.ways.push(first);
            }
            endpoint.ways.push(way);
        }
    }

    /// Runs until every flow is over, or until `until`; then it is the last event's time, or `until`. `clock` has it on the way.
    #[inline(never)]
    pub fn run(&mut self, until: Option<Time>, stop: &AtomicBool, clock: &AtomicU64) -> Result<(), Stopped> {
        let end = until.unwrap_or(Time::NEVER);
        self.end = end;
        let network_slots = self.network.slots();
        while self.open > 0 {
            let next = self.scheduler.pop();
            if P::ON {
                let last = until.unwrap_or(self.now);
                self.sample_until(next.map_or(last, |(time, _)| time.min(end)), stop)?;
            }
            let Some((time, slot)) = next else { break };
            if time > end {
                break;
            }
            self.now = time;
            self.events += 1;
            if self.events.is_multiple_of(STOP_CHECK) {
                if stop.load(Ordering::Relaxed) {
                    return Err(Stopped::Cancelled);
                }
                clock.store(time.as_nanos(), Ordering::Relaxed);
                self.probe.check().map_err(Stopped::Probe)?;
            }
            if slot < network_slots {
                self.advance(slot);
            } else {
                self.wake((slot - network_slots) as usize);
            }
        }
        if let Some(problem) = self.guests.failure.take() {
            return Err(if stop.load(Ordering::Relaxed) { Stopped::Cancelled } else { Stopped::Guest(problem) });
        }
        if let (Some(until), true) = (until, self.open > 0) {
            self.now = until;
        }
        self.probe.check().map_err(Stopped::Probe)
    }

    /// Ends the run: nothing more can happen.
    pub fn fail(&mut self, problem: String) {
        self.guests.failure.get_or_insert(problem);
        self.open = 0;
    }

    #[inline(always)]
    fn advance(&mut self, slot: Slot) {
        let fate = self.network.advance(self.now, slot, &mut self.scheduler);
        if fate != Fate::Moving {
            self.heed_fate(fate);
        }
    }

    /// Does what is to be done about a packet.
    pub fn heed_fate(&mut self, fate: Fate) {
        match fate {
            Fate::Moving => {}
            Fate::Doubled(id) => self.double(id),
            Fate::Inspected(id, middlebox) => self.inspect(id, middlebox),
            Fate::Delivered(id) => {
                let mut packet = self.network.take(id);
                if let (Ecn::Ce, Body::Tcp(segment)) = (packet.ecn(), &mut packet.body) {
                    segment.ecn = Ecn::Ce;
                }
                match &packet.body {
                    Body::Tcp(segment) if packet.to & TO_GUEST == 0 => {
                        let extra = segment.has_extra.then(|| self.extras.take(segment.extra));
                        self.deliver(packet.to as usize, &packet, segment, extra.as_ref());
                    }
                    Body::Tcp(segment) => self.deliver_to_guest(&packet, segment),
                    Body::Udp(datagram) => self.deliver_datagram(packet.to as usize, &packet, datagram),
                    Body::Sctp(parcel) => self.deliver_parcel(packet.to as usize, &packet, *parcel),
                    Body::Quic(datagram) => self.deliver_quic(packet.to as usize, &packet, *datagram),
                    Body::Payload(payload) => self.deliver_payload(packet.to as usize, &packet, *payload),
                    Body::Bytes(frame) => self.deliver_bytes(&packet, *frame),
                }
            }
            Fate::Dropped(id, cause) => self.discard(id, cause),
        }
    }

    /// A wire has made two packets of one: what the second carries is the first's, but its own.
    #[cold]
    fn double(&mut self, id: PacketId) {
        let body = match self.network.packet(id).body {
            Body::Tcp(segment) if segment.has_extra => {
                Body::Tcp(Segment { extra: self.extras.copy(segment.extra), ..segment })
            }
            Body::Bytes(frame) => Body::Bytes(self.guests.copy_frame(frame)),
            Body::Sctp(parcel) => Body::Sctp(Parcel { packet: self.parcels.copy(parcel.packet), ..parcel }),
            Body::Quic(datagram) => Body::Quic(self.datagrams.copy(datagram)),
            Body::Payload(payload) => Body::Payload(self.payloads.copy(payload)),
            // Everything else is in the packet.
            body => body,
        };
        let copy = self.network.double(id, body);
        for id in [id, copy] {
            let fate = self.network.pass(self.now, id, &mut self.scheduler);
            self.heed_fate(fate);
        }
    }

    /// Hands a segment to one of our machines.
    #[inline(always)]
    pub fn deliver(&mut self, index: usize, packet: &Packet<Body>, segment: &Segment, extra: Option<&Extra>) {
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        if P::ON {
            let end = (endpoint.flow as usize, usize::from(endpoint.side));
            self.probe.on_receive(self.now, end, &Body::Tcp(*segment), extra);
        }
        let Machine::Tcp(connection) = &mut endpoint.machine else {
            return self.accept_subflow(index, packet, segment, extra);
        };
        if endpoint.sends {
            connection.handle(self.now, segment, extra);
            flow.measure.on_sender_event(self.now, connection);
        } else {
            if segment.length > 0 {
                flow.measure.on_data(self.now.since(packet.sent), packet.size);
            }
            connection.handle(self.now, segment, extra);
        }
        self.service(index);
    }

    /// Hands a datagram to one of our machines.
    #[cold]
    fn deliver_datagram(&mut self, index: usize, packet: &Packet<Body>, datagram: &Datagram) {
        let endpoint = &mut self.endpoints[index];
        if P::ON {
            let end = (endpoint.flow as usize, usize::from(endpoint.side));
            self.probe.on_receive(self.now, end, &packet.body, None);
        }
        self.flows[endpoint.flow as usize].measure.on_data(self.now.since(packet.sent), packet.size);
        let Machine::Udp(receiver) = &mut endpoint.machine else { unreachable!("a datagram goes to its kind") };
        receiver.handle(self.now, datagram);
        self.service(index);
    }

    /// Datagrams have no feedback and no end: what their receiver is to know of it, it is told.
    #[cold]
    pub fn tell_receiver(&mut self, index: usize, what: impl FnOnce(&mut udp::Endpoint)) {
        if let Machine::Udp(receiver) = &mut self.endpoints[index].machine {
            what(receiver);
            self.service(index);
        }
    }

    #[inline]
    fn wake(&mut self, index: usize) {
        let Some(endpoint) = self.endpoints.get_mut(index) else {
            return self.wake_guest(index - self.endpoints.len());
        };
        endpoint.due = Time::NEVER;
        if let Machine::Tcp(connection) = &mut endpoint.machine
            && connection.next_timeout() <= self.now
        {
            connection.handle_timeout(self.now);
            if endpoint.sends {
                let flow = &mut self.flows[endpoint.flow as usize];
                flow.measure.on_sender_event(self.now, connection);
            }
        }
        match &endpoint.machine {
            Machine::Sctp(_) => self.wake_association(index),
            Machine::Mptcp(_) => self.wake_bundle(index),
            Machine::Quic(_) => self.wake_quic(index),
            Machine::Library(_) => self.wake_library(index),
            Machine::Tcp(_) | Machine::Udp(_) => {}
        }
        self.service(index);
    }

    /// Lets an endpoint's application act, sends what it has to send, and sets its alarm.
    #[inline(never)]
    pub fn service(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        match &mut endpoint.tls {
            None => endpoint.machine.drive(self.now, &mut endpoint.application),
            Some(session) => endpoint.machine.drive_over_tls(self.now, session, &mut endpoint.application),
        }
        if endpoint.attended {
            self.attend(index);
        }
        self.transmit(index);
        if P::ON {
            self.report_notifications(index);
        }
        let endpoint = &mut self.endpoints[index];
        if P::ON && endpoint.sends {
            match &endpoint.machine {
                Machine::Tcp(connection) => self.probe.on_sender(self.now, endpoint.flow, connection),
                Machine::Sctp(end) => self.probe.on_sender(self.now, endpoint.flow, &end.association),
                Machine::Mptcp(end) => self.probe.on_sender(self.now, endpoint.flow, &end.connection),
                Machine::Quic(connection) => self.probe.on_sender(self.now, endpoint.flow, &**connection),
                Machine::Library(end) => self.probe.on_sender(self.now, endpoint.flow, &end.report()),
                Machine::Udp(_) => {}
            }
        }
        let mut due = endpoint.machine.next_timeout();
        if endpoint.machine.is_over() {
            if !endpoint.over {
                endpoint.over = true;
                self.end(index);
            }
        } else {
            due = due.min(endpoint.application.next_wake());
        }
        let endpoint = &mut self.endpoints[index];
        if due < endpoint.due {
            // An alarm for the past is one for now.
            endpoint.due = due.max(self.now);
            self.scheduler.set(endpoint.slot, endpoint.due);
        }
    }

    /// Does what concerns more than one end: a visit's next step, or the credit for what was read.
    #[cold]
    fn attend(&mut self, index: usize) {
        match self.endpoints[index].application {
            Application::Visit(end) => self.drive_visit(index, end),
            _ => self.credit(index),
        }
    }

    /// Tells a sender's application what was read of a stream, as a tool that sees both ends can.
    fn credit(&mut self, index: usize) {
        let endpoint = &self.endpoints[index];
        if let Machine::Sctp(_) = &endpoint.machine {
            return self.credit_messages(index);
        }
        if let Machine::Quic(_) = &endpoint.machine {
            return self.credit_streams(index);
        }
        if let (Machine::Tcp(_) | Machine::Mptcp(_) | Machine::Library(_), Some(sink)) =
            (&endpoint.machine, endpoint.application.sink())
        {
            let (peer, received) = (endpoint.peer as usize, sink.received());
            self.endpoints[peer].application.deliver(self.now, received);
        }
    }

    /// Sends everything that an endpoint may send now. A segment is made where it is sent: as a value handed on it is
    /// copied once more, which shows.
    #[inline(always)]
    pub fn transmit(&mut self, index: usize) {
        loop {
            let Machine::Tcp(connection) = &mut self.endpoints[index].machine else {
                return self.transmit_others(index);
            };
            let extras = &mut self.extras;
            let Some(mut segment) = connection.poll_transmit(self.now, &mut extras.scratch) else { return };
            let size = IP_HEADER + segment.header_bytes(&extras.scratch) + u32::from(segment.length);
            if segment.has_extra {
                segment.extra = extras.keep_scratch();
            }
            self.emit(index, size, segment.ecn, Body::Tcp(segment));
        }
    }

    #[cold]
    fn transmit_others(&mut self, index: usize) {
        match &self.endpoints[index].machine {
            Machine::Sctp(_) => return self.transmit_parcels(index),
            Machine::Mptcp(_) => return self.transmit_bundle(index),
            Machine::Quic(_) => return self.transmit_quic(index),
            Machine::Library(_) => return self.transmit_payloads(index),
            Machine::Tcp(_) | Machine::Udp(_) => {}
        }
        while let Machine::Udp(endpoint) = &mut self.endpoints[index].machine
            && let Some(datagram) = endpoint.poll_transmit(self.now)
        {
            self.emit(index, IP_HEADER + udp::HEADER + u32::from(datagram.payload), Ecn::NotEct, Body::Udp(datagram));
        }
    }

    /// Sends a packet of one of our machines.
    #[inline(always)]
    fn emit(&mut self, index: usize, size: u32, ecn: Ecn, body: Body) {
        let endpoint = &self.endpoints[index];
        if P::ON {
            let end = (endpoint.flow as usize, usize::from(endpoint.side));
            self.probe.on_send(self.now, end, &body, &self.extras.scratch);
        }
        self.send(Outgoing { route: endpoint.route, to: endpoint.peer, size, ecn, body });
    }

    /// Puts a packet onto its way.
    #[inline(always)]
    pub fn send(&mut self, packet: Outgoing<Body>) {
        let fate = self.network.send(self.now, packet, &mut self.scheduler);
        if let Fate::Dropped(id, cause) = fate {
            self.discard(id, cause);
        }
    }

    /// One of our machines is done.
    #[cold]
    fn end(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        endpoint.machine.shrink();
        let (flow, side, peer) = (endpoint.flow as usize, usize::from(endpoint.side), endpoint.peer as usize);
        let failed = endpoint.machine.failure().is_some();
        self.close(flow, side, failed);
        let endpoint = &self.endpoints[index];
        if let (Application::Visit(end), true) = (&endpoint.application, failed) {
            return self.fail_visit(*end);
        }
        if let (Machine::Udp(sender), true) = (&endpoint.machine, endpoint.sends) {
            let datagrams = sender.sent();
            self.tell_receiver(peer, |receiver| receiver.expect(datagrams));
        }
    }

    /// One end of a flow is done.
    #[cold]
    pub fn close(&mut self, flow: usize, side: usize, failed: bool) {
        let flow = &mut self.flows[flow];
        flow.over[side] = true;
        // A peer of a failed connection may never hear of it, or may not have been reached at all.
        if !flow.ended && (failed || flow.over == [true; 2]) {
            flow.ended = true;
            // A run that failed has no open flows any more.
            self.open = self.open.saturating_sub(1);
        }
    }
}
