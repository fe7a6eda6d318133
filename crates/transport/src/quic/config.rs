//! Settings of a QUIC endpoint, and its user-visible parameters.

use crate::common::ControlFactory;
use crate::common::SchedulerFactory;
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Kind, Parameter, Parameters};

/// Type of handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// 1-RTT: one round trip before the client's data (RFC 9001).
    Full,
    /// 0-RTT, with a ticket from an earlier connection.
    Early,
    /// 0-RTT attempted but rejected by the server, so that early data must be sent again (RFC 9001 section 4.6.2).
    Rejected,
    /// Retry: the client must validate its address first, two round trips (RFC 9000 section 8.1.2).
    Retry,
    /// Google's before TLS, 1-RTT: inchoate CHLO, REJ, full CHLO with the client's data, SHLO.
    Google,
    /// Google's with version negotiation, 2-RTT: the first CHLO has a version that the server does not support.
    GoogleNegotiated,
    /// Google's with a cached server configuration, 0-RTT: full CHLO with the client's data, SHLO.
    GoogleEarly,
}

impl Handshake {
    /// Whether it is Google's handshake from before TLS.
    pub fn is_google(self) -> bool {
        matches!(self, Handshake::Google | Handshake::GoogleNegotiated | Handshake::GoogleEarly)
    }
}

/// Rules for loss detection and timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Packet and time threshold, probe timeout (RFC 9002).
    Rfc9002,
    /// Packet threshold, early retransmit, tail loss probes, retransmission timeout (draft-tsvwg-quic-loss-recovery-01).
    Google,
}

const ANY: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600));

