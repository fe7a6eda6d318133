//! qlog (draft-ietf-quic-qlog-main-schema, version 0.3) as JSON text sequences (RFC 7464), which qvis opens.
//!
//! A file is what one side of one connection has seen: a header, then events in the order of time.
//!
//! ```
//! use vazao_wire::qlog;
//! let mut file = Vec::new();
//! let trace = qlog::Trace { title: "a download", name: "left1", vantage_point: qlog::VantagePoint::Client, group: None };
//! qlog::header(&trace, &mut file);
//! let mut events = qlog::Events::default();
//! events.put(1_500_000, "transport:packet_sent", |data| {
//!     data.object("header", |header| {
//!         header.put("packet_type", "initial");
//!     });
//! });
//! file.extend(events.records());
//! assert!(file.ends_with(
//!     b"\x1e{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"initial\"}}}\n"
//! ));
//! ```

mod field;

pub use field::{Field, Milliseconds};

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
    begin(time_ns, out);
    complete(name, out, data);
}

fn begin(time_ns: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1e{\"time\":");
    Milliseconds(time_ns).append(out);
    out.extend_from_slice(b",\"name\":\"");
}

#[inline(always)]
fn complete(name: &str, out: &mut Vec<u8>, data: impl FnOnce(&mut Object<'_>)) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\",\"data\":{");
    data(&mut Object { out, is_empty: true });
    out.extend_from_slice(b"}}\n");
}

/// Events of a log that have not been written yet.
#[derive(Debug, Default)]
pub struct Events {
    records: Vec<u8>,
    /// Time of the last event in nanoseconds, and what a record of that time begins with: several events come at one time.
    time_ns: u64,
    head: Vec<u8>,
}

impl Events {
    /// Adds an [`event`].
    #[inline(always)]
    pub fn put(&mut self, time_ns: u64, name: &str, data: impl FnOnce(&mut Object<'_>)) {
        if self.time_ns != time_ns || self.head.is_empty() {
            self.time_ns = time_ns;
            self.head.clear();
            begin(time_ns, &mut self.head);
        }
        self.records.extend_from_slice(&self.head);
        complete(name, &mut self.records, data);
    }

    /// Returns the records of the events since they were cleared.
    pub fn records(&self) -> &[u8] {
        &self.records
    }

    /// Forgets the records.
    pub fn clear(&mut self) {
        self.records.clear();
    }
}

fn record(value: &Value, out: &mut Vec<u8>) {
    out.push(RECORD_SEPARATOR);
    value.append(out);
    out.push(b'\n');
}

/// JSON object in the making. A log has millions, so that none is built before it is written.
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    /// Appends an object with the fields that `fill` puts into it.
    #[inline(always)]
    pub fn write(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
        out.push(b'{');
        fill(&mut Object { out, is_empty: true });
        out.push(b'}');
    }

    /// Adds a field. Names are written as they are: they hold neither quotes nor control characters.
    #[inline(always)]
    pub fn put(&mut self, name: &str, value: impl Field) -> &mut Self {
        value.append(self.name(name));
        self
    }

    /// Adds fields as they are written, in parts that each end before a value, and a last one. What most records have is written
    /// so: a text of several fields takes no longer than that of one. The first part has the comma that separates it from a field
    /// before, which is left out where there is none.
    #[inline(always)]
    pub fn fill<const N: usize>(&mut self, parts: [(&str, impl Field); N], last: &str) -> &mut Self {
        for (part, value) in parts {
            self.text(part);
            value.append(self.out);
        }
        self.out.extend_from_slice(last.as_bytes());
        self
    }

    /// Appends a part of fields, without its comma if it is the first.
    #[inline(always)]
    fn text(&mut self, part: &str) {
        if std::mem::take(&mut self.is_empty) {
            self.out.extend_from_slice(&part.as_bytes()[1..]);
        } else {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    /// Adds a field that is an object.
    #[inline(always)]
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        Object::write(self.name(name), fill);
        self
    }

    /// Adds fields as they are written, up to the bracket that opens a list of objects, one for each item, and from the bracket that
    /// closes it on.
    #[inline(always)]
    pub fn objects<T>(
        &mut self,
        before: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(T, &mut Object<'_>),
        after: &str,
    ) -> &mut Self {
        self.text(before);
        let out = &mut *self.out;
        let mut follows = false;
        for item in items {
            if std::mem::replace(&mut follows, true) {
                out.extend_from_slice(b",{");
            } else {
                out.push(b'{');
            }
            fill(item, &mut Object { out, is_empty: true });
            out.push(b'}');
        }
        out.extend_from_slice(after.as_bytes());
        self
    }

    /// Adds a field that is a list of values.
    #[inline]
    pub fn values<T: Field>(&mut self, name: &str, items: impl IntoIterator<Item = T>) -> &mut Self {
        list(items, self.name(name), |item, out| item.append(out));
        self
    }

    /// Begins a field.
    #[inline(always)]
    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }
}

#[inline]
fn list<T>(items: impl IntoIterator<Item = T>, out: &mut Vec<u8>, mut append: impl FnMut(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        append(item, out);
    }
    out.push(b']');
}
