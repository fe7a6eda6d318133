//! Journal of a run for viewers: every packet with its way over the links, and the state of every sender.

use super::frames::{self, Frame, Frames};
use super::recording::Sections;
use super::streams::Streams;
use super::trace::Trace;
use crate::description::network::places_json;
use crate::endpoint::dissector::{Dissection, Dissector, kind};
use crate::endpoint::{EndId, Endpoint};
use crate::measures::series::{MEASURES, Measure, SenderState, Source, names};
use crate::model::address::Addresses;
use crate::model::routes::direction_name;
use crate::model::scenario::{FlowSpec, Scenario, TraceSpec};
use crate::world::probe::{Leaves, Leaving};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;
use vazao_application::Visit;
use vazao_engine::Time;
use vazao_network::{DropCause, LinkId, PacketId};
use vazao_transport::common::Limit;

/// Names of the numbers in `packet.reason`.
const REASONS: &[&str] = &[
    "control",
    "acknowledgement",
    "new data",
    "fast recovery",
    "retransmission timeout",
    "tail loss probe",
    "copy made by a link",
];

/// Names of the first values of the measure `state`; those of the phases that congestion controls name follow.
const STATES: [&str; 4] = ["slow start", "congestion avoidance", "recovery", "loss"];

/// Linux's name for recovery after a timeout, TCP_CA_Loss.
const CA_LOSS: u8 = 4;

/// Number of no link.
const NOWHERE: u32 = u32::MAX;

/// Packet of the journal.
#[derive(Clone)]
struct Entry {
    time: Time,
    flow: u32,
    side: u8,
    path: u8,
    size: u32,
    kind: u8,
    reason: u8,
    data: Option<Range<u64>>,
    ack: Option<u64>,
    edge: Option<u64>,
    /// First of its SACK blocks, and first byte of its words.
    sacks: u32,
    text: u32,
    gone: Option<Time>,
    fate: u8,
    link: u32,
    /// Places in the captures at its sender and at its receiver.
    sent: Frame,
    arrived: Frame,
}

/// Packet in the network: its number in the journal, and the interface that it goes to.
#[derive(Clone, Copy)]
struct Place {
    number: u32,
    to: Option<usize>,
}

/// Journal of a run.
pub(crate) struct Journal {
    /// Number of packets from which on none are kept.
    most: usize,
    dissectors: Vec<Box<dyn Dissector>>,
    dissection: Dissection,
    entries: Vec<Entry>,
    all: u64,
    sacks: Vec<Range<u64>>,
    text: String,
    hops: Vec<(u32, LinkId, Time)>,
    /// Packets by their place in the network.
    places: Vec<Place>,
    frames: Frames,
    /// Packet that has arrived last, until a capture has it.
    arriving: Option<PacketId>,
    streams: Streams,
    /// Data sent so far, by flow, side and path.
    sent: BTreeMap<(u32, u8, u8), u64>,
    states: Vec<(u32, Time, u8)>,
    /// Names of the states.
    names: Vec<&'static str>,
    /// State recorded last of each flow.
    known: Vec<u8>,
}

/// Packet that the journal does not keep.
const UNKEPT: u32 = u32::MAX;

/// Measure of which a recording has more than a trace: lines between points.
const BUFFER: &str = "buffer";

impl Journal {
    /// Creates a journal of at most `most` packets.
    pub fn new(scenario: &Scenario, addresses: &Addresses, most: usize) -> Journal {
        let dissectors = scenario.flows.iter().map(|flow| (flow.transport.pack().dissector)(flow)).collect();
        Journal {
            most,
            dissectors,
            dissection: Dissection::default(),
            entries: Vec::new(),
            all: 0,
            sacks: Vec::new(),
            text: String::new(),
            hops: Vec::new(),
            places: Vec::new(),
            frames: Frames::new(scenario, addresses),
            arriving: None,
            streams: Streams::default(),
            sent: BTreeMap::new(),
            states: Vec::new(),
            names: STATES.to_vec(),
            known: vec![u8::MAX; scenario.flows.len()],
        }
    }

    /// Returns the series that a journal has: all measures, at every change.
    pub fn series() -> TraceSpec {
        TraceSpec { measures: names().collect(), every: None }
    }

