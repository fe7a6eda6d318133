//! Host personalities: what an endpoint does by the specification it follows, one answer a question.

use super::{Growth, Policy, WindowUnit};
use vazao_engine::Duration;
use vazao_engine::registry::choice;

choice! {
    /// Specification to follow where they differ: unit, initial size and minimum of windows, and number of missing
    /// reports.
    pub enum Semantics {
        /// RFC 9260: windows count DATA chunk bytes per packet (PMDCS).
        Rfc9260 = "rfc9260",
        /// RFC 4960: windows count whole packets (PMTU).
        Rfc4960 = "rfc4960",
        /// RFC 2960: initial window and minimum ssthresh are two packets; a chunk is lost at its fourth missing report.
        Rfc2960 = "rfc2960",
        /// RFC 4960 as implemented in Linux (net/sctp of 4.18, and M. R. Leitner's changes of it for CMT where those
        /// apply; docs/cmt.md says where they are published).
        Linux = "linux",
    }
}

impl Semantics {
    /// Returns the answers of a host that follows this specification.
    #[inline]
    pub(super) const fn personality(self) -> &'static Personality {
        match self {
            Semantics::Rfc9260 => &RFC9260,
            Semantics::Rfc4960 => &RFC4960,
            Semantics::Rfc2960 => &RFC2960,
            Semantics::Linux => &LINUX,
        }
    }
}

/// Answers of a host. A `true` one deviates from RFC 9260; another host may combine them.
#[derive(Debug)]
pub(super) struct Personality {
    // ---- parameters ---------------------------------------------------------------------------------------------
    /// Unit in which windows count.
    pub window_unit: WindowUnit,
    /// Bytes of the initial window where two packets are less and four are more (section 7.2.1).
    pub window_floor: u64,
    /// Packets of the minimum slow-start threshold (section 7.2.3).
    pub min_ssthresh: u64,
    /// RTO.Initial, unless configured.
    pub initial_rto: Duration,
    /// Missing reports that make a fast retransmission, unless configured.
    pub missing_reports: u8,
    /// Section 7.2.4's rule for fast recoveries holds with split fast retransmit too (`sctp_outq_sack`), unless
    /// configured.
    pub missing_in_recovery: bool,
    /// Growth rule without CMT, unless configured.
    pub growth: Growth,
    /// Retransmission policies without and with CMT, unless configured.
    pub retransmission: [Policy; 2],
    /// Streams requested at least (`sctp_init_sock`).
    pub min_streams: u16,
    /// Distance beyond the cumulative TSN that a chunk must stay within: the range of a gap ack block (section 3.3.4),
    /// or Linux's SCTP_TSN_MAP_SIZE.
    pub reach: u64,
    /// Gap ack blocks of a SACK: as many as fit (section 6.7), or Linux's SCTP_MAX_GABS.
    pub max_gaps: usize,

    // ---- setup and shutdown -------------------------------------------------------------------------------------
    /// An INIT with tag zero is answered by an ABORT (RFC 4960 section 3.3.2), not discarded.
    pub aborts_untagged_init: bool,
    /// An INIT with the peer's current tag is ignored, where section 5.2.2 requires an INIT ACK.
    pub ignores_repeated_init: bool,
    /// No more inbound streams are accepted than the peer sends, and its limits apply to the next attempt after a stale
    /// cookie (`sctp_process_init`).
    pub adopts_stream_limits: bool,
    /// T1-cookie uses RTO.Initial, whatever the INIT has measured (`sctp_association_init`).
    pub ignores_init_round_trip: bool,
    /// The ABORT for a peer that gave no tag carries zero, not this end's own tag.
    pub aborts_without_tag: bool,
    /// An INIT ACK or SHUTDOWN COMPLETE that is awaited and bundled is a violation that aborts the association
    /// (`sctp_sf_do_5_1C_ack`, `sctp_sf_do_4_C`); else its packet is discarded.
    pub aborts_for_bundles: bool,
    /// The cause that returns a chunk counts its padding too (`sctp_sf_unk_chunk`).
    pub pads_returned_chunk: bool,
    /// A SHUTDOWN cancels the delayed SACK, as everything is acknowledged at the peer, and T5-shutdown-guard, which
    /// does not run in SHUTDOWN-ACK-SENT (`sctp_sf_timer_ignore`).
    pub ignores_timers_in_shutdown: bool,

    // ---- transmission -------------------------------------------------------------------------------------------
    /// Each message written and each packet received renews the burst allowance (`sctp_outq_flush`,
    /// `sctp_cmd_interpreter`).
    pub renews_bursts: bool,
    /// Replies to a packet leave before the application hears of it (`sctp_outq_uncork`, `sctp_outq_tail`).
    pub replies_first: bool,
    /// A pending SACK leaves alone before data that does not fit beside it (`sctp_packet_transmit_chunk`).
    pub parts_sack_from_data: bool,
    /// A single-chunk message waits while data is in flight, until the backlog fills a packet: Nagle's algorithm, on by
    /// default (`sctp_packet_can_append_data`).
    pub delays_small_messages: bool,
    /// In I-DATA the fragments after a message's first are numbered from 0 (`sctp_chunk_assign_mid`), from 1 in RFC
    /// 8260 section 2.1: no fragmented message arrives between the two.
    pub skips_first_fragment: bool,
    /// A window does not shrink for every RTO in which nothing is sent (section 7.2.1).
    pub keeps_idle_windows: bool,
    /// A path is first probed by a heartbeat after half an RTO and used for nothing else until it answers
    /// (`sctp_transport_reset_hb_timer`).
    pub probes_slowly: bool,

