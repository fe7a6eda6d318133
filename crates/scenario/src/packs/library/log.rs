//! Log of a library, completed from its packets: it logs neither their frames nor the sizes of received ones, without which
//! nobody can draw them.

use crate::packs::quic::json;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use vazao_engine::Time;
use vazao_wire::pcapng::Direction;
use vazao_wire::qlog;
use vazao_wire::quic::{Keys, Kind, Protected, decode, read_frames};

/// First byte of a record (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Reader of one side's packets. Sides are 0 for the client and 1 for the server.
pub(crate) struct Reader {
    side: usize,
    /// Keys by sender and kind of packet.
    keys: BTreeMap<(usize, Kind), Keys>,
    /// Keys of each side before its last key update.
    before: [Option<Keys>; 2],
    /// Length of the identifiers that each side has chosen.
    identifiers: [usize; 2],
    /// Next expected packet numbers by sender and space.
    expected: [[u64; 3]; 2],
    /// Additions to the records of packets since the last records: by whether this side sent it, type and number.
    packets: BTreeMap<(bool, &'static str, u64), Value>,
}

impl Reader {
    pub fn new(side: usize) -> Reader {
        Reader {
            side,
            keys: BTreeMap::new(),
            before: [None, None],
            identifiers: [0; 2],
            expected: [[0; 3]; 2],
            packets: BTreeMap::new(),
        }
    }

    /// Reads lines of a key log.
    pub fn secrets(&mut self, lines: &str) {
        for line in lines.lines() {
            let mut words = line.split(' ');
            let owner = match words.next() {
                Some("CLIENT_EARLY_TRAFFIC_SECRET") => (0, Kind::ZeroRtt),
                Some("CLIENT_HANDSHAKE_TRAFFIC_SECRET") => (0, Kind::Handshake),
                Some("SERVER_HANDSHAKE_TRAFFIC_SECRET") => (1, Kind::Handshake),
                Some("CLIENT_TRAFFIC_SECRET_0") => (0, Kind::OneRtt),
                Some("SERVER_TRAFFIC_SECRET_0") => (1, Kind::OneRtt),
                _ => continue,
            };
            if let Some(keys) = words.nth(1).and_then(bytes).and_then(|secret| Keys::of(&secret)) {
                self.keys.insert(owner, keys);
            }
        }
    }

    /// Reads a datagram that was sent or received.
    pub fn datagram(&mut self, way: Direction, datagram: &[u8]) {
        let from = if way == Direction::Outbound { self.side } else { 1 - self.side };
        let mut rest = datagram;
        while let Ok((packet, after)) = decode(rest, self.identifiers[1 - from]) {
            let length = rest.len() - after.len();
            rest = after;
            if let Some((name, number, frames)) = self.read(from, &packet) {
                let additions = json!({
                    "raw": { "length": length },
                    "frames": frames,
                    "is_coalesced": length < datagram.len(),
                });
                self.packets.insert((from == self.side, name, number), additions);
            }
        }
    }

    /// Returns type, number and frames of a packet that can be decrypted.
    fn read(&mut self, from: usize, packet: &Protected<'_>) -> Option<(&'static str, u64, Vec<Value>)> {
        match packet.kind {
            // Initial keys derive from the client's destination identifier after a Retry (RFC 9001 section 5.2).
            None => self.begin(packet.source),
            Some(Kind::Initial) if from == 0 && !self.keys.contains_key(&(0, Kind::Initial)) => {
                self.begin(packet.destination);
            }
            _ => {}
        }
        let kind = packet.kind?;
        if kind != Kind::OneRtt {
            self.identifiers[from] = packet.source.len();
        }
        let (name, space) = match kind {
            Kind::Initial => ("initial", 0),
            Kind::Handshake => ("handshake", 1),
            Kind::ZeroRtt => ("0RTT", 2),
            Kind::OneRtt => ("1RTT", 2),
        };
        let (number, payload) = self.open(from, kind, packet, self.expected[from][space])?;
        let expected = &mut self.expected[from][space];
        *expected = (number + 1).max(*expected);
        let mut frames = Vec::new();
        read_frames(&payload, |frame| frames.push(value(|fields| json::frame(frame, fields)))).ok()?;
        Some((name, number, frames))
    }

