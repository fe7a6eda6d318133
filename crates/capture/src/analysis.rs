//! Connections of a capture, packet after packet.

use crate::headers::{self, Headers, Unread};
use crate::passing::Passing;
use crate::tcp::{Event, Half, Segment};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use vazao_wire::be16;
use vazao_wire::pcapng::Captured;
use vazao_wire::tcp::{self, Flags};

/// Most connections that are told apart: some hundred megabytes. A scan of all ports of a network makes more.
const MOST_CONNECTIONS: usize = 250_000;
/// Transports whose header begins with two ports: TCP, DCCP, UDP, SCTP, UDP-Lite.
const PORTS: [u8; 5] = [tcp::PROTOCOL, 33, 17, 132, 136];
/// Payload of a full segment where no SYN says it.
const USUAL_UNIT: u64 = 1448;
/// Bytes of every segment that timestamps take of its payload (RFC 6691).
const TIMESTAMPS: u16 = 12;

/// End of a connection: address and port.
type Side = (IpAddr, u16);

/// How a connection ended within the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Not at all.
    Open,
    /// Both directions were closed and acknowledged.
    Closed,
    /// By a reset.
    Reset,
    /// It was never answered.
    Refused,
}

/// Connection, or packets between two ports.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Number of the transport.
    pub protocol: u8,
    /// Client, which opened it, and server.
    pub sides: [Side; 2],
    /// Number of the interface that it was captured at.
    pub interface: u32,
    /// Time of its first packet, in nanoseconds since 1970.
    pub first: u64,
    /// Time of its last packet.
    pub last: u64,
    /// Packets from the client and from the server.
    pub packets: [u64; 2],
    /// Their bytes from the transport header on.
    pub bytes: [u64; 2],
    /// Directions of TCP: the client's data, and the server's.
    pub tcp: Option<Box<[Half; 2]>>,
    /// Round trips between the capture and each side by the handshake, in nanoseconds.
    pub handshake_rtt: [Option<u64>; 2],
    was_reset: bool,
    /// When the SYN and its answer passed, unless one was repeated.
    opening: [Option<u64>; 2],
    is_open: bool,
}

/// What is known of a capture as a whole.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Number of packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Time of the first packet, in nanoseconds since 1970.
    pub first: Option<u64>,
    /// Latest time of a packet.
    pub last: u64,
    /// Packets of which only the beginning was kept.
    pub cut: u64,
    /// Packets whose time is before that of the one before.
    pub backwards: u64,
    /// Packets of other protocols than IP.
    pub not_ip: u64,
    /// Later fragments, which have no transport header.
    pub fragments: u64,
    /// Packets that were cut before the end of their headers.
    pub short: u64,
    /// Packets of links that are not known.
    pub unknown_links: u64,
    /// Type of the first such link.
    pub unknown_link: Option<u16>,
    /// Packets of connections beyond the most that are told apart.
    pub beyond: u64,
}

/// Packets between two sides at an interface, whichever sends. Where a packet passes two of them, each has its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    interface: u32,
    protocol: u8,
    lower: Side,
    upper: Side,
}

/// Capture, read packet after packet.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Connections in the order of their first packets.
    pub connections: Vec<Connection>,
    /// Facts of the whole.
    pub overview: Overview,
    /// Numbers of connections whose segments are told one by one.
    watched: Vec<u32>,
    /// Number of the latest connection of each key.
    latest: BTreeMap<Key, u32>,
    /// Key of the packet before, and its connection: packets come in trains.
    recent: Option<(Key, u32)>,
}

impl Analysis {
    /// Creates an analysis that tells the segments of the connections with these numbers one by one.
    pub fn watching(connections: Vec<u32>) -> Analysis {
        Analysis { watched: connections, ..Analysis::default() }
    }

    /// Handles the next packet. Returns what it was to its connection, if that is watched and of TCP.
    pub fn on_packet(&mut self, packet: &Captured<'_>) -> Option<Box<Passing>> {
        let seen = &mut self.overview;
        let original = packet.original_length as usize;
        seen.packets += 1;
        seen.bytes += original as u64;
        seen.cut += u64::from(original > packet.bytes.len());
        seen.first.get_or_insert(packet.time_ns);
        seen.backwards += u64::from(packet.time_ns < seen.last);
        // What comes with an earlier time came at the same time as the one before.
        seen.last = seen.last.max(packet.time_ns);
        let time = seen.last;
        match headers::read(packet.link_type, packet.bytes, original) {
            Ok(headers) => {
                let mut passing = self.on_transport(time, packet.interface, &headers)?;
                passing.size = packet.original_length;
                return Some(passing);
            }
            Err(Unread::NotIp) => seen.not_ip += 1,
            Err(Unread::Fragment) => seen.fragments += 1,
            Err(Unread::Short) => seen.short += 1,
            Err(Unread::Link(link)) => {
                seen.unknown_links += 1;
                seen.unknown_link.get_or_insert(link);
            }
        }
        None
    }

