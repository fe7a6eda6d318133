//! quinn-proto, a production QUIC library, in virtual time.

use super::{has_no_programs, refuse_others};
use crate::document::reader::{Item, Table};
use crate::document::{Result, Toml};
use crate::model::plugin::ControlSpec;
use crate::model::stack::{Mechanism, Play, Stack};
use vazao_engine::registry::{Parameters, Value};
use vazao_transport::quic;

pub(super) const ENTRY: Stack = Stack {
    player: "a library",
    transports: Some(&[Play {
        accepted: Some(PARAMETERS),
        apart: |_| {
            Some(
                "has two stacks, but the packets of quinn are bytes and ours are none: over quic both sides have the same",
            )
        },
        ..Play::new("quic")
    }]),
    controls: CONTROLS,
    read_control,
    decision: "quinn's own decision with stack = \"quinn\"; leave it out",
    refuse,
    check,
    unfit: has_no_programs,
    effort: 1.0 / 40.0,
    memory: 80_000,
    ..Stack::new("quinn", "quinn", Mechanism::Library)
};

/// Congestion controls of quinn: BBR's first version, CUBIC and NewReno as it implements them.
const CONTROLS: &[(&str, &str)] = &[("quinn-bbr", "bbr"), ("quinn-cubic", "cubic"), ("quinn-newreno", "newreno")];

/// Parameters of QUIC that quinn accepts; it decides the others itself.
const PARAMETERS: &[&str] = &[
    "cc",
    "slow_start",
    "handshake",
    "certificate",
    "datagram",
    "initial_window",
    "initial_ssthresh",
    "abc_limit",
    "packet_threshold",
    "time_threshold",
    "initial_rtt",
    "keep_alive",
    "idle_timeout",
    "stream_window",
    "connection_window",
    "send_buffer",
    "changes",
];

/// Parameters that only our congestion controls use.
const OF_OUR_CONTROLS: &[&str] = &["slow_start", "initial_ssthresh", "abc_limit"];

/// Largest number that QUIC can write (RFC 9000 section 16).
const LARGEST: f64 = ((1_u64 << 62) - 1) as f64;

/// Parameters with a narrower range than Vazão's own, in bytes or seconds, and the range in words.
const RANGES: &[(&str, f64, f64, &str)] = &[
    ("certificate", 409.0, 65_536.0, "409 B, with its own certificate and another, to 65536 B, TLS's longest message"),
    ("stream_window", 0.0, LARGEST, "4.6 EB at most, the largest number that QUIC can write"),
    ("connection_window", 0.0, LARGEST, "4.6 EB at most, the largest number that QUIC can write"),
    (
        "idle_timeout",
        0.001,
        f64::INFINITY,
        "1 ms or more, as it tells its peer whole milliseconds, and none is for ever",
    ),
];

/// Changes of the client's address that quinn supports.
const CHANGES: &[&str] = &["migrate", "rebind", "rebind_address"];

/// Refuses parameters that quinn's own controls would ignore.
fn refuse(table: &Table, control: &ControlSpec) -> Result<()> {
    if ENTRY.own_control(&control.name).is_none() {
        return Ok(());
    }
    let whose = format!("for our controls, and cc is {:?}; leave it out", control.name);
    let accepted: Vec<_> = PARAMETERS.iter().filter(|name| !OF_OUR_CONTROLS.contains(name)).copied().collect();
    refuse_others(table, quic::Config::PARAMETERS, &accepted, &whose)
}

/// Refuses values that quinn does not accept.
fn check(table: &Table, control: &ControlSpec, parameters: &Parameters) -> Result<()> {
    let refuse = |name: &str, problem: String| table.refuse(name, problem);
    if parameters.text("handshake").starts_with("gquic") {
        let accepted = "quinn has no handshake of Google's; write 1-rtt, 0-rtt, 0-rtt-rejected or retry";
        return refuse("handshake", accepted.into());
    }
    if ENTRY.own_control(&control.name).is_some() && parameters.integer("initial_window") < 2 {
        let problem =
            format!("with a window of 1 {} never sends; write 2 or more (RFC 9002 section 7.2)", control.name);
        return refuse("initial_window", problem);
    }
    if let Some(change) = parameters.schedule("changes").iter().find(|change| !CHANGES.contains(&change.what)) {
        let problem = format!("quinn knows one path and no {}; write {}", change.what, CHANGES.join(", "));
        return refuse("changes", problem);
    }
    for (name, least, most, range) in RANGES {
        let Some(value) = parameters.get(name) else { continue };
        let amount = match value {
            Value::Size(bytes) => bytes.get() as f64,
            Value::Duration(span) => span.as_secs(),
            _ => continue,
        };
        if !(*least..=*most).contains(&amount) {
            return refuse(name, format!("{value} is not what quinn can be told; write {range}"));
        }
    }
    Ok(())
}

/// Reads one of quinn's own controls, if one is named: by its name, or by a table with nothing but its kind.
fn read_control(item: &Item) -> Result<Option<ControlSpec>> {
    let own = |value: &Toml| CONTROLS.iter().find(|(name, _)| *value == Toml::Text((*name).into()));
    let Toml::Table(entries) = &item.node.value else {
        return Ok(own(&item.node.value).map(|(name, _)| ControlSpec::bare(name)));
    };
    let kind = entries.iter().find(|(key, _)| key == "kind");
    let Some((name, _)) = kind.and_then(|(_, node)| own(&node.value)) else { return Ok(None) };
    let mut table = item.clone().into_table()?;
    table.take("kind");
    table.finish_with("is not known: quinn's own controls have no parameters but initial_window, beside cc")?;
    Ok(Some(ControlSpec::bare(name)))
}
