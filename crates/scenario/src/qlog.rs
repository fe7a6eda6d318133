//! qlog of QUIC connections: what each side sends and receives, and what it makes of it
//! (draft-ietf-quic-qlog-quic-events-03, which belongs to qlog 0.3). Of ours we tell it; a library tells its own, and we what its
//! packets say. Later drafts have other names and another header; qvis reads 0.3.

mod json;
mod library;

use crate::address::{Addresses, Place};
use crate::capture::Output;
use crate::datagrams::{Sealer, is_sealed, settings};
use crate::probe::{Crossing, FlowEnd};
use crate::scenario::Scenario;
use crate::transport::Protocol;
use json::{frame, metrics, packet, parameters, recovery, space_name};
use library::Reader;
use serde_json::{Map, Value, json};
use vazao_engine::Time;
use vazao_transport::quic::{Connection, Drop, Event, Failure, Kind, Loss, Phase};
use vazao_wire::pcapng::Direction;
use vazao_wire::qlog::{self, Trace, VantagePoint};

/// How much is kept before it is handed to the output.
const BUFFER: usize = 1 << 20;

/// The files of a run: two for each flow that is a QUIC connection.
pub(crate) struct Log(Vec<Story>);

/// Who tells what becomes of a flow.
enum Story {
    /// Nobody: it is no QUIC connection.
    None,
    /// We do: the connection is ours.
    Ours(Box<(Sealer, [View; 2])>),
    /// The library that plays it, and who reads its packets.
    Library(Box<[(File, Reader); 2]>),
}

/// What one side has to tell.
struct File {
    name: String,
    /// What was recorded and not yet written.
    bytes: Vec<u8>,
}

impl File {
    fn new(scenario: &Scenario, number: usize, side: usize, group: Option<&str>) -> File {
        let flow = &scenario.flows[number];
        let vantage_point = [VantagePoint::Client, VantagePoint::Server][side];
        let host = [&flow.client, &flow.server][side];
        let title = format!("{}: flow {number}", scenario.name);
        let mut bytes = Vec::new();
        qlog::header(&Trace { title: &title, name: host, vantage_point, group }, &mut bytes);
        File { name: format!("flow-{number}.{}", vantage_point.name()), bytes }
    }
}

impl Log {
    /// Those of a scenario whose hosts have addresses.
    pub fn new(scenario: &Scenario, addresses: &Addresses) -> Log {
        let story = |number: usize| {
            let flow = &scenario.flows[number];
            if is_sealed(flow) {
                let sealer = Sealer::new(scenario, number);
                let places = addresses.sockets[number].map(|socket| socket.place());
                let views = [0, 1].map(|side| View::new(scenario, number, side, &sealer, places));
                Story::Ours(Box::new((sealer, views)))
            } else if flow.transport.entry.build == Protocol::Quic {
                let file = |side| (File::new(scenario, number, side, None), Reader::new(side));
                Story::Library(Box::new([0, 1].map(file)))
            } else {
                Story::None
            }
        };
        Log((0..scenario.flows.len()).map(story).collect())
    }

    /// The library that plays a side of a flow has logged what it does.
    pub fn records(&mut self, now: Time, (flow, side): FlowEnd, records: &[u8]) {
        if let Story::Library(sides) = &mut self.0[flow] {
            let (file, reader) = &mut sides[side];
            reader.records(now, records, &mut file.bytes);
        }
    }

    /// A side of such a flow sends or receives a datagram.
    pub fn payload(&mut self, (flow, side): FlowEnd, way: Direction, datagram: &[u8]) {
        if let Story::Library(sides) = &mut self.0[flow] {
            sides[side].1.datagram(way, datagram);
        }
    }

    /// Secrets have come up by which its packets can be read.
    pub fn secrets(&mut self, flow: usize, lines: &str) {
        if let Story::Library(sides) = &mut self.0[flow] {
            sides.iter_mut().for_each(|(_, reader)| reader.secrets(lines));
        }
    }

    /// One side of a flow has sent a datagram, or received one and handled it.
    pub fn datagram(&mut self, now: Time, (flow, side): FlowEnd, crossing: Crossing<'_>, connection: &mut Connection) {
        if let Story::Ours(ours) = &mut self.0[flow] {
            let (sealer, views) = &mut **ours;
            let view = &mut views[side];
            let events = connection.take_events();
            view.begin(now);
            view.datagram(now, crossing, &events, sealer);
            view.state(now, &events, connection);
        }
    }

