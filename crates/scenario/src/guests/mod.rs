//! Guests in a run: hosts that exchange bytes, beside our own machines and on the same links.

use crate::address::{Address, Addresses};
use crate::chunks::{Beyond, note_chunks};
use crate::codec::{Contents, Offsets, decode, encode};
use crate::ledger::{Ledger, Report, Tuple};
use crate::machine::Machine;
use crate::meter::TcpMeter;
use crate::plan::Planned;
use crate::probe::Probe;
use crate::subflows::Lines;
use crate::transport::{Protocol, TransportSpec};
use crate::world::{Body, End, World};
use std::collections::BTreeMap;
use vazao_application::Sides;
use vazao_engine::{Duration, Scheduler, Slot, Time};
use vazao_network::{Ecn, Host, Outgoing, Packet, RouteId};
use vazao_transport::tcp::Segment;
use vazao_transport::udp::{Config, Datagram, Endpoint};
use vazao_wire::pcapng::Direction;
use vazao_wire::{ipv4, tcp, udp};

/// Set in the destination of a packet of bytes: the rest is its flow's number and the side that it comes from.
const OF_BYTES: u32 = 1 << 30;
/// Set in the destination of a packet that belongs to no flow: the rest is the interface where it arrives.
const OF_NO_FLOW: u32 = OF_BYTES | 1 << 29;

/// How far a guest runs ahead at most.
const LONGEST_AHEAD: Duration = Duration::from_secs(1);

/// The guests of a run, the packets under way that are bytes, and what is known of the flows that guests play.
#[derive(Default)]
pub(crate) struct Guests {
    hosts: Vec<GuestHost>,
    pub addresses: Addresses,
    /// Ways of packets: from a guest's interface to an address.
    ways: BTreeMap<(usize, Address), Way>,
    frames: Frames,
    flows: BTreeMap<usize, GuestFlow>,
    /// Why the run cannot go on.
    pub failure: Option<String>,
}

struct GuestHost {
    name: String,
    node: usize,
    machine: Box<dyn Host>,
    slot: Slot,
    due: Time,
    /// Whether its clock may go on by itself while nothing can happen to it.
    runs_ahead: bool,
}

/// Where packets to an address go, and at which interface of its host they arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub route: RouteId,
    pub interface: usize,
}

/// A flow that a guest plays at one end at least.
struct GuestFlow {
    protocol: Protocol,
    /// Bytes of payload in a full datagram, where each says its place in the flow.
    payload: Option<u64>,
    /// What client and server run, if it is one of programs.
    programs: Option<[String; 2]>,
    client_sends: bool,
    /// The nodes of client and server.
    nodes: [usize; 2],
    /// Packets of its sender under way, and whether any has arrived.
    under_way: u32,
    is_heard: bool,
    /// Where our machine is at the other end: the streams from it to the guest, and back.
    offsets: [Offsets; 2],
    /// What bytes tell beyond our packets, of an association.
    beyond: Beyond,
    /// The same of a Multipath TCP connection.
    lines: Lines,
    ledger: Ledger,
}

/// A packet of bytes under way.
#[derive(Clone)]
struct Frame {
    bytes: Vec<u8>,
    target: Target,
    /// The flow that it belongs to, and whether it goes the way of the measured data.
    flow: Option<(usize, bool)>,
    /// Bytes of payload in it.
    payload: u32,
}

/// Where a packet of one of our machines to a guest belongs: its flow and side, the interfaces at the ends of its way.
struct Ours {
    flow: usize,
    side: usize,
    route: RouteId,
    ends: [usize; 2],
    ecn: Ecn,
}

/// Whom a packet of bytes is for.
#[derive(Clone, Copy, Debug)]
enum Target {
    Guest { host: usize, interface: usize },
    Machine(usize),
}

#[derive(Default)]
struct Frames {
    slots: Vec<Option<Frame>>,
    free: Vec<u32>,
}

impl Frames {
    fn insert(&mut self, frame: Frame) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[index as usize] = Some(frame);
        index
    }
    fn take(&mut self, index: u32) -> Frame {
        self.free.push(index);
        self.slots[index as usize].take().expect("a packet under way keeps its bytes")
    }
}

impl Guests {
    pub fn new(addresses: Addresses, ways: BTreeMap<(usize, Address), Way>) -> Guests {
        Guests { addresses, ways, ..Guests::default() }
    }

