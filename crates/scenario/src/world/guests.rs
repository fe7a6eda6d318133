//! Events of guests: their packets are sent and delivered, their reports are handled.

use super::probe::{Leaves, Leaving, Probe};
use super::{End, World};
use crate::endpoint::{Body, Crossing, Departure, EndId};
use crate::guests::plan::GuestPlan;
use crate::guests::{Frame, GuestHost, LONGEST_AHEAD, Label, Target, ip_ecn};
use vazao_engine::{EventScheduler, Kind, Time};
use vazao_guest_protocol::{self as protocol, Event, Report, Sample};
use vazao_network::{Ecn, Host, Outgoing, Packet, RouteId};
use vazao_wire::ipv4;
use vazao_wire::payload::data_bytes;
use vazao_wire::pcapng::Direction;

impl<P: Probe> World<P> {
    /// Adds a started guest. Call after all flows were added, in the order of the guests' numbers.
    pub fn add_guest(&mut self, planned: &GuestPlan, machine: Box<dyn Host>) {
        let slot = self.scheduler.add_slot(Kind::Timer);
        let (name, runs_ahead) = (planned.host.name.clone(), planned.host.has_programs);
        self.guests.hosts.push(GuestHost { name, node: planned.node, machine, slot, due: Time::NEVER, runs_ahead });
        self.service_guest(self.guests.hosts.len() - 1);
    }

    /// Handles a guest's timeout.
    #[cold]
    pub fn wake_guest(&mut self, index: usize) {
        let host = &mut self.guests.hosts[index];
        let until = if host.runs_ahead {
            // It must return, so that a request to stop is seen.
            self.scheduler.next_time().min(self.end).min(self.now + LONGEST_AHEAD)
        } else {
            self.now
        };
        host.due = Time::NEVER;
        if host.machine.next_timeout() <= self.now {
            match host.machine.handle_timeout(self.now, until) {
                Ok(rest) => self.now = rest.max(self.now),
                Err(problem) => return self.fail(problem),
            }
        }
        self.service_guest(index);
    }

    /// Sends a packet of one of our machines, as bytes, to the guest at the other end of its flow.
    #[cold]
    pub fn send_to_guest(&mut self, index: usize, departure: &Departure, route: RouteId) {
        let (number, side) = self.ends[index].id();
        let End::Guest(host) = self.flows[number].ends[1 - side] else { unreachable!("its peer is a guest") };
        let Departure { body, ecn, .. } = departure;
        let crossing = Crossing { at: side, direction: Direction::Outbound, ecn: *ecn, body, contents: &self.contents };
        let known = self.guests.flows.get_mut(&number).expect("a guest's flow");
        let mut bytes = Vec::new();
        let codec = known.codec.as_mut().expect("what guests play with machines has a codec");
        let ends = codec.interfaces(&crossing);
        codec.encode(&crossing, usize::MAX, &mut bytes);
        self.contents.discard(body);
        let is_data = side == known.sending_side();
        known.under_way += u32::from(is_data);
        if P::ON {
            self.probe.on_bytes(self.now, ends[side], Direction::Outbound, &bytes);
        }
        let payload = ipv4::decode(&bytes).map_or(0, |(ip, inside)| data_bytes(ip.protocol, &bytes[inside]));
        let size = bytes.len() as u32;
        let target = Target::Guest { host: host as usize, interface: ends[1 - side] };
        self.show_departure(Some((number, side)), departure.way, &bytes);
        let frame = self.guests.frames.insert(Frame { bytes, target, flow: Some((number, is_data)), payload });
        let to = Label::Flow { number, side }.number();
        self.send(Outgoing { route, to, size, ecn: *ecn, body: Body::Bytes(frame) });
    }

    /// Shows the probe an IP packet that is sent next.
    fn show_departure(&mut self, end: Option<EndId>, path: usize, bytes: &[u8]) {
        if P::ON && self.probe.follows() {
            let leaving = Leaving { end, path, size: bytes.len() as u32, content: Leaves::Bytes(bytes) };
            self.probe.on_departure(self.now, self.network.next_packet(), &leaving);
        }
    }

