//! Recording of connections as a capture shows them, at one place: what happened elsewhere is not in it.

use super::frames::Frame;
use super::packets::{Entry, Packets, reason};
use super::recording::Sections;
use crate::endpoint::dissector::{Dissection, kind};
use crate::packs::tcp::{bytes, dissector};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use vazao_capture::{Analysis, Connection, Passing};
use vazao_engine::{Ecn, Time};

/// Names of the numbers in `packet.reason`. A capture shows that a segment is sent again, and not why.
const REASONS: &[&str] =
    &["control", "acknowledgement", "new data", "sent again", "sent again after a silence, as by a timer"];

/// Fate of a packet that has passed, of which no more is known.
const PASSED: u8 = 5;

/// Measures of a capture: name, title, unit. All are of the place where it was taken.
const MEASURES: [(&str, &str, &str); 3] =
    [("rtt", "Round trip from here", "s"), ("flight", "Outstanding bytes", "B"), ("window", "Advertised window", "B")];
const RTT: usize = 0;
const FLIGHT: usize = 1;
const WINDOW: usize = 2;

/// Connections of a capture that are recorded.
#[derive(Default)]
pub struct Observation {
    /// Their numbers in the capture, in the order of flows.
    connections: Vec<u32>,
    /// Number of packets from which on none are kept.
    most: usize,
    packets: Packets,
    found: Dissection,
    all: u64,
    /// Series by flow, side whose data they are about, and measure.
    series: BTreeMap<(u32, usize, usize), Vec<(Time, f64)>>,
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
        let mut sections = Sections::default();
        self.packets.write(&mut sections);
        let begin = analysis.overview.first.unwrap_or_default();
        let connections = self.connections.iter().filter_map(|&number| {
            let connection = analysis.connections.get(number as usize)?;
            Some((number, connection))
        });
        let connections: Vec<(u32, &Connection)> = connections.collect();
        let of_senders = self.series.iter().filter(|((flow, side, _), _)| {
            connections.get(*flow as usize).is_some_and(|(_, connection)| connection.sender() == *side)
        });
        let series = of_senders.map(|((flow, _, measure), points)| {
            (json!({ "measure": MEASURES[*measure].0, "flow": flow, "path": 0 }), points.clone())
        });
        let series = sections.series(series.collect());
        let measures =
            MEASURES.map(|(name, title, unit)| json!({ "name": name, "title": title, "unit": unit, "line": false }));
        let header = json!({
            "run_id": "",
            "name": name,
            "engine": engine,
            "end_ns": analysis.overview.last.saturating_sub(begin),
            "packets": { "kept": self.packets.entries.len(), "all": self.all },
            "flows": connections.iter().map(|one| flow(one, begin)).collect::<Vec<Json>>(),
            "nodes": [],
            "links": [],
            "interfaces": [name],
            "measures": measures,
            "states": [],
            "reasons": REASONS,
            "observed": { "captures": [name], "begin_s": begin as f64 / 1e9, "notes": notes },
            "series": series,
        });
        let Json::Object(header) = header else { unreachable!("an object") };
        sections.file(&header)
    }
}

fn flow((number, connection): &(u32, &Connection), begin: u64) -> Json {
    let mut told = json!({
        "client": connection.side(0),
        "server": connection.side(1),
        "transport": "tcp",
        "sequence": "B",
        "cc": "",
        "app": "",
        "sender": connection.sender(),
        "start_ns": connection.first.saturating_sub(begin),
        "connection": number,
    });
    if let Some(place) = connection.seen_from() {
        told["seen_from"] = place.into();
    }
    told
}
