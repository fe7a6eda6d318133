//! Settings of an SCTP endpoint.

use super::host::Personality;
use super::{Growth, Hmac, PathChoice, Policy, Reliability, Scope, Semantics, Split, StreamScheduler, WindowUnit};
use crate::common::{ControlFactory, RtoRule, RttEstimator, TIMEOUT};
use vazao_engine::Duration;
use vazao_engine::registry::{Elsewhere, Kind, parameters};

parameters! {
    /// Configuration of an SCTP endpoint.
    pub struct Config(
        /// Bytes of a message; `None`: as many as fit in a packet.
        pub message: Option<u64>,
        /// Factory of each path's congestion control; `None`: SCTP's own.
        pub control: Option<ControlFactory>,
    ) {
        pub multihomed: Elsewhere = Kind::Flag, "true", "use every interface of both hosts, the first as primary path";
        pub semantics: Semantics = Semantics::KIND, "rfc9260",
            "whose text rules: rfc4960 counts windows in whole packets, starts from an RTO of 3 s, and grows windows \
             by rfc4960; rfc2960 also starts with two packets, halves down to two, and waits for a fourth missing \
             report; linux is rfc4960 with the ways of Linux 4.18";
        pub cmt: bool = Kind::Flag, "false", "send new data by all paths at once (concurrent multipath transfer)";
        pub cc: Elsewhere = Kind::Entry("congestion control"), "",
            "congestion control of each path; without it SCTP's own (RFC 9260 section 7)";
        pub cwnd_growth: Growth = Growth::KIND, "",
            "what lets a window grow; default: cuc-v2 with cmt, else rfc8540, or rfc4960 with older semantics",
            else if cmt { Growth::CucV2 } else { semantics.personality().growth };
        pub window_unit: WindowUnit = WindowUnit::KIND, "",
            "what windows count in: whole packets, the DATA chunk that fits in one (RFC 9260), or its data alone. What is in \
             flight is counted in data: by a larger unit a window lets one packet more leave; default: chunk, or packet \
             with older semantics", else semantics.personality().window_unit;
        pub fast_recovery: Scope = Scope::KIND, "per-association",
            "whether a fast recovery stops every path's window, as the RFC says, or that of the path with the loss; \
             per-window: it stops none, and a path's window is cut once for what was outstanding; none: each SACK that \
             shows a loss cuts the path's window";
        pub missing_reports: u8 = Kind::Integer(1, 100), "",
            "reports of a missing chunk that make a fast retransmission; default: 3, or 4 with rfc2960",
            else semantics.personality().missing_reports;
        pub fast_after_timeout: bool = Kind::Flag, "true",
            "whether what a timeout has sent again may be fast retransmitted when it is lost once more (RFC 9260 section \
             7.2.4 excludes what was fast retransmitted only); ns-2's and FreeBSD's CMT: false";
        pub one_after_timeout: bool = Kind::Flag, "",
            "whether after a timeout one packet at most is in flight on the path until data is acknowledged (RFC 9260 \
             section 7.2.3); default: yes, but where semantics is linux",
            else !semantics.personality().timeout_sends_one;
        pub sfr: bool = Kind::Flag, "", "count missing reports for each path by itself; default: with cmt", else cmt;
        pub dac: bool = Kind::Flag, "",
            "delay acknowledgements in spite of gaps, and say how many packets each answers; default: with cmt",
            else cmt;
        pub missing_in_recovery: bool = Kind::Flag, "",
            "in a fast recovery count everything below a SACK's highest gap ack block missing once more if the SACK \
             advances the cumulative TSN (RFC 4960 section 7.2.4), with sfr on paths of which it acknowledges something \
             new; default: yes, but with sfr only where semantics is linux",
            else !sfr || semantics.personality().missing_in_recovery;
        pub retransmission: Policy = Policy::KIND, "",
            "which path a chunk is sent again by; default: same with cmt, else alternate (RFC 9260 section 6.4.1); \
             retran-path with the semantics of linux", else semantics.personality().retransmission[usize::from(cmt)];
        pub nr_sack: bool = Kind::Flag, "false",
            "gap reports are for good (NR-SACK): what they acknowledge leaves the send buffer";
        pub buffer_split: Split = Split::KIND, "none", "whose buffer is split evenly among the paths with cmt";
        pub cacc: bool = Kind::Flag, "false",
            "do not take for lost what left by another path before new data changed over (SFR-CACC)";
        pub path_choice: PathChoice = PathChoice::KIND, "largest-free-cwnd", "which path new data goes by with cmt";
        pub streams: u16 = Kind::Integer(1, 65_535), "1", "outgoing streams; messages take turns among them";
        pub max_inbound_streams: u16 = Kind::Integer(1, 65_535), "65535",
            "streams that the peer may have (MIS): with fewer than it asks for it makes do (RFC 9260 section 5.1.1), and \
             data for others is dropped and answered by an error";
        pub scheduler: StreamScheduler = StreamScheduler::KIND, "fcfs",
            "which stream may send next (RFC 8260 section 3)";
        pub priorities: Vec<u64> = Kind::Integers, "",
            "priorities of stream 0, 1, … from 1, the highest, on; without them the lower a stream's number, the \
             higher";
        pub weights: Vec<u64> = Kind::Integers, "",
            "weights of stream 0, 1, … in fair queueing; without them all have 1";
        pub interleaving: bool = Kind::Flag, "false",
            "I-DATA chunks: a message of one stream may interrupt that of another (RFC 8260 section 2)";
        pub partial_reliability: Reliability = Reliability::KIND, "none",
            "when messages are given up (RFC 3758, 7496): at the end of their lifetime, after so many retransmissions, \
             or where a full send_buffer needs room for messages of a higher priority";
        pub lifetime: Duration = TIMEOUT, "1 s",
            "of a message from when it is written, with partial_reliability = \"timed\"";
        pub max_retransmissions: u32 = Kind::Integer(0, 1000), "0",
            "of each chunk of a message, with partial_reliability = \"retransmissions\"";
        pub unordered: bool = Kind::Flag, "false", "deliver messages as they come";
        pub auth: Option<Hmac> = Hmac::KIND, "none",
            "hash of the AUTH chunk in each packet with data (RFC 4895), 28 bytes with sha1 and 40 with sha256; \
             captures have zeros for the digest";
        pub mtu: u32 = Kind::Integer(576, 65_535), "1500", "bytes of the largest packet, the IP header among them";
        pub delayed_sack: u32 = Kind::Integer(1, 3), "2", "packets per SACK; 1: each at once";
        pub delayed_sack_timeout: Duration = TIMEOUT, "200 ms", "how long a SACK waits for a second packet";
        pub delayed_first_sack: bool = Kind::Flag, "false",
            "let an association's first SACK wait as others do, which RFC 9260 section 5.1 forbids and ns-2 does with \
             CMT";
        pub initial_window: Option<u64> = Kind::Size(1, u64::MAX), "",
            "initial window; default: min(4 PMTU, max(2 PMTU, 4404 B))";
        pub initial_ssthresh: Option<u64> = Kind::SizeOrAuto(1), "auto",
            "initial slow-start threshold; auto: the peer's receive buffer";
        pub initial_rto: Duration = TIMEOUT, "",
            "RTO.Initial; default: 1 s, or 3 s with older semantics",
            else semantics.personality().initial_rto;
        pub min_rto: Duration = TIMEOUT, "1 s", "RTO.Min";
        pub max_rto: Duration = TIMEOUT, "60 s", "RTO.Max";
        pub max_burst: u32 = Kind::Integer(0, 1000), "4", "packets sent in one go at most (Max.Burst); 0: no limit";
        pub heartbeat: Duration = Kind::Duration(Duration::ZERO, Duration::from_secs(3600)), "30 s",
            "HB.interval; 0 s: off";
        pub path_retries: u32 = Kind::Integer(0, 100), "5", "Path.Max.Retrans: more failures make a path inactive";
        pub pf_retries: Option<u32> = Kind::Integer(0, 100), "",
            "PotentiallyFailed.Max.Retrans (RFC 7829): more failures send data by another path until this one answers; \
             Linux: 0; default: as in RFC 9260, not before the path is inactive";
        pub retries: u32 = Kind::Integer(0, 100), "10", "Association.Max.Retrans: more failures end the association";
        pub init_retries: u32 = Kind::Integer(0, 100), "8", "Max.Init.Retransmits";
        pub cookie_life: Duration = TIMEOUT, "60 s", "Valid.Cookie.Life";
        pub restart: Option<Duration> = TIMEOUT, "",
            "so long after the handshake the client loses its state, gives up what is under way, and opens the \
             association anew for the rest (RFC 9260 section 5.2.4 A); without it, it does not";
        pub receive_buffer: u64 = Kind::Size(1500, u64::MAX), "8 MiB",
            "bytes that may wait for the application or for order";
        pub partial_delivery_point: Option<u64> = Kind::Size(1, u64::MAX), "",
            "bytes of an unfinished message that the application is given before the rest of it; default: half of \
             receive_buffer, or with the semantics of linux not before that is full (RFC 9260 section 6.9)",
            else (!semantics.personality().delivers_parts_when_full).then_some(receive_buffer / 2);
        // Without a limit an upload would write all its messages at once, and all but the first would expire.
        pub send_buffer: Option<u64> = Kind::SizeOrAuto(1500), "auto",
            "unacknowledged and unsent bytes; auto: no limit, but as many as receive_buffer where messages have a \
             lifetime", else (partial_reliability == Reliability::Timed).then_some(receive_buffer);
    }
}

