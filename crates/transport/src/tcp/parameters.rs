//! User-visible parameters of a TCP endpoint.

use super::{Bursting, Config, Counting, Host, Pacing, Recovery, SackProfile, Validation};
use crate::common::ControlFactory;
use vazao_engine::Duration;
use vazao_engine::registry::{Kind, Parameter, Parameters, Value};

const RECOVERIES: [&str; Recovery::ALL.len()] = {
    let mut names = [""; Recovery::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Recovery::ALL[i].0;
        i += 1;
    }
    names
};

const ANY: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600));

/// TCP's parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new("cc", Kind::Entry("congestion control"), "cubic", "congestion control"),
    Parameter::new("recovery", Kind::Choice(&RECOVERIES), "rack", "how losses are found and repaired"),
    Parameter::new("slow_start", Kind::Entry("slow start"), "standard", "how the window grows below ssthresh"),
    Parameter::new("mss", Kind::Integer(64, 65_000), "1448", "payload bytes of a full segment, options not counted in"),
    Parameter::new("initial_window", Kind::Integer(1, 10_000), "10", "initial window in segments (RFC 6928: 10)"),
    Parameter::new(
        "initial_ssthresh",
        Kind::SizeOrAuto(1),
        "auto",
        "initial slow-start threshold; auto: as high as possible (RFC 5681)",
    ),
    Parameter::new(
        "abc_limit",
        Kind::Number(0.1, 1000.0),
        "2",
        "segments the window may grow for one acknowledgement in slow start (RFC 3465's L); 1 counts acknowledgements",
    ),
    Parameter::new(
        "counting",
        Kind::Choice(&["bytes", "acks"]),
        "bytes",
        "what the window grows by: the bytes acknowledged (RFC 3465), or a segment for each acknowledgement at most, as \
         RFC 5681's equation 3 stands and ns-3's NewReno does: half as fast where they are delayed",
    ),
    Parameter::new(
        "pacing",
        Kind::Choice(&["auto", "on", "off"]),
        "auto",
        "spread what is sent over time; auto: at the congestion control's rate where it has one (BBR); on: else at \
         200 % of cwnd / SRTT far below ssthresh, 120 % elsewhere; host linux sends bursts of a millisecond, its first ten \
         segments unpaced",
    ),
    Parameter::new("sack", Kind::Flag, "true", "offer selective acknowledgements (RFC 2018, D-SACK: RFC 2883)"),
    Parameter::new("timestamps", Kind::Flag, "true", "offer timestamps (RFC 7323): 12 bytes a segment"),
    Parameter::new("limited_transmit", Kind::Flag, "true", "two duplicate ACKs let new segments out (RFC 3042)"),
    Parameter::new(
        "cwv",
        Kind::Choice(&["auto", "none", "grow", "restart", "decay", "rfc7661"]),
        "auto",
        "a window that is not used: none: stays; grow: even grows (ns-3); restart: after a pause of a timeout it is the initial \
         one (RFC 5681); decay: it halves with each (RFC 2861, Linux); rfc7661: what is not used for five minutes goes; \
         auto: decay with host linux, else restart",
    ),
    Parameter::new(
        "prr",
        Kind::Flag,
        "false",
        "with recovery sack: bring the window of a fast recovery down in proportion to what is delivered (PRR, RFC 9937), as \
         recovery rack always does",
    ),
    Parameter::new(
        "sack_profile",
        Kind::Choice(&["rfc", "ns3"]),
        "rfc",
        "with recovery sack, whose where implementations differ: RFC 6675's and 9937's, or ns-3's, which resends the end of \
         the data while it is on its way, and otherwise not more than was delivered once the flight is at the threshold",
    ),
    Parameter::new(
        "undo",
        Kind::Flag,
        "",
        "take back what D-SACK or timestamps show to be a needless reduction (RFC 3708, RFC 4015); default: with recovery \
         rack",
    ),
    Parameter::new(
        "frto",
        Kind::Flag,
        "",
        "let what arrives after a timeout show that it was needless (F-RTO, RFC 5682); default: with recovery rack",
    ),
    Parameter::new(
        "ecn",
        Kind::Flag,
        "",
        "offer explicit congestion notification (RFC 3168); default: with a control that lives by it (dctcp), whose marks \
         are echoed one by one (RFC 8257)",
    ),
    Parameter::new("delayed_ack", Kind::Integer(1, 1000), "2", "segments per acknowledgement; 1: each at once"),
    Parameter::new("delayed_ack_timeout", ANY, "40 ms", "how long an acknowledgement waits for a second segment"),
    Parameter::new(
        "quick_acks",
        Kind::Integer(0, 1000),
        "16",
        "segments acknowledged at once when a connection is new, as Linux does",
    ),
    Parameter::new(
        "rtt",
        Kind::Choice(&["segments", "timestamps"]),
        "segments",
        "what measures the smoothed round-trip time: when a segment was sent (Linux), or the echo of its timestamp, to the \
         millisecond (RFC 7323 section 4; FreeBSD, ns-3)",
    ),
    Parameter::new(
        "tick",
        Kind::Duration(Duration::ZERO, Duration::from_millis(50)),
        "0 ms",
        "of the clock in which timers are counted, as Linux does (1/HZ: 1, 4 or 10 ms): they expire up to two late; 0: none is \
         late",
    ),
    Parameter::new("min_rto", ANY, "200 ms", "least retransmission timeout (RFC 6298: 1 s; Linux: 200 ms)"),
    Parameter::new(
        "host",
        Kind::Choice(&["auto", "rfc", "linux"]),
        "auto",
        "where Linux goes its own way: min_rto bounds 4 RTTVAR, not the whole timeout; the window that is offered grows with \
         what arrives; SYN-ACK is acknowledged at once, and so is the end of a burst; slow start goes on with half of the \
         window in use; a SYN goes again every second at first; auto: linux with recovery rack, else rfc",
    ),
    Parameter::new(
        "bursts",
        Kind::Choice(&["off", "prompt", "deferred"]),
        "off",
        "whether new data leaves in bursts as from Linux, out of a buffer that grows as Linux's, each ended by PSH: prompt: as \
         soon as the windows let it; deferred: after up to 1 ms where the next acknowledgement may let more out, while less \
         than a third of the window is free",
    ),
    Parameter::new(
        "fast_open",
        Kind::Flag,
        "false",
        "data in the SYN (RFC 7413); the first connection between two hosts asks for the cookie that this takes",
    ),
    Parameter::new(
        "cookie",
        Kind::Choice(&["none", "cached"]),
        "none",
        "whether the client has the cookie for fast_open from before the run",
    ),
    Parameter::new("initial_rto", ANY, "1 s", "retransmission timeout before the first measurement (RFC 6298)"),
    Parameter::new("max_rto", ANY, "120 s", "largest retransmission timeout"),
    Parameter::new("retries", Kind::Integer(1, 100), "15", "timeouts in a row after which a connection is given up"),
    Parameter::new(
        "receive_buffer",
        Kind::SizeOrAuto(256),
        "auto",
        "receive buffer; auto: grows with the rate up to 64 MiB (dynamic right-sizing)",
    ),
    Parameter::new("send_buffer", Kind::SizeOrAuto(256), "auto", "unacknowledged and unsent bytes; auto: no limit"),
];

