//! Settings of a QUIC endpoint, and its user-visible parameters.

use crate::common::{ControlFactory, SchedulerFactory, TIMEOUT};
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Elsewhere, Kind, Parameters, choice, parameters};

choice! {
    /// Type of handshake.
    pub enum Handshake {
        /// 1-RTT: one round trip before the client's data (RFC 9001).
        Full = "1-rtt",
        /// 0-RTT, with a ticket from an earlier connection.
        Early = "0-rtt",
        /// 0-RTT attempted but rejected by the server, so that early data must be sent again (RFC 9001 section 4.6.2).
        Rejected = "0-rtt-rejected",
        /// Retry: the client must validate its address first, two round trips (RFC 9000 section 8.1.2).
        Retry = "retry",
        /// Google's before TLS, 1-RTT: inchoate CHLO, REJ, full CHLO with the client's data, SHLO.
        Google = "gquic-1-rtt",
        /// Google's with version negotiation, 2-RTT: the first CHLO has a version that the server does not support.
        GoogleNegotiated = "gquic-2-rtt",
        /// Google's with version negotiation and a client that keeps its data until SHLO, 3-RTT.
        GoogleCautious = "gquic-3-rtt",
        /// Google's with a cached server configuration, 0-RTT: full CHLO with the client's data, SHLO.
        GoogleEarly = "gquic-0-rtt",
    }
}

impl Handshake {
    /// Whether it is Google's handshake from before TLS.
    pub fn is_google(self) -> bool {
        self.negotiates_version() || matches!(self, Handshake::Google | Handshake::GoogleEarly)
    }

    /// Whether its first CHLO has a version that the server does not support.
    pub fn negotiates_version(self) -> bool {
        matches!(self, Handshake::GoogleNegotiated | Handshake::GoogleCautious)
    }
}

choice! {
    /// Rules for loss detection and timeouts.
    pub enum Rules {
        /// Packet and time threshold, probe timeout (RFC 9002).
        Rfc9002 = "rfc9002",
        /// Packet threshold, early retransmit, tail loss probes, retransmission timeout
        /// (draft-tsvwg-quic-loss-recovery-01).
        Google = "google",
    }
}

choice! {
    /// What becomes of the loss detection thresholds when a packet that was declared lost arrives after all.
    pub enum Reordering {
        /// They stay (RFC 9002).
        Fixed = "fixed",
        /// They grow, so that packets as late as that one are not lost.
        Adaptive = "adaptive",
    }
}

choice! {
    /// Order in which the streams with data are served.
    pub enum StreamScheduler {
        /// In turn, packet by packet.
        RoundRobin = "round-robin",
        /// The first until it has no more.
        FirstComeFirstServed = "fcfs",
    }
}

