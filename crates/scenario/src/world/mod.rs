//! World of a run: endpoints on a network, advanced from event to event.

pub(crate) mod ahead;
pub(crate) mod drops;
pub(crate) mod guests;
mod limits;
pub(crate) mod machine;
pub(crate) mod middlebox;
pub(crate) mod probe;
pub(crate) mod sampler;
mod showing;
pub(crate) mod visits;
pub(crate) mod window;

use crate::endpoint::{Arrival, Body, Contents, Crossing, Departure, EndId, Endpoint};
use crate::guests::Guests;
use crate::measures::limits::Limits;
use crate::measures::measure::FlowMeasure;
use crate::world::ahead::{Ahead, Foresight};
use crate::world::probe::Probe;
use crate::world::sampler::Sampler;
use crate::world::visits::Visited;
use crate::world::window::Windowed;
use machine::Machine;
use std::sync::atomic::{AtomicBool, Ordering};
use vazao_application::Application;
use vazao_engine::{EventScheduler, Kind, Slot, Time, Wheel, fetch};
use vazao_network::{Fate, Network, Outgoing, Packet, PacketId, RouteId};
use vazao_wire::pcapng::Direction;

/// End of a flow that one of our machines plays.
pub(crate) struct FlowEnd {
    pub machine: Machine,
    pub application: Application,
    pub route: RouteId,
    /// Routes of all its ways, if there are several.
    pub ways: Vec<RouteId>,
    pub peer: Peer,
    pub flow: u32,
    /// 0: client, 1: server.
    pub side: u8,
    /// Whether it sends the measured data.
    pub sends: bool,
    /// Whether its events concern more than its own application; see [`World::tell_others`].
    concerns_others: bool,
    over: bool,
    pub slot: Slot,
    /// Time of the slot: no later than the end's next deadline, so that a deadline that moves away costs nothing.
    pub due: Time,
}

/// Other end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// One of our machines: its index among the ends.
    Own(u32),
    /// Guest.
    Guest,
}

impl FlowEnd {
    /// Returns its flow and side.
    pub fn id(&self) -> EndId {
        (self.flow as usize, usize::from(self.side))
    }
    /// Returns the routes of all its ways.
    pub fn routes(&self) -> &[RouteId] {
        if self.ways.is_empty() { std::slice::from_ref(&self.route) } else { &self.ways }
    }
}

/// Player of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// One of our machines: its index among the ends.
    Machine(u32),
    /// A guest: its index.
    Guest(u32),
}

/// End of a flow to be added.
pub(crate) enum Side {
    Machine(Box<dyn Endpoint>, Application, RouteId),
    Guest(u32),
}

/// Flow: its two ends and its measurements.
pub(crate) struct Flow {
    pub start: Time,
    /// Client, which opens the connection, and server.
    pub ends: [End; 2],
    /// Whether the client sends the measured data.
    pub client_sends: bool,
    pub measure: FlowMeasure,
    /// What its sender has to say if it is ahead of the run.
    foresight: Option<Box<Foresight>>,
    /// Whether each end is done.
    pub over: [bool; 2],
    /// Whether it is over, as far as results are concerned.
    pub ended: bool,
}

impl Flow {
    /// Returns whether it is not over and `end` plays an end that is not done.
    pub fn waits_for(&self, end: End) -> bool {
        !self.ended && (0..2).any(|side| self.ends[side] == end && !self.over[side])
    }
    /// Returns the end that sends the measured data.
    pub fn sender(&self) -> End {
        self.ends[usize::from(!self.client_sends)]
    }
    /// Returns the end that receives the measured data.
    pub fn receiver(&self) -> End {
        self.ends[usize::from(self.client_sends)]
    }
}

/// Reason for which a run stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Request of the user.
    Cancelled,
    /// Failure to write records.
    Probe(String),
    /// Missing requirement; nothing was run.
    NotRun(String),
    /// Failure of a guest.
    Guest(String),
}

