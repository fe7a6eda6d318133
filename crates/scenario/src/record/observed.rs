//! Recording of connections as a capture shows them, at one place: what happened elsewhere is not in it.

use super::frames::Frame;
use super::packets::{Entry, Packets, reason};
use super::recording::Sections;
use crate::endpoint::dissector::{Dissection, kind};
use crate::packs::tcp::{bytes, dissector};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use vazao_capture::{Analysis, Connection, Mark, Passing};
use vazao_engine::{Ecn, Time};

/// Names of the numbers in `packet.reason`. A capture shows that a segment is sent again, and not why.
const REASONS: &[&str] =
    &["control", "acknowledgement", "new data", "sent again", "sent again after a silence, as by a timer"];

/// Fate of a packet that has passed, of which no more is known.
const PASSED: u8 = 5;

/// Measures of captures: name, title, unit. All are of the place where one was taken, but for delays between two.
const MEASURES: [(&str, &str, &str); 5] = [
    ("rtt", "Round trip from here", "s"),
    ("flight", "Outstanding bytes", "B"),
    ("window", "Advertised window", "B"),
    ("delay", "Delay of data", "s"),
    ("delay_back", "Delay of answers", "s"),
];
const RTT: usize = 0;
const FLIGHT: usize = 1;
const WINDOW: usize = 2;
pub(super) const DELAY: usize = 3;
pub(super) const DELAY_BACK: usize = 4;

/// Points of a time series.
pub(super) type Points = Vec<(Time, f64)>;

/// Connections of a capture that are recorded.
#[derive(Default)]
pub struct Observation {
    /// Their numbers in the capture, in the order of flows.
    pub(super) connections: Vec<u32>,
    /// Number of packets from which on none are kept.
    pub(super) most: usize,
    pub(super) packets: Packets,
    /// What each packet is known by elsewhere.
    pub(super) marks: Vec<Mark>,
    pub(super) all: u64,
    /// Series by flow, side whose data they are about, and measure.
    pub(super) series: BTreeMap<(u32, usize, usize), Points>,
    found: Dissection,
}

impl Observation {
    /// Creates a recording of at most `most` packets of the connections with these numbers.
    pub fn new(connections: Vec<u32>, most: usize) -> Observation {
        Observation { connections, most, ..Observation::default() }
    }

    /// Handles the packet that the analysis has just handled.
    pub fn on_packet(&mut self, analysis: &Analysis, passing: &Passing) {
        let Some(flow) = self.connections.iter().position(|&number| number == passing.connection) else { return };
        self.all += 1;
        if self.packets.entries.len() >= self.most {
            return;
        }
        let flow = flow as u32;
        let begin = analysis.overview.first.unwrap_or_default();
        let time = Time::from_nanos(passing.time.saturating_sub(begin));
        self.dissect(passing);
        let entry = Entry {
            time,
            flow,
            side: passing.from as u8,
            size: passing.size,
            reason: match (passing.is_again, passing.is_expiry) {
                (_, true) => 4,
                (true, _) => 3,
                _ => reason(self.found.kind),
            },
            fate: PASSED,
            sent: Frame::new(0, analysis.overview.packets),
            ..Entry::default()
        };
        self.packets.push(entry, &mut self.found);
        self.marks.push(passing.mark);
        self.observe(time, flow, passing);
    }

    fn dissect(&mut self, passing: &Passing) {
        let found = &mut self.found;
        found.clear();
        found.kind = if passing.is_again { kind::RETRANSMISSION } else { 0 };
        (found.data, found.ack) = (passing.data.clone(), passing.ack);
        found.edge = passing.ack.zip(passing.window).map(|(ack, window)| ack + window);
        found.sacks.extend_from_slice(&passing.sacks);
        let (segment, extra) = bytes::segment(&passing.header, 0, Ecn::NotEct);
        dissector::tell(&segment, Some(&extra), found);
    }

