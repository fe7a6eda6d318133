//! Guests of a run: hosts that exchange bytes, on the same links as our own machines.

pub(crate) mod ledger;
pub(crate) mod meter;
pub(crate) mod plan;
mod program;

use crate::endpoint::codec::{Address, Codec};
use crate::model::address::Addresses;
use crate::model::scenario::TransportSpec;
use ledger::{Ledger, Tuple};
use meter::TcpMeter;
use std::collections::BTreeMap;
use vazao_application::Sides;
use vazao_engine::{Duration, Ecn, Slot, Time};
use vazao_guest_protocol::Head;
use vazao_network::{Host, RouteId};
use vazao_transport::udp::{Config, Datagram, Endpoint};
use vazao_wire::payload::{data_bytes, ports};
use vazao_wire::{ipv4, tcp, udp};

/// Flow of a guest's packet to queues that serve flows fairly.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Label {
    /// Direction of a flow, by the side that sends.
    Flow { number: usize, side: usize },
    /// Packets of no flow, by the interface where they arrive.
    Interface(usize),
}

impl Label {
    /// Returns a number beside those of our machines' ends, which are counted from 0.
    pub fn number(self) -> u32 {
        const GUESTS: u32 = 1 << 30;
        const NO_FLOW: u32 = 1 << 29;
        match self {
            Label::Flow { number, side } => GUESTS | (2 * number + side) as u32,
            Label::Interface(interface) => GUESTS | NO_FLOW | interface as u32,
        }
    }
}

/// Longest time for which a guest runs ahead.
pub(crate) const LONGEST_AHEAD: Duration = Duration::from_secs(1);

/// Guests of a run, their packets under way, and the accounts of their flows.
#[derive(Default)]
pub(crate) struct Guests {
    pub hosts: Vec<GuestHost>,
    pub addresses: Addresses,
    /// Ways of packets, from a guest's interface to an address.
    pub ways: BTreeMap<(usize, Address), Way>,
    pub frames: Frames,
    pub flows: BTreeMap<usize, GuestFlow>,
    /// Error that ends the run.
    pub failure: Option<String>,
}

/// Guest that plays a host.
pub(crate) struct GuestHost {
    pub name: String,
    pub node: usize,
    pub machine: Box<dyn Host>,
    pub slot: Slot,
    pub due: Time,
    /// Whether its clock may run ahead while no event can reach it.
    pub runs_ahead: bool,
}

/// Route of packets to an address, and the interface of its host where they arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub route: RouteId,
    pub interface: usize,
}

/// Flow with a guest at one end at least.
pub(crate) struct GuestFlow {
    /// Whether it is one of datagrams without feedback.
    pub is_datagrams: bool,
    /// Bytes of payload in a full datagram, if each carries its offset in the flow.
    pub payload: Option<u64>,
    /// Commands of client and server, if the flow is one of programs.
    pub programs: Option<[String; 2]>,
    pub client_sends: bool,
    /// Nodes of client and server.
    pub nodes: [usize; 2],
    /// Packets of the sender under way.
    pub under_way: u32,
    /// Whether any packet of the sender has arrived.
    pub is_heard: bool,
    /// Codec, if one of our machines is at the other end.
    pub codec: Option<Box<dyn Codec>>,
    pub ledger: Ledger,
}

/// IP packet under way.
#[derive(Clone)]
pub(crate) struct Frame {
    pub bytes: Vec<u8>,
    pub target: Target,
    /// Flow that it belongs to, and whether it goes in the direction of the measured data.
    pub flow: Option<(usize, bool)>,
    /// Bytes of payload.
    pub payload: u32,
}

/// Receiver of an IP packet under way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Guest { host: usize, interface: usize },
    Machine(usize),
}

/// IP packets under way, by number.
#[derive(Default)]
pub(crate) struct Frames {
    slots: Vec<Option<Frame>>,
    free: Vec<u32>,
}

