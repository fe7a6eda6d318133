//! Settings of an SCTP endpoint.

use super::{Growth, PathChoice, Policy, Reliability, Scope, Split, StreamScheduler};
use crate::common::ControlFactory;
use vazao_engine::Duration;

/// Specification to follow where they differ: unit, initial size and minimum of windows, and number of missing reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// RFC 9260: windows count DATA chunk bytes per packet (PMDCS).
    Rfc9260,
    /// RFC 4960: windows count whole packets (PMTU).
    Rfc4960,
    /// RFC 2960: initial window and minimum ssthresh are two packets; a chunk is lost at its fourth missing report.
    Rfc2960,
    /// RFC 4960 as implemented in Linux 4.18: see [`Config::is_linux`].
    Linux,
}

/// Configuration of an SCTP endpoint. Protocol parameters have RFC 9260 section 16's names.
#[derive(Clone)]
pub struct Config {
    /// Specification to follow.
    pub semantics: Semantics,
    /// Maximum bytes of a packet, including the IP header.
    pub mtu: u32,
    /// Bytes of a message; `None`: as many as fit in a packet.
    pub message: Option<u64>,
    /// Outbound streams, to which messages are assigned in turn.
    pub streams: u16,
    /// Stream scheduler.
    pub scheduler: StreamScheduler,
    /// Priorities of the streams, 1 being the highest; by default a stream's number plus one.
    pub priorities: Vec<u64>,
    /// Weights of the streams; 1 by default.
    pub weights: Vec<u64>,
    /// Whether I-DATA chunks are offered, by which messages of different streams can be interleaved.
    pub interleaving: bool,
    /// How long delivery of a message is attempted.
    pub reliability: Reliability,
    /// Whether messages are delivered unordered (bit U).
    pub unordered: bool,
    /// Whether new data is sent on all paths at once.
    pub cmt: bool,
    /// Window growth rule.
    pub growth: Growth,
    /// Scope of fast recovery.
    pub scope: Scope,
    /// Missing reports that trigger a fast retransmission (section 7.2.4).
    pub missing_reports: u8,
    /// Whether missing reports count per destination (split fast retransmit).
    pub sfr: bool,
    /// Whether SACKs are delayed despite gaps and report how many packets they acknowledge (CMT's delayed ACKs).
    pub dac: bool,
    /// Whether missing reports are suppressed after new data has changed to another path (SFR-CACC).
    pub cacc: bool,
    /// Whether gap reports are non-renegable, so that the data they acknowledge leaves the send buffer (NR-SACK,
    /// draft-natarajan-tsvwg-sctp-nrsack).
    pub nr_sack: bool,
    /// Buffer that is split among the paths.
    pub split: Split,
    /// Retransmission policy: the path for retransmissions.
    pub retransmission: Policy,
    /// Path selection for new data.
    pub path_choice: PathChoice,
    /// Packets with data per SACK.
    pub sack_frequency: u32,
    /// Delayed-SACK timeout.
    pub sack_delay: Duration,
    /// Whether the first SACK may be delayed too.
    pub delayed_first_sack: bool,
    /// Initial window in bytes; `None`: RFC 9260 section 7.2.1's.
    pub initial_window: Option<u64>,
    /// Initial slow-start threshold in bytes; `None`: the peer's receive buffer.
    pub initial_ssthresh: Option<u64>,
    /// RTO.Initial, RTO.Min, RTO.Max.
    pub rto: [Duration; 3],
    /// Max.Burst in packets; 0: no limit.
    pub max_burst: u32,
    /// HB.interval; `None`: no heartbeats on idle paths.
    pub heartbeat: Option<Duration>,
    /// Path.Max.Retrans.
    pub path_retries: u32,
    /// PotentiallyFailed.Max.Retrans (RFC 7829); `None`: no path is ever potentially failed.
    pub pf_retries: Option<u32>,
    /// Association.Max.Retrans.
    pub association_retries: u32,
    /// Max.Init.Retransmits.
    pub init_retries: u32,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// Time from establishment until the opening side loses its state and opens again.
    pub restart: Option<Duration>,
    /// Receive buffer in bytes.
    pub receive_buffer: u64,
    /// Bytes of an incomplete message that trigger partial delivery; `None`: only when the buffer cannot hold more.
    pub partial_delivery_point: Option<u64>,
    /// Send buffer in bytes, for unacknowledged and unsent data; `None`: no limit.
    pub send_buffer: Option<u64>,
    /// Factory of each path's congestion control; `None`: SCTP's own.
    pub control: Option<ControlFactory>,
}

