//! A run: endpoints on a network, moved from event to event.

use crate::measure::FlowMeasure;
use crate::probe::Probe;
use std::sync::atomic::{AtomicBool, Ordering};
use vazao_application::Application;
use vazao_engine::{Duration, Scheduler, Slot, Time, Wheel};
use vazao_network::{Cause, Fate, Network, Packet, RouteId};
use vazao_transport::tcp::{Connection, Extra, Flags, Segment};

/// Bytes of an IPv4 header without options.
pub(crate) const IP_HEADER: u32 = 20;

/// One end of a flow.
pub(crate) struct Endpoint {
    pub connection: Connection,
    pub application: Application,
    pub route: RouteId,
    /// Index of the endpoint at the other end.
    pub peer: u32,
    pub flow: u32,
    /// Whether the measured data leaves here.
    pub sends: bool,
    slot: Slot,
    /// What the slot is set to: no later than the endpoint's next deadline, so a deadline that moves away costs nothing.
    due: Time,
    over: bool,
}

/// A flow: two endpoints and what is measured of them.
pub(crate) struct Flow {
    pub start: Time,
    /// Endpoints: the one that opens the connection is `client`, the one that sends the measured data `sender`.
    pub client: u32,
    pub sender: u32,
    pub receiver: u32,
    pub measure: FlowMeasure,
}

/// Rare options of the segments in flight. Segments carry an index into it.
#[derive(Default)]
struct Extras {
    slots: Vec<Extra>,
    free: Vec<u32>,
}

impl Extras {
    fn insert(&mut self, extra: Extra) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = extra;
                index
            }
            None => {
                self.slots.push(extra);
                (self.slots.len() - 1) as u32
            }
        }
    }
    fn take(&mut self, index: u32) -> Extra {
        self.free.push(index);
        self.slots[index as usize]
    }
}

/// Why a run stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Someone asked for it.
    Cancelled,
    /// The probe could not keep what it recorded.
    Probe(String),
}

/// Everything a run is made of.
pub(crate) struct World<P> {
    pub network: Network<Segment>,
    pub scheduler: Wheel,
    pub endpoints: Vec<Endpoint>,
    pub flows: Vec<Flow>,
    pub probe: P,
    pub now: Time,
    pub events: u64,
    extras: Extras,
    scratch: Extra,
    open: usize,
    sampler: Option<(Slot, Duration)>,
}

/// How many events pass between two looks at the request to stop.
const STOP_CHECK: u64 = 1 << 14;

impl<P: Probe> World<P> {
    pub fn new(network: Network<Segment>, scheduler: Wheel, probe: P) -> Self {
        World {
            network,
            scheduler,
            endpoints: Vec::new(),
            flows: Vec::new(),
            probe,
            now: Time::ZERO,
            events: 0,
            extras: Extras::default(),
            scratch: Extra::default(),
            open: 0,
            sampler: None,
        }
    }

    /// Adds a flow that opens at `start`: each side's connection, application and route to the other.
    pub fn add_flow(
        &mut self,
        start: Time,
        client_sends: bool,
        sides: [(Connection, Application, RouteId); 2],
        measure: FlowMeasure,
    ) {
        let flow = self.flows.len() as u32;
        let client = self.endpoints.len() as u32;
        for (index, (connection, application, route)) in sides.into_iter().enumerate() {
            let slot = self.scheduler.add_slot();
            let is_client = index == 0;
            self.endpoints.push(Endpoint {
                connection,
                application,
                route,
                peer: client + u32::from(is_client),
                flow,
                sends: is_client == client_sends,
                slot,
                due: if is_client { start } else { Time::NEVER },
                over: false,
            });
            if is_client {
                self.scheduler.set(slot, start);
            }
        }
        let (sender, receiver) = if client_sends { (client, client + 1) } else { (client + 1, client) };
        self.flows.push(Flow { start, client, sender, receiver, measure });
        self.open += 1;
    }

    /// Has the probe look at every link once an `interval`. Call after all flows were added.
    pub fn sample_links(&mut self, interval: Duration) {
        let slot = self.scheduler.add_slot();
        self.scheduler.set(slot, Time::ZERO);
        self.sampler = Some((slot, interval));
    }

    /// Runs until every flow is over, or until `until`. The clock then stands at the last event, or at `until`.
    pub fn run(&mut self, until: Option<Time>, stop: &AtomicBool) -> Result<(), Stopped> {
        let end = until.unwrap_or(Time::NEVER);
        let network_slots = self.network.slots();
        while self.open > 0 {
            let Some((time, slot)) = self.scheduler.pop() else { break };
            if time > end {
                break;
            }
            self.now = time;
            if let Some((sampler, _)) = self.sampler
                && sampler == slot
            {
                // Watching is not an event of the run.
                self.sample();
                continue;
            }
            self.events += 1;
            if self.events.is_multiple_of(STOP_CHECK) {
                if stop.load(Ordering::Relaxed) {
                    return Err(Stopped::Cancelled);
                }
                self.probe.check().map_err(Stopped::Probe)?;
            }
            if slot < network_slots {
                self.advance(slot);
            } else {
                self.wake((slot - network_slots) as usize);
            }
        }
        if let (Some(until), true) = (until, self.open > 0) {
            self.now = until;
        }
        self.probe.check().map_err(Stopped::Probe)
    }