    fn place(&mut self, packet: PacketId, number: u32, to: Option<usize>) {
        let place = packet as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, Place { number: UNKEPT, to: None });
        }
        self.places[place] = Place { number, to };
    }

    fn of(&mut self, packet: PacketId) -> Option<&mut Entry> {
        let number = self.places.get(packet as usize)?.number;
        self.entries.get_mut(number as usize)
    }

    /// Counts a guest's packet that leaves next, at its interface.
    pub fn frame_leaves(&mut self, interface: usize) {
        self.frames.leave(interface);
    }

    /// Counts the packet that has arrived last, at its interface; `None`: at the one that it was sent to.
    pub fn frame_arrived(&mut self, interface: Option<usize>) {
        let arriving = self.arriving.take();
        let to = arriving.and_then(|packet| self.places.get(packet as usize)?.to);
        let frame = self.frames.count(interface.or(to));
        if let Some(entry) = arriving.and_then(|packet| self.of(packet)) {
            entry.arrived = frame;
        }
    }

    /// Records what the receiver of a flow's data has.
    pub fn receive(&mut self, now: Time, end: EndId, machine: &dyn Endpoint, visit: Option<(usize, &Visit)>) {
        let is_full = self.entries.len() == self.most;
        self.streams.note(now, end, machine, visit, is_full);
    }

    pub fn depart(&mut self, now: Time, packet: PacketId, leaving: &Leaving<'_>) {
        self.all += 1;
        let interface =
            |side| leaving.end.and_then(|(flow, own)| self.frames.interface(flow, leaving.path, own ^ side));
        let (from, to) = (interface(0), interface(1));
        let sent = match leaving.content {
            Leaves::Crossing(_) => self.frames.count(from),
            Leaves::Bytes(_) => self.frames.take_leaving(),
        };
        if self.entries.len() == self.most {
            return self.place(packet, UNKEPT, to);
        }
        self.place(packet, self.entries.len() as u32, to);
        let (flow, side) = leaving.end.map_or((u32::MAX, 0), |(flow, side)| (flow as u32, side as u8));
        let found = &mut self.dissection;
        found.clear();
        if let Some(dissector) = self.dissectors.get_mut(flow as usize) {
            match leaving.content {
                Leaves::Crossing(crossing) => dissector.dissect(crossing, found),
                Leaves::Bytes(bytes) => dissector.dissect_bytes(side.into(), bytes, found),
            }
        }
        if let Some(data) = &found.data {
            let sent = self.sent.entry((flow, side, leaving.path as u8)).or_default();
            found.kind |= if data.start < *sent { kind::RETRANSMISSION } else { 0 };
            *sent = data.end.max(*sent);
        }
        let reason = match found.kind {
            bits if bits & kind::DATA != 0 => 2,
            bits if bits & (kind::OPENS | kind::CLOSES | kind::RESETS | kind::PROBES) != 0 => 0,
            bits => u8::from(bits & kind::ACK != 0),
        };
        self.entries.push(Entry {
            time: now,
            flow,
            side,
            path: leaving.path as u8,
            size: leaving.size,
            kind: found.kind,
            reason,
            data: found.data.take(),
            ack: found.ack,
            edge: found.edge,
            sacks: self.sacks.len() as u32,
            text: self.text.len() as u32,
            gone: None,
            fate: 0,
            link: NOWHERE,
            sent,
            arrived: Frame::default(),
        });
        self.sacks.append(&mut found.sacks);
        self.text.push_str(&found.text);
    }

    /// Explains a retransmission by the state of its sender.
    pub fn explain(&mut self, packet: PacketId, sender: &dyn SenderState) {
        let Some(entry) = self.of(packet).filter(|entry| entry.kind & kind::RETRANSMISSION != 0) else { return };
        let state = sender.repair(usize::from(entry.path).min(sender.paths().saturating_sub(1)));
        entry.reason = match state {
            Some(repair) if repair.ca_state == CA_LOSS => 4,
            _ if sender.is_repairing() => 3,
            _ => 5,
        };
    }

    pub fn copy(&mut self, now: Time, packet: PacketId, copy: PacketId) {
        self.all += 1;
        let number = self.entries.len();
        let (sacks, text) = (self.sacks.len() as u32, self.text.len() as u32);
        let is_full = number == self.most;
        let to = self.places.get(packet as usize).and_then(|place| place.to);
        let Some(entry) = self.of(packet).filter(|_| !is_full) else { return self.place(copy, UNKEPT, to) };
        let sent = Frame::default();
        let fresh =
            Entry { reason: 6, sacks, text, time: now, gone: None, fate: 0, link: NOWHERE, sent, ..entry.clone() };
        self.entries.push(fresh);
        self.place(copy, number as u32, to);
    }

    pub fn hop(&mut self, now: Time, packet: PacketId, link: LinkId) {
        let place = self.places.get(packet as usize).filter(|place| place.number != UNKEPT);
        if let Some(&Place { number, .. }) = place {
            self.hops.push((number, link, now));
        }
    }

    pub fn arrive(&mut self, now: Time, packet: PacketId) {
        self.arriving = Some(packet);
        if let Some(entry) = self.of(packet) {
            (entry.gone, entry.fate) = (Some(now), 1);
        }
    }

    pub fn lose(&mut self, now: Time, packet: PacketId, link: LinkId, cause: DropCause) {
        if let Some(entry) = self.of(packet) {
            let fate = match cause {
                DropCause::Queue => 2,
                DropCause::Loss => 3,
                DropCause::Corruption => 4,
            };
            (entry.gone, entry.fate, entry.link) = (Some(now), fate, link);
        }
    }

    /// Records a sender's state when it changes. The phase that a control names says more than that it repairs losses.
    pub fn see(&mut self, now: Time, flow: u32, sender: &dyn SenderState) {
        let path = sender.path(0);
        let state = match (sender.repair(0), path.phase) {
            (Some(repair), _) if repair.ca_state == CA_LOSS => 3,
            (_, Some(phase)) => self.number_of(phase),
            _ if sender.is_repairing() => 2,
            _ => u8::from(!sender.in_slow_start()),
        };
        if std::mem::replace(&mut self.known[flow as usize], state) != state {
            self.states.push((flow, now, state));
        }
    }

    /// Returns the number of a state's name, a new one if need be.
    fn number_of(&mut self, name: &'static str) -> u8 {
        let known = self.names.iter().position(|&known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }) as u8
    }

    /// Returns the recording of a run that has ended `now`, whose identity is its `run_id` and the engine's version.
    pub fn file(&mut self, scenario: &Scenario, identity: [&str; 2], now: Time, trace: &Trace) -> Vec<u8> {
        let mut sections = Sections::default();
        self.write_packets(&mut sections);
        self.streams.write(&mut sections);
        let series = self.write_series(scenario, trace, now, &mut sections);
        let mut header = self.header(scenario, identity, now);
        header.insert("series".to_owned(), series);
        sections.file(&header)
    }

    fn write_packets(&self, sections: &mut Sections) {
        let entries = || self.entries.iter();
        let nanoseconds = |time: Time| time.as_nanos() as f64;
        let optional = |number: Option<u64>| number.map_or(f64::NAN, |number| number as f64);
        sections.f64("packet.time", entries().map(|entry| nanoseconds(entry.time)));
        sections.u32("packet.flow", entries().map(|entry| entry.flow));
        sections.u8("packet.side", entries().map(|entry| entry.side));
        sections.u8("packet.path", entries().map(|entry| entry.path));
        sections.u32("packet.size", entries().map(|entry| entry.size));
        sections.u8("packet.kind", entries().map(|entry| entry.kind));
        sections.u8("packet.reason", entries().map(|entry| entry.reason));
        sections.f64("packet.from", entries().map(|entry| optional(entry.data.as_ref().map(|data| data.start))));
        sections.f64("packet.to", entries().map(|entry| optional(entry.data.as_ref().map(|data| data.end))));
        sections.f64("packet.ack", entries().map(|entry| optional(entry.ack)));
        sections.f64("packet.edge", entries().map(|entry| optional(entry.edge)));
        sections.f64("packet.gone", entries().map(|entry| entry.gone.map_or(f64::NAN, nanoseconds)));
        sections.u8("packet.fate", entries().map(|entry| entry.fate));
        sections.u32("packet.link", entries().map(|entry| entry.link));
        frames::write(sections, "packet.sent", entries().map(|entry| entry.sent));
        frames::write(sections, "packet.arrived", entries().map(|entry| entry.arrived));
        let bounds = |starts: fn(&Entry) -> u32, end: usize| {
            let all: Vec<u32> = entries().map(starts).chain([end as u32]).collect();
            all.into_iter()
        };
        sections.u32("packet.sacks", bounds(|entry| entry.sacks, self.sacks.len()));
        sections.f64("sack.from", self.sacks.iter().map(|block| block.start as f64));
        sections.f64("sack.to", self.sacks.iter().map(|block| block.end as f64));
        sections.u32("packet.text", bounds(|entry| entry.text, self.text.len()));
        sections.u8("text", self.text.bytes());
        sections.u32("hop.packet", self.hops.iter().map(|hop| hop.0));
        sections.u32("hop.link", self.hops.iter().map(|hop| hop.1));
        sections.f64("hop.time", self.hops.iter().map(|hop| nanoseconds(hop.2)));
    }

    /// Writes the time series, and returns what they are.
    fn write_series(&mut self, scenario: &Scenario, trace: &Trace, now: Time, sections: &mut Sections) -> Json {
        let mut series = BTreeMap::<(usize, u32, u8), Vec<(Time, f64)>>::new();
        for sample in trace.turns.samples.iter().filter(|sample| sample.event.is_none()) {
            let key = (sample.measure as usize, sample.source, sample.path);
            series.entry(key).or_default().push((sample.time, sample.value));
        }
        for ((measure, flow, _), points) in &mut series {
            if matches!(MEASURES[*measure].source, Source::Limit) {
                complete(points, scenario.flows[*flow as usize].start);
            }
        }
        for &(flow, time, state) in &self.states {
            series.entry((MEASURES.len(), flow, 0)).or_default().push((time, f64::from(state)));
        }
        let buffer = MEASURES.iter().position(|measure| measure.name == BUFFER).expect("a measure");
        series.extend(self.streams.buffers(now).map(|(flow, points)| ((buffer, flow, 0), points.to_vec())));
        let mut start = 0;
        let mut told = Vec::new();
        for (&(measure, source, path), points) in &series {
            let known = MEASURES.get(measure);
            let name = known.map_or("state", |measure| measure.name);
            let count = points.len();
            told.push(match known.map(|measure| &measure.source) {
                Some(Source::Queue) => json!({ "measure": name, "link": source, "start": start, "count": count }),
                _ => json!({ "measure": name, "flow": source, "path": path, "start": start, "count": count }),
            });
            start += count;
        }
        let points = || series.values().flatten().copied();
        let all: Vec<(Time, f64)> = points().collect();
        sections.f64("series.time", all.iter().map(|(time, _)| time.as_nanos() as f64));
        sections.f64("series.value", all.iter().map(|(_, value)| *value));
        told.into()
    }

    fn header(&self, scenario: &Scenario, [run_id, engine]: [&str; 2], now: Time) -> Map<String, Json> {
        let flows: Vec<Json> = scenario.flows.iter().map(flow).collect();
        let measure = |measure: &Measure| {
            let line = measure.name == BUFFER;
            let mut told = json!({ "name": measure.name, "title": measure.title, "unit": measure.unit, "line": line });
            if matches!(measure.source, Source::Limit) {
                told["values"] = Limit::NAMES.into();
            }
            told
        };
        let state = json!({ "name": "state", "title": "State", "unit": "", "line": false });
        let measures: Vec<Json> = MEASURES.iter().map(measure).chain([state]).collect();
        let header = json!({
            "run_id": run_id,
            "name": scenario.name,
            "engine": engine,
            "end_ns": now.as_nanos(),
            "packets": { "kept": self.entries.len(), "all": self.all },
            "flows": flows,
            "nodes": places_json(scenario),
            "links": links(scenario),
            "interfaces": self.frames.names(),
            "measures": measures,
            "states": self.names,
            "reasons": REASONS,
        });
        let Json::Object(header) = header else { unreachable!("an object") };
        header
    }
}