    /// Delivers a packet to or from a guest.
    #[cold]
    pub fn deliver_bytes(&mut self, packet: &Packet<Body>, frame: u32) {
        let Frame { mut bytes, target, flow, payload } = self.guests.take_frame(frame);
        ipv4::set_ecn(&mut bytes, ip_ecn(packet.ecn()));
        let index = match target {
            Target::Guest { host, interface } => {
                if let Some((number, is_data)) = flow {
                    if is_data {
                        self.guests.count_arrival(self.now, number, payload, &bytes);
                    }
                    if is_data && payload > 0 {
                        self.flows[number].measure.on_data(self.now.since(packet.sent), packet.size);
                    }
                    self.see_return(number, is_data, &bytes);
                }
                return self.hand_over(host, interface, bytes);
            }
            Target::Machine(index) => index,
        };
        let (number, side) = self.ends[index].id();
        let flow = self.guests.flows.get_mut(&number).expect("a guest's flow");
        // A packet that cannot be decoded fails the checksum.
        let read = flow.codec.as_mut().and_then(|codec| codec.decode(1 - side, &bytes, &mut self.contents));
        let Some((body, ends)) = read else { return };
        if P::ON {
            self.probe.on_bytes(self.now, ends[side], Direction::Inbound, &bytes);
        }
        self.accept(index, packet, &body);
        self.contents.discard(&body);
        self.service(index);
    }

    /// Counts a packet that returns to the sender.
    fn see_return(&mut self, number: usize, is_data: bool, bytes: &[u8]) {
        if !is_data && let Ok((ip, inside)) = ipv4::decode(bytes) {
            let flow = self.guests.flows.get_mut(&number).expect("a guest's flow");
            flow.see_at_sender(self.now, &ip, &bytes[inside], false);
        }
    }

    /// Hands a packet to a guest.
    fn hand_over(&mut self, host: usize, interface: usize, bytes: Vec<u8>) {
        if P::ON {
            self.probe.on_bytes(self.now, interface, Direction::Inbound, &bytes);
        }
        let card = self.guests.addresses.interfaces[interface].number;
        let machine = &mut self.guests.hosts[host].machine;
        let handled = machine.handle(self.now, card, &bytes);
        machine.recycle(bytes);
        match handled {
            Ok(()) => self.service_guest(host),
            Err(problem) => self.fail(problem),
        }
    }

    /// Sends a guest's packets, handles its reports, and sets its timer.
    fn service_guest(&mut self, index: usize) {
        while let Some((card, bytes)) = self.guests.hosts[index].machine.poll_transmit() {
            self.forward(index, card, bytes);
        }
        while let Some(line) = self.guests.hosts[index].machine.poll_report() {
            self.handle_report(index, &line);
        }
        let host = &mut self.guests.hosts[index];
        if host.machine.is_off() && self.flows.iter().any(|flow| flow.waits_for(End::Guest(index as u32))) {
            let (name, printed) = (&host.name, host.machine.printed());
            let lines: Vec<&str> = printed.lines().rev().take(5).collect();
            let last: Vec<&str> = lines.into_iter().rev().collect();
            let problem = format!("host {name:?} powered off before its flows were over; it printed last: {last:?}");
            return self.fail(problem);
        }
        let due = host.machine.next_timeout();
        if due < host.due {
            host.due = due.max(self.now);
            self.scheduler.set(host.slot, host.due);
        }
    }

