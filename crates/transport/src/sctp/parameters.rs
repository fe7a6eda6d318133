//! User-visible parameters of an SCTP endpoint.

use super::{Config, Growth, PathChoice, Policy, Reliability, Scope, Semantics, Split, StreamScheduler};
use crate::common::ControlFactory;
use vazao_engine::Duration;
use vazao_engine::registry::{Kind, Parameter, Parameters, Value};

const ANY: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600));

const fn names<T: Copy, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = table[i].0;
        i += 1;
    }
    names
}

const GROWTHS: &[&str] = &names(&Growth::ALL);
const SCOPES: &[&str] = &names(&Scope::ALL);
const POLICIES: &[&str] = &names(&Policy::ALL);
const SPLITS: &[&str] = &names(&Split::ALL);
const CHOICES: &[&str] = &names(&PathChoice::ALL);
const SCHEDULERS: &[&str] = &names(&StreamScheduler::ALL);

/// SCTP's parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new("multihomed", Kind::Flag, "true", "use every interface of both hosts, the first as primary path"),
    Parameter::new(
        "semantics",
        Kind::Choice(&["rfc9260", "rfc4960", "rfc2960", "linux"]),
        "rfc9260",
        "whose text rules: rfc4960 counts windows in whole packets, starts from an RTO of 3 s, and grows windows by rfc4960; \
         rfc2960 also starts with two packets, halves down to two, and waits for a fourth missing report; \
         linux is rfc4960 with the ways of Linux 4.18",
    ),
    Parameter::new("cmt", Kind::Flag, "false", "send new data by all paths at once (concurrent multipath transfer)"),
    Parameter::new(
        "cc",
        Kind::Entry("congestion control"),
        "",
        "congestion control of each path; without it SCTP's own (RFC 9260 section 7)",
    ),
    Parameter::new(
        "cwnd_growth",
        Kind::Choice(GROWTHS),
        "",
        "what lets a window grow; default: cuc-v2 with cmt, else rfc8540, or rfc4960 with older semantics",
    ),
    Parameter::new(
        "fast_recovery",
        Kind::Choice(SCOPES),
        "per-association",
        "whether a fast recovery stops every path's window, as the RFC says, or that of the path with the loss; none: each \
         SACK that shows a loss cuts the path's window",
    ),
    Parameter::new(
        "missing_reports",
        Kind::Integer(1, 100),
        "",
        "reports of a missing chunk that make a fast retransmission; default: 3, or 4 with rfc2960",
    ),
    Parameter::new("sfr", Kind::Flag, "", "count missing reports for each path by itself; default: with cmt"),
    Parameter::new(
        "dac",
        Kind::Flag,
        "",
        "delay acknowledgements in spite of gaps, and say how many packets each answers; default: with cmt",
    ),
    Parameter::new(
        "retransmission",
        Kind::Choice(POLICIES),
        "",
        "which path a chunk is sent again by; default: same with cmt, else alternate (RFC 9260 section 6.4.1); \
         retran-path with the semantics of linux",
    ),
    Parameter::new(
        "nr_sack",
        Kind::Flag,
        "false",
        "gap reports are for good (NR-SACK): what they acknowledge leaves the send buffer",
    ),
    Parameter::new(
        "buffer_split",
        Kind::Choice(SPLITS),
        "none",
        "whose buffer is split evenly among the paths with cmt",
    ),
    Parameter::new(
        "cacc",
        Kind::Flag,
        "false",
        "do not take for lost what left by another path before new data changed over (SFR-CACC)",
    ),
    Parameter::new("path_choice", Kind::Choice(CHOICES), "largest-free-cwnd", "which path new data goes by with cmt"),
    Parameter::new("streams", Kind::Integer(1, 65_535), "1", "outgoing streams; messages take turns among them"),
    Parameter::new("scheduler", Kind::Choice(SCHEDULERS), "fcfs", "which stream may send next (RFC 8260 section 3)"),
    Parameter::new(
        "priorities",
        Kind::Integers,
        "",
        "priorities of stream 0, 1, … from 1, the highest, on; without them the lower a stream's number, the higher",
    ),
    Parameter::new(
        "weights",
        Kind::Integers,
        "",
        "weights of stream 0, 1, … in fair queueing; without them all have 1",
    ),
    Parameter::new(
        "interleaving",
        Kind::Flag,
        "false",
        "I-DATA chunks: a message of one stream may interrupt that of another (RFC 8260 section 2)",
    ),
    Parameter::new(
        "partial_reliability",
        Kind::Choice(Reliability::NAMES),
        "none",
        "when messages are given up (RFC 3758, 7496): at the end of their lifetime, after so many retransmissions, or where \
         a full send_buffer needs room for messages of a higher priority",
    ),
    Parameter::new(
        "lifetime",
        ANY,
        "1 s",
        "of a message from when it is written, with partial_reliability = \"timed\"",
    ),
    Parameter::new(
        "max_retransmissions",
        Kind::Integer(0, 1000),
        "0",
        "of each chunk of a message, with partial_reliability = \"retransmissions\"",
    ),
    Parameter::new("unordered", Kind::Flag, "false", "deliver messages as they come"),
    Parameter::new("mtu", Kind::Integer(576, 65_535), "1500", "bytes of the largest packet, the IP header among them"),
    Parameter::new("delayed_sack", Kind::Integer(1, 3), "2", "packets per SACK; 1: each at once"),
    Parameter::new("delayed_sack_timeout", ANY, "200 ms", "how long a SACK waits for a second packet"),
    Parameter::new(
        "delayed_first_sack",
        Kind::Flag,
        "false",
        "let an association's first SACK wait as others do, which RFC 9260 section 5.1 forbids and ns-2 does with CMT",
    ),
    Parameter::new(
        "initial_window",
        Kind::Size(1, u64::MAX),
        "",
        "initial window; default: min(4 PMTU, max(2 PMTU, 4404 B))",
    ),
    Parameter::new(
        "initial_ssthresh",
        Kind::SizeOrAuto(1),
        "auto",
        "initial slow-start threshold; auto: the peer's receive buffer",
    ),
    Parameter::new("initial_rto", ANY, "", "RTO.Initial; default: 1 s, or 3 s with older semantics"),
    Parameter::new("min_rto", ANY, "1 s", "RTO.Min"),
    Parameter::new("max_rto", ANY, "60 s", "RTO.Max"),
    Parameter::new("max_burst", Kind::Integer(0, 1000), "4", "packets sent in one go at most (Max.Burst); 0: no limit"),
    Parameter::new(
        "heartbeat",
        Kind::Duration(Duration::ZERO, Duration::from_secs(3600)),
        "30 s",
        "HB.interval; 0 s: off",
    ),
    Parameter::new("path_retries", Kind::Integer(0, 100), "5", "Path.Max.Retrans: more failures make a path inactive"),
    Parameter::new(
        "pf_retries",
        Kind::Integer(0, 100),
        "",
        "PotentiallyFailed.Max.Retrans (RFC 7829): more failures send data by another path until this one answers; \
         Linux: 0; default: as in RFC 9260, not before the path is inactive",
    ),
    Parameter::new(
        "retries",
        Kind::Integer(0, 100),
        "10",
        "Association.Max.Retrans: more failures end the association",
    ),
    Parameter::new("init_retries", Kind::Integer(0, 100), "8", "Max.Init.Retransmits"),
    Parameter::new("cookie_life", ANY, "60 s", "Valid.Cookie.Life"),
    Parameter::new(
        "restart",
        ANY,
        "",
        "so long after the handshake the client loses its state, gives up what is under way, and opens the association anew \
         for the rest (RFC 9260 section 5.2.4 A); without it, it does not",
    ),
    Parameter::new(
        "receive_buffer",
        Kind::Size(1500, u64::MAX),
        "8 MiB",
        "bytes that may wait for the application or for order",
    ),
    Parameter::new(
        "partial_delivery_point",
        Kind::Size(1, u64::MAX),
        "",
        "bytes of an unfinished message that the application is given before the rest of it; default: half of receive_buffer, \
         or with the semantics of linux not before that is full (RFC 9260 section 6.9)",
    ),
    Parameter::new(
        "send_buffer",
        Kind::SizeOrAuto(1500),
        "auto",
        "unacknowledged and unsent bytes; auto: no limit, but as many as receive_buffer where messages have a lifetime",
    ),
];