    #[inline]
    fn advance(&mut self, slot: Slot) {
        match self.network.advance(self.now, slot, &mut self.scheduler) {
            Fate::Moving => {}
            Fate::Delivered(id) => {
                let packet = self.network.take(id);
                self.deliver(&packet);
            }
            Fate::Dropped(id, cause) => {
                let packet = self.network.take(id);
                self.drop(&packet, cause);
            }
        }
    }

    #[inline]
    fn deliver(&mut self, packet: &Packet<Segment>) {
        let index = packet.to as usize;
        let segment = &packet.body;
        let extra = segment.flags.has(Flags::EXTRA).then(|| self.extras.take(segment.extra));
        let endpoint = &mut self.endpoints[index];
        let flow = &mut self.flows[endpoint.flow as usize];
        if P::ON {
            self.probe.on_receive(self.now, index, packet, extra.as_ref());
        }
        if endpoint.sends {
            endpoint.connection.handle(self.now, segment, extra.as_ref());
            flow.measure.on_sender_event(self.now, &endpoint.connection);
        } else {
            if segment.length > 0 {
                flow.measure.on_data(self.now.since(packet.sent), packet.size);
            }
            endpoint.connection.handle(self.now, segment, extra.as_ref());
        }
        self.service(index);
    }

    #[cold]
    fn drop(&mut self, packet: &Packet<Segment>, cause: Cause) {
        if packet.body.flags.has(Flags::EXTRA) {
            self.extras.take(packet.body.extra);
        }
        let endpoint = &self.endpoints[packet.to as usize];
        // A packet to the receiver is one of the sender's.
        if !endpoint.sends {
            self.flows[endpoint.flow as usize].measure.on_drop(packet.sent);
        }
        self.probe.on_drop(self.now, packet, cause);
    }

    #[inline]
    fn wake(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        endpoint.due = Time::NEVER;
        if endpoint.connection.next_timeout() <= self.now {
            endpoint.connection.handle_timeout(self.now);
            if endpoint.sends {
                let flow = &mut self.flows[endpoint.flow as usize];
                flow.measure.on_sender_event(self.now, &endpoint.connection);
            }
        }
        self.service(index);
    }

    /// Lets an endpoint's application act, sends what it has to send, and sets its alarm.
    #[inline]
    fn service(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        endpoint.application.drive(self.now, &mut endpoint.connection);
        self.transmit(index);
        let endpoint = &mut self.endpoints[index];
        if P::ON && endpoint.sends {
            self.probe.on_sender(self.now, endpoint.flow, &endpoint.connection);
        }
        let mut due = endpoint.connection.next_timeout();
        if endpoint.connection.is_over() {
            if !endpoint.over {
                self.close(index);
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

    /// Sends everything that an endpoint may send now.
    #[inline]
    fn transmit(&mut self, index: usize) {
        loop {
            let endpoint = &mut self.endpoints[index];
            let Some(mut segment) = endpoint.connection.poll_transmit(self.now, &mut self.scratch) else { return };
            let size = IP_HEADER + segment.header_bytes(&self.scratch) + u32::from(segment.length);
            if segment.flags.has(Flags::EXTRA) {
                segment.extra = self.extras.insert(self.scratch);
            }
            if P::ON {
                self.probe.on_send(self.now, index, &segment, &self.scratch);
            }
            let (route, peer) = (endpoint.route, endpoint.peer);
            let fate = self.network.send(self.now, route, peer, size, segment, &mut self.scheduler);
            if let Fate::Dropped(id, cause) = fate {
                let packet = self.network.take(id);
                self.drop(&packet, cause);
            }
        }
    }

    #[cold]
    fn close(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        endpoint.over = true;
        let failed = endpoint.connection.failure().is_some();
        let peer = endpoint.peer as usize;
        // A peer of a failed connection may never hear of it, or may not have been reached at all.
        if self.endpoints[peer].over || failed {
            self.endpoints[peer].over = true;
            self.open -= 1;
        }
    }

    fn sample(&mut self) {
        let (slot, interval) = self.sampler.expect("a sampler's slot has a sampler");
        self.probe.on_links(self.now, &mut self.network);
        self.scheduler.set(slot, self.now + interval);
    }
}
