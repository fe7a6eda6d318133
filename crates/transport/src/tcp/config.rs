//! Settings of a TCP endpoint.

use super::cwv::Validation;
use super::host::Host;
use super::recovery::Recovery;
use crate::common::{ControlFactory, TIMEOUT};
use vazao_engine::Duration;
use vazao_engine::registry::{Elsewhere, Kind, Parameters, choice, parameters};

choice! {
    /// Conditions under which a sender paces: spreads data over time instead of sending all that the window admits.
    pub enum Pacing {
        /// Pace at the congestion control's rate, if it has one.
        Auto = "auto",
        /// Always pace; without a rate of the congestion control, at 200 % of cwnd / SRTT far below ssthresh and 120 %
        /// elsewhere, as Linux does.
        On = "on",
        /// Never pace.
        Off = "off",
    }
}

choice! {
    /// Whether new data leaves in bursts, as Linux passes it to the NIC.
    pub enum Bursting {
        /// One segment at a time.
        Off = "off",
        /// In bursts that are not deferred.
        Prompt = "prompt",
        /// In bursts that are deferred briefly for an acknowledgement that would let more out at once.
        Deferred = "deferred",
    }
}

choice! {
    /// Unit in which acknowledgements are reported to the congestion control.
    pub enum Counting {
        /// Acknowledged bytes (RFC 3465), so that delayed acknowledgements do not slow the window's growth.
        Bytes = "bytes",
        /// One segment at most per ACK (equation 3 of RFC 5681 to the letter; ns-3's TcpNewReno).
        Acknowledgements = "acks",
    }
}

choice! {
    /// SACK-based recovery to follow where implementations differ.
    pub enum SackProfile {
        /// RFC 6675, with PRR as in RFC 9937. If no segment is known lost and no new data is available, NextSeg returns
        /// data below a SACKed segment (rule 3), then the last segment once (rule 4).
        Rfc = "rfc",
        /// ns-3 (3.37). TcpTxBuffer::NextSeg applies rule (3) to all data neither SACKed nor retransmitted, even above
        /// the highest SACKed octet and against criterion (1.b), so the end of the data is sent twice while in flight;
        /// there is no rule (4). TcpSocketBase retransmits a segment on each partial acknowledgement unless the next
        /// one was already retransmitted, regardless of the window, and counts the data of an ACK with new SACK
        /// information as delivered twice. PRR is [ns-3's variant](vazao_congestion::Prr::like_ns3).
        Ns3 = "ns3",
    }
}

choice! {
    /// Source of the samples of the smoothed round-trip time.
    pub enum RttSource {
        /// Send times of segments.
        Segments = "segments",
        /// Echoed timestamps, in milliseconds (RFC 7323 section 4).
        Timestamps = "timestamps",
    }
}

