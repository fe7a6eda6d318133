//! qlog (draft-ietf-quic-qlog-main-schema, version 0.3) as JSON text sequences (RFC 7464), which qvis opens.
//!
//! A file is what one side of one connection has seen: a header, then events in the order of time.
//!
//! ```
//! use serde_json::json;
//! use vazao_wire::qlog;
//! let mut file = Vec::new();
//! let trace = qlog::Trace { title: "a download", name: "left1", vantage_point: qlog::VantagePoint::Client, group: None };
//! qlog::header(&trace, &mut file);
//! qlog::event(1_500_000, "transport:packet_sent", json!({ "header": { "packet_type": "initial" } }), &mut file);
//! assert!(file.ends_with(
//!     b"\x1e{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"initial\"}}}\n"
//! ));
//! ```

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
pub fn event(time_ns: u64, name: &str, data: Value, out: &mut Vec<u8>) {
    record(&json!({ "time": milliseconds(time_ns), "name": name, "data": data }), out);
}

/// Nanoseconds as the format counts time.
pub fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn record(value: &Value, out: &mut Vec<u8>) {
    out.push(RECORD_SEPARATOR);
    out.extend(value.to_string().bytes());
    out.push(b'\n');
}