    /// Says that a flow is played by guests at one end at least.
    pub fn add_flow(&mut self, number: usize, transport: &TransportSpec, sides: &Sides) {
        let (protocol, programs) = (transport.entry.build, sides.programs());
        let datagrams = protocol == Protocol::Udp && programs.is_none();
        let sockets = self.addresses.sockets[number];
        let flow = GuestFlow {
            protocol,
            payload: datagrams.then(|| transport.parameters.integer("payload")),
            programs: programs.map(|programs| programs.map(str::to_owned)),
            client_sends: sides.client_sends,
            nodes: sockets.map(|socket| self.addresses.interfaces[socket.interface].node),
            under_way: 0,
            is_heard: false,
            offsets: sockets.map(|socket| Offsets::from(socket.iss)),
            beyond: Beyond::new([0, 1].map(|side| self.addresses.of_side(number, side))),
            lines: Lines::new(self.addresses.of_flow(number)),
            ledger: Ledger::default(),
        };
        self.flows.insert(number, flow);
    }

    /// What is known of a flow that a guest plays.
    pub fn ledger(&self, flow: usize) -> &Ledger {
        &self.flows[&flow].ledger
    }

    /// Which protocol a flow that a guest plays uses.
    pub fn protocol(&self, flow: usize) -> Protocol {
        self.flows[&flow].protocol
    }

    /// Forgets a dropped packet: which flow's it was, and whether it went the way of the measured data.
    pub fn drop_frame(&mut self, frame: u32) -> Option<(usize, bool)> {
        self.take_frame(frame).flow
    }

    /// A packet is under way no longer.
    fn take_frame(&mut self, frame: u32) -> Frame {
        let frame = self.frames.take(frame);
        if let Some((number, true)) = frame.flow {
            self.flows.get_mut(&number).expect("a guest's flow").under_way -= 1;
        }
        frame
    }

    /// The bytes of a packet under way.
    pub fn frame_mut(&mut self, frame: u32) -> &mut [u8] {
        &mut self.frames.slots[frame as usize].as_mut().expect("a packet under way keeps its bytes").bytes
    }

    /// A copy of a packet under way.
    pub fn copy_frame(&mut self, frame: u32) -> u32 {
        let copy = self.frames.slots[frame as usize].clone().expect("a packet under way keeps its bytes");
        if let Some((number, true)) = copy.flow {
            self.flows.get_mut(&number).expect("a guest's flow").under_way += 1;
        }
        self.frames.insert(copy)
    }

    /// A packet from a flow's sender arrives, with so many bytes of data.
    fn count_arrival(&mut self, now: Time, flow: usize, payload: u32, bytes: &[u8]) {
        let flow = self.flows.get_mut(&flow).expect("a guest's flow");
        flow.is_heard = true;
        if payload == 0 {
            return;
        }
        let ledger = &mut flow.ledger;
        ledger.delivered += u64::from(payload);
        ledger.arrived = Some((ledger.arrived.map_or(now, |(first, _)| first), now));
        if let Some(full) = flow.payload {
            // The guests' program begins each datagram with its offset in the flow.
            let offset = bytes.get(ipv4::HEADER_LENGTH + udp::HEADER_LENGTH..).and_then(|data| data.first_chunk());
            let sequence = offset.map_or(0, |&offset| u64::from_be_bytes(offset) / full) as u32;
            let datagram = Datagram { sent: now, sequence, message: sequence, parts: 1, payload: payload as u16 };
            let config = Config { payload: full as u16, rate: None };
            ledger.datagrams.get_or_insert_with(|| Endpoint::new(config)).handle(now, &datagram);
        }
    }

    fn host_at(&self, node: usize) -> Option<usize> {
        self.hosts.iter().position(|host| host.node == node)
    }

    /// Which flow a packet belongs to, by the server's port or by its hosts; and from which side it comes.
    fn flow_of(&self, ip: &ipv4::Header, payload: &[u8]) -> Option<(usize, usize)> {
        let node = |address| self.addresses.owner(address).map(|i| self.addresses.interfaces[i].node);
        let (from, to) = (node(ip.source)?, node(ip.destination)?);
        let belongs = |number: usize, side: usize| {
            let flow = self.flows.get(&number)?;
            (flow.nodes[side] == from && flow.nodes[1 - side] == to).then_some((number, side))
        };
        if let [a, b, c, d, ..] = *payload {
            let ports = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
            // Towards the server, its port is the destination's; back, the source's.
            let toward = self.addresses.flow_of(ports[1]).and_then(|number| belongs(number, 0));
            let back = self.addresses.flow_of(ports[0]).and_then(|number| belongs(number, 1));
            if let Some(found) = toward.or(back) {
                return Some(found);
            }
        }
        let mut programs = self.flows.iter().filter(|(_, flow)| flow.is_program());
        programs.find_map(|(&number, _)| belongs(number, 0).or_else(|| belongs(number, 1)))
    }
}

