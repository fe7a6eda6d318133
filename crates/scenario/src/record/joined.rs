//! Recording of connections that two captures show at two places: what was lost between them, and how long the rest took.

use super::observed::{DELAY, DELAY_BACK, Head, Observation, Points, told_flow, what};
use super::packets::{Entry, Packets};
use serde_json::{Value as Json, json};
use vazao_capture::{Analysis, Connection, Fate, Pairing, Sighting, pair};
use vazao_engine::Time;

/// Fates of packets, as `packet.fate` has them.
const UNKNOWN: u8 = 0;
const ARRIVED: u8 = 1;
const LOST: u8 = 3;

/// Capture that has been read, with what it has kept.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Name.
    pub name: &'a str,
    /// Packets of its connections.
    pub observation: &'a Observation,
    /// Connections.
    pub analysis: &'a Analysis,
}

/// Clocks of the two places.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    /// Nanoseconds that the second one is ahead.
    ahead: i64,
    /// Least one-way delay that follows; not known where packets went one way alone.
    least: Option<i64>,
}

/// Packets that a side of a flow has sent, with their numbers at the near place and at the far one.
struct Way {
    /// Number of them, whether kept or not.
    all: u64,
    /// Number of packets at the far place that the near one would have, too, if they had left there.
    strangers: usize,
    /// Number of the near place.
    near: usize,
    numbers: [Vec<usize>; 2],
    pairing: Pairing,
}

impl Place<'_> {
    fn begin(&self) -> i64 {
        nanoseconds(self.analysis.overview.first.unwrap_or_default())
    }

    /// Packets of a side of a flow by their numbers, and as they passed.
    fn sightings(&self, flow: u32, side: usize) -> (Vec<usize>, Vec<Sighting>) {
        let all = self.observation.packets.entries.iter().zip(&self.observation.marks).enumerate();
        let own = all.filter(|(_, (entry, _))| entry.flow == flow && usize::from(entry.side) == side);
        let begin = self.begin();
        own.map(|(number, (entry, &mark))| {
            (number, Sighting { mark, time: begin.saturating_add(nanoseconds(entry.time.as_nanos())) })
        })
        .unzip()
    }

    fn is_cut(&self) -> bool {
        (self.observation.packets.entries.len() as u64) < self.observation.all
    }

    /// Time on its clock within which packets are known.
    fn known(&self) -> (i64, i64) {
        let entries = &self.observation.packets.entries;
        let cut = entries
            .last()
            .filter(|_| self.is_cut())
            .map(|last| self.begin().saturating_add(nanoseconds(last.time.as_nanos())));
        (self.begin(), cut.unwrap_or(nanoseconds(self.analysis.overview.last)))
    }

    fn connection(&self, flow: usize) -> Option<&Connection> {
        self.analysis.connections.get(*self.observation.connections.get(flow)? as usize)
    }
}

/// Times on a clock are differences, too, and have a sign; hostile ones may be any.
fn nanoseconds(time: u64) -> i64 {
    time.try_into().unwrap_or(i64::MAX)
}

/// Returns the numbers of the second capture's connections that are those of the first with these numbers.
pub fn partners(first: &Analysis, second: &Analysis, numbers: &[u32]) -> Vec<Option<u32>> {
    let partner = |&number: &u32| {
        let own = first.connections.get(number as usize)?;
        let found = second.connections.iter().enumerate().filter(|(_, other)| own.is_same(other));
        found.max_by_key(|(_, other)| other.packets.iter().sum::<u64>()).map(|(number, _)| number as u32)
    };
    numbers.iter().map(partner).collect()
}

