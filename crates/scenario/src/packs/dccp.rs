//! DCCP.

use super::{IP_HEADER, forward, measured, path_state};
use crate::endpoint::codec::Codec;
use crate::endpoint::dissector::{Dissection, Dissector, kind};
use crate::endpoint::{Arrival, Body, Content, Contents, Crossing, Departure, Endpoint, Turn};
use crate::measures::counts::{Counts, Tally};
use crate::measures::measure::FlowMeasure;
use crate::measures::series::{PathState, SenderState, Sent};
use crate::model::address::{Addresses, Socket, initial_sequences};
use crate::model::protocol::{Controls, Front, Service};
use crate::model::scenario::{Making, Pack, Scenario};
use crate::stacks::{count, with_keys};
use std::borrow::Cow;
use vazao_application::{Application, Sides};
use vazao_congestion::Steering;
use vazao_engine::registry::Entry;
use vazao_engine::{Duration, Time};
use vazao_transport::common::Limit;
use vazao_transport::dccp::{self, Config, Fate, Kind, LONGEST_RUN, Packet, Run};
use vazao_wire::checksum::Checksum;
use vazao_wire::dccp::{Header, PROTOCOL, encode, option};
use vazao_wire::{content, ipv4};

impl Content for Packet {
    fn clear(&mut self) {
        Packet::clear(self);
    }
}

/// One end of a connection.
struct Dccp(dccp::Endpoint);

impl Endpoint for Dccp {
    forward!(0);
    fn handle(&mut self, now: Time, arrival: Arrival<'_>) -> bool {
        let Body::Kept { content, .. } = *arrival.body else { return false };
        let packet: &Packet = arrival.contents.get(content);
        self.0.handle(now, packet, arrival.ecn);
        packet.kind.has_data()
    }
    fn drive(&mut self, now: Time, application: &mut Application) {
        application.drive(now, &mut self.0);
    }
    fn steer(&mut self, see: &mut dyn FnMut(&mut Steering)) {
        self.0.steer(see);
    }
    fn drive_visit(&mut self, turn: Turn<'_>) -> (Time, bool) {
        turn.on(&mut self.0)
    }
    fn poll_transmit(&mut self, now: Time, contents: &mut Contents) -> Option<Departure> {
        let (content, packet) = contents.fresh::<Packet>();
        if !self.0.poll_transmit(now, packet) {
            contents.give_back::<Packet>(content);
            return None;
        }
        let (size, ecn) = (IP_HEADER + packet.bytes(), self.0.ecn(packet));
        Some(Departure { body: Body::Kept { content, path: 0 }, size, way: 0, ecn })
    }
    fn ready(&self) -> Option<Time> {
        self.0.ready()
    }
    fn counts(&self, _end: Time) -> Counts<'_> {
        let stats = self.0.stats();
        Counts {
            tally: Tally::of(stats.counts()).with("packets_sent", self.0.packets()),
            rtt: Cow::Borrowed(&stats.rtt),
            srtt: measured(self.0.rtt().srtt()),
            is_over: self.0.is_over(),
        }
    }
    fn arrivals(&self, dropped: u64) -> Tally {
        Tally::of(self.0.received().arrivals()).with("packets_lost", dropped)
    }
    fn is_reliable(&self) -> bool {
        false
    }
    fn watch_messages(&mut self, is_receiver: bool) {
        if is_receiver {
            self.0.watch_messages();
        }
    }
    /// A message has arrived once all its datagrams have.
    fn credit(&mut self, now: Time, _: &Application, _: &mut dyn Endpoint, application: &mut Application) {
        while let Some(message) = self.0.take_message() {
            application.deliver_message(now, message);
        }
    }
}

