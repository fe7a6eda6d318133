//! Captures: every packet that a host sends or receives, as bytes, one pcapng a host interface.

use crate::address::{Address, Addresses, Place, Socket};
use crate::chunks::encode_chunks;
use crate::codec::{Contents, Offsets, encode, encode_datagram, encode_payload};
use crate::datagrams::{Sealer, is_sealed};
use crate::probe::{Crossing, FlowEnd};
use crate::scenario::Scenario;
use crate::subflows::{self, Firsts};
use crate::world::Body;
use std::collections::BTreeSet;
use vazao_engine::{Ecn, Time};
use vazao_transport::mptcp::Multipath;
use vazao_transport::tcp::{Extra, Segment};
use vazao_transport::{library, quic, sctp};
use vazao_wire::pcapng::{self, Direction};

/// Where captured bytes go: the interface's name and what to append. Says why it cannot.
pub type Output<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), String>;

/// The interface and the address at each end of a path.
type Ends = [(usize, [u8; 4]); 2];

/// All interfaces and flows of a run.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    /// Names and what was captured there and not yet written.
    interfaces: Vec<(String, Vec<u8>)>,
    /// Client and server of each flow.
    sockets: Vec<[(Socket, Offsets); 2]>,
    /// The interfaces and addresses at the ends of each path of an association, or of the ways of subflows.
    paths: Vec<Vec<Ends>>,
    /// Of each flow: all addresses of its hosts, and what its options have told.
    hosts: Vec<[Vec<Address>; 2]>,
    firsts: Vec<Firsts>,
    /// Who writes the datagrams of QUIC connections of ours.
    sealers: Vec<Option<Box<Sealer>>>,
    packet: Vec<u8>,
    /// How long the head of each interface's file is, zero once it has been handed on.
    heads: Vec<usize>,
}

/// How much is kept before it is handed to the output.
const BUFFER: usize = 1 << 20;

impl Capture {
    pub fn new(scenario: &Scenario, addresses: &Addresses) -> Capture {
        let start = |name: &String| {
            let mut bytes = Vec::new();
            pcapng::section(&mut bytes);
            pcapng::interface(name, 0, &mut bytes);
            (name.clone(), bytes)
        };
        let socket = |s: Socket| (s, Offsets::from(s.iss));
        let mut interfaces: Vec<_> = addresses.interfaces.iter().map(|i| start(&i.name)).collect();
        let sealers = sealers(scenario);
        for (sealer, paths) in sealers.iter().zip(&addresses.paths) {
            if let Some(sealer) = sealer {
                let log = sealer.key_log();
                let seen: BTreeSet<usize> = paths.iter().flatten().copied().collect();
                seen.into_iter().for_each(|interface| pcapng::key_log(&log, &mut interfaces[interface].1));
            }
        }
        Capture {
            heads: interfaces.iter().map(|(_, bytes)| bytes.len()).collect(),
            interfaces,
            sealers,
            sockets: addresses.sockets.iter().map(|ends| ends.map(socket)).collect(),
            paths: addresses
                .paths
                .iter()
                .map(|paths| paths.iter().map(|ends| ends.map(|i| (i, addresses.interfaces[i].address))).collect())
                .collect(),
            hosts: (0..addresses.sockets.len()).map(|number| addresses.of_flow(number)).collect(),
            firsts: vec![Firsts::default(); addresses.sockets.len()],
            packet: Vec::new(),
        }
    }

    /// Records a packet of one of our machines where side `at` (0: client, 1: server) of a flow sends or receives it.
    pub fn body(
        &mut self,
        now: Time,
        (flow, at): (usize, usize),
        direction: Direction,
        body: &Body,
        extra: Option<&Extra>,
    ) {
        let from = if direction == Direction::Outbound { at } else { 1 - at };
        if let Body::Tcp(segment) = body
            && let Some(extra) = extra.filter(|_| segment.has_extra)
            && let Some(multipath) = &extra.multipath
        {
            return self.subflow(now, (flow, at), direction, segment, extra, multipath);
        }
        let sockets = &mut self.sockets[flow];
        let (source, target) = (sockets[from].0, sockets[1 - from].0);
        self.packet.clear();
        match body {
            Body::Tcp(segment) => {
                let extra = extra.filter(|_| segment.has_extra);
                let contents = Contents::of(segment, &mut sockets[from].1);
                encode(segment, extra, (source.place(), target.place()), contents, &mut self.packet);
            }
            Body::Udp(datagram) => encode_datagram(datagram, (&source, &target), &mut self.packet),
            Body::Sctp(_) | Body::Quic(_) | Body::Payload(_) => unreachable!("packets of these come by other ways"),
            Body::Bytes(_) => unreachable!("guests' packets are bytes already"),
        }
        let interface = sockets[at].0.interface;
        self.bytes_at(now, interface, direction);
    }

    /// Records a segment of a subflow.
    fn subflow(
        &mut self,
        now: Time,
        (flow, at): (usize, usize),
        direction: Direction,
        segment: &Segment,
        extra: &Extra,
        multipath: &Multipath,
    ) {
        let from = if direction == Direction::Outbound { at } else { 1 - at };
        let ends = self.paths[flow][usize::from(multipath.tuple.way)];
        let client = subflows::client_port(self.sockets[flow][0].0.port, multipath.tuple.port);
        let ports = [client, self.sockets[flow][1].0.port];
        let place = |side: usize| Place { address: ends[side].1, port: ports[side] };
        let firsts = &mut self.firsts[flow];
        firsts.note(from, multipath);
        let offset = firsts.offset(from, multipath).unwrap_or(0);
        let contents = Contents {
            offset,
            options: subflows::options(
                &subflows::with_checksums(multipath, offset, segment.length),
                [from, 1 - from].map(|side| &self.hosts[flow][side][..]),
            ),
        };
        self.packet.clear();
        encode(segment, Some(extra), (place(from), place(1 - from)), contents, &mut self.packet);
        self.bytes_at(now, ends[at].0, direction);
    }