/// Completes the account of a flow's limits for readers: a timeout is recorded in hindsight, and the handshake not at all.
fn complete(points: &mut Vec<(Time, f64)>, start: Time) {
    points.push((start, f64::from(Limit::Handshake as u8)));
    // Of limits at one time the last holds, so that their order stays; but the handshake is before all.
    points.rotate_right(1);
    points.sort_by_key(|(time, _)| *time);
}

fn flow(flow: &FlowSpec) -> Json {
    let sides = flow.sides();
    json!({
        "client": flow.client,
        "server": flow.server,
        "transport": flow.transport.entry.name,
        "sequence": flow.transport.pack().front.sequence,
        "full": flow.transport.pack().front.full,
        "cc": flow.transport.control.name,
        "app": flow.app(),
        "sender": u8::from(!sides.client_sends),
        "start_ns": flow.start.as_nanos(),
    })
}

fn links(scenario: &Scenario) -> Vec<Json> {
    let graph = &scenario.graph;
    let both = graph.links.iter().enumerate().flat_map(|(number, link)| [true, false].map(|way| (number, link, way)));
    both.map(|(number, link, forward)| {
        let step = graph.direction((number, forward));
        let [from, to] = if forward { [link.source, link.target] } else { [link.target, link.source] };
        json!({
            "name": link.name,
            "forward": forward,
            "direction": direction_name(forward),
            "from": graph.nodes[from].name,
            "to": graph.nodes[to].name,
            "rate_bps": step.rate.as_bps(),
            "delay_ns": step.delay.as_nanos(),
            "key": link.given.key,
            "index": link.given.index,
        })
    })
    .collect()
}