/// QUIC's parameters.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new("cc", Kind::Entry("congestion control"), "cubic", "congestion control"),
    Parameter::new("slow_start", Kind::Entry("slow start"), "standard", "how the window grows below ssthresh"),
    Parameter::new(
        "handshake",
        Kind::Choice(&["1-rtt", "0-rtt", "0-rtt-rejected", "retry", "gquic-1-rtt", "gquic-2-rtt", "gquic-0-rtt"]),
        "1-rtt",
        "round trips before the client's data: one (RFC 9001); 0-rtt: none, the two have met; 0-rtt-rejected: the server has \
         forgotten it, and what came early is sent again; retry: two, as the client's address is to be proved first; gquic-1-rtt, gquic-0-rtt: \
         Google's CHLO, REJ and SHLO of 2013 to 2020; gquic-2-rtt: the same after a CHLO of a version that the server does not speak",
    ),
    Parameter::new(
        "address_token",
        Kind::Flag,
        "",
        "the client has a token of an earlier connection that proves its address (NEW_TOKEN, RFC 9000 section 8.1.3), so that the \
         server need not wait for more of it before it sends more than three times what has come; default: with 0-rtt",
    ),
    Parameter::new(
        "certificate",
        Kind::Size(100, crate::tls::MAX_MESSAGE),
        "2.5 kB",
        "the server's certificates in a full handshake; more than 2.9 kB take a round trip more, as a server sends three times \
         what has come at most before it knows its client",
    ),
    Parameter::new(
        "datagram",
        Kind::Integer(1200, 65_507),
        "1452",
        "bytes of a full datagram's UDP payload (Google's of 2013: 1350)",
    ),
    Parameter::new("initial_window", Kind::Integer(1, 10_000), "10", "initial window in datagrams (RFC 9002: 10)"),
    Parameter::new(
        "initial_ssthresh",
        Kind::SizeOrAuto(1),
        "auto",
        "initial slow-start threshold; auto: as high as possible",
    ),
    Parameter::new(
        "abc_limit",
        Kind::Number(0.1, 1000.0),
        "1000",
        "datagrams the window may grow for one acknowledgement in slow start; RFC 9002 sets no limit",
    ),
    Parameter::new(
        "pacing",
        Kind::Flag,
        "true",
        "spread what is sent: at the control's rate where it has one, else at 1.25 cwnd / SRTT; in bursts of ten datagrams at most \
         (RFC 9002 section 7.7)",
    ),
    Parameter::new(
        "slow_start_pacing",
        Kind::Number(1.0, 100.0),
        "1.25",
        "and so many cwnd / SRTT in slow start (Google's QUIC: 2)",
    ),
    Parameter::new(
        "max_window",
        Kind::Integer(2, 1_000_000_000),
        "",
        "largest window in datagrams (Google's QUIC of 2017: 2000); default: no limit",
    ),
    Parameter::new(
        "recovery",
        Kind::Choice(&["rfc9002", "google"]),
        "rfc9002",
        "how losses are found: rfc9002; google: three later packets, early retransmit, two tail loss probes, then timeouts \
         of 200 ms at least that close the window (draft-tsvwg-quic-loss-recovery-01)",
    ),
    Parameter::new(
        "fec",
        Kind::Integer(0, 100),
        "0",
        "packets with data to which a packet of their parity is added, from which one that is lost is made again (Google's \
         QUIC up to version 31); 0: none",
    ),
    Parameter::new("initial_rtt", ANY, "333 ms", "round-trip time before one is measured (RFC 9002: 333 ms)"),
    Parameter::new(
        "ecn",
        Kind::Flag,
        "",
        "mark what is sent as capable of explicit congestion notification (RFC 9000 section 13.4); default: with a control \
         that lives by it (dctcp)",
    ),
    Parameter::new("ack_every", Kind::Integer(1, 100), "2", "ack-eliciting packets per acknowledgement"),
    Parameter::new(
        "max_ack_delay",
        ANY,
        "25 ms",
        "how long an acknowledgement may wait (RFC 9000 section 18.2), and what nobody wants acknowledged waits for other packets",
    ),
    Parameter::new(
        "ack_frequency",
        Kind::Integer(1, 1000),
        "",
        "once the handshake is over, ask the peer to acknowledge every so many packets only \
         (draft-ietf-quic-ack-frequency)",
    ),
    Parameter::new(
        "keep_alive",
        ANY,
        "15 s",
        "silence after which a PING keeps the connection from being given up (Chromium: 15 s)",
    ),
    Parameter::new("idle_timeout", ANY, "30 s", "silence after which a connection is given up"),
    Parameter::new(
        "changes",
        Kind::Schedule(&["migrate", "rebind", "rebind_address", "remove", "add", "backup", "regular"]),
        "",
        "what becomes of the client's interfaces, so long after the handshake: the connection goes to one (migrate), a NAT gives \
         one another port (rebind) or another address (rebind_address), and lets nothing in for the old one; with multipath, one \
         goes (remove) or comes back (add), its path becomes a backup (backup) or one like others (regular)",
    ),
    Parameter::new(
        "multipath",
        Kind::Flag,
        "false",
        "a path over each of the client's interfaces that lead to the server, used at the same time (RFC 10069); cc may then be a \
         coupled one",
    ),
    Parameter::new(
        "path_scheduler",
        Kind::Entry("packet scheduler"),
        "lowest-rtt",
        "with multipath: which path takes the next packet with data",
    ),
    Parameter::new(
        "backups",
        Kind::Integers,
        "",
        "with multipath: the client's interfaces, counted from 1, whose paths are used only while no other can be",
    ),
    Parameter::new(
        "streams",
        Kind::Integer(1, 10_000),
        "1",
        "streams that the application's data is dealt out to: messages take turns among them, other data is divided evenly",
    ),
    Parameter::new(
        "scheduler",
        Kind::Choice(&["round-robin", "fcfs"]),
        "round-robin",
        "which of the streams with data goes first: they take turns, packet by packet; or the first until it has none",
    ),
    Parameter::new(
        "priorities",
        Kind::Integers,
        "",
        "urgencies of stream 0, 1, … from 1, the most urgent, on (RFC 9218); without them all have 3",
    ),
    Parameter::new(
        "unreliable",
        Kind::Flag,
        "false",
        "the application's data goes in DATAGRAM frames (RFC 9221), a message in as few as hold it: congestion is controlled, what is \
         lost is not sent again, and nothing waits for it",
    ),
    Parameter::new(
        "max_streams",
        Kind::Integer(1, 1_000_000),
        "100",
        "streams of each kind that a peer may have open at a time",
    ),
    Parameter::new(
        "stream_window",
        Kind::Size(1200, u64::MAX),
        "1 MB",
        "what a stream's receiver lets be sent at first; it widens while it limits the sender, up to receive_buffer",
    ),
    Parameter::new("connection_window", Kind::Size(1200, u64::MAX), "1.5 MB", "the same of all streams together"),
    Parameter::new(
        "receive_buffer",
        Kind::Size(1200, u64::MAX),
        "64 MiB",
        "the most that windows are, at first and widened",
    ),
    Parameter::new("send_buffer", Kind::SizeOrAuto(1200), "auto", "unacknowledged and unsent bytes; auto: no limit"),
];