/// Bytes of an IPv4 header.
const IP_HEADER: u32 = 20;

impl Config {
    /// Answers of the host that follows these semantics.
    #[inline]
    pub(super) fn host(&self) -> &'static Personality {
        self.semantics.personality()
    }
    /// Bytes available for chunks in a packet, an AUTH chunk aside.
    pub fn room(&self) -> u32 {
        self.mtu - IP_HEADER - super::COMMON_HEADER - self.auth.map_or(0, Hmac::chunk_bytes)
    }
    /// Payload bytes of a packet with one DATA or I-DATA chunk.
    pub fn largest_fragment(&self, interleaved: bool) -> u32 {
        (self.room() - super::data_header(interleaved)) & !3
    }
    /// Priority of a stream, 1 being the highest.
    pub fn priority(&self, stream: usize) -> u64 {
        self.priorities.get(stream).copied().unwrap_or(stream as u64 + 1)
    }
    /// Weight of a stream; with fair bandwidth, all have the same.
    pub fn weight(&self, stream: usize) -> u64 {
        let weights = if self.scheduler == StreamScheduler::FairBandwidth { &[][..] } else { &self.weights };
        weights.get(stream).copied().unwrap_or(1)
    }
    /// Unit in which windows count, in bytes.
    pub fn segment(&self) -> u64 {
        self.unit(self.window_unit)
    }
    /// Unit in which a receiver counts its buffer, in bytes.
    pub fn receive_unit(&self) -> u64 {
        self.unit(self.host().window_unit)
    }
    fn unit(&self, unit: WindowUnit) -> u64 {
        u64::from(match unit {
            WindowUnit::Packet => self.mtu,
            WindowUnit::Chunk => self.room(),
            WindowUnit::Data => self.largest_fragment(false),
        })
    }
    /// Section 7.2.1: initial window of three or four packets, as RFC 3390 allows TCP; two in RFC 2960.
    pub fn first_window(&self) -> u64 {
        self.initial_window.unwrap_or((4 * self.segment()).min((2 * self.segment()).max(self.host().window_floor)))
    }
    /// Section 7.2.3: minimum slow-start threshold.
    pub fn min_ssthresh(&self) -> u64 {
        self.segment() * self.host().min_ssthresh
    }
    /// Section 9.2: T5-shutdown-guard, which bounds a shutdown from its first SHUTDOWN on.
    pub fn shutdown_guard(&self) -> Duration {
        self.max_rto * 5
    }
    /// Interval of heartbeats on idle paths, if there are any.
    pub fn heartbeat(&self) -> Option<Duration> {
        Some(self.heartbeat).filter(|&interval| interval > Duration::ZERO)
    }
    /// Estimator of round-trip time and timeout before the first sample.
    pub(super) fn estimator(&self) -> RttEstimator {
        RttEstimator::new(self.initial_rto, self.min_rto, self.max_rto, RtoRule::Rfc6298)
    }
    /// Whether the host probes paths slowly. CMT, which is not the kernel's own, does not wait.
    pub fn has_slow_heartbeats(&self) -> bool {
        self.host().probes_slowly && !self.cmt
    }
}