impl GuestFlow {
    fn is_program(&self) -> bool {
        self.programs.is_some()
    }

    fn sending_side(&self) -> usize {
        usize::from(!self.client_sends)
    }

    /// The counts of the connection that a TCP segment from the sender belongs to.
    fn meter(&mut self, tuple: Tuple) -> &mut TcpMeter {
        let connections = &mut self.ledger.connections;
        let index = connections.iter().position(|(known, _)| *known == tuple).unwrap_or_else(|| {
            connections.push((tuple, TcpMeter::default()));
            connections.len() - 1
        });
        &mut connections[index].1
    }

    /// A packet passes the sender's interface, out or in.
    fn see_at_sender(&mut self, now: Time, ip: &ipv4::Header, payload: &[u8], out: bool) {
        self.ledger.packets += u64::from(out);
        if ip.protocol != tcp::PROTOCOL {
            return;
        }
        let Ok((header, data)) = tcp::decode(payload, ip.pseudo_header()) else { return };
        let (own, peer) = (header.source_port, header.destination_port);
        if out {
            let meter = self.meter((ip.source, own, ip.destination, peer));
            meter.on_send(now, &header, data.len() as u32);
        } else {
            let meter = self.meter((ip.destination, peer, ip.source, own));
            meter.on_receive(now, &header, data.len() as u32);
        }
    }
}

/// A codepoint as the IP header has it.
fn ip_ecn(ecn: Ecn) -> ipv4::Ecn {
    ipv4::Ecn::from_bits(ecn as u8)
}

/// Bytes of data in an IP packet's payload, control information aside.
fn data_bytes(protocol: u8, payload: &[u8]) -> u32 {
    const SCTP: u8 = 132;
    match protocol {
        tcp::PROTOCOL if payload.len() >= 20 => (payload.len() as u32).saturating_sub(4 * u32::from(payload[12] >> 4)),
        udp::PROTOCOL => (payload.len() as u32).saturating_sub(8),
        SCTP => sctp_data(payload.get(12..).unwrap_or_default()),
        _ => 0,
    }
}

/// Whether a datagram is one of those that end a datagram flow, which are no data of its own: where others say at which
/// byte of the flow they begin, these have the highest number.
fn is_end(datagram: &[u8]) -> bool {
    datagram.get(8..16) == Some(&[0xff; 8])
}