/// State of a run.
pub(crate) struct World<P> {
    pub network: Network<Body>,
    pub scheduler: Wheel,
    pub ends: Vec<FlowEnd>,
    pub flows: Vec<Flow>,
    pub probe: P,
    pub now: Time,
    /// Slot of the event that is being handled.
    slot: Slot,
    /// Flow whose end acts, or acted last.
    pub acting: u32,
    pub events: u64,
    /// Number of events at which to look next whether to stop.
    next_check: u64,
    /// Latest end of the run.
    pub end: Time,
    pub contents: Contents,
    pub visits: Vec<Visited>,
    /// Number of flows that are open, or will open by themselves.
    pub open: usize,
    pub sampler: Option<Sampler>,
    pub window: Option<Windowed>,
    pub guests: Guests,
    ahead: Ahead,
    /// Slots that are due soon.
    imminent: Vec<Slot>,
    /// Ends to which packets arrive soon.
    addressees: Vec<u32>,
}

/// Events between two checks of the request to stop.
const STOP_CHECK: u64 = 1 << 14;

impl<P: Probe> World<P> {
    /// Creates a world without flows, with room for `flows` of them: a list that doubles as it grows holds half its memory for
    /// nothing.
    pub fn new(network: Network<Body>, scheduler: Wheel, probe: P, flows: usize) -> Self {
        World {
            network,
            scheduler,
            ends: Vec::with_capacity(2 * flows),
            flows: Vec::with_capacity(flows),
            probe,
            now: Time::ZERO,
            slot: 0,
            acting: u32::MAX,
            events: 0,
            next_check: STOP_CHECK,
            end: Time::NEVER,
            contents: Contents::default(),
            visits: Vec::new(),
            open: 0,
            sampler: None,
            window: None,
            guests: Guests::default(),
            ahead: Ahead::default(),
            imminent: Vec::new(),
            addressees: Vec::new(),
        }
    }

    /// Adds a flow that opens at `start`, or on call if that is never, between client and server. Add all flows before
    /// the guests.
    pub fn add_flow(&mut self, start: Time, client_sends: bool, sides: [Side; 2], mut measure: FlowMeasure) {
        let number = self.flows.len() as u32;
        let first = self.ends.len() as u32;
        let both = sides.iter().all(|side| matches!(side, Side::Machine(..)));
        let paced =
            |side: &Side| matches!(side, Side::Machine(_, Application::Source(source), ..) if source.is_paced());
        let delivers = both && sides.iter().any(paced);
        let mut index = 0;
        let ends = sides.map(|side| {
            let is_client = index == 0;
            index += 1;
            let (mut machine, mut application, route) = match side {
                Side::Guest(guest) => return End::Guest(guest),
                Side::Machine(machine, application, route) => (Machine::from(machine), application, route),
            };
            let is_receiver = is_client != client_sends;
            if delivers {
                machine.watch_messages(is_receiver);
            }
            if P::ON && self.probe.hears_ends() {
                machine.watch_notices();
                application.watch_latencies();
            }
            let slot = self.scheduler.add_slot(Kind::Timer);
            if is_client && start < Time::NEVER {
                self.scheduler.set(slot, start);
            }
            let concerns_others = delivers && is_receiver || matches!(application, Application::Visit(_));
            self.ends.push(FlowEnd {
                machine,
                application,
                route,
                ways: Vec::new(),
                peer: if both { Peer::Own(first + u32::from(is_client)) } else { Peer::Guest },
                flow: number,
                side: u8::from(!is_client),
                sends: !is_receiver,
                concerns_others,
                over: false,
                slot,
                due: if is_client { start } else { Time::NEVER },
            });
            End::Machine(self.ends.len() as u32 - 1)
        });
        measure.limits = Limits::since(start);
        self.flows.push(Flow { start, ends, client_sends, measure, foresight: None, over: [false; 2], ended: false });
        self.open += usize::from(start < Time::NEVER);
    }