/// Configuration of a QUIC endpoint.
#[derive(Clone)]
#[allow(missing_docs)]
pub struct Config {
    pub handshake: Handshake,
    /// Whether the client has an address validation token.
    pub address_token: bool,
    /// Size of the server's Certificate message in bytes.
    pub certificate: u64,
    /// Size of a full datagram in bytes.
    pub datagram: u32,
    pub pacing: bool,
    /// Pacing rate in slow start, in thousandths of cwnd / SRTT.
    pub slow_start_pacing: u64,
    /// Maximum congestion window in bytes.
    pub max_window: Option<u64>,
    pub rules: Rules,
    /// Packets per FEC group; zero: no FEC.
    pub fec: usize,
    pub initial_rtt: Duration,
    /// Whether packets are ECN-capable; `None`: if the congestion control requires it.
    pub ecn: Option<bool>,
    pub ack_every: u32,
    pub max_ack_delay: Duration,
    /// Packets per acknowledgement requested from the peer.
    pub ack_frequency: Option<u32>,
    pub keep_alive: Duration,
    pub idle_timeout: Duration,
    /// Changes of the client's addresses, in order.
    pub changes: Vec<Change>,
    /// Streams for an application that uses the connection as a single byte stream; zero: it opens streams itself.
    pub streams: u64,
    /// Whether these streams are scheduled round-robin.
    pub takes_turns: bool,
    /// Urgencies of these streams; 3 by default.
    pub priorities: Vec<u64>,
    /// Whether the application's byte stream is sent in DATAGRAM frames.
    pub unreliable: bool,
    /// Concurrent streams of each kind.
    pub max_streams: u64,
    pub stream_window: u64,
    pub connection_window: u64,
    pub most_window: u64,
    pub send_buffer: Option<u64>,
    /// Factory of a path's congestion control.
    pub control: ControlFactory,
    /// Multipath settings; `None`: a single path.
    pub multipath: Option<Multipath>,
}

/// Settings of multipath QUIC (RFC 10069).
#[derive(Clone)]
pub struct Multipath {
    /// Factory of the packet scheduler.
    pub scheduler: SchedulerFactory,
    /// Client interfaces, counted from 1, whose paths are backups.
    pub backups: Vec<u64>,
}

impl Config {
    /// Builds the configuration of a single-path endpoint from `parameters`, which were resolved from [`PARAMETERS`].
    pub fn new(parameters: &Parameters, control: ControlFactory) -> Config {
        let duration = |name| parameters.duration(name).expect("a duration with a default");
        let size = |name| parameters.size(name).expect("a size with a default");
        let mut changes = parameters.schedule("changes").to_vec();
        changes.sort_by_key(|change| change.at);
        let given_flag = |name| parameters.get(name).map(|_| parameters.flag(name));
        Config {
            address_token: given_flag("address_token").unwrap_or(parameters.text("handshake") == "0-rtt"),
            handshake: match parameters.text("handshake") {
                "0-rtt" => Handshake::Early,
                "0-rtt-rejected" => Handshake::Rejected,
                "retry" => Handshake::Retry,
                "gquic-1-rtt" => Handshake::Google,
                "gquic-2-rtt" => Handshake::GoogleNegotiated,
                "gquic-0-rtt" => Handshake::GoogleEarly,
                _ => Handshake::Full,
            },
            certificate: size("certificate"),
            datagram: parameters.integer("datagram") as u32,
            pacing: parameters.flag("pacing"),
            slow_start_pacing: (parameters.number("slow_start_pacing") * 1000.0) as u64,
            max_window: parameters
                .get("max_window")
                .map(|_| parameters.integer("max_window") * parameters.integer("datagram")),
            rules: if parameters.text("recovery") == "google" { Rules::Google } else { Rules::Rfc9002 },
            fec: parameters.integer("fec") as usize,
            initial_rtt: duration("initial_rtt"),
            ecn: given_flag("ecn"),
            ack_every: parameters.integer("ack_every") as u32,
            max_ack_delay: duration("max_ack_delay"),
            ack_frequency: parameters.get("ack_frequency").map(|_| parameters.integer("ack_frequency") as u32),
            keep_alive: duration("keep_alive"),
            idle_timeout: duration("idle_timeout"),
            changes,
            streams: parameters.integer("streams"),
            takes_turns: parameters.text("scheduler") == "round-robin",
            priorities: parameters.integers("priorities").to_vec(),
            unreliable: parameters.flag("unreliable"),
            max_streams: parameters.integer("max_streams"),
            stream_window: size("stream_window").min(size("receive_buffer")),
            connection_window: size("connection_window").min(size("receive_buffer")),
            most_window: size("receive_buffer"),
            send_buffer: parameters.size("send_buffer"),
            control,
            multipath: None,
        }
    }
}

impl Config {
    /// Enables multipath; `backups` lists the client's interfaces, counted from 1, whose paths are backups.
    pub fn over_paths(self, scheduler: SchedulerFactory, backups: Vec<u64>) -> Config {
        Config { multipath: Some(Multipath { scheduler, backups }), ..self }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("handshake", &self.handshake).finish_non_exhaustive()
    }
}