/// Bytes of user data in SCTP's chunks (RFC 9260 section 3.2): each has a length, padded to four bytes; DATA is type
/// 0, I-DATA (RFC 8260) 64.
fn sctp_data(mut chunks: &[u8]) -> u32 {
    let mut data = 0;
    while let [kind, _, high, low, ..] = *chunks {
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 4 {
            break;
        }
        let fields = match kind {
            0 => 16,
            64 => 20,
            _ => length,
        };
        data += length.saturating_sub(fields) as u32;
        chunks = chunks.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    data
}

impl<P: Probe> World<P> {
    /// Adds a guest that has been started. Call after all flows were added, in the order in which guests are numbered.
    pub fn add_guest(&mut self, planned: &Planned, machine: Box<dyn Host>) {
        let slot = self.scheduler.add_slot();
        let (name, runs_ahead) = (planned.host.name.clone(), planned.host.has_programs);
        self.guests.hosts.push(GuestHost { name, node: planned.node, machine, slot, due: Time::NEVER, runs_ahead });
        self.service_guest(self.guests.hosts.len() - 1);
    }

    #[cold]
    pub fn wake_guest(&mut self, index: usize) {
        let host = &mut self.guests.hosts[index];
        let until = if host.runs_ahead {
            // It must come back: nothing else looks whether it is to be stopped.
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

    /// One of our machines' segments arrives at a guest.
    #[cold]
    pub fn deliver_to_guest(&mut self, packet: &Packet<Body>, segment: &Segment) {
        let number = (packet.to & !crate::world::TO_GUEST) as usize;
        let extra = segment.has_extra.then(|| self.extras.take(segment.extra));
        let flow = &mut self.flows[number];
        let side = usize::from(matches!(flow.ends[1], End::Guest(_)));
        let End::Guest(host) = flow.ends[side] else { unreachable!("the flow has a guest") };
        let is_data = usize::from(flow.client_sends) == side;
        if is_data && segment.length > 0 {
            flow.measure.on_data(self.now.since(packet.sent), packet.size);
        }
        let sockets = self.guests.addresses.sockets[number];
        let known = self.guests.flows.get_mut(&number).expect("a guest's flow");
        let mut bytes = Vec::new();
        let ends = (sockets[1 - side].place(), sockets[side].place());
        let contents = Contents::of(segment, &mut known.offsets[1 - side]);
        encode(segment, extra.as_ref(), ends, contents, &mut bytes);
        ipv4::set_ecn(&mut bytes, ip_ecn(packet.ecn()));
        self.see_return(number, is_data, &bytes);
        self.hand_over(host as usize, sockets[side].interface, bytes);
    }

    /// One of our machines' packets, as bytes with so much data in them, is put onto its way to a guest.
    fn send_bytes_to_guest(&mut self, host: usize, ours: Ours, bytes: Vec<u8>, payload: u32) {
        let Ours { flow, side, route, ends, ecn } = ours;
        let known = self.guests.flows.get_mut(&flow).expect("a guest's flow");
        let is_data = side == known.sending_side();
        known.under_way += u32::from(is_data);
        if P::ON {
            self.probe.on_bytes(self.now, ends[side], Direction::Outbound, &bytes);
        }
        let size = bytes.len() as u32;
        let target = Target::Guest { host, interface: ends[1 - side] };
        let frame = self.guests.frames.insert(Frame { bytes, target, flow: Some((flow, is_data)), payload });
        let to = OF_BYTES | (2 * flow + side) as u32;
        self.send(Outgoing { route, to, size, ecn, body: Body::Bytes(frame) });
    }

    /// A guest's packet arrives.
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
        let endpoint = &self.endpoints[index];
        if let Machine::Sctp(_) = &endpoint.machine {
            return self.deliver_chunks(index, packet, &bytes);
        }
        if let Machine::Mptcp(_) = &endpoint.machine {
            return self.deliver_subflow(index, packet, &bytes);
        }
        let (number, side) = (endpoint.flow as usize, usize::from(endpoint.side));
        let flow = self.guests.flows.get_mut(&number).expect("a guest's flow");
        // What cannot be decoded would not have passed our checksum either.
        if let Ok((segment, extra)) = decode(&bytes, &mut flow.offsets[1 - side]) {
            self.deliver(index, packet, &segment, extra.as_ref());
        }
    }

    /// Shows the sender's meter what comes back to it.
    fn see_return(&mut self, number: usize, is_data: bool, bytes: &[u8]) {
        if !is_data && let Ok((ip, inside)) = ipv4::decode(bytes) {
            let flow = self.guests.flows.get_mut(&number).expect("a guest's flow");
            flow.see_at_sender(self.now, &ip, &bytes[inside], false);
        }
    }

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

    /// Sends what a guest has sent, heeds what it reports, and sets its alarm.
    fn service_guest(&mut self, index: usize) {
        while let Some((card, bytes)) = self.guests.hosts[index].machine.poll_transmit() {
            self.forward(index, card, bytes);
        }
        while let Some(line) = self.guests.hosts[index].machine.poll_report() {
            self.heed(index, &line);
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

    /// Puts a guest's packet onto its way. What is for nobody here goes nowhere, as on a real network.
    fn forward(&mut self, index: usize, card: usize, bytes: Vec<u8>) {
        let Ok((ip, inside)) = ipv4::decode(&bytes) else { return };
        let guests = &mut self.guests;
        let Some(interface) = guests.addresses.at(guests.hosts[index].node, card) else { return };
        let Some(&way) = guests.ways.get(&(interface, ip.destination)) else { return };
        let whose = guests.flow_of(&ip, &bytes[inside.clone()]);
        let arrives_at = guests.addresses.interfaces[way.interface].node;
        let machine = whose.and_then(|(number, side)| match self.flows[number].ends[1 - side] {
            End::Machine(index) => Some(Target::Machine(index as usize)),
            End::Guest(_) => None,
        });
        let guest = guests.host_at(arrives_at).map(|host| Target::Guest { host, interface: way.interface });
        let Some(target) = machine.or(guest) else { return };
        let mut flow = None;
        let mut payload = data_bytes(ip.protocol, &bytes[inside.clone()]);
        if let Some((number, side)) = whose {
            let known = guests.flows.get_mut(&number).expect("a guest's flow");
            let is_data = side == known.sending_side();
            flow = Some((number, is_data));
            if known.protocol == Protocol::Sctp && machine.is_some() {
                note_chunks(&bytes[inside.clone()], &mut known.beyond.courses[side]);
            }
            if is_data {
                known.under_way += 1;
                known.see_at_sender(self.now, &ip, &bytes[inside.clone()], true);
            }
            if known.protocol == Protocol::Udp && is_end(&bytes[inside.clone()]) {
                payload = 0;
            }
        }
        if P::ON {
            self.probe.on_bytes(self.now, interface, Direction::Outbound, &bytes);
        }
        let size = bytes.len() as u32;
        let frame = self.guests.frames.insert(Frame { bytes, target, flow, payload });
        // Queues that tell flows apart see each direction of each as one; what belongs to none is one by its destination.
        let to = match whose {
            Some((number, side)) => OF_BYTES | (2 * number + side) as u32,
            None => OF_NO_FLOW | way.interface as u32,
        };
        let ecn = Ecn::from_bits(ip.ecn as u32);
        self.send(Outgoing { route: way.route, to, size, ecn, body: Body::Bytes(frame) });
    }

    /// Closes a datagram flow of which nothing has arrived and nothing can any more: its receiver would wait for ever.
    pub fn close_unheard(&mut self, number: usize) {
        let flow = &self.guests.flows[&number];
        let (sender, receiver) = (flow.sending_side(), 1 - flow.sending_side());
        let nothing = flow.under_way == 0 && !flow.is_heard;
        if flow.protocol == Protocol::Udp && nothing && self.flows[number].is_over(sender) {
            self.close(number, receiver, false);
        }
    }

    /// Keeps what a guest reports.
    fn heed(&mut self, index: usize, line: &str) {
        let now = self.now;
        let report = Report::parse(line);
        if let Report::Wrong(problem) = report {
            let name = &self.guests.hosts[index].name;
            let problem = format!("host {name:?}: its kernel refused {problem}");
            return self.fail(problem);
        }
        let (Report::Up(number)
        | Report::First(number)
        | Report::Last(number, ..)
        | Report::Read(number, ..)
        | Report::Sent(number, _)
        | Report::Over(number, _)
        | Report::Info(number, ..)) = report
        else {
            return;
        };
        let Some(flow) = self.guests.flows.get_mut(&number) else { return };
        let side = usize::from(self.flows[number].ends[0] != End::Guest(index as u32));
        let sends = side == flow.sending_side();
        let is_program = flow.is_program();
        let ledger = &mut flow.ledger;
        match report {
            // Datagrams and programs are up without a word to anyone.
            Report::Up(_) if side == 0 && flow.protocol != Protocol::Udp && !is_program => {
                ledger.established = Some(now)
            }
            Report::First(_) => ledger.first = Some(now),
            Report::Last(_, bytes, intact, ended) => {
                // The end of a stream may be heard of long after its last byte.
                let last = if bytes == ledger.received { ledger.last.unwrap_or(now) } else { now };
                (ledger.last, ledger.received, ledger.wrong, ledger.closed) = (Some(last), bytes, !intact, ended);
            }
            Report::Read(_, bytes, intact) if !ledger.closed => {
                if bytes > ledger.received {
                    ledger.last = Some(now);
                }
                (ledger.received, ledger.wrong) = (bytes, !intact);
            }
            Report::Sent(_, bytes) => ledger.written = Some(bytes),
            // What becomes of a flow that is done with is not its affair.
            Report::Over(..) if self.flows[number].has_ended() => {}
            Report::Over(_, why) => {
                // Programs are done when the client's is: a server often never ends.
                let done = is_program && side == 0;
                if let Some(why) = why {
                    self.guests.note_failure(number, side, why);
                }
                self.close(number, side, done || why.is_some());
                self.close_unheard(number);
            }
            Report::Info(_, path, text) if sends && matches!(flow.protocol, Protocol::Sctp | Protocol::Mptcp) => {
                ledger.paths.update(now, path, text);
            }
            Report::Info(_, None, text) if sends => {
                if !ledger.info.update(text) {
                    return;
                }
                self.flows[number].measure.on_sender_event(now, &ledger.info);
                if P::ON {
                    self.probe.on_sender(now, number as u32, &ledger.info);
                }
            }
            _ => {}
        }
    }
}

mod association;
mod program;
mod subflow;
#[cfg(test)]
mod tests;