    /// A timer of one side of a flow has expired.
    pub fn timeout(&mut self, now: Time, (flow, side): FlowEnd, connection: &mut Connection) {
        if let Story::Ours(ours) = &mut self.0[flow] {
            let view = &mut ours.1[side];
            view.begin(now);
            view.state(now, &connection.take_events(), connection);
        }
    }

    /// Hands what is buffered to the output: all of it, or what has grown large.
    pub fn flush(&mut self, all: bool, output: Output<'_>) -> Result<(), String> {
        for story in &mut self.0 {
            let files = match story {
                Story::None => continue,
                Story::Ours(ours) => ours.1.each_mut().map(|view| &mut view.file),
                Story::Library(sides) => sides.each_mut().map(|(file, _)| file),
            };
            for file in files {
                if !file.bytes.is_empty() && (all || file.bytes.len() >= BUFFER) {
                    output(&file.name, &file.bytes)?;
                    file.bytes.clear();
                }
            }
        }
        Ok(())
    }
}

/// One side of a connection.
struct View {
    file: File,
    side: usize,
    /// What it begins with, until it has begun.
    start: Vec<(&'static str, Value)>,
    /// What the other side offers, until it is known.
    offered: Option<Value>,
    /// The first number of its own 1-RTT packets; those before it in their space are 0-RTT.
    one_rtt_from: u64,
    /// What was recorded last.
    phase: Phase,
    congestion: &'static str,
    metrics: Map<String, Value>,
}

impl View {
    fn new(scenario: &Scenario, number: usize, side: usize, sealer: &Sealer, places: [Place; 2]) -> View {
        let [own, other] = [places[side], places[1 - side]];
        let ip = |place: Place| place.address.map(|byte| byte.to_string()).join(".");
        let started = json!({
            "ip_version": "v4",
            "src_ip": ip(own),
            "dst_ip": ip(other),
            "protocol": "QUIC",
            "src_port": own.port,
            "dst_port": other.port,
            "src_cid": sealer.identifier(side, 0),
            "dst_cid": if side == 0 { sealer.original() } else { sealer.identifier(0, 0) },
        });
        let config = settings(&scenario.flows[number]);
        let start = vec![
            ("connectivity:connection_started", started),
            ("transport:parameters_set", parameters(&config, "local")),
            ("recovery:parameters_set", recovery(&config)),
        ];
        View {
            file: File::new(scenario, number, side, Some(&sealer.original())),
            side,
            start,
            offered: Some(parameters(&config, "remote")),
            one_rtt_from: u64::MAX,
            phase: Phase::Idle,
            congestion: "slow_start",
            metrics: Map::new(),
        }
    }

    fn put(&mut self, now: Time, name: &str, data: Value) {
        qlog::event(now.as_nanos(), name, data, &mut self.file.bytes);
    }

    fn begin(&mut self, now: Time) {
        for (name, data) in std::mem::take(&mut self.start) {
            self.put(now, name, data);
        }
    }

    fn datagram(&mut self, now: Time, crossing: Crossing<'_>, events: &[Event], sealer: &Sealer) {
        let Crossing { way, datagram, .. } = crossing;
        let from = if way == Direction::Outbound { self.side } else { 1 - self.side };
        let identifier = |sequence| sealer.identifier(from, sequence);
        for (header, frames, ranges) in datagram.split() {
            if way == Direction::Outbound && header.kind == Kind::OneRtt {
                self.one_rtt_from = self.one_rtt_from.min(header.number);
            }
            let mut data = packet(header, frames);
            let dropped = events.iter().find_map(|event| match *event {
                Event::Dropped { kind, number, reason } if (kind, number) == (header.kind, header.number) => {
                    Some(reason)
                }
                _ => None,
            });
            let name = match (way, dropped) {
                (Direction::Outbound, _) => "transport:packet_sent",
                (Direction::Inbound, None) => "transport:packet_received",
                (Direction::Inbound, Some(reason)) => {
                    data["trigger"] = trigger(reason).into();
                    "transport:packet_dropped"
                }
            };
            if name != "transport:packet_dropped" {
                data["frames"] = frames.iter().map(|one| frame(one, ranges, identifier)).collect();
                data["is_coalesced"] = (datagram.packets.len() > 1).into();
            }
            self.put(now, name, data);
        }
    }

