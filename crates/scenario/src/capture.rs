//! Captures: every packet that a host sends or receives, as bytes, one pcapng a host interface.

use crate::address::{Addresses, Socket};
use crate::chunks::{Place, encode_chunks};
use crate::codec::{Offsets, encode, encode_datagram};
use crate::world::Body;
use vazao_engine::Time;
use vazao_transport::sctp;
use vazao_transport::tcp::Extra;
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
    /// The interfaces and addresses at the ends of each path of an association.
    paths: Vec<Vec<Ends>>,
    packet: Vec<u8>,
}

/// How much is kept before it is handed to the output.
const BUFFER: usize = 1 << 20;

impl Capture {
    pub fn new(addresses: &Addresses) -> Capture {
        let start = |name: &String| {
            let mut bytes = Vec::new();
            pcapng::section(&mut bytes);
            pcapng::interface(name, 0, &mut bytes);
            (name.clone(), bytes)
        };
        let socket = |s: Socket| (s, Offsets::from(s.iss));
        Capture {
            interfaces: addresses.interfaces.iter().map(|i| start(&i.name)).collect(),
            sockets: addresses.sockets.iter().map(|ends| ends.map(socket)).collect(),
            paths: addresses
                .paths
                .iter()
                .map(|paths| paths.iter().map(|ends| ends.map(|i| (i, addresses.interfaces[i].address))).collect())
                .collect(),
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
        let sockets = &mut self.sockets[flow];
        let (source, target) = (sockets[from].0, sockets[1 - from].0);
        self.packet.clear();
        match body {
            Body::Tcp(segment) => {
                let extra = extra.filter(|_| segment.has_extra);
                encode(segment, extra, (&source, &target), &mut sockets[from].1, &mut self.packet);
            }
            Body::Udp(datagram) => encode_datagram(datagram, (&source, &target), &mut self.packet),
            Body::Sctp(_) => unreachable!("associations' packets come by another way"),
            Body::Bytes(_) => unreachable!("guests' packets are bytes already"),
        }
        let interface = sockets[at].0.interface;
        self.bytes_at(now, interface, direction);
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
        for (name, bytes) in &mut self.interfaces {
            if !bytes.is_empty() && (all || bytes.len() >= BUFFER) {
                output(name, bytes)?;
                bytes.clear();
            }
        }
        Ok(())
    }
}
