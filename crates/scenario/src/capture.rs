//! Captures: every segment that a host sends or receives, as bytes, one pcapng a host interface.

use vazao_engine::Time;
use vazao_transport::tcp::{Extra, Flags, Segment};
use vazao_wire::pcapng::{self, Direction};
use vazao_wire::{content, ipv4, tcp};

/// Where captured bytes go: the interface's name and what to append. Says why it cannot.
pub type Output<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), String>;

/// An endpoint on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub interface: usize,
    pub port: u16,
    /// Initial sequence number: payload is a function of the distance from it.
    pub iss: u32,
}

#[derive(Clone, Debug)]
struct Interface {
    name: String,
    address: [u8; 4],
    bytes: Vec<u8>,
}

/// All interfaces and endpoints of a run. Endpoints are numbered as in the world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture {
    interfaces: Vec<Interface>,
    peers: Vec<Peer>,
    packet: Vec<u8>,
    payload: Vec<u8>,
}

/// How much is kept before it is handed to the output.
const BUFFER: usize = 1 << 20;

impl Capture {
    /// The interface called `name`, new or known.
    pub fn interface(&mut self, name: &str) -> usize {
        if let Some(index) = self.interfaces.iter().position(|i| i.name == name) {
            return index;
        }
        let index = self.interfaces.len();
        let [_, b, c, d] = (index as u32 + 1).to_be_bytes();
        let mut bytes = Vec::new();
        pcapng::section(&mut bytes);
        pcapng::interface(name, 0, &mut bytes);
        self.interfaces.push(Interface { name: name.into(), address: [10, b, c, d], bytes });
        index
    }

    /// Adds the next endpoint.
    pub fn add(&mut self, peer: Peer) {
        self.peers.push(peer);
    }

    /// Records a segment from endpoint `from` at `at`, one of the two ends of its connection.
    pub fn record(&mut self, now: Time, at: usize, direction: Direction, segment: &Segment, extra: Option<&Extra>) {
        // The two endpoints of a flow have neighbouring numbers.
        let from = if direction == Direction::Outbound { at } else { at ^ 1 };
        let (source, target) = (self.peers[from], self.peers[from ^ 1]);
        let header = header(segment, extra, source.port, target.port);
        self.payload.resize(usize::from(segment.length), 0);
        let offset = segment.sequence.wrapping_sub(source.iss).wrapping_sub(1);
        content::fill(u64::from(offset), &mut self.payload);
        let length = ipv4::HEADER_LENGTH + tcp::header_length(&header.options) + self.payload.len();
        let addresses = (self.interfaces[source.interface].address, self.interfaces[target.interface].address);
        let ip = ipv4::Header::new(addresses.0, addresses.1, tcp::PROTOCOL, length as u16);
        self.packet.clear();
        ipv4::encode(&ip, &mut self.packet);
        tcp::encode(&header, &self.payload, ip.pseudo_header(), &mut self.packet);
        let out = &mut self.interfaces[self.peers[at].interface].bytes;
        pcapng::packet(&pcapng::Packet::new(0, now.as_nanos(), direction, &self.packet), out);
    }

    /// Hands what is buffered to the output: all of it, or what has grown large.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        for interface in &mut self.interfaces {
            if !interface.bytes.is_empty() && (all || interface.bytes.len() >= BUFFER) {
                output(&interface.name, &interface.bytes)?;
                interface.bytes.clear();
            }
        }
        Ok(())
    }
}

/// The segment's header as bytes want it.
fn header(segment: &Segment, extra: Option<&Extra>, source_port: u16, destination_port: u16) -> tcp::Header {
    let mut options = tcp::Options::default();
    if segment.flags.has(Flags::TIMESTAMPS) {
        options.timestamps = Some((segment.timestamp, segment.echo));
    }
    if let Some(extra) = extra {
        if let Some(syn) = extra.syn {
            options.mss = Some(syn.mss);
            options.window_scale = syn.window_scale;
            options.sack_permitted = syn.sack_permitted;
        }
        for &(left, right) in extra.sack.as_slice() {
            options.sack.push(tcp::SackBlock { left, right });
        }
    }
    tcp::Header {
        source_port,
        destination_port,
        sequence: segment.sequence,
        acknowledgment: segment.acknowledgment,
        flags: tcp::Flags(segment.flags.control()),
        window: segment.window,
        urgent: 0,
        options,
    }
}