    /// What has changed inside.
    fn state(&mut self, now: Time, events: &[Event], connection: &Connection) {
        for event in events {
            if let &Event::Lost { space, number, reason } = event {
                let packet_type = space_name(space, number < self.one_rtt_from);
                let trigger = match reason {
                    Loss::Reordering => "reordering_threshold",
                    Loss::Time => "time_threshold",
                };
                let header = json!({ "packet_type": packet_type, "packet_number": number });
                self.put(now, "recovery:packet_lost", json!({ "header": header, "trigger": trigger }));
            }
        }
        self.phase(now, connection);
        self.offered(now, connection.phase());
        self.congestion(now, connection);
        let metrics = metrics(connection);
        let news = metrics.iter().filter(|(name, value)| self.metrics.get(*name) != Some(value));
        let news: Map<_, _> = news.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !news.is_empty() {
            self.metrics = metrics;
            self.put(now, "recovery:metrics_updated", news.into());
        }
    }

    /// Figure 1 of RFC 9002.
    fn congestion(&mut self, now: Time, connection: &Connection) {
        let new = match (connection.is_repairing(), connection.control().in_slow_start()) {
            (true, _) => "recovery",
            (false, true) => "slow_start",
            (false, false) => "congestion_avoidance",
        };
        let old = std::mem::replace(&mut self.congestion, new);
        if old != new {
            self.put(now, "recovery:congestion_state_updated", json!({ "old": old, "new": new }));
        }
    }

    /// The parameters of the other side are part of the handshake: of the client's first flight, or the server's.
    fn offered(&mut self, now: Time, phase: Phase) {
        let known = if self.side == 0 { Phase::Complete } else { Phase::Handshake };
        if (known..=Phase::Confirmed).contains(&phase)
            && let Some(offered) = self.offered.take()
        {
            self.put(now, "transport:parameters_set", offered);
        }
    }

    /// How far the connection has come.
    fn phase(&mut self, now: Time, connection: &Connection) {
        const STEPS: [Phase; 6] =
            [Phase::Attempted, Phase::Handshake, Phase::Complete, Phase::Confirmed, Phase::Closing, Phase::Closed];
        let phase = connection.phase();
        // A server goes several steps at once; how a connection ends does not tell how far it has come.
        let passed = |step: &Phase| *step == phase || *step < phase && phase <= Phase::Confirmed;
        let before = self.phase;
        for step in STEPS.into_iter().filter(|step| *step > before && passed(step)) {
            let name = |phase| state_name(phase, connection.failure());
            let is_end = self.phase < Phase::Closing && step >= Phase::Closing;
            let old = std::mem::replace(&mut self.phase, step);
            let mut change = json!({ "new": name(step) });
            if old != Phase::Idle {
                change["old"] = name(old).into();
            }
            self.put(now, "connectivity:connection_state_updated", change);
            if is_end {
                self.put(now, "connectivity:connection_closed", end(step, connection.failure()));
            }
        }
    }
}

/// Who has closed the connection, and why.
fn end(phase: Phase, failure: Option<Failure>) -> Value {
    let trigger = match failure {
        None => "clean",
        Some(Failure::Idle) => "idle_timeout",
        Some(_) => "error",
    };
    let is_ours = phase == Phase::Closing || failure == Some(Failure::Idle);
    json!({ "owner": if is_ours { "local" } else { "remote" }, "trigger": trigger })
}

fn state_name(phase: Phase, failure: Option<Failure>) -> &'static str {
    match phase {
        Phase::Idle | Phase::Attempted => "attempted",
        Phase::Handshake => "handshake_started",
        Phase::Complete => "handshake_complete",
        Phase::Confirmed => "handshake_confirmed",
        Phase::Closing => "closing",
        Phase::Closed if failure == Some(Failure::Idle) => "closed",
        // The peer has closed it, and nothing more is said (RFC 9000 section 10.2.2).
        Phase::Closed => "draining",
    }
}

fn trigger(reason: Drop) -> &'static str {
    match reason {
        Drop::NoKeys => "key_unavailable",
        Drop::Duplicate => "duplicate",
        Drop::NoToken => "dos_prevention",
    }
}