    /// Runs until every flow is over, or until `until`. `now` is then the last event's time or `until`; `clock` is told
    /// of it now and then.
    #[inline(never)]
    pub fn run(&mut self, until: Option<Time>, stop: &AtomicBool, clock: &dyn Fn(Time)) -> Result<(), Stopped> {
        let end = until.unwrap_or(Time::NEVER);
        self.end = end;
        let mut pause = self.extend_horizon(self.now, end.min(self.next_total()));
        let network_slots = self.network.slots();
        while self.open > 0 {
            let next = self.scheduler.pop();
            if P::ON {
                let last = until.unwrap_or(self.now);
                self.sample_until(next.map_or(last, |(time, _)| time.min(end)), stop)?;
            }
            let Some((time, slot)) = next else { break };
            if time > pause {
                self.total_before(time.min(end));
                if time > end {
                    break;
                }
                pause = self.extend_horizon(time, end.min(self.next_total()));
            }
            if self.scheduler.has_imminent() {
                self.fetch_ahead();
            }
            self.begin(time, slot, stop, clock)?;
            self.ahead.reached = (time, slot);
            self.fire(slot, network_slots);
            if self.network.has_ready() && self.open > 0 {
                self.run_ahead(stop, clock)?;
            }
        }
        self.conclude_ahead();
        if P::ON {
            (0..self.ends.len()).for_each(|index| self.account_for_path(index));
        }
        if let Some(problem) = self.guests.failure.take() {
            return Err(if stop.load(Ordering::Relaxed) { Stopped::Cancelled } else { Stopped::Guest(problem) });
        }
        if let (Some(until), true) = (until, self.open > 0) {
            self.now = until;
        }
        self.probe.check().map_err(Stopped::Probe)
    }

    /// Begins an event.
    #[inline(always)]
    fn count(&mut self, time: Time, slot: Slot) {
        (self.now, self.slot) = (time, slot);
        self.events += 1;
    }

    /// Begins an event, and looks now and then whether to stop.
    #[inline(always)]
    fn begin(&mut self, time: Time, slot: Slot, stop: &AtomicBool, clock: &dyn Fn(Time)) -> Result<(), Stopped> {
        self.count(time, slot);
        if self.events >= self.next_check {
            self.next_check = self.events + STOP_CHECK;
            if stop.load(Ordering::Relaxed) {
                return Err(Stopped::Cancelled);
            }
            // Of ends that are ahead of the run each has a time of its own.
            clock(self.ahead.reached.0);
            if P::ON {
                self.tell_reached();
            }
            self.probe.check().map_err(Stopped::Probe)?;
        }
        Ok(())
    }

    /// Runs through the events until `pause`, itself included, but through `most` of them at most. Returns whether it is
    /// there: `now` is then `pause`, or the last event's time if every flow is over. Steps of any length make the
    /// same run as [`run`](Self::run): an event that is not due yet stays in the scheduler, in its place.
    pub fn step(&mut self, pause: Time, most: u64) -> bool {
        let network_slots = self.network.slots();
        let last = self.events.saturating_add(most);
        while self.open > 0 {
            let next = self.scheduler.next_time();
            if next > self.next_total() {
                self.total_before(next.min(pause));
            }
            if next > pause || next == Time::NEVER {
                self.now = if pause < Time::NEVER { pause } else { self.now };
                return true;
            }
            if self.events == last {
                return false;
            }
            let Some((time, slot)) = self.scheduler.pop() else { return true };
            if self.scheduler.has_imminent() {
                self.fetch_ahead();
            }
            self.count(time, slot);
            self.fire(slot, network_slots);
        }
        true
    }

    /// Returns whether nothing is pending.
    pub fn is_still(&self) -> bool {
        self.scheduler.next_time() == Time::NEVER
    }

    /// Handles the event of a slot.
    #[inline(always)]
    fn fire(&mut self, slot: Slot, network_slots: Slot) {
        if slot < network_slots {
            self.advance(slot);
        } else {
            self.wake((slot - network_slots) as usize);
        }
    }

