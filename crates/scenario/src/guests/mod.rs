//! Guests in a run: hosts that exchange bytes, beside our own machines and on the same links.

pub(crate) mod ledger;
pub(crate) mod meter;
pub(crate) mod plan;
mod program;

use crate::endpoint::codec::{Address, Codec};
use crate::model::address::Addresses;
use crate::model::transport::{KernelProtocol, TransportSpec};
use ledger::{Ledger, Tuple};
use meter::TcpMeter;
use std::collections::BTreeMap;
use vazao_application::Sides;
use vazao_engine::{Duration, Ecn, Slot, Time};
use vazao_network::{Host, RouteId};
use vazao_transport::udp::{Config, Datagram, Endpoint};
use vazao_wire::{ipv4, tcp, udp};

/// Set in the destination of a packet of bytes: the rest is its flow's number and the side that it comes from.
pub(crate) const OF_BYTES: u32 = 1 << 30;
/// Set in the destination of a packet that belongs to no flow: the rest is the interface where it arrives.
pub(crate) const OF_NO_FLOW: u32 = OF_BYTES | 1 << 29;

/// How far a guest runs ahead at most.
pub(crate) const LONGEST_AHEAD: Duration = Duration::from_secs(1);

/// The guests of a run, the packets under way that are bytes, and what is known of the flows that guests play.
#[derive(Default)]
pub(crate) struct Guests {
    pub hosts: Vec<GuestHost>,
    pub addresses: Addresses,
    /// Ways of packets: from a guest's interface to an address.
    pub ways: BTreeMap<(usize, Address), Way>,
    pub frames: Frames,
    pub flows: BTreeMap<usize, GuestFlow>,
    /// Why the run cannot go on.
    pub failure: Option<String>,
}

pub(crate) struct GuestHost {
    pub name: String,
    pub node: usize,
    pub machine: Box<dyn Host>,
    pub slot: Slot,
    pub due: Time,
    /// Whether its clock may go on by itself while nothing can happen to it.
    pub runs_ahead: bool,
}

/// Where packets to an address go, and at which interface of its host they arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub route: RouteId,
    pub interface: usize,
}

/// A flow that a guest plays at one end at least.
pub(crate) struct GuestFlow {
    /// The kernel's protocol.
    pub kernel: KernelProtocol,
    /// Bytes of payload in a full datagram, where each says its place in the flow.
    pub payload: Option<u64>,
    /// What client and server run, if it is one of programs.
    pub programs: Option<[String; 2]>,
    pub client_sends: bool,
    /// The nodes of client and server.
    pub nodes: [usize; 2],
    /// Packets of its sender under way, and whether any has arrived.
    pub under_way: u32,
    pub is_heard: bool,
    /// Translates where our machine is at the other end.
    pub codec: Option<Box<dyn Codec>>,
    pub ledger: Ledger,
}

/// A packet of bytes under way.
#[derive(Clone)]
pub(crate) struct Frame {
    pub bytes: Vec<u8>,
    pub target: Target,
    /// The flow that it belongs to, and whether it goes the way of the measured data.
    pub flow: Option<(usize, bool)>,
    /// Bytes of payload in it.
    pub payload: u32,
}

/// Whom a packet of bytes is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Guest { host: usize, interface: usize },
    Machine(usize),
}

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

    /// Says that a flow is played by guests at one end at least.
    pub fn add_flow(&mut self, number: usize, transport: &TransportSpec, sides: &Sides) {
        let kernel = transport.kernel_protocol().expect("a guest's kernel has the protocol");
        let programs = sides.programs();
        let datagrams = kernel == KernelProtocol::Udp && programs.is_none();
        let sockets = self.addresses.sockets[number];
        let flow = GuestFlow {
            kernel,
            payload: datagrams.then(|| transport.parameters.integer("payload")),
            programs: programs.map(|programs| programs.map(str::to_owned)),
            client_sends: sides.client_sends,
            nodes: sockets.map(|socket| self.addresses.interfaces[socket.interface].node),
            under_way: 0,
            is_heard: false,
            codec: transport.pack().translator(&self.addresses, number),
            ledger: Ledger::default(),
        };
        self.flows.insert(number, flow);
    }

    /// What is known of a flow that a guest plays.
    pub fn ledger(&self, flow: usize) -> &Ledger {
        &self.flows[&flow].ledger
    }

    /// Whether what a flow that a guest plays loses is lost.
    pub fn is_datagrams(&self, flow: usize) -> bool {
        self.flows[&flow].kernel == KernelProtocol::Udp
    }

    /// Forgets a dropped packet: which flow's it was, and whether it went the way of the measured data.
    pub fn drop_frame(&mut self, frame: u32) -> Option<(usize, bool)> {
        self.take_frame(frame).flow
    }

    /// A packet is under way no longer.
    pub fn take_frame(&mut self, frame: u32) -> Frame {
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
            // The guests' program begins each datagram with its offset in the flow.
            let offset = bytes.get(ipv4::HEADER_LENGTH + udp::HEADER_LENGTH..).and_then(|data| data.first_chunk());
            let sequence = offset.map_or(0, |&offset| u64::from_be_bytes(offset) / full) as u32;
            let datagram = Datagram { sent: now, sequence, message: sequence, parts: 1, payload: payload as u16 };
            let config = Config { payload: full as u16, rate: None };
            ledger.datagrams.get_or_insert_with(|| Endpoint::new(config)).handle(now, &datagram);
        }
    }

    pub fn host_at(&self, node: usize) -> Option<usize> {
        self.hosts.iter().position(|host| host.node == node)
    }

    /// Which flow a packet belongs to, by the server's port or by its hosts; and from which side it comes.
    pub fn flow_of(&self, ip: &ipv4::Header, payload: &[u8]) -> Option<(usize, usize)> {
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
    pub fn is_program(&self) -> bool {
        self.programs.is_some()
    }

    pub fn sending_side(&self) -> usize {
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

/// A codepoint as the IP header has it.
pub(crate) fn ip_ecn(ecn: Ecn) -> ipv4::Ecn {
    ipv4::Ecn::from_bits(ecn as u8)
}

/// Bytes of data in an IP packet's payload, control information aside.
pub(crate) fn data_bytes(protocol: u8, payload: &[u8]) -> u32 {
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
pub(crate) fn is_end(datagram: &[u8]) -> bool {
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