impl SenderState for dccp::Endpoint {
    fn cwnd(&self) -> u64 {
        self.control().cwnd()
    }
    fn in_slow_start(&self) -> bool {
        self.control().in_slow_start()
    }
    fn is_repairing(&self) -> bool {
        self.is_recovering()
    }
    fn cuts(&self) -> u64 {
        let stats = self.stats();
        stats.recoveries + stats.mark_reductions + stats.timeouts
    }
    fn sent(&self) -> Sent {
        Sent { segments: self.packets(), bytes: self.sent_bytes(), flight: self.flight() }
    }
    fn path(&self, _number: usize) -> PathState {
        PathState {
            pacing_rate: self.control().pacing_rate(),
            phase: self.control().phase(),
            ..path_state(self.control().cwnd(), self.control().ssthresh(), self.rtt(), self.flight())
        }
    }
}

/// Registry entry.
pub(super) const ENTRY: Entry<Pack> = Entry {
    name: "dccp",
    aliases: &[],
    title: "Datagram Congestion Control Protocol",
    source: "RFC 4340, RFC 4341",
    help: "datagrams that are never sent again, at a pace that a congestion control sets",
    parameters: &with_keys::<{ count("dccp", Config::PARAMETERS) }>("dccp", Config::PARAMETERS),
    build: Pack {
        controls: Controls::Own("reno"),
        service: |_| Service { is_unreliable: true, ..Service::default() },
        memory: (16_000, 0),
        load: |parameters| (parameters.number("payload"), 1.0 / parameters.number("ack_ratio")),
        // Half the acknowledgement ratio for one acknowledgement (RFC 4341 section 5).
        growth: |parameters, mss| (parameters.number("ack_ratio") / 2.0, mss * parameters.integer("initial_window")),
        codec: |scenario, addresses, number| Ok(Box::new(Bytes::new(scenario, addresses, number))),
        dissector: |_| Box::new(Packets),
        is_steerable: true,
        front: Front { sequence: "", ..Front::new(&["cc", "ack_ratio", "ecn"]) },
        ..Pack::new(ends)
    },
};

/// Reader of packets for viewers.
struct Packets;

impl Dissector for Packets {
    fn dissect(&mut self, crossing: &Crossing<'_>, out: &mut Dissection) {
        let Body::Kept { content, .. } = *crossing.body else { return };
        let packet: &Packet = crossing.contents.get(content);
        out.say(&format!("{:?} {}", packet.kind, packet.sequence));
        out.kind |= match packet.kind {
            Kind::Request | Kind::Response => kind::OPENS,
            Kind::CloseReq | Kind::Close => kind::CLOSES,
            Kind::Reset => kind::RESETS,
            Kind::Data | Kind::Ack | Kind::DataAck => 0,
        };
        if let Some(datagram) = packet.datagram {
            out.kind |= kind::DATA;
            out.data = Some(packet.sequence..packet.sequence + 1);
            out.say(&format!("datagram {} ({} B)", datagram.sequence, datagram.payload));
        }
        if !matches!(packet.kind, Kind::Request | Kind::Data) {
            out.kind |= kind::ACK;
            out.ack = Some(packet.acknowledgment + 1);
            out.say(&format!("ack {}", packet.acknowledgment));
        }
    }
}

fn ends(making: &mut Making<'_>, number: usize, _sides: &Sides) -> [Box<dyn Endpoint>; 2] {
    let scenario = making.scenario;
    let spec = &scenario.flows[number].transport;
    let config = making.settings(spec, || Config::from((&spec.parameters, spec.control_factory())));
    let [client, server] = initial_sequences(scenario.seed, number).map(u64::from);
    let (client, server) = (dccp::Endpoint::connect(config.clone(), client), dccp::Endpoint::listen(config, server));
    [Box::new(Dccp(client)), Box::new(Dccp(server))]
}

/// The feature Send Ack Vector (RFC 4340 section 11.5).
const SEND_ACK_VECTOR: u8 = 6;

/// A Reset's code for a connection that was closed, in the word after the acknowledgement number (section 5.6).
const CLOSED: u32 = 1 << 24;

/// Unit of the Elapsed Time option (section 13.2).
const TICK: Duration = Duration::from_micros(10);

/// The packets of a flow as bytes.
struct Bytes {
    sockets: [Socket; 2],
    initial: [u64; 2],
    /// Content of the last datagram, which all of its length have, and its checksum.
    data: Vec<u8>,
    sum: Checksum,
}