parameters! {
    /// Configuration of a TCP endpoint.
    pub struct Config(
        /// Bytes of Multipath TCP options in a segment with data and in one without.
        pub multipath: [u16; 2],
        /// Factory of the congestion control.
        pub control: ControlFactory,
    ) {
        pub cc: Elsewhere = Kind::Entry("congestion control"), "cubic", "congestion control";
        pub recovery: Recovery = Recovery::KIND, "rack", "how losses are found and repaired";
        pub slow_start: Elsewhere = Kind::Entry("slow start"), "standard", "how the window grows below ssthresh";
        pub mss: u16 = Kind::Integer(64, 65_000), "1448", "payload bytes of a full segment, options not counted in";
        pub initial_window: Elsewhere = Kind::Integer(1, 10_000), "10", "initial window in segments (RFC 6928: 10)";
        pub initial_ssthresh: Elsewhere = Kind::SizeOrAuto(1), "auto",
            "initial slow-start threshold; auto: as high as possible (RFC 5681)";
        pub abc_limit: Elsewhere = Kind::Number(0.1, 1000.0), "2",
            "segments the window may grow for one acknowledgement in slow start (RFC 3465's L); 1 counts \
             acknowledgements; with more than 2 slow start stops at its threshold, as Linux's";
        pub counting: Counting = Counting::KIND, "bytes",
            "what the window grows by: the bytes acknowledged (RFC 3465), or a segment for each acknowledgement at \
             most, as RFC 5681's equation 3 stands and ns-3's NewReno does: half as fast where they are delayed";
        pub pacing: Pacing = Pacing::KIND, "auto",
            "spread what is sent over time; auto: at the congestion control's rate where it has one (BBR); on: else at \
             200 % of cwnd / SRTT far below ssthresh, 120 % elsewhere; host linux sends bursts of a millisecond, its \
             first ten segments unpaced";
        pub sack: bool = Kind::Flag, "true", "offer selective acknowledgements (RFC 2018, D-SACK: RFC 2883)";
        pub timestamps: bool = Kind::Flag, "true", "offer timestamps (RFC 7323): 12 bytes a segment";
        pub limited_transmit: bool = Kind::Flag, "true", "two duplicate ACKs let new segments out (RFC 3042)";
        pub nagle: bool = Kind::Flag, "false",
            "keep a short segment back while data is unacknowledged (Nagle's algorithm, RFC 9293 section 3.7.4), with host \
             linux while a short segment is; false is a socket's TCP_NODELAY";
        pub cwv: Option<Validation> = Validation::KIND, "auto",
            "a window that is not used: none: stays; grow: even grows (ns-3); restart: after a pause of a timeout it \
             is the initial one (RFC 5681); decay: it halves with each (RFC 2861, Linux); rfc7661: what is not used \
             for five minutes goes; auto: decay with host linux, else restart";
        pub prr: bool = Kind::Flag, "false",
            "with recovery sack: bring the window of a fast recovery down in proportion to what is delivered (PRR, RFC \
             9937), as recovery rack always does";
        pub sack_profile: SackProfile = SackProfile::KIND, "rfc",
            "with recovery sack, whose where implementations differ: RFC 6675's and 9937's, or ns-3's, which resends \
             the end of the data while it is on its way, and otherwise not more than was delivered once the flight is \
             at the threshold";
        pub undo: bool = Kind::Flag, "",
            "take back what D-SACK or timestamps show to be a needless reduction (RFC 3708, RFC 4015); default: with \
             recovery rack", else recovery == Recovery::Rack;
        pub frto: bool = Kind::Flag, "",
            "let what arrives after a timeout show that it was needless (F-RTO, RFC 5682); default: with recovery \
             rack", else recovery == Recovery::Rack;
        pub ecn: Option<bool> = Kind::Flag, "",
            "offer explicit congestion notification (RFC 3168); default: with a control that lives by it (dctcp), \
             whose marks are echoed one by one (RFC 8257)";
        pub delayed_ack: u32 = Kind::Integer(1, 1000), "2", "segments per acknowledgement; 1: each at once";
        pub delayed_ack_timeout: Duration = TIMEOUT, "40 ms", "how long an acknowledgement waits for a second segment";
        pub quick_acks: u32 = Kind::Integer(0, 1000), "16",
            "segments acknowledged at once when a connection is new, as Linux does";
        pub rtt: RttSource = RttSource::KIND, "segments",
            "what measures the smoothed round-trip time: when a segment was sent (Linux), or the echo of its \
             timestamp, to the millisecond (RFC 7323 section 4; FreeBSD, ns-3)";
        pub tick: Duration = Kind::Duration(Duration::ZERO, Duration::from_millis(50)), "0 ms",
            "of the clock in which timers are counted, as Linux does (1/HZ: 1, 4 or 10 ms): they expire up to two \
             late; 0: none is late";
        pub host: Host = Host::KIND, "auto",
            "where Linux goes its own way: min_rto bounds 4 RTTVAR, not the whole timeout; the window that is offered \
             grows with what arrives; SYN-ACK is acknowledged at once, and so is the end of a burst; slow start goes \
             on with half of the window in use; a SYN goes again every second at first; ns2: a fast retransmission \
              restarts the timer; auto: linux with recovery rack, else rfc", else if recovery == Recovery::Rack { Host::Linux } else { Host::Rfc };
        pub min_rto: Duration = TIMEOUT, "",
            "least retransmission timeout (RFC 6298 section 2.4), with host linux the least of what is added to SRTT; \
             default: 1 s with host rfc, else 200 ms (Linux's TCP_RTO_MIN, ns-2's minrto_)",
            else Duration::from_millis(if host == Host::Rfc { 1_000 } else { 200 });
        pub bursts: Bursting = Bursting::KIND, "off",
            "whether new data leaves in bursts as from Linux, out of a buffer that grows as Linux's, each ended by \
             PSH: prompt: as soon as the windows let it; deferred: after up to 1 ms where the next acknowledgement may \
             let more out, while less than a third of the window is free";
        pub fast_open: Elsewhere = Kind::Flag, "false",
            "data in the SYN (RFC 7413); the first connection between two hosts asks for the cookie that this takes";
        pub cookie: Elsewhere = Kind::Choice(&["none", "cached"]), "none",
            "whether the client has the cookie for fast_open from before the run";
        pub metrics: Elsewhere = Kind::Flag, "false",
            "start a path with the slow-start threshold that a connection between the same addresses left when it \
             ended, as Linux with tcp_no_metrics_save = 0 (RFC 9040)";
        pub initial_rto: Duration = TIMEOUT, "1 s", "retransmission timeout before the first measurement (RFC 6298)";
        pub max_rto: Duration = TIMEOUT, "120 s", "largest retransmission timeout";
        pub retries: u32 = Kind::Integer(1, 100), "15", "timeouts in a row after which a connection is given up";
        pub receive_buffer: Option<u64> = Kind::SizeOrAuto(256), "auto",
            "receive buffer in bytes of data; auto: grows with the rate (dynamic right-sizing), up to tcp_rmem";
        pub send_buffer: Option<u64> = Kind::SizeOrAuto(256), "auto",
            "unacknowledged and unsent bytes; auto: no limit; with bursts Linux's SO_SNDBUF, for which it takes twice as \
             much memory: auto: grows with the congestion window up to tcp_wmem";
        pub tcp_rmem: Option<u64> = Kind::SizeOrAuto(4096), "auto",
            "what an automatic receive buffer grows to at most, the third value of Linux's tcp_rmem; auto: 64 MiB, of a \
             Linux guest 6 MiB, as with like linux; memory with host linux, of which some two thirds hold data";
        pub tcp_wmem: Option<u64> = Kind::SizeOrAuto(4096), "auto",
            "memory that an automatic send buffer grows to at most where there is one, with bursts: the third value of \
             Linux's tcp_wmem; auto: 4 MiB";
    }
}

impl Config {
    /// Creates the configuration of a connection by itself from parameters resolved from its table.
    pub fn new(parameters: &Parameters, control: ControlFactory) -> Config {
        Config::from((parameters, [0; 2], control))
    }

    /// Least time between two timeouts in a row.
    pub(crate) fn shortest_rto(&self) -> Duration {
        self.min_rto.min(self.max_rto).min(self.initial_rto)
    }

    /// Largest automatic receive buffer.
    pub(crate) fn largest_receive_buffer(&self) -> u64 {
        self.tcp_rmem.unwrap_or(64 << 20)
    }

    /// Largest automatic send buffer.
    pub(super) fn largest_send_buffer(&self) -> u64 {
        self.tcp_wmem.unwrap_or(4 << 20)
    }

    /// Congestion window validation: the host's, unless a rule is given.
    pub(super) fn validation(&self) -> Validation {
        self.cwv.unwrap_or(match self.host {
            Host::Rfc | Host::Ns2 => Validation::Restart,
            Host::Linux => Validation::Decay,
        })
    }
}