/// Returns the recording of two captures, whose flows are the same connections, with notes on what they lack.
pub fn join(places: [Place<'_>; 2], engine: &str, notes: &[String]) -> Vec<u8> {
    let ways = ways(places);
    let clocks = clocks(&ways);
    let begins = [places[0].begin(), places[1].begin().saturating_sub(clocks.ahead)];
    let begin = begins[0].min(begins[1]);
    // Times at either place on the first one's clock, from the first packet on.
    let shifts = begins.map(|own| own.saturating_sub(begin) as u64);
    let packets = packets(places, &ways, shifts);
    let span = |place: usize| nanoseconds(places[place].analysis.overview.last).saturating_sub(places[place].begin());
    let end = [0, 1].map(|place| (span(place).max(0) as u64).saturating_add(shifts[place]));
    let flows = (0..places[0].observation.connections.len()).filter_map(|flow| {
        let connection = places[0].connection(flow)?;
        Some(told_flow(places[0].observation.connections[flow], connection, places[0].begin() as u64, shifts[0]))
    });
    let hosts = hosts(&ways);
    let link = |from: usize| {
        let direction = ["forward", "backward"][from];
        json!({ "name": "path", "direction": direction, "forward": from == 0,
            "from": hosts[from], "to": hosts[1 - from], "rate_bps": Json::Null, "delay_ns": Json::Null })
    };
    let node = |place: usize| json!({ "name": hosts[place], "kind": "host", "x": place, "y": 0 });
    let count = |fate: u8| packets.entries.iter().filter(|entry| entry.fate == fate).count();
    let head = Head {
        names: &places.map(|place| place.name),
        engine,
        end: end[0].max(end[1]),
        all: ways.iter().map(|way| way.all).sum(),
        flows: flows.collect(),
        nodes: (0..2).map(node).collect(),
        links: (0..2).map(link).collect(),
        observed: json!({
            "captures": places.map(|place| place.name),
            "begin_s": begin as f64 / 1e9,
            "notes": notes,
            "between": {
                "ahead_ns": clocks.ahead,
                "least_ns": clocks.least,
                "lost": count(LOST),
                "unknown": count(UNKNOWN),
                "strangers": ways.iter().map(|way| way.strangers).sum::<usize>(),
            },
        }),
    };
    let series = series(places, &ways, &packets, shifts);
    head.file(&packets, series)
}

/// Returns what the places are near to, if that is the same for all flows.
fn hosts(ways: &[Way]) -> [&'static str; 2] {
    let mut of_clients = ways.iter().step_by(2).map(|way| way.near);
    match of_clients.next() {
        Some(0) if of_clients.all(|near| near == 0) => ["client", "server"],
        Some(1) if of_clients.all(|near| near == 1) => ["server", "client"],
        _ => ["first", "second"],
    }
}

/// Pairs the packets of each side of each flow.
fn ways(places: [Place<'_>; 2]) -> Vec<Way> {
    let flows = 0..places[0].observation.connections.len().min(places[1].observation.connections.len());
    let sides = flows.flat_map(|flow| [(flow, 0), (flow, 1)]);
    sides
        .filter_map(|(flow, side)| {
            let connections = [places[0].connection(flow)?, places[1].connection(flow)?];
            let is_first = connections[0].is_nearer_to_client(connections[1]);
            let near = usize::from(is_first == (side == 1));
            let [(here, sent), (there, came)] =
                [near, 1 - near].map(|place| places[place].sightings(flow as u32, side));
            let pairing = pair(&sent, &came, places[1 - near].known());
            let (from, to) = places[near].known();
            let left = |&&other: &&usize| came[other].time.saturating_sub(pairing.least.unwrap_or_default());
            let strangers = pairing.strangers.iter().filter(|other| (from..=to).contains(&left(other))).count();
            Some(Way { strangers, all: connections[near].packets[side], near, numbers: [here, there], pairing })
        })
        .collect()
}

/// Tells the clocks apart by the least times in both directions, taken to be the same: nothing in the captures tells more.
fn clocks(ways: &[Way]) -> Clocks {
    let least = |near| ways.iter().filter(|way| way.near == near).filter_map(|way| way.pairing.least).min();
    match (least(0), least(1)) {
        (Some(there), Some(back)) => {
            let (ahead, least) = (there.saturating_sub(back) / 2, there.saturating_add(back) / 2);
            Clocks { ahead, least: Some(least) }
        }
        (Some(there), None) => Clocks { ahead: there, least: None },
        (None, Some(back)) => Clocks { ahead: back.saturating_neg(), least: None },
        (None, None) => Clocks::default(),
    }
}

/// Returns the packets as they left the place near their sender, with what became of them until the other.
fn packets(places: [Place<'_>; 2], ways: &[Way], shifts: [u64; 2]) -> Packets {
    let at = |place: usize, number: usize| {
        let entry = &places[place].observation.packets.entries[number];
        Time::from_nanos(entry.time.as_nanos().saturating_add(shifts[place]))
    };
    let mut sent: Vec<(Entry, usize, usize)> = Vec::new();
    for way in ways {
        let (near, far) = (way.near, 1 - way.near);
        for (&number, fate) in way.numbers[0].iter().zip(&way.pairing.fates) {
            let entry = places[near].observation.packets.entries[number].clone();
            let mut entry = Entry { time: at(near, number), fate: UNKNOWN, sent: entry.sent.at(near as u32), ..entry };
            match *fate {
                Fate::Arrived(other) => {
                    let other = way.numbers[1][other];
                    (entry.fate, entry.gone) = (ARRIVED, Some(at(far, other).max(entry.time)));
                    entry.arrived = places[far].observation.packets.entries[other].sent.at(far as u32);
                }
                Fate::Lost => (entry.fate, entry.link) = (LOST, near as u32),
                Fate::Unknown => {}
            }
            sent.push((entry, near, number));
        }
    }
    // Where one capture was cut, the other's packets lack what answers them.
    let cuts = [0, 1].map(|place| {
        let last = places[place].observation.packets.entries.len().checked_sub(1)?;
        places[place].is_cut().then(|| at(place, last))
    });
    sent.retain(|(entry, ..)| cuts.iter().flatten().all(|cut| entry.time <= *cut));
    sent.sort_by_key(|(entry, ..)| entry.time);
    sent.truncate(places[0].observation.most);
    let mut packets = Packets::default();
    for (entry, near, number) in sent {
        if let Some(gone) = entry.gone {
            packets.hops.push((packets.entries.len() as u32, near as u32, gone));
        }
        packets.take(entry, &places[near].observation.packets, number);
    }
    packets.hops.sort_by_key(|&(_, _, time)| time);
    packets
}

/// Returns the series of each flow's data where its sender is, and the delays between the places.
fn series(places: [Place<'_>; 2], ways: &[Way], packets: &Packets, shifts: [u64; 2]) -> Vec<(Json, Points)> {
    let mut found = Vec::new();
    for (flow, ends) in ways.chunks(2).enumerate() {
        let Some(sender) = places[0].connection(flow).map(Connection::sender) else { continue };
        let near = ends[sender].near;
        let shifted = |&(time, value): &(Time, f64)| (Time::from_nanos(time.as_nanos() + shifts[near]), value);
        for ((of, side, measure), points) in &places[near].observation.series {
            if *of as usize == flow && *side == sender {
                found.push((what(*measure, flow as u32), points.iter().map(shifted).collect()));
            }
        }
        for (side, measure) in [(sender, DELAY), (1 - sender, DELAY_BACK)] {
            let own =
                packets.entries.iter().filter(|entry| entry.flow as usize == flow && usize::from(entry.side) == side);
            let delay =
                |entry: &Entry| Some((entry.time, (entry.gone?.as_nanos() - entry.time.as_nanos()) as f64 / 1e9));
            let points: Points = own.filter_map(delay).collect();
            if !points.is_empty() {
                found.push((what(measure, flow as u32), points));
            }
        }
    }
    found
}