parameters! {
    /// Configuration of a QUIC endpoint.
    pub struct Config(
        /// Factory of a path's congestion control.
        pub control: ControlFactory,
        /// Factory of the packet scheduler of multipath QUIC (RFC 10069); `None`: a single path.
        pub packet_scheduler: Option<SchedulerFactory>,
    ) {
        pub cc: Elsewhere = Kind::Entry("congestion control"), "cubic", "congestion control";
        pub slow_start: Elsewhere = Kind::Entry("slow start"), "standard", "how the window grows below ssthresh";
        pub handshake: Handshake = Handshake::KIND, "1-rtt",
            "round trips before the client's data: one (RFC 9001); 0-rtt: none, the two have met; 0-rtt-rejected: the \
             server has forgotten it, and what came early is sent again; retry: two, as the client's address is to be \
             proved first; gquic-1-rtt, gquic-0-rtt: Google's CHLO, REJ and SHLO of 2013 to 2020; gquic-2-rtt: the \
             same after a CHLO of a version that the server does not speak; gquic-3-rtt: and the client's data waits \
             for SHLO";
        pub address_token: bool = Kind::Flag, "",
            "the client has a token of an earlier connection that proves its address (NEW_TOKEN, RFC 9000 section \
             8.1.3), so that the server need not wait for more of it before it sends more than three times what has \
             come; default: with 0-rtt", else handshake == Handshake::Early;
        pub certificate: u64 = Kind::Size(100, crate::tls::MAX_MESSAGE), "2.5 kB",
            "the server's certificates in a full handshake; more than 2.9 kB take a round trip more, as a server sends \
             three times what has come at most before it knows its client";
        pub datagram: u32 = Kind::Integer(1200, 65_507), "1452",
            "bytes of a full datagram's UDP payload (Google's of 2013: 1350)";
        pub initial_window: Elsewhere = Kind::Integer(1, 10_000), "10", "initial window in datagrams (RFC 9002: 10)";
        pub initial_ssthresh: Elsewhere = Kind::SizeOrAuto(1), "auto",
            "initial slow-start threshold; auto: as high as possible";
        pub abc_limit: Elsewhere = Kind::Number(0.1, 1000.0), "1000",
            "datagrams the window may grow for one acknowledgement in slow start; RFC 9002 sets no limit";
        pub pacing: bool = Kind::Flag, "true",
            "spread what is sent: at the control's rate where it has one, else at 1.25 cwnd / SRTT; in bursts of ten \
             datagrams at most (RFC 9002 section 7.7)";
        pub slow_start_pacing: f64 = Kind::Number(1.0, 100.0), "1.25",
            "and so many cwnd / SRTT in slow start (Google's QUIC: 2)";
        pub super_packet: u64 = Kind::Integer(1, 44), "1",
            "datagrams that pacing lets out together, as a sender does that hands the kernel super-packets of so many \
             (UDP GSO; quinn: 10); with `unit = \"train\"` of a loss they are lost together";
        pub max_window: Option<u64> = Kind::Integer(2, 1_000_000_000), "",
            "largest window in datagrams (Google's QUIC of 2017: 2000); default: no limit";
        pub recovery: Rules = Rules::KIND, "rfc9002",
            "how losses are found: rfc9002; google: three later packets, early retransmit, two tail loss probes, then \
             timeouts of 200 ms at least that close the window (draft-tsvwg-quic-loss-recovery-01)";
        pub packet_threshold: u64 = Kind::Integer(1, 1_000_000), "3",
            "a packet is lost once one sent so many later is acknowledged (RFC 9002 section 6.1.1: 3, and no less)";
        pub time_threshold: f64 = Kind::Number(1.0, 100.0), "",
            "round-trip times after which a packet is lost that a later one has overtaken (RFC 9002 section 6.1.2); \
             with google's rules, once nothing later can be acknowledged; default: 1.125, or 1.25 with recovery google",
            else if recovery == Rules::Google { 1.25 } else { 1.125 };
        pub reordering: Reordering = Reordering::KIND, "",
            "whether both thresholds grow when a packet called lost arrives after all, up to its distance and to twice \
             the round-trip time (Chromium's packet threshold grows so; quinn, neqo and msquic have fixed ones); \
             default: adaptive, or fixed with recovery google",
            else if recovery == Rules::Google { Reordering::Fixed } else { Reordering::Adaptive };
        pub undo: bool = Kind::Flag, "",
            "take a reduction back once every packet whose loss it answered has arrived (msquic does, and neqo and quinn in \
             recent versions); default: with recovery rfc9002",
            else recovery == Rules::Rfc9002;
        pub fec: usize = Kind::Integer(0, 100), "0",
            "packets with data to which a packet of their parity is added, from which one that is lost is made again \
             (Google's QUIC up to version 31); 0: none";
        pub initial_rtt: Duration = TIMEOUT, "333 ms", "round-trip time before one is measured (RFC 9002: 333 ms)";
        pub ecn: Option<bool> = Kind::Flag, "",
            "mark what is sent as capable of explicit congestion notification (RFC 9000 section 13.4); default: with a \
             control that lives by it (dctcp)";
        pub ack_every: u32 = Kind::Integer(1, 100), "2", "ack-eliciting packets per acknowledgement";
        pub max_ack_delay: Duration = TIMEOUT, "25 ms",
            "how long an acknowledgement may wait (RFC 9000 section 18.2), and what nobody wants acknowledged waits \
             for other packets";
        pub ack_frequency: Option<u32> = Kind::Integer(1, 1000), "",
            "once the handshake is over, ask the peer to acknowledge every so many packets only \
             (draft-ietf-quic-ack-frequency)";
        pub keep_alive: Duration = TIMEOUT, "15 s",
            "silence after which a PING keeps the connection from being given up (Chromium: 15 s)";
        pub idle_timeout: Duration = TIMEOUT, "30 s", "silence after which a connection is given up";
        pub changes: Vec<Change> =
            Kind::Schedule(&["migrate", "rebind", "rebind_address", "remove", "add", "backup", "regular"]), "",
            "what becomes of the client's interfaces, so long after the handshake: the connection goes to one \
             (migrate), a NAT gives one another port (rebind) or another address (rebind_address), and lets nothing in \
             for the old one; with multipath, one goes (remove) or comes back (add), its path becomes a backup \
             (backup) or one like others (regular)";
        pub multipath: Elsewhere = Kind::Flag, "false",
            "a path over each of the client's interfaces that lead to the server, used at the same time (RFC 10069); \
             cc may then be a coupled one";
        pub path_scheduler: Elsewhere = Kind::Entry("packet scheduler"), "lowest-rtt",
            "with multipath: which path takes the next packet with data";
        pub backups: Vec<u64> = Kind::Integers, "",
            "with multipath: the client's interfaces, counted from 1, whose paths are used only while no other can be";
        pub streams: u64 = Kind::Integer(1, 10_000), "1",
            "streams that the application's data is dealt out to: messages take turns among them, other data is \
             divided evenly";
        pub scheduler: StreamScheduler = StreamScheduler::KIND, "round-robin",
            "which of the streams with data goes first: they take turns, packet by packet; or the first until it has \
             none";
        pub priorities: Vec<u64> = Kind::Integers, "",
            "urgencies of stream 0, 1, … from 1, the most urgent, on (RFC 9218); without them all have 3";
        pub unreliable: bool = Kind::Flag, "false",
            "the application's data goes in DATAGRAM frames (RFC 9221), a message in as few as hold it: congestion is \
             controlled, what is lost is not sent again, and nothing waits for it";
        pub max_streams: u64 = Kind::Integer(1, 1_000_000), "100",
            "streams of each kind that a peer may have open at a time";
        pub window_update: f64 = Kind::Number(0.0, 1.0), "0.125",
            "part of a window that is read before its receiver lets so much more be sent (MAX_DATA, MAX_STREAM_DATA): a \
             sender that only the window limits sends the rest of it in a round trip, or more; 0: after each read \
             (quinn: 0.125; neqo, msquic and quic-go: 0.25; Chromium: 0.5)";
        pub stream_window: u64 = Kind::Size(1200, u64::MAX), "1 MB",
            "what a stream's receiver lets be sent at first; it widens while it limits the sender, up to \
             receive_buffer";
        pub connection_window: u64 = Kind::Size(1200, u64::MAX), "1.5 MB", "the same of all streams together";
        pub receive_buffer: u64 = Kind::Size(1200, u64::MAX), "64 MiB",
            "the most that windows are, at first and widened";
        pub send_buffer: Option<u64> = Kind::SizeOrAuto(1200), "auto",
            "unacknowledged and unsent bytes; auto: no limit";
    }
}

impl Config {
    /// Creates the configuration of a connection from parameters resolved from its table.
    pub fn new(parameters: &Parameters, control: ControlFactory, packet_scheduler: Option<SchedulerFactory>) -> Config {
        let mut config = Config::from((parameters, control, packet_scheduler));
        config.stream_window = config.stream_window.min(config.receive_buffer);
        config.connection_window = config.connection_window.min(config.receive_buffer);
        config
    }
}