    fn on_transport(&mut self, time: u64, interface: u32, headers: &Headers<'_>) -> Option<Box<Passing>> {
        let has_ports = PORTS.contains(&headers.protocol);
        if has_ports && headers.bytes.len() < 4 {
            self.overview.short += 1;
            return None;
        }
        let ports = if has_ports { [be16(headers.bytes, 0), be16(headers.bytes, 2)] } else { [0; 2] };
        let sides = [0, 1].map(|side| (headers.addresses[side], ports[side]));
        let (lower, upper) = (sides[0].min(sides[1]), sides[0].max(sides[1]));
        let key = Key { interface, protocol: headers.protocol, lower, upper };
        let segment = if headers.protocol == tcp::PROTOCOL { Segment::read(headers, time) } else { None };
        let Some(number) = self.connection(time, key, sides, segment.as_ref()) else {
            self.overview.beyond += 1;
            return None;
        };
        let connection = &mut self.connections[number as usize];
        let from = usize::from(connection.sides[0] != sides[0]);
        connection.last = time;
        connection.packets[from] += 1;
        connection.bytes[from] += headers.length as u64;
        let Some(segment) = segment else {
            self.overview.short += u64::from(headers.protocol == tcp::PROTOCOL);
            return None;
        };
        let is_watched = self.watched.contains(&number);
        let mut passing = connection.on_segment(from, &segment, is_watched)?;
        passing.connection = number;
        Some(passing)
    }

    /// Returns the connection of a packet, a new one if there is none.
    fn connection(&mut self, time: u64, key: Key, sides: [Side; 2], segment: Option<&Segment>) -> Option<u32> {
        let opens = segment.is_some_and(|s| s.flags.contains(Flags::SYN) && !s.flags.contains(Flags::ACK));
        let known = match self.recent {
            Some((recent, number)) if recent == key => Some(number),
            _ => self.latest.get(&key).copied(),
        };
        let known = known.filter(|&number| {
            let connection = &self.connections[number as usize];
            !opens || segment.is_none_or(|segment| connection.is_opened_by(sides[0], segment))
        });
        let number = match known {
            Some(number) => number,
            None if self.connections.len() == MOST_CONNECTIONS => return None,
            None => {
                let number = self.connections.len() as u32;
                self.connections.push(Connection::new(time, key, sides, segment));
                self.latest.insert(key, number);
                number
            }
        };
        self.recent = Some((key, number));
        Some(number)
    }
}

impl Connection {
    fn new(time: u64, key: Key, sides: [Side; 2], segment: Option<&Segment>) -> Connection {
        let flags = segment.map_or(Flags(0), |segment| segment.flags);
        let was_opened = flags.contains(Flags::SYN);
        // Who opens is the client; where that was not seen, servers have the lower port.
        let from_client = if was_opened { !flags.contains(Flags::ACK) } else { sides[0].1 >= sides[1].1 };
        Connection {
            protocol: key.protocol,
            interface: key.interface,
            sides: if from_client { sides } else { [sides[1], sides[0]] },
            first: time,
            last: time,
            packets: [0; 2],
            bytes: [0; 2],
            tcp: segment.map(|_| Box::default()),
            handshake_rtt: [None; 2],
            was_reset: false,
            opening: [None; 2],
            is_open: !was_opened,
        }
    }

    /// Returns whether a SYN of `side` is the one that opened it, sent again, or nothing is known of that one.
    fn is_opened_by(&self, side: Side, segment: &Segment) -> bool {
        let half = self.tcp.as_ref().map(|halves| &halves[usize::from(self.sides[0] != side)]);
        half.is_none_or(|half| !half.has_begun() || half.begins_at(segment.sequence))
    }

    /// Returns how it ended.
    pub fn ending(&self) -> Ending {
        let is_closed = self.tcp.as_ref().is_some_and(|halves| halves.iter().all(Half::is_finished));
        match (self.was_reset, is_closed) {
            (_, true) => Ending::Closed,
            (true, _) if self.is_open => Ending::Reset,
            (true, _) => Ending::Refused,
            _ => Ending::Open,
        }
    }

    /// Returns the payload of a full segment in bytes.
    pub fn unit(&self) -> u64 {
        let offers = self.tcp.iter().flat_map(|halves| halves.iter().map(|half| half.handshake));
        let mut unit = None;
        let mut have_timestamps = true;
        for offer in offers.flatten() {
            unit = [unit, offer.mss].into_iter().flatten().min();
            have_timestamps &= offer.timestamps;
        }
        let options = if have_timestamps { TIMESTAMPS } else { 0 };
        unit.map_or(USUAL_UNIT, |unit: u16| u64::from(unit.saturating_sub(options).max(1)))
    }