    /// Adds to the series of both sides' data.
    fn observe(&mut self, time: Time, flow: u32, passing: &Passing) {
        let mut see = |side: usize, measure, value: f64, holds: bool| {
            let points = self.series.entry((flow, side, measure)).or_default();
            if !holds || points.last().is_none_or(|&(_, last)| last != value) {
                points.push((time, value));
            }
        };
        // A segment acknowledges the other side's data, and its window is for it.
        let peer = 1 - passing.from;
        if let Some(round_trip) = passing.round_trip {
            see(peer, RTT, round_trip as f64 / 1e9, false);
        }
        if let Some(window) = passing.window {
            see(peer, WINDOW, window as f64, true);
        }
        for (side, &bytes) in passing.outstanding.iter().enumerate() {
            see(side, FLIGHT, bytes as f64, true);
        }
    }

    /// Returns the recording of a capture that has been read: by its name and the engine's version, with notes on what it lacks.
    pub fn file(&self, [name, engine]: [&str; 2], notes: &[String], analysis: &Analysis) -> Vec<u8> {
        let begin = analysis.overview.first.unwrap_or_default();
        let connection = |flow: usize| {
            let number = *self.connections.get(flow)?;
            Some((number, analysis.connections.get(number as usize)?))
        };
        let flows = (0..self.connections.len()).filter_map(connection);
        let flows = flows.map(|(number, connection)| {
            let mut told = told_flow(number, connection, begin, 0);
            if let Some(place) = connection.seen_from() {
                told["seen_from"] = place.into();
            }
            told
        });
        let of_senders = self.series.iter().filter(|((flow, side, _), _)| {
            connection(*flow as usize).is_some_and(|(_, connection)| connection.sender() == *side)
        });
        let series = of_senders.map(|((flow, _, measure), points)| (what(*measure, *flow), points.clone()));
        let head = Head {
            names: &[name],
            engine,
            end: analysis.overview.last.saturating_sub(begin),
            all: self.all,
            flows: flows.collect(),
            nodes: Vec::new(),
            links: Vec::new(),
            observed: json!({ "captures": [name], "begin_s": begin as f64 / 1e9, "notes": notes }),
        };
        head.file(&self.packets, series.collect())
    }
}

/// Header of a recording of captures.
pub(super) struct Head<'a> {
    pub names: &'a [&'a str],
    pub engine: &'a str,
    /// Nanoseconds until the end.
    pub end: u64,
    /// Number of packets, of which some may not be kept.
    pub all: u64,
    pub flows: Vec<Json>,
    pub nodes: Vec<Json>,
    pub links: Vec<Json>,
    pub observed: Json,
}

impl Head<'_> {
    /// Returns the recording.
    pub fn file(self, packets: &Packets, series: Vec<(Json, Points)>) -> Vec<u8> {
        let mut sections = Sections::default();
        packets.write(&mut sections);
        let series = sections.series(series);
        let measure = |(name, title, unit)| json!({ "name": name, "title": title, "unit": unit, "line": false });
        let header = json!({
            "run_id": "",
            "name": self.names.join(", "),
            "engine": self.engine,
            "end_ns": self.end,
            "packets": { "kept": packets.entries.len(), "all": self.all },
            "flows": self.flows,
            "nodes": self.nodes,
            "links": self.links,
            "interfaces": self.names,
            "measures": MEASURES.map(measure),
            "states": [],
            "reasons": REASONS,
            "observed": self.observed,
            "series": series,
        });
        let Json::Object(header) = header else { unreachable!("an object") };
        sections.file(&header)
    }
}

/// Tells what a series is about.
pub(super) fn what(measure: usize, flow: u32) -> Json {
    json!({ "measure": MEASURES[measure].0, "flow": flow, "path": 0 })
}

/// Tells a connection of a capture that begins then; its times are so much later in the recording.
pub(super) fn told_flow(number: u32, connection: &Connection, begin: u64, later: u64) -> Json {
    json!({
        "client": connection.side(0),
        "server": connection.side(1),
        "transport": "tcp",
        "sequence": "B",
        "cc": "",
        "app": "",
        "sender": connection.sender(),
        "start_ns": connection.first.saturating_sub(begin).saturating_add(later),
        "connection": number,
    })
}