    /// Sends a guest's packet. One without a receiver is dropped, as on a real network.
    fn forward(&mut self, index: usize, card: usize, bytes: Vec<u8>) {
        let Ok((ip, inside)) = ipv4::decode(&bytes) else { return };
        let guests = &mut self.guests;
        let Some(interface) = guests.addresses.at(guests.hosts[index].node, card) else { return };
        let Some(&way) = guests.ways.get(&(interface, ip.destination)) else { return };
        let owner = guests.flow_of(&ip, &bytes[inside.clone()]);
        let arrives_at = guests.addresses.interfaces[way.interface].node;
        let machine = owner.and_then(|(number, side)| match self.flows[number].ends[1 - side] {
            End::Machine(index) => Some(Target::Machine(index as usize)),
            End::Guest(_) => None,
        });
        let guest = guests.host_at(arrives_at).map(|host| Target::Guest { host, interface: way.interface });
        let Some(target) = machine.or(guest) else { return };
        let mut flow = None;
        let mut payload = data_bytes(ip.protocol, &bytes[inside.clone()]);
        if let Some((number, side)) = owner {
            let known = guests.flows.get_mut(&number).expect("a guest's flow");
            let is_data = side == known.sending_side();
            flow = Some((number, is_data));
            if let (Some(_), Some(codec)) = (machine, &mut known.codec) {
                codec.note_sent(side, &bytes[inside.clone()]);
            }
            if is_data {
                known.under_way += 1;
                known.see_at_sender(self.now, &ip, &bytes[inside.clone()], true);
            }
            payload = known.data_bytes(&ip, &bytes[inside.clone()]);
        }
        if P::ON {
            self.probe.on_bytes(self.now, interface, Direction::Outbound, &bytes);
        }
        let size = bytes.len() as u32;
        self.show_departure(owner, 0, &bytes);
        let frame = self.guests.frames.insert(Frame { bytes, target, flow, payload });
        // Fair queues see each direction of a flow as one; packets of no flow are one by their destination.
        let of_flow = owner.map(|(number, side)| Label::Flow { number, side });
        let to = of_flow.unwrap_or(Label::Interface(way.interface)).number();
        let ecn = Ecn::from_bits(ip.ecn as u32);
        self.send(Outgoing { route: way.route, to, size, ecn, body: Body::Bytes(frame) });
    }

    /// Closes a datagram flow of which nothing has arrived or can arrive: its receiver would wait for ever.
    pub fn close_unheard(&mut self, number: usize) {
        let flow = &self.guests.flows[&number];
        let (sender, receiver) = (flow.sending_side(), 1 - flow.sending_side());
        let nothing = flow.under_way == 0 && !flow.is_heard;
        if flow.is_datagrams && nothing && self.flows[number].over[sender] {
            self.close(number, receiver, false);
        }
    }

    /// Handles a report of a guest.
    fn handle_report(&mut self, index: usize, line: &str) {
        let fails = |what: String| format!("host {:?}{what}", self.guests.hosts[index].name);
        match protocol::decode(line) {
            Ok(Report::Flow { number, event }) => self.handle_event(index, number as usize, event),
            Ok(Report::Counter { .. }) => {}
            Ok(Report::Wrong { problem }) => self.fail(fails(format!(": its kernel refused {problem}"))),
            Err(malformed) => self.fail(fails(format!(" printed {line:?} among its reports: {malformed}"))),
        }
    }

    /// Handles an event at a guest's end of a flow.
    fn handle_event(&mut self, index: usize, number: usize, event: Event) {
        let now = self.now;
        let Some(flow) = self.guests.flows.get_mut(&number) else { return };
        let side = usize::from(self.flows[number].ends[0] != End::Guest(index as u32));
        let (sends, is_program) = (side == flow.sending_side(), flow.is_program());
        match event {
            // Datagrams and programs are up before anything has come back from the peer.
            Event::Up if side == 0 && !flow.is_datagrams && !is_program => {
                flow.ledger.established = Some(now);
            }
            Event::Info(_) if !sends => {}
            Event::Over(_) if self.flows[number].ended => {}
            Event::Over(end) => {
                // A flow of programs ends with the client's: a server often never ends.
                let failure = (end != protocol::End::Closed).then(|| end.to_string());
                if let Some(why) = &failure {
                    self.guests.note_failure(number, side, why);
                }
                self.close(number, side, failure.is_some() || is_program && side == 0);
                self.close_unheard(number);
            }
            event => {
                flow.ledger.note(now, &event);
                if let Event::Info(Sample::Tcp(_)) = event {
                    self.flows[number].measure.on_sender_event(now, &flow.ledger.info);
                    if P::ON {
                        self.probe.on_sender(now, number as u32, &flow.ledger.info);
                    }
                }
            }
        }
    }
}