fn find<T: Copy>(table: &[(&'static str, T)], name: &str) -> T {
    table.iter().find(|entry| entry.0 == name).expect("a choice among these").1
}

/// Specification to follow.
fn semantics(parameters: &Parameters) -> Semantics {
    match parameters.text("semantics") {
        "rfc4960" => Semantics::Rfc4960,
        "rfc2960" => Semantics::Rfc2960,
        "linux" => Semantics::Linux,
        _ => Semantics::Rfc9260,
    }
}

/// Default growth rule and retransmission policy.
fn default_policies(semantics: Semantics, cmt: bool) -> (&'static str, &'static str) {
    match (cmt, semantics) {
        (true, Semantics::Linux) => ("cuc-v2", "retran-path"),
        (true, _) => ("cuc-v2", "same"),
        (false, Semantics::Linux) => ("gap-acked", "retran-path"),
        (false, Semantics::Rfc9260) => ("rfc8540", "alternate"),
        (false, _) => ("rfc4960", "alternate"),
    }
}

/// Reliability policy (RFC 3758, RFC 7496).
fn reliability(parameters: &Parameters) -> Reliability {
    match parameters.text("partial_reliability") {
        "timed" => Reliability::Timed(parameters.duration("lifetime").expect("a duration with a default")),
        "retransmissions" => Reliability::Retransmissions(parameters.integer("max_retransmissions") as u32),
        "priority" => Reliability::Priority,
        _ => Reliability::Full,
    }
}

impl Config {
    /// Builds the configuration from parameters resolved from [`PARAMETERS`]; `message` is the message size.
    pub fn new(parameters: &Parameters, message: Option<u64>, control: Option<ControlFactory>) -> Config {
        let duration = |name| parameters.duration(name).expect("a duration with a default");
        let text = |name| if let Some(Value::Text(text)) = parameters.get(name) { Some(text.as_str()) } else { None };
        let flag = |name| if let Some(Value::Flag(on)) = parameters.get(name) { Some(*on) } else { None };
        let number = |name| if let Some(Value::Number(number)) = parameters.get(name) { Some(*number) } else { None };
        let list = |name| parameters.integers(name).to_vec();
        let usual_reports = if semantics(parameters) == Semantics::Rfc2960 { 4 } else { 3 };
        let semantics = semantics(parameters);
        let old = semantics != Semantics::Rfc9260;
        let cmt = parameters.flag("cmt");
        let (growth, retransmission) = default_policies(semantics, cmt);
        let initial_rto = parameters.duration("initial_rto").unwrap_or(Duration::from_secs(if old { 3 } else { 1 }));
        let half = parameters.size("receive_buffer").map(|bytes| bytes / 2).filter(|_| semantics != Semantics::Linux);
        let receive_buffer = parameters.size("receive_buffer").expect("a size with a default");
        let is_timed = parameters.text("partial_reliability") == "timed";
        Config {
            semantics,
            mtu: parameters.integer("mtu") as u32,
            message,
            streams: parameters.integer("streams") as u16,
            scheduler: find(&StreamScheduler::ALL, parameters.text("scheduler")),
            priorities: list("priorities"),
            weights: list("weights"),
            interleaving: parameters.flag("interleaving"),
            reliability: reliability(parameters),
            unordered: parameters.flag("unordered"),
            cmt,
            growth: find(&Growth::ALL, text("cwnd_growth").unwrap_or(growth)),
            scope: find(&Scope::ALL, parameters.text("fast_recovery")),
            missing_reports: number("missing_reports").map_or(usual_reports, |reports| reports as u8),
            sfr: flag("sfr").unwrap_or(cmt),
            dac: flag("dac").unwrap_or(cmt),
            cacc: parameters.flag("cacc"),
            nr_sack: parameters.flag("nr_sack"),
            split: find(&Split::ALL, parameters.text("buffer_split")),
            retransmission: find(&Policy::ALL, text("retransmission").unwrap_or(retransmission)),
            path_choice: find(&PathChoice::ALL, parameters.text("path_choice")),
            sack_frequency: parameters.integer("delayed_sack") as u32,
            sack_delay: duration("delayed_sack_timeout"),
            delayed_first_sack: parameters.flag("delayed_first_sack"),
            initial_window: parameters.size("initial_window"),
            initial_ssthresh: parameters.size("initial_ssthresh"),
            rto: [initial_rto, duration("min_rto"), duration("max_rto")],
            max_burst: parameters.integer("max_burst") as u32,
            heartbeat: Some(duration("heartbeat")).filter(|&interval| interval > Duration::ZERO),
            path_retries: parameters.integer("path_retries") as u32,
            pf_retries: number("pf_retries").map(|retries| retries as u32),
            association_retries: parameters.integer("retries") as u32,
            init_retries: parameters.integer("init_retries") as u32,
            cookie_life: duration("cookie_life"),
            restart: parameters.duration("restart"),
            receive_buffer,
            partial_delivery_point: parameters.size("partial_delivery_point").or(half),
            // Without a limit an upload would write all its messages at once, and all but the first would expire.
            send_buffer: parameters.size("send_buffer").or(is_timed.then_some(receive_buffer)),
            control,
        }
    }
}