impl Bytes {
    fn new(scenario: &Scenario, addresses: &Addresses, number: usize) -> Bytes {
        let initial = initial_sequences(scenario.seed, number).map(u64::from);
        Bytes { sockets: addresses.sockets[number], initial, data: Vec::new(), sum: Checksum::default() }
    }
}

impl Bytes {
    /// Returns the content of a datagram of so many bytes, with its checksum.
    fn content(&mut self, length: usize) -> (&[u8], Checksum) {
        if self.data.len() != length {
            self.data.resize(length, 0);
            self.sum = Checksum::default().add_little_endian(content::fill_summed(0, &mut self.data), length);
        }
        (&self.data, self.sum)
    }
}

impl Codec for Bytes {
    fn interfaces(&self, _crossing: &Crossing<'_>) -> [usize; 2] {
        self.sockets.map(|socket| socket.interface)
    }

    fn encode(&mut self, crossing: &Crossing<'_>, _keep: usize, out: &mut Vec<u8>) {
        let Body::Kept { content, .. } = *crossing.body else { return };
        let packet: &Packet = crossing.contents.get(content);
        let (from, to) = (crossing.from(), 1 - crossing.from());
        let [source, target] = [from, to].map(|side| self.sockets[side].place());
        let length = ipv4::HEADER_LENGTH + packet.bytes() as usize;
        let mut ip = ipv4::Header::new(source.address, target.address, PROTOCOL, length as u16);
        ip.ecn = ipv4::Ecn::from_bits(crossing.ecn as u8);
        ipv4::encode(&ip, out);
        let header = Header {
            ports: [source.port, target.port],
            kind: number(packet.kind),
            sequence: self.initial[from] + packet.sequence,
            acknowledgment: self.initial[to] + packet.acknowledgment,
            word: if packet.kind == Kind::Reset { CLOSED } else { 0 },
            options: options(packet),
        };
        let length = packet.datagram.as_ref().map_or(0, |datagram| usize::from(datagram.payload));
        let data = match length {
            0 => (&[][..], Checksum::default()),
            _ => self.content(length),
        };
        encode(&header, data, ip.pseudo_header(), out);
    }
}

/// A packet type's number (section 5.1).
fn number(kind: Kind) -> u8 {
    match kind {
        Kind::Request => 0,
        Kind::Response => 1,
        Kind::Data => 2,
        Kind::Ack => 3,
        Kind::DataAck => 4,
        Kind::CloseReq => 5,
        Kind::Close => 6,
        Kind::Reset => 7,
    }
}

fn options(packet: &Packet) -> Vec<(u8, Vec<u8>)> {
    let mut options = match packet.kind {
        // On acknowledgements both ways there are to be Ack Vectors.
        Kind::Request => [option::CHANGE_L, option::CHANGE_R].map(|kind| (kind, vec![SEND_ACK_VECTOR, 1])).to_vec(),
        // The value agreed on, and what the server would have.
        Kind::Response => {
            [option::CONFIRM_R, option::CONFIRM_L].map(|kind| (kind, vec![SEND_ACK_VECTOR, 1, 1])).to_vec()
        }
        _ => Vec::new(),
    };
    let runs: Vec<u8> = packet.vector.iter().flat_map(run).collect();
    options.extend(runs.chunks(253).map(|part| (option::ACK_VECTOR, part.to_vec())));
    if let Some(elapsed) = packet.elapsed {
        let ticks = u32::try_from(elapsed.as_nanos() / TICK.as_nanos()).unwrap_or(u32::MAX);
        options.push((option::ELAPSED_TIME, ticks.to_be_bytes().to_vec()));
    }
    options
}

/// A run's bytes: two bits of state, six of length less one (section 11.4).
fn run(run: &Run) -> impl Iterator<Item = u8> + use<> {
    let state = match run.fate {
        Fate::Received => 0,
        Fate::Marked => 1,
        Fate::Missing => 3,
    };
    let length = run.length;
    (0..length.div_ceil(LONGEST_RUN)).map(move |part| {
        let left = (length - part * LONGEST_RUN).min(LONGEST_RUN);
        state << 6 | (left - 1) as u8
    })
}
