//! What an SCTP endpoint can be told.

use super::{Growth, PathChoice, Policy, Reliability, Scope, Split, StreamScheduler};
use crate::common::ControlFactory;
use vazao_engine::Duration;

/// Whose text rules where they differ: the unit of windows, their start and their floor, and how many reports make a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// RFC 9260: windows count in what a packet holds of DATA chunks (PMDCS).
    Rfc9260,
    /// RFC 4960: windows count in packets (PMTU).
    Rfc4960,
    /// RFC 2960: windows begin with two packets and thresholds may fall to two; a chunk is lost at its fourth report.
    Rfc2960,
    /// RFC 4960 as Linux 4.18 has it: see [`Config::is_linux`].
    Linux,
}

/// The settings of an SCTP endpoint. Protocol parameters bear RFC 9260 section 16's names.
#[derive(Clone)]
pub struct Config {
    /// Whose text rules.
    pub semantics: Semantics,
    /// Bytes of the largest packet, the IP header among them.
    pub mtu: u32,
    /// Bytes of a message; `None`: as many as fit one packet.
    pub message: Option<u64>,
    /// Outgoing streams; messages take turns among them.
    pub streams: u16,
    /// Which stream may send next.
    pub scheduler: StreamScheduler,
    /// The streams' priorities from 1, the highest, on; those not named go by their numbers.
    pub priorities: Vec<u64>,
    /// The streams' weights; those not named have 1.
    pub weights: Vec<u64>,
    /// Whether I-DATA chunks are offered, with which one message need not wait for the end of another.
    pub interleaving: bool,
    /// How long messages are kept trying to be delivered.
    pub reliability: Reliability,
    /// Whether messages are delivered as they come (bit U).
    pub unordered: bool,
    /// Whether new data goes by all paths at once.
    pub cmt: bool,
    /// What lets a window grow.
    pub growth: Growth,
    /// Whether fast recovery is the association's or a path's.
    pub scope: Scope,
    /// Missing reports that make a fast retransmission (section 7.2.4).
    pub missing_reports: u8,
    /// Whether missing reports count for each destination by itself (split fast retransmit).
    pub sfr: bool,
    /// Whether gaps do not make acknowledgements hasty, and those say how many packets they answer.
    pub dac: bool,
    /// Whether reports are excused after new data has changed over to another path (SFR-CACC).
    pub cacc: bool,
    /// Whether gap reports are for good, so that what they acknowledge leaves the send buffer (NR-SACK,
    /// draft-natarajan-tsvwg-sctp-nrsack).
    pub nr_sack: bool,
    /// Which buffer is split among the paths.
    pub split: Split,
    /// Which path a chunk is sent again by.
    pub retransmission: Policy,
    /// Which path new data goes by.
    pub path_choice: PathChoice,
    /// Packets with data per SACK.
    pub sack_frequency: u32,
    /// How long a SACK may wait.
    pub sack_delay: Duration,
    /// Whether the first one may, too.
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
    /// How long after the handshake the side that opened loses its state, and opens anew.
    pub restart: Option<Duration>,
    /// Bytes that may wait for the application.
    pub receive_buffer: u64,
    /// Bytes of an unfinished message that the application is given before the rest; `None`: where the buffer cannot hold more.
    pub partial_delivery_point: Option<u64>,
    /// Bytes that may be unacknowledged or unsent; `None`: no limit.
    pub send_buffer: Option<u64>,
    /// Makes each path's congestion control; `None`: SCTP's own.
    pub control: Option<ControlFactory>,
}

/// Bytes of an IPv4 header.
const IP_HEADER: u32 = 20;