/// Bytes of an IPv4 header.
const IP_HEADER: u32 = 20;

impl Config {
    /// Bytes available for chunks in a packet.
    pub fn room(&self) -> u32 {
        self.mtu - IP_HEADER - super::COMMON_HEADER
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
    /// Unit in which windows count.
    pub fn segment(&self) -> u64 {
        u64::from(match self.semantics {
            Semantics::Rfc9260 => self.room(),
            Semantics::Rfc4960 | Semantics::Rfc2960 | Semantics::Linux => self.mtu,
        })
    }
    /// Section 7.2.1: initial window of three or four packets, as RFC 3390 allows TCP; two in RFC 2960.
    pub fn first_window(&self) -> u64 {
        let floor = match self.semantics {
            Semantics::Rfc9260 => 4404,
            Semantics::Rfc4960 | Semantics::Linux => 4380,
            Semantics::Rfc2960 => 0,
        };
        self.initial_window.unwrap_or((4 * self.segment()).min((2 * self.segment()).max(floor)))
    }
    /// Section 7.2.3: minimum slow-start threshold.
    pub fn min_ssthresh(&self) -> u64 {
        self.segment() * if self.semantics == Semantics::Rfc2960 { 2 } else { 4 }
    }
    /// Section 9.2: T5-shutdown-guard, which bounds a shutdown from its first SHUTDOWN on.
    pub fn shutdown_guard(&self) -> Duration {
        self.rto[2] * 5
    }
    /// Whether to follow Linux (net/sctp of version 4.18, and its author's changes for CMT where those apply):
    /// - A path's T3-rtx restarts when the cumulative TSN passes a chunk of it, not when a gap report covers its
    ///   earliest.
    /// - No new data leaves on any path while a retransmission is pending.
    /// - Fast recovery stops growth in slow start only, and lasts until all data sent by the association is
    ///   acknowledged.
    /// - Split fast retransmit reports chunks below the highest TSN newly acknowledged on any path, if one on their own
    ///   was.
    /// - Data acknowledged while its retransmission is pending does not grow the window.
    /// - A SACK has at most 16 gap ack blocks, and filling the last gap does not trigger an immediate SACK
    ///   (`sctp_gen_sack`). It reports the window before the application reads the data, and another one follows if
    ///   reading opens the window substantially (`sctp_peer_needs_update`).
    /// - Each message written renews the burst allowance (`sctp_outq_flush`).
    /// - Retransmissions too need room at the peer (`sctp_packet_can_append_data`), and a fast retransmission may
    ///   exceed the window only if no retransmission is pending before it (`__sctp_outq_flush_rtx`).
    /// - When T3-rtx expires one packet leaves, whatever other paths' windows admit (`sctp_retransmit`).
    /// - In I-DATA the fragments after a message's first are numbered from 0 (`sctp_chunk_assign_mid`), from 1 in RFC
    ///   8260 section 2.1: no fragmented message arrives between the two.
    /// - Replies to a packet leave before the application hears of it (`sctp_outq_uncork`). A pending SACK leaves alone
    ///   before data that does not fit beside it (`sctp_packet_transmit_chunk`), and not on a path that received only
    ///   data filling a gap (`sctp_tsnmap_mark`).
    /// - T1-cookie uses RTO.Initial, whatever the INIT has measured (`sctp_association_init`).
    /// - T5-shutdown-guard does not run in SHUTDOWN-ACK-SENT (`sctp_sf_timer_ignore`).
    pub fn is_linux(&self) -> bool {
        self.semantics == Semantics::Linux
    }
    /// Whether a path is first probed by a heartbeat after half an RTO and used for nothing else until it answers, as
    /// in Linux. CMT, which is not the kernel's own, does not wait.
    pub fn has_slow_heartbeats(&self) -> bool {
        self.is_linux() && !self.cmt
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("cmt", &self.cmt).field("growth", &self.growth).finish_non_exhaustive()
    }
}
