//! qlog (draft-ietf-quic-qlog-main-schema, version 0.3) as JSON text sequences (RFC 7464), which qvis opens.
//!
//! A file is what one side of one connection has seen: a header, then events in the order of time.
//!
//! ```
//! use vazao_wire::qlog;
//! let mut file = Vec::new();
//! let trace = qlog::Trace { title: "a download", name: "left1", vantage_point: qlog::VantagePoint::Client, group: None };
//! qlog::header(&trace, &mut file);
//! qlog::event(1_500_000, "transport:packet_sent", &mut file, |data| {
//!     data.object("header", |header| {
//!         header.put("packet_type", "initial");
//!     });
//! });
//! assert!(file.ends_with(
//!     b"\x1e{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"initial\"}}}\n"
//! ));
//! ```

use serde::Serialize;
use serde_json::{Value, json};

/// The format's version; the one that qvis knows best.
const VERSION: &str = "0.3";

/// First byte of a record (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1e;

/// Side of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VantagePoint {
    /// The one that opened the connection.
    Client,
    /// The other one.
    Server,
}

impl VantagePoint {
    /// Returns its name in the format.
    pub const fn name(self) -> &'static str {
        match self {
            VantagePoint::Client => "client",
            VantagePoint::Server => "server",
        }
    }
}

/// Header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace<'a> {
    /// Title.
    pub title: &'a str,
    /// The name of the host that saw it.
    pub name: &'a str,
    /// Side.
    pub vantage_point: VantagePoint,
    /// The connection identifier that the client first addressed, in hexadecimal, where it is known: both sides' files have
    /// the same.
    pub group: Option<&'a str>,
}

/// Appends what begins a file. Times are those since its start; simulations begin in 1970.
pub fn header(trace: &Trace<'_>, out: &mut Vec<u8>) {
    let mut common = json!({ "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 0 });
    if let Some(group) = trace.group {
        common["ODCID"] = group.into();
        common["group_id"] = group.into();
    }
    let header = json!({
        "qlog_version": VERSION,
        "qlog_format": "JSON-SEQ",
        "title": trace.title,
        "trace": {
            "vantage_point": { "name": trace.name, "type": trace.vantage_point.name() },
            "title": trace.title,
            "common_fields": common,
        },
    });
    record(&header, out);
}

/// Appends an event: when, in nanoseconds; its category and type with a colon between them; and what it says.
pub fn event(time_ns: u64, name: &str, out: &mut Vec<u8>, data: impl FnOnce(&mut Object<'_>)) {
    out.push(RECORD_SEPARATOR);
    Object::write(out, |event| {
        event.put("time", milliseconds(time_ns)).put("name", name).object("data", data);
    });
    out.push(b'\n');
}

/// Nanoseconds as the format counts time.
pub fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn record(value: &Value, out: &mut Vec<u8>) {
    out.push(RECORD_SEPARATOR);
    append(value, out);
    out.push(b'\n');
}

fn append(value: impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, &value).expect("numbers and texts in memory can be written");
}

/// JSON object in the making. A log has millions, so that none is built before it is written.
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    /// Appends an object with the fields that `fill` puts into it.
    pub fn write(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        out.push(b'{');
        fill(&mut Object { out, is_empty: true });
        out.push(b'}');
    }

    /// Adds a field. Names are written as they are: they hold neither quotes nor control characters.
    pub fn put(&mut self, name: &str, value: impl Serialize) -> &mut Self {
        append(value, self.name(name));
        self
    }

    /// Adds a field that is an object.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        Object::write(self.name(name), fill);
        self
    }

    /// Adds a field that is a list of objects, one for each item.
    pub fn objects<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(T, &mut Object<'_>),
    ) -> &mut Self {
        let out = self.name(name);
        out.push(b'[');
        for (number, item) in items.into_iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            Object::write(out, |object| fill(item, object));
        }
        out.push(b']');
        self
    }

    /// Begins a field.
    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.reserve(name.len() + 4);
        self.out.extend_from_slice(if std::mem::take(&mut self.is_empty) { b"\"" } else { b",\"" });
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }
}