impl Config {
    /// Builds the configuration from `parameters`, which were resolved from [`PARAMETERS`].
    pub fn new(parameters: &Parameters, control: ControlFactory) -> Config {
        let duration = |name| parameters.duration(name).expect("a duration with a default");
        let name = parameters.text("recovery");
        let recovery = Recovery::ALL.iter().find(|r| r.0 == name).expect("a choice among these").1;
        let is_rack = recovery == Recovery::Rack;
        let given = |name| if let Some(Value::Flag(on)) = parameters.get(name) { Some(*on) } else { None };
        let host = match parameters.text("host") {
            "linux" => Host::Linux,
            "auto" if is_rack => Host::Linux,
            _ => Host::Rfc,
        };
        Config {
            undo: given("undo").unwrap_or(is_rack),
            counting: if parameters.text("counting") == "acks" { Counting::Acknowledgements } else { Counting::Bytes },
            prr: parameters.flag("prr"),
            sack_profile: if parameters.text("sack_profile") == "ns3" { SackProfile::Ns3 } else { SackProfile::Rfc },
            frto: given("frto").unwrap_or(is_rack),
            mss: parameters.integer("mss") as u16,
            multipath: [0; 2],
            recovery,
            limited_transmit: parameters.flag("limited_transmit"),
            sack: parameters.flag("sack"),
            timestamps: parameters.flag("timestamps"),
            delayed_ack: parameters.integer("delayed_ack") as u32,
            delayed_ack_timeout: duration("delayed_ack_timeout"),
            ecn: given("ecn"),
            rtt_by_timestamps: parameters.text("rtt") == "timestamps",
            quick_acks: parameters.integer("quick_acks") as u32,
            tick: duration("tick"),
            min_rto: duration("min_rto"),
            host,
            cwv: match Validation::ALL.iter().find(|rule| rule.0 == parameters.text("cwv")) {
                Some(&(_, rule)) => rule,
                None if host == Host::Linux => Validation::Decay,
                None => Validation::Restart,
            },
            bursts: match parameters.text("bursts") {
                "prompt" => Bursting::Prompt,
                "deferred" => Bursting::Deferred,
                _ => Bursting::Off,
            },
            initial_rto: duration("initial_rto"),
            max_rto: duration("max_rto"),
            retries: parameters.integer("retries") as u32,
            pacing: match parameters.text("pacing") {
                "on" => Pacing::On,
                "off" => Pacing::Off,
                _ => Pacing::Auto,
            },
            receive_buffer: parameters.size("receive_buffer"),
            send_buffer: parameters.size("send_buffer"),
            control,
        }
    }
}
