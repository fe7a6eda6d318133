//! Journal of a run for viewers: every packet with its way over the links, and the state of every sender.

use super::frames::{Frame, Frames};
use super::packets::{Entry, NOWHERE, Packets, reason};
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
    packets: Packets,
    all: u64,
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
            packets: Packets::default(),
            all: 0,
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
        self.packets.entries.get_mut(number as usize)
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
        let is_full = self.packets.entries.len() == self.most;
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
        if self.packets.entries.len() == self.most {
            return self.place(packet, UNKEPT, to);
        }
        self.place(packet, self.packets.entries.len() as u32, to);
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
        let entry = Entry {
            time: now,
            flow,
            side,
            path: leaving.path as u8,
            size: leaving.size,
            reason: reason(found.kind),
            sent,
            ..Entry::default()
        };
        self.packets.push(entry, found);
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
        let number = self.packets.entries.len();
        let (sacks, text) = self.packets.ends();
        let is_full = number == self.most;
        let to = self.places.get(packet as usize).and_then(|place| place.to);
        let Some(entry) = self.of(packet).filter(|_| !is_full) else { return self.place(copy, UNKEPT, to) };
        let sent = Frame::default();
        let fresh =
            Entry { reason: 6, sacks, text, time: now, gone: None, fate: 0, link: NOWHERE, sent, ..entry.clone() };
        self.packets.entries.push(fresh);
        self.place(copy, number as u32, to);
    }

    pub fn hop(&mut self, now: Time, packet: PacketId, link: LinkId) {
        let place = self.places.get(packet as usize).filter(|place| place.number != UNKEPT);
        if let Some(&Place { number, .. }) = place {
            self.packets.hops.push((number, link, now));
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
        self.packets.write(&mut sections);
        self.streams.write(&mut sections);
        let series = self.write_series(scenario, trace, now, &mut sections);
        let mut header = self.header(scenario, identity, now);
        header.insert("series".to_owned(), series);
        sections.file(&header)
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
        let told = series.into_iter().map(|((measure, source, path), points)| {
            let known = MEASURES.get(measure);
            let name = known.map_or("state", |measure| measure.name);
            let what = match known.map(|measure| &measure.source) {
                Some(Source::Queue) => json!({ "measure": name, "link": source }),
                _ => json!({ "measure": name, "flow": source, "path": path }),
            };
            (what, points)
        });
        sections.series(told.collect())
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
            "packets": { "kept": self.packets.entries.len(), "all": self.all },
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