    /// Opens a packet with the current, the previous or the next keys of its sender (RFC 9001 section 6).
    fn open(&mut self, from: usize, kind: Kind, packet: &Protected<'_>, expected: u64) -> Option<(u64, Vec<u8>)> {
        let keys = self.keys.get(&(from, kind))?;
        if let Ok(opened) = packet.open(keys, 0, expected) {
            return Some(opened);
        }
        if let Some(Ok(opened)) = self.before[from].as_ref().map(|keys| packet.open(keys, 0, expected)) {
            return Some(opened);
        }
        let next = keys.updated();
        let opened = packet.open(&next, 0, expected).ok()?;
        self.before[from] = self.keys.insert((from, kind), next);
        Some(opened)
    }

    /// Derives the Initial keys.
    fn begin(&mut self, destination: &[u8]) {
        for (side, keys) in (0..).zip(Keys::initial(destination)) {
            self.keys.insert((side, Kind::Initial), keys);
        }
    }

    /// Appends the records that the library has logged at `now`, completed.
    pub fn records(&mut self, now: Time, records: &[u8], out: &mut Vec<u8>) {
        for record in records.split(|&byte| byte == RECORD_SEPARATOR).filter(|record| !record.is_empty()) {
            let Ok(mut record) = serde_json::from_slice::<Value>(record) else { continue };
            let (name, mut data) = (record["name"].take(), record["data"].take());
            let name = name.as_str().unwrap_or_default();
            match name {
                "transport:packet_sent" | "transport:packet_received" => {
                    self.complete(name == "transport:packet_sent", &mut data);
                }
                "recovery:metrics_updated" => amend(&mut data),
                _ => {}
            }
            qlog::event(now.as_nanos(), name, out, |fields| {
                for (name, value) in data.as_object().into_iter().flatten() {
                    fields.put(name, value);
                }
            });
        }
        // A packet without a record was not accepted.
        self.packets.clear();
    }

    /// Completes the record of a packet; its length moves to `raw`.
    fn complete(&mut self, sent: bool, data: &mut Value) {
        let length = data["header"].as_object_mut().and_then(|header| header.remove("length"));
        if let Some(length) = length {
            data["raw"] = json!({ "length": length });
        }
        let (kind, number) = (data["header"]["packet_type"].as_str(), data["header"]["packet_number"].as_u64());
        let of = |&(own, name, place): &(bool, &str, u64)| own == sent && Some(name) == kind && Some(place) == number;
        if let Some(key) = self.packets.keys().find(|key| of(key)).copied()
            && let Some(Value::Object(additions)) = self.packets.remove(&key)
        {
            additions.into_iter().for_each(|(field, value)| data[field] = value);
        }
    }
}

/// Returns an object as a value that can be changed.
fn value(fill: impl FnOnce(&mut qlog::Object<'_>)) -> Value {
    let mut text = Vec::new();
    qlog::Object::write(&mut text, fill);
    serde_json::from_slice(&text).expect("what was written is JSON")
}

/// Corrects metrics: round-trip times from seconds to rounded milliseconds; a threshold that was never set is removed.
fn amend(metrics: &mut Value) {
    let Some(metrics) = metrics.as_object_mut() else { return };
    metrics.retain(|_, value| value.as_u64() != Some(u64::MAX));
    for name in ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"] {
        if let Some(value) = metrics.get_mut(name) {
            *value = ((value.as_f64().unwrap_or_default() * 1e6).round() / 1e3).into();
        }
    }
}

/// Reads hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}