    /// Records a packet of one of our associations where side `at` of a flow sends or receives it by a path.
    pub fn parcel(&mut self, now: Time, end: (usize, usize), direction: Direction, path: u8, packet: &sctp::Packet) {
        let (flow, at) = end;
        let from = if direction == Direction::Outbound { at } else { 1 - at };
        let paths = &self.paths[flow];
        let ends = &paths[usize::from(path)];
        let place = |side: usize| Place { address: ends[side].1, port: self.sockets[flow][side].0.port };
        let addresses: Vec<_> = paths.iter().map(|ends| ends[from].1).collect();
        self.packet.clear();
        encode_chunks(packet, (place(from), place(1 - from)), &addresses, None, &mut self.packet);
        let interface = ends[at].0;
        self.bytes_at(now, interface, direction);
    }

    /// Records a datagram of one of our QUIC connections where side `at` of a flow sends or receives it.
    pub fn datagram(&mut self, now: Time, (flow, at): FlowEnd, crossing: Crossing<'_>) {
        let Crossing { way: direction, ecn, datagram } = crossing;
        let from = if direction == Direction::Outbound { at } else { 1 - at };
        let (interface, places) = self.places((flow, at), from, datagram.address);
        let sealer = self.sealers[flow].as_mut().expect("there is one for each of these flows");
        self.packet.clear();
        if direction == Direction::Outbound {
            sealer.on_send(at, datagram);
        }
        sealer.encode(from, datagram, ecn, places, &mut self.packet);
        if direction == Direction::Inbound {
            sealer.on_receive(at, datagram);
        }
        self.bytes_at(now, interface, direction);
    }

    /// Records a datagram of a library's where side `at` of a flow sends or receives it.
    pub fn payload(&mut self, now: Time, (flow, at): FlowEnd, way: Direction, datagram: &library::Datagram, ecn: Ecn) {
        let from = if way == Direction::Outbound { at } else { 1 - at };
        let (interface, [source, target]) = self.places((flow, at), from, datagram.address);
        self.packet.clear();
        encode_payload(&datagram.payload, (source, target), ecn, &mut self.packet);
        self.bytes_at(now, interface, way);
    }

    /// The interface of side `at` of a QUIC connection that a datagram crosses, and whence and whither it goes as seen there.
    fn places(&self, (flow, at): FlowEnd, from: usize, client: quic::Address) -> (usize, [Place; 2]) {
        let ends = self.paths[flow][usize::from(client.way)];
        let mut places = [0, 1].map(|side| Place { address: ends[side].1, port: self.sockets[flow][side].0.port });
        if at == 1 {
            // What a NAT makes of the client's address is another port, beyond it, or an address of those that carriers share
            // among their clients (RFC 6598).
            places[0].port = places[0].port.wrapping_add(client.number);
            if client.host > 0 {
                places[0].address[..2].copy_from_slice(&[100, 64 + (client.host - 1) % 64]);
            }
        }
        (ends[at].0, [from, 1 - from].map(|side| places[side]))
    }

    /// Puts secrets of a flow before what of its packets is still kept: whoever reads the file must have them first.
    pub fn secrets(&mut self, flow: usize, lines: &str) {
        let mut block = Vec::new();
        pcapng::key_log(lines, &mut block);
        let mut interfaces: Vec<_> = self.paths[flow].iter().flatten().map(|(interface, _)| *interface).collect();
        interfaces.sort_unstable();
        interfaces.dedup();
        for interface in interfaces {
            let head = self.heads[interface];
            self.interfaces[interface].1.splice(head..head, block.iter().copied());
        }
    }

    /// Records what was encoded last.
    fn bytes_at(&mut self, now: Time, interface: usize, direction: Direction) {
        let packet = pcapng::Packet::new(0, now.as_nanos(), direction, &self.packet);
        pcapng::packet(&packet, &mut self.interfaces[interface].1);
    }

    /// Records an IP packet that a guest sends or receives at an interface.
    pub fn bytes(&mut self, now: Time, interface: usize, direction: Direction, packet: &[u8]) {
        let packet = pcapng::Packet::new(0, now.as_nanos(), direction, packet);
        pcapng::packet(&packet, &mut self.interfaces[interface].1);
    }

    /// Hands what is buffered to the output: all of it, or what has grown large.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        for ((name, bytes), head) in self.interfaces.iter_mut().zip(&mut self.heads) {
            if !bytes.is_empty() && (all || bytes.len() >= BUFFER) {
                output(name, bytes)?;
                bytes.clear();
                *head = 0;
            }
        }
        Ok(())
    }
}

/// One for each flow that is a QUIC connection of ours.
fn sealers(scenario: &Scenario) -> Vec<Option<Box<Sealer>>> {
    let sealer = |number: usize| Box::new(Sealer::new(scenario, number));
    (0..scenario.flows.len()).map(|number| is_sealed(&scenario.flows[number]).then(|| sealer(number))).collect()
}