    /// Fetches what the next events will need into the cache.
    #[inline(never)]
    fn fetch_ahead(&mut self) {
        self.scheduler.take_imminent(&mut self.imminent);
        let network_slots = self.network.slots();
        self.addressees.clear();
        let timers = self.imminent.iter().filter_map(|slot| slot.checked_sub(network_slots));
        self.addressees.extend(timers);
        self.network.fetch_ahead(&self.imminent, |end| self.addressees.push(end));
        let ends = || self.addressees.iter().filter_map(|&index| self.ends.get(index as usize));
        for end in ends() {
            fetch(&end.flow);
            fetch(&end.application);
            end.machine.fetch();
        }
        // What they point to, now that the pointers are there.
        for end in ends() {
            end.machine.fetch_parts();
            self.network.fetch_first_link(end.route);
            let measure = &self.flows[end.flow as usize].measure;
            if end.sends { measure.fetch_for_sender() } else { measure.fetch_for_receiver() }
        }
        ends().for_each(|end| self.network.fetch_first_queue(end.route));
    }

    /// Ends the run with an error.
    pub fn fail(&mut self, problem: String) {
        self.guests.failure.get_or_insert(problem);
        self.open = 0;
    }

    #[inline(always)]
    fn advance(&mut self, slot: Slot) {
        let fate = self.network.advance(self.now, slot, &mut self.scheduler);
        if fate != Fate::Moving {
            self.handle_fate(fate);
        }
    }

    /// Handles a packet that left the network or meets something on its way: delivered, dropped, duplicated or inspected.
    pub fn handle_fate(&mut self, fate: Fate) {
        match fate {
            Fate::Moving => {}
            Fate::Crossed(id) => self.cross(id),
            Fate::Duplicated(id) => self.duplicate(id),
            Fate::Inspected(id, inspection) => self.inspect(id, inspection),
            Fate::Foreseen(id, time) => self.foresee(id, time),
            Fate::Delivered(id) => {
                if P::ON {
                    self.probe.on_arrival(self.now, id);
                }
                let mut packet = self.network.take(id);
                if let Body::Bytes(frame) = packet.body {
                    return self.deliver_bytes(&packet, frame);
                }
                packet.body.set_ecn(packet.ecn());
                self.deliver(packet.to as usize, &packet);
            }
            Fate::Dropped(id, cause) => self.discard(id, cause),
        }
    }

    /// Handles a followed packet at the end of a link.
    #[cold]
    fn cross(&mut self, id: PacketId) {
        self.probe.on_hop(self.now, id, self.network.link_of(id));
        let fate = self.network.go_on(self.now, id, &mut self.scheduler);
        self.handle_fate(fate);
    }

    /// Delivers a packet to one of our machines.
    #[inline(always)]
    fn deliver(&mut self, index: usize, packet: &Packet<Body>) {
        self.accept(index, packet, &packet.body);
        if P::ON {
            let end = &self.ends[index];
            let (flow, at) = end.id();
            let (direction, ecn) = (Direction::Inbound, packet.ecn());
            let crossing = Crossing { at, direction, ecn, body: &packet.body, contents: &self.contents };
            self.probe.on_packet(self.now, flow, &crossing);
        }
        self.contents.discard(&packet.body);
        self.service(index);
    }

    /// Lets one of our machines handle the body of a packet.
    #[inline(always)]
    pub fn accept(&mut self, index: usize, packet: &Packet<Body>, body: &Body) {
        let end = &mut self.ends[index];
        self.acting = end.flow;
        let flow = &mut self.flows[end.flow as usize];
        let arrival = Arrival { body, ecn: packet.ecn(), contents: &self.contents };
        let brings_data = end.machine.handle(self.now, arrival);
        if end.sends {
            flow.measure.limits.seen = self.now;
            end.machine.observe(self.now, &mut flow.measure);
        } else if brings_data {
            flow.measure.on_data(self.now.since(packet.sent), packet.size);
        }
    }

    /// Handles the timer of an end or of a guest.
    #[inline]
    fn wake(&mut self, index: usize) {
        let Some(end) = self.ends.get_mut(index) else {
            return self.wake_guest(index - self.ends.len());
        };
        end.due = Time::NEVER;
        self.acting = end.flow;
        let expiries = if end.sends { end.machine.expiries() } else { 0 };
        let is_due = end.machine.handle_timeout(self.now);
        if end.sends {
            if is_due {
                end.machine.observe(self.now, &mut self.flows[end.flow as usize].measure);
            }
            self.account_for_wake(index, is_due, expiries);
        }
        self.service(index);
    }