impl Frames {
    pub fn insert(&mut self, frame: Frame) -> u32 {
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

    /// Adds a flow with a guest at one end at least.
    pub fn add_flow(&mut self, number: usize, transport: &TransportSpec, sides: &Sides) {
        let kernel = transport.pack().kernel.as_ref().expect("a guest's kernel has the protocol");
        let (programs, is_datagrams) = (sides.programs(), transport.is_datagrams());
        let sockets = self.addresses.sockets[number];
        let flow = GuestFlow {
            is_datagrams,
            payload: (is_datagrams && programs.is_none()).then(|| transport.segment()),
            programs: programs.map(|programs| programs.map(str::to_owned)),
            client_sends: sides.client_sends,
            nodes: sockets.map(|socket| self.addresses.interfaces[socket.interface].node),
            under_way: 0,
            is_heard: false,
            codec: kernel.translator.map(|make| make(&self.addresses, number)),
            ledger: Ledger {
                loses_unseen: transport.guest.netem[usize::from(!sides.client_sends)] > 0.0,
                ..Ledger::default()
            },
        };
        self.flows.insert(number, flow);
    }

    /// Returns the account of a guest's flow.
    pub fn ledger(&self, flow: usize) -> &Ledger {
        &self.flows[&flow].ledger
    }

    /// Returns whether a guest's flow is one of datagrams.
    pub fn is_datagrams(&self, flow: usize) -> bool {
        self.flows[&flow].is_datagrams
    }

    /// Takes a packet that is under way no longer.
    pub fn take_frame(&mut self, frame: u32) -> Frame {
        let frame = self.frames.take(frame);
        if let Some((number, true)) = frame.flow {
            self.flows.get_mut(&number).expect("a guest's flow").under_way -= 1;
        }
        frame
    }

    /// Returns the bytes of a packet under way.
    pub fn frame_mut(&mut self, frame: u32) -> &mut [u8] {
        &mut self.frames.slots[frame as usize].as_mut().expect("a packet under way keeps its bytes").bytes
    }

    /// Copies a packet under way.
    pub fn copy_frame(&mut self, frame: u32) -> u32 {
        let copy = self.frames.slots[frame as usize].clone().expect("a packet under way keeps its bytes");
        if let Some((number, true)) = copy.flow {
            self.flows.get_mut(&number).expect("a guest's flow").under_way += 1;
        }
        self.frames.insert(copy)
    }

    /// Counts a packet that arrives from a flow's sender.
    pub fn count_arrival(&mut self, now: Time, flow: usize, payload: u32, bytes: &[u8]) {
        let flow = self.flows.get_mut(&flow).expect("a guest's flow");
        flow.is_heard = true;
        if payload == 0 {
            return;
        }
        let ledger = &mut flow.ledger;
        ledger.delivered += u64::from(payload);
        ledger.arrived = Some((ledger.arrived.map_or(now, |(first, _)| first), now));
        if let Some(full) = flow.payload {
            let head = bytes.get(ipv4::HEADER_LENGTH + udp::HEADER_LENGTH..).and_then(Head::read);
            let sequence = if let Some(Head::Offset(offset)) = head { (offset / full) as u32 } else { 0 };
            let datagram = Datagram { sent: now, sequence, message: sequence, parts: 1, payload: payload as u16 };
            let config = Config { payload: full as u16, rate: None };
            ledger.datagrams.get_or_insert_with(|| Endpoint::new(config)).handle(now, &datagram);
        }
    }

    /// Returns the index of the guest at a node.
    pub fn host_at(&self, node: usize) -> Option<usize> {
        self.hosts.iter().position(|host| host.node == node)
    }

    /// Returns the flow of a packet, by the server's port or by its hosts, and the side that sent it.
    pub fn flow_of(&self, ip: &ipv4::Header, payload: &[u8]) -> Option<(usize, usize)> {
        let node = |address| self.addresses.owner(address).map(|i| self.addresses.interfaces[i].node);
        let (from, to) = (node(ip.source)?, node(ip.destination)?);
        let belongs = |number: usize, side: usize| {
            let flow = self.flows.get(&number)?;
            (flow.nodes[side] == from && flow.nodes[1 - side] == to).then_some((number, side))
        };
        if let Some(ports) = ports(payload) {
            // The server's port is the destination port towards the server, the source port on the way back.
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
    pub fn is_program(&self) -> bool {
        self.programs.is_some()
    }

    /// Returns the bytes of data in an IP packet of the flow; the end of one of datagrams has none.
    pub fn data_bytes(&self, ip: &ipv4::Header, payload: &[u8]) -> u32 {
        let datagram = payload.get(udp::HEADER_LENGTH..).filter(|_| self.is_datagrams);
        if datagram.and_then(Head::read) == Some(Head::End) { 0 } else { data_bytes(ip.protocol, payload) }
    }

    pub fn sending_side(&self) -> usize {
        usize::from(!self.client_sends)
    }

    /// Returns the counts of a connection of the sender.
    fn meter(&mut self, tuple: Tuple) -> &mut TcpMeter {
        let connections = &mut self.ledger.connections;
        let index = connections.iter().position(|(known, _)| *known == tuple).unwrap_or_else(|| {
            connections.push((tuple, TcpMeter::default()));
            connections.len() - 1
        });
        &mut connections[index].1
    }

    /// Counts a packet at the sender's interface, out or in.
    pub fn see_at_sender(&mut self, now: Time, ip: &ipv4::Header, payload: &[u8], out: bool) {
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

/// Converts a codepoint for the IP header.
pub(crate) fn ip_ecn(ecn: Ecn) -> ipv4::Ecn {
    ipv4::Ecn::from_bits(ecn as u8)
}