    /// Returns the least round trip between the capture and a side, in nanoseconds: by the handshake, or by what the other
    /// side's data was answered with.
    pub fn round_trip(&self, side: usize) -> Option<u64> {
        let of_data = self.tcp.as_ref().and_then(|halves| halves[1 - side].rtt_min);
        [self.handshake_rtt[side], of_data].into_iter().flatten().min()
    }

    /// Returns whether another capture's connection is this one: by its ends or, where addresses were translated on the way,
    /// by the sequence numbers of both SYNs.
    pub fn is_same(&self, other: &Connection) -> bool {
        let initial = |connection: &Connection| {
            let [client, server] = connection.tcp.as_ref()?.each_ref().map(Half::initial);
            Some((client?, server?))
        };
        match (initial(self), initial(other)) {
            (Some(one), Some(other)) => one == other,
            _ => self.tcp.is_some() && other.tcp.is_some() && self.sides == other.sides,
        }
    }

    /// Returns whether it was captured nearer to the client than in another capture.
    pub fn is_nearer_to_client(&self, other: &Connection) -> bool {
        let compare = |side| Some((self.round_trip(side)?, other.round_trip(side)?));
        match (compare(0), compare(1)) {
            (Some((one, other)), _) if one != other => one < other,
            (_, Some((one, other))) => one >= other,
            _ => true,
        }
    }

    /// Returns the side that sends most of the data.
    pub fn sender(&self) -> usize {
        match &self.tcp {
            Some(halves) => usize::from(halves[1].app_bytes() > halves[0].app_bytes()),
            None => usize::from(self.bytes[1] > self.bytes[0]),
        }
    }

    /// Returns whether it was captured at the sender, at the receiver, or between.
    pub fn seen_from(&self) -> Option<&'static str> {
        let sender = self.sender();
        let [to_sender, to_receiver] = [sender, 1 - sender].map(|side| self.round_trip(side));
        let (to_sender, to_receiver) = (to_sender? as f64, to_receiver? as f64);
        Some(match to_sender / (to_sender + to_receiver).max(1.0) {
            part if part < 0.1 => "sender",
            part if part > 0.9 => "receiver",
            _ => "path",
        })
    }

    /// Returns a side's address and port in words.
    pub fn side(&self, side: usize) -> String {
        let (address, port) = self.sides[side];
        SocketAddr::new(address, port).to_string()
    }

    /// Returns the shift of a segment's window (RFC 7323 section 2.2), if the SYNs that agree on it were captured.
    fn scale(&self, from: usize, segment: &Segment) -> Option<u8> {
        if segment.flags.contains(Flags::SYN) {
            return Some(0);
        }
        let [client, server] = self.tcp.as_ref()?.each_ref().map(|half| half.handshake);
        match (client?.window_scale, server?.window_scale) {
            (Some(client), Some(server)) => Some([client, server][from].min(14)),
            _ => Some(0),
        }
    }

    fn on_segment(&mut self, from: usize, segment: &Segment, is_watched: bool) -> Option<Box<Passing>> {
        self.on_opening(from, segment);
        self.was_reset |= segment.flags.contains(Flags::RST);
        let (unit, now, is_open) = (self.unit(), segment.moment.time, self.is_open);
        let to = [0, 1].map(|side| self.round_trip(side));
        let scale = self.scale(from, segment);
        let window = u64::from(segment.window) << scale.unwrap_or(0);
        let halves = self.tcp.as_mut()?;
        let judgement = halves[from].on_segment(segment, unit, to[from]);
        let round_trip = halves[1 - from].on_answer(segment, unit, window, to[1 - from].unwrap_or(0));
        let events = match (is_open, judgement.is_expiry) {
            (false, _) => [Event::Opening; 2],
            (true, true) => [Event::Expiry, Event::Answer],
            (true, false) => [Event::Data, Event::Answer],
        };
        halves[from].account(now, events[0], unit, to[from].unwrap_or(0));
        halves[1 - from].account(now, events[1], unit, to[1 - from].unwrap_or(0));
        is_watched.then(|| Box::new(Passing::new(from, segment, halves, scale.map(|_| window), judgement, round_trip)))
    }

    /// Follows the three segments of the handshake.
    fn on_opening(&mut self, from: usize, segment: &Segment) {
        if self.is_open {
            return;
        }
        let time = segment.moment.time;
        let is_syn = segment.flags.contains(Flags::SYN);
        if is_syn {
            let is_again = self.tcp.as_ref().is_some_and(|halves| halves[from].handshake.is_some());
            self.opening[from] = if is_again { None } else { Some(time) };
        }
        let since = |opened: Option<u64>| opened.map(|opened| time.saturating_sub(opened));
        if is_syn && from == 1 {
            self.handshake_rtt[1] = since(self.opening[0]);
        } else if !is_syn && from == 0 && segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::RST) {
            self.handshake_rtt[0] = since(self.opening[1]);
            self.is_open = true;
        }
    }
}