    /// Runs an end's application, sends its packets, and sets its timer.
    #[inline(never)]
    pub fn service(&mut self, index: usize) {
        if P::ON {
            self.tell_moment();
        }
        let end = &mut self.ends[index];
        self.acting = end.flow;
        end.machine.drive(self.now, &mut end.application);
        if end.concerns_others {
            self.tell_others(index);
        }
        self.transmit(index);
        if P::ON {
            self.show(index);
        }
        if self.ends[index].sends {
            self.account_for_limit(index);
        }
        let end = &mut self.ends[index];
        let mut due = end.machine.next_timeout();
        if end.machine.is_over() {
            if !end.over {
                end.over = true;
                self.end(index);
            }
        } else {
            due = due.min(end.application.next_wake());
        }
        let end = &mut self.ends[index];
        if due < end.due {
            // A deadline in the past is due now.
            end.due = due.max(self.now);
            self.scheduler.set(end.slot, end.due);
        }
    }

    /// Handles events that concern more than one end: a visit's next step, or credit for read data.
    #[cold]
    fn tell_others(&mut self, index: usize) {
        let end = &self.ends[index];
        if let Application::Visit(visit) = end.application {
            return self.drive_visit(index, visit);
        }
        let Peer::Own(peer) = end.peer else { return };
        let peer_index = peer as usize;
        let [own, peer] = self.ends.get_disjoint_mut([index, peer_index]).expect("the two ends of a flow are two");
        own.machine.credit(self.now, &own.application, &mut *peer.machine, &mut peer.application);
        if P::ON && self.probe.hears_ends() {
            self.show_latencies(peer_index);
        }
    }

    /// Sends all packets that an end may send now.
    #[inline(always)]
    pub fn transmit(&mut self, index: usize) {
        if P::ON && self.probe.keeps_contents() {
            self.show_secrets(index);
        }
        loop {
            let end = &mut self.ends[index];
            let Some(departure) = end.machine.poll_transmit(self.now, &mut self.contents) else { break };
            let Departure { body, size, way, ecn } = departure;
            let route = end.ways.get(way).copied().unwrap_or(end.route);
            let Peer::Own(to) = end.peer else {
                self.send_to_guest(index, &departure, route);
                continue;
            };
            if P::ON {
                self.show_sent(index, &departure);
            }
            self.send(Outgoing { route, to, size, ecn, body });
        }
        if P::ON && self.probe.keeps_contents() {
            self.show_log(index);
        }
    }

    /// Sends a packet.
    #[inline(always)]
    pub fn send(&mut self, packet: Outgoing<Body>) {
        let fate = self.network.send(self.now, packet, &mut self.scheduler);
        if let Fate::Dropped(id, cause) = fate {
            self.discard(id, cause);
        }
    }

    /// Handles the end of one of our machines.
    #[cold]
    fn end(&mut self, index: usize) {
        let end = &mut self.ends[index];
        end.machine.shrink();
        let (flow, side) = end.id();
        let failed = end.machine.failure().is_some();
        self.close(flow, side, failed);
        let end = &self.ends[index];
        if let (Application::Visit(visit), true) = (&end.application, failed) {
            return self.fail_visit(*visit);
        }
        if let (true, Some(packets), Peer::Own(peer)) = (end.sends, end.machine.unannounced_end(), end.peer) {
            self.ends[peer as usize].machine.expect(packets);
            self.service(peer as usize);
        }
    }

    /// Notes that one end of a flow is done.
    #[cold]
    pub fn close(&mut self, flow: usize, side: usize, failed: bool) {
        let flow = &mut self.flows[flow];
        flow.over[side] = true;
        // The peer of a failed connection may never learn of the failure.
        if !flow.ended && (failed || flow.over == [true; 2]) {
            flow.ended = true;
            // A failed run has no open flows.
            self.open = self.open.saturating_sub(1);
            debug_assert!(self.open > 0 || !self.is_ahead(), "the run is over before it has come so far");
        }
    }
}