    // ---- acknowledgement and loss -------------------------------------------------------------------------------
    /// T3-rtx restarts when the cumulative TSN passes a chunk of the path, before anything is marked lost, not when a
    /// gap report covers its earliest chunk or that is sent again (`sctp_check_transmitted`).
    pub restarts_timer_cumulatively: bool,
    /// Data acknowledged while its retransmission is pending does not grow the window.
    pub discounts_pending: bool,
    /// Fast recovery stops growth in slow start only.
    pub grows_in_recovery: bool,
    /// A path's fast recovery lasts until all data sent by the association is acknowledged.
    pub recovers_all_paths: bool,
    /// Split fast retransmit reports chunks below the highest TSN newly acknowledged on any path, if one on their own
    /// was.
    pub reports_across_paths: bool,
    /// No new data leaves on any path while a retransmission is pending.
    pub retransmits_first: bool,
    /// Retransmissions too need room at the peer (`sctp_packet_can_append_data`).
    pub retransmits_within_peer_window: bool,
    /// A fast retransmission may exceed the window only if no retransmission is pending before it
    /// (`__sctp_outq_flush_rtx`).
    pub exempts_foremost_only: bool,
    /// When T3-rtx expires one packet leaves, whatever other paths' windows admit (`sctp_retransmit`).
    pub timeout_sends_one: bool,

    // ---- reception ----------------------------------------------------------------------------------------------
    /// The last chunk may exceed the receive buffer by a packet, since its sender may not have known
    /// (`sctp_eat_data`).
    pub overfills_buffer: bool,
    /// Partial delivery waits until the receive buffer is full, unless configured (section 6.9).
    pub delivers_parts_when_full: bool,
    /// Filling the last gap does not trigger an immediate SACK (`sctp_gen_sack`); section 6.7 can be read either way.
    pub delays_sack_of_last_gap: bool,
    /// A SACK reports the window before the application reads the data, and another one follows if reading opens the
    /// window by a sixteenth of the socket buffer (`sctp_peer_needs_update`).
    pub reports_window_before_reading: bool,
    /// A pending SACK does not join data on a path that received only data filling a gap (`sctp_tsnmap_mark`).
    pub hears_data_in_order: bool,
}

static RFC9260: Personality = Personality {
    window_unit: WindowUnit::Chunk,
    window_floor: 4404,
    min_ssthresh: 4,
    initial_rto: Duration::from_secs(1),
    missing_reports: 3,
    missing_in_recovery: false,
    growth: Growth::Rfc8540,
    retransmission: [Policy::Alternate, Policy::Same],
    min_streams: 1,
    reach: u16::MAX as u64,
    max_gaps: usize::MAX,
    aborts_untagged_init: false,
    ignores_repeated_init: false,
    adopts_stream_limits: false,
    ignores_init_round_trip: false,
    aborts_without_tag: false,
    aborts_for_bundles: false,
    pads_returned_chunk: false,
    ignores_timers_in_shutdown: false,
    renews_bursts: false,
    replies_first: false,
    parts_sack_from_data: false,
    delays_small_messages: false,
    skips_first_fragment: false,
    keeps_idle_windows: false,
    probes_slowly: false,
    restarts_timer_cumulatively: false,
    discounts_pending: false,
    grows_in_recovery: false,
    recovers_all_paths: false,
    reports_across_paths: false,
    retransmits_first: false,
    retransmits_within_peer_window: false,
    exempts_foremost_only: false,
    timeout_sends_one: false,
    overfills_buffer: false,
    delivers_parts_when_full: false,
    delays_sack_of_last_gap: false,
    reports_window_before_reading: false,
    hears_data_in_order: false,
};

static RFC4960: Personality = Personality {
    window_unit: WindowUnit::Packet,
    window_floor: 4380,
    initial_rto: Duration::from_secs(3),
    growth: Growth::Rfc4960,
    aborts_untagged_init: true,
    ..RFC9260
};

static RFC2960: Personality = Personality { window_floor: 0, min_ssthresh: 2, missing_reports: 4, ..RFC4960 };

static LINUX: Personality = Personality {
    missing_in_recovery: true,
    growth: Growth::GapAcked,
    retransmission: [Policy::RetranPath; 2],
    min_streams: 10,
    reach: 4096,
    max_gaps: 16,
    ignores_repeated_init: true,
    adopts_stream_limits: true,
    ignores_init_round_trip: true,
    aborts_without_tag: true,
    aborts_for_bundles: true,
    pads_returned_chunk: true,
    ignores_timers_in_shutdown: true,
    renews_bursts: true,
    replies_first: true,
    parts_sack_from_data: true,
    delays_small_messages: true,
    skips_first_fragment: true,
    keeps_idle_windows: true,
    probes_slowly: true,
    restarts_timer_cumulatively: true,
    discounts_pending: true,
    grows_in_recovery: true,
    recovers_all_paths: true,
    reports_across_paths: true,
    retransmits_first: true,
    retransmits_within_peer_window: true,
    exempts_foremost_only: true,
    timeout_sends_one: true,
    overfills_buffer: true,
    delivers_parts_when_full: true,
    delays_sack_of_last_gap: true,
    reports_window_before_reading: true,
    hears_data_in_order: true,
    ..RFC4960
};