impl Config {
    /// Bytes that a packet has for chunks.
    pub fn room(&self) -> u32 {
        self.mtu - IP_HEADER - super::COMMON_HEADER
    }
    /// Bytes of payload that fit a packet of one DATA chunk, or I-DATA chunk.
    pub fn largest_fragment(&self, interleaved: bool) -> u32 {
        (self.room() - super::data_header(interleaved)) & !3
    }
    /// A stream's priority, 1 being the highest.
    pub fn priority(&self, stream: usize) -> u64 {
        self.priorities.get(stream).copied().unwrap_or(stream as u64 + 1)
    }
    /// A stream's weight: where bandwidth is shared fairly, all have the same.
    pub fn weight(&self, stream: usize) -> u64 {
        let weights = if self.scheduler == StreamScheduler::FairBandwidth { &[][..] } else { &self.weights };
        weights.get(stream).copied().unwrap_or(1)
    }
    /// The unit in which windows count.
    pub fn segment(&self) -> u64 {
        u64::from(match self.semantics {
            Semantics::Rfc9260 => self.room(),
            Semantics::Rfc4960 | Semantics::Rfc2960 | Semantics::Linux => self.mtu,
        })
    }
    /// Section 7.2.1: three or four packets, as RFC 3390 allows TCP; two in RFC 2960.
    pub fn first_window(&self) -> u64 {
        let floor = match self.semantics {
            Semantics::Rfc9260 => 4404,
            Semantics::Rfc4960 | Semantics::Linux => 4380,
            Semantics::Rfc2960 => 0,
        };
        self.initial_window.unwrap_or((4 * self.segment()).min((2 * self.segment()).max(floor)))
    }
    /// Section 7.2.3: the least slow-start threshold.
    pub fn least_threshold(&self) -> u64 {
        self.segment() * if self.semantics == Semantics::Rfc2960 { 2 } else { 4 }
    }
    /// Section 9.2: how long a shutdown takes at most, from its first SHUTDOWN on (T5-shutdown-guard).
    pub fn shutdown_guard(&self) -> Duration {
        self.rto[2] * 5
    }
    /// Linux's own ways (net/sctp of version 4.18, and of its author's changes for CMT where those touch them):
    /// - T3-rtx of a path restarts when the cumulative TSN passes a chunk of it, not when a gap report has its earliest;
    /// - nothing new leaves by any path while anything waits to be sent again;
    /// - fast recovery stops growth in slow start only, and lasts until all that the association had sent is acknowledged;
    /// - split fast retransmit reports what is below the highest TSN newly acknowledged on any path, if one on its own was;
    /// - what is acknowledged while it waits to be sent again lets no window grow;
    /// - a SACK has 16 gap ack blocks at most, and what fills the last gap is not answered at once (`sctp_gen_sack`); a SACK tells of the room that there is before the application
    ///   reads what it answers, and another one when that has made much of it (`sctp_peer_needs_update`);
    /// - each message that is written is an occasion for a burst (`sctp_outq_flush`);
    /// - what is sent again, too, needs room at the peer (`sctp_packet_can_append_data`), and a fast retransmission may go
    ///   beyond the window only where nothing before it waits (`__sctp_outq_flush_rtx`);
    /// - when T3-rtx expires one packet leaves, whatever other paths' windows admit (`sctp_retransmit`);
    /// - in I-DATA the fragments behind a message's first are numbered from 0 (`sctp_chunk_assign_mid`), from 1 in RFC 8260
    ///   section 2.1: no message of several fragments arrives where the two meet;
    /// - what answers a packet has left before the application hears of that (`sctp_outq_uncork`); a SACK that waits goes by
    ///   itself before data that have no room beside it (`sctp_packet_transmit_chunk`), and not by a path by which nothing
    ///   came but what filled a gap (`sctp_tsnmap_mark`);
    /// - T1-cookie waits RTO.Initial, whatever INIT has measured (`sctp_association_init`);
    /// - T5-shutdown-guard does not count in SHUTDOWN-ACK-SENT (`sctp_sf_timer_ignore`).
    pub fn is_linux(&self) -> bool {
        self.semantics == Semantics::Linux
    }
    /// Whether a path is asked by a heartbeat after half an RTO at the earliest, not at once, and nothing else goes by it
    /// until it has answered: Linux's way. Concurrent transfers, which are not the kernel's own, do not wait for that.
    pub fn has_slow_heartbeats(&self) -> bool {
        self.is_linux() && !self.cmt
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("cmt", &self.cmt).field("growth", &self.growth).finish_non_exhaustive()
    }
}
