//! Host personalities: what an endpoint does where the RFCs leave a choice or Linux deviates, one answer a question.

use vazao_engine::registry::choice;

choice! {
    /// Host personality by name.
    pub enum Host or "auto" {
        /// Follows the RFCs.
        Rfc = "rfc",
        /// Follows Linux (net/ipv4/tcp*.c of 6.12).
        Linux = "linux",
        /// Follows the RFCs as ns-2's agents do.
        Ns2 = "ns2",
    }
}

impl Host {
    /// Returns the answers of this host.
    #[inline]
    pub(super) const fn personality(self) -> &'static Personality {
        match self {
            Host::Rfc => &RFC,
            Host::Linux => &LINUX,
            Host::Ns2 => &NS2,
        }
    }
}

/// Answers of a host. Each is true where a host deviates from the RFCs; another one may combine them.
#[derive(Debug)]
pub(super) struct Personality {
    /// The payload uses the space of timestamps that the peer declined.
    pub uses_declined_options: bool,
    /// A SYN with data leaves room for the longest options, since middleboxes may add some (tcp_send_syn_data).
    pub reserves_syn_options: bool,
    /// The first retransmissions of a SYN are a timeout apart, without back-off.
    pub retries_syn_linearly: bool,
    /// A retransmitted SYN measures a round trip by its timestamp, which tells the copies apart (RFC 7323 section 4).
    pub measures_resent_syn: bool,
    /// One lost SYN leaves the initial window as it is (tcp_init_transfer; RFC 5681 section 3.1 says one segment).
    pub forgives_lost_syn: bool,
    /// The acknowledgement of the peer's SYN, or of a FIN that crossed ours, leaves at once by itself.
    pub acknowledges_apart: bool,
    /// A segment that ends at the last acknowledgement sent is acceptable: its timestamp counts (tcp_sequence).
    pub accepts_last_segment: bool,
    /// A reset is challenged between the last acknowledgement sent and the right edge of the window, both included
    /// (tcp_sequence; RFC 5961 section 3.2: within the window).
    pub challenges_at_edges: bool,
    /// An unacceptable acknowledgement of a SYN lets it go again two ticks later (tcp_rcv_synsent_state_process).
    pub repeats_refused_syn: bool,
    /// In a simultaneous open the peer's SYN, which comes again with its acknowledgement of ours, is reported as a duplicate
    /// (tcp_data_queue).
    pub reports_syn_again: bool,
    /// In ESTABLISHED, an ACK for data not yet sent is ignored, as by Linux before 7.1 and the fix's way into older series
    /// (tcp_ack).
    pub ignores_acks_ahead: bool,
    /// PAWS lets an acknowledgement pass that others have overtaken (tcp_disordered_ack).
    pub forgives_old_timestamps: bool,
    /// Challenge ACKs leave twice a second at most (tcp_oow_rate_limited; RFC 5961 section 7).
    pub limits_challenges: bool,
    /// The receive buffer and the delay of acknowledgements follow from the segments that arrive (tcp_rcv_space_adjust,
    /// tcp_event_data_recv).
    pub weighs_segments: bool,
    /// In TIME-WAIT a duplicate segment is acknowledged without a D-SACK.
    pub forgets_in_time_wait: bool,
    /// An acknowledgement that cannot be ordered does not update the window, unless it closes it
    /// (tcp_may_update_window).
    pub orders_window_updates: bool,
    /// Segments are cut to half of a window that is smaller than two of them.
    pub halves_small_windows: bool,
    /// PSH is set on data only, not on a FIN without data.
    pub keeps_push_from_fin: bool,
    /// The window grows by how much of it was used in the last round trip, and in slow start while half is in use
    /// (tcp_is_cwnd_limited).
    pub counts_use_of_window: bool,
    /// With bursts, the congestion window counts segments, whatever their length (tcp_packets_in_flight).
    pub counts_segments: bool,
    /// A short segment waits only for the acknowledgement of another short one (tcp_minshall_check), not of any data.
    pub waits_for_short: bool,
    /// The window grows by delivered data, on an acknowledgement that moves SND.UNA.
    pub grows_by_delivered: bool,
    /// The window grows by what is SACKed too, once segments arrived out of order by more than three (tcp_may_raise_cwnd).
    pub grows_in_disorder: bool,
    /// The window follows an acknowledgement only after losses have been looked for: what begins a recovery does not grow it
    /// (tcp_fastretrans_alert before tcp_cong_control), and an acknowledgement that others have overtaken leaves it as it is.
    pub grows_last: bool,
    /// The first segments are not paced.
    pub starts_unpaced: bool,
    /// A pacer sends bursts, and makes up for timers that are late (tcp_tso_autosize).
    pub paces_in_bursts: bool,
    /// A fast retransmission restarts the retransmission timer (ns-2's dupack_action, as BSD), not only an acknowledgement of
    /// new data (RFC 6298 section 5.3): a segment that is repaired behind a long queue then does not time out.
    pub restarts_timer: bool,
    /// The minimum RTO bounds four times RTTVAR, not the whole timeout (tcp_rtt_estimator).
    pub bounds_variation: bool,
    /// SACKed data that was sent once gives samples: the first for the RTO where the cumulative acknowledgement gives none, the
    /// last for the least round-trip time and the congestion control, as the last segment of a cumulative one
    /// (tcp_clean_rtx_queue, tcp_ack_update_rtt).
    pub measures_sacked: bool,
    /// Retransmissions other than the first never pass the right edge of the window (tcp_retransmit_skb).
    pub keeps_to_window_edge: bool,
    /// Duplicate acknowledgements that stood for data are forgotten when an episode ends.
    pub forgets_duplicates: bool,
    /// After F-RTO finds a loss, the retransmission waits for the window.
    pub waits_after_frto: bool,
    /// SACKed data before the next hole that was not acknowledged cumulatively has been discarded
    /// (tcp_check_sack_reneging).
    pub notices_reneging: bool,
    /// RACK looks for losses when something has arrived, not at an acknowledgement of nothing new (tcp_rack_mark_lost).
    pub awaits_arrivals: bool,
    /// RACK examines what it has called lost only after it was sent again, even if a loss detection proves spurious
    /// (tcp_rack_detect_loss takes it off its list).
    pub judges_once: bool,
    /// A D-SACK counts for any retransmission, and as delivered, unless there were no more retransmissions than reported
    /// (tcp_check_dsack); it ends a recovery once all are reported (tcp_try_undo_dsack), and widens RACK's window only where
    /// segments are known to be reordered (tcp_rack_update_reo_wnd). RFC 3708 and RFC 8985 leave the first to the sender.
    pub counts_duplicates: bool,
    /// An acknowledgement that shows a segment presumed lost to have been late declares none lost while retransmissions are
    /// in flight, and releases new data instead of further ones (tcp_try_undo_partial).
    pub rests_while_late: bool,
    /// A recovery that the reordering timer starts counts one segment as delivered (tcp_rack_reo_timeout).
    pub credits_reordering_timeout: bool,
    /// Timers of RACK and TLP are two milliseconds longer (TCP_TIMEOUT_MIN_US).
    pub adds_slack: bool,
    /// While a probe is unanswered its timer expires nevertheless, and is then set for the retransmission
    /// (tcp_send_loss_probe).
    pub resets_probe_timer: bool,
    /// The retransmission timer that follows a probe's uses the current RTO (tcp_rearm_rto).
    pub rearms_from_now: bool,
    /// A reduction starts from the window (prior_cwnd), not from the flight size (RFC 9937's RecoverFS).
    pub reduces_from_window: bool,
}

const RFC: Personality = Personality {
    uses_declined_options: false,
    reserves_syn_options: false,
    retries_syn_linearly: false,
    measures_resent_syn: false,
    forgives_lost_syn: false,
    acknowledges_apart: false,
    accepts_last_segment: false,
    challenges_at_edges: false,
    repeats_refused_syn: false,
    reports_syn_again: false,
    forgives_old_timestamps: false,
    ignores_acks_ahead: false,
    limits_challenges: false,
    weighs_segments: false,
    forgets_in_time_wait: false,
    orders_window_updates: false,
    halves_small_windows: false,
    keeps_push_from_fin: false,
    counts_use_of_window: false,
    counts_segments: false,
    waits_for_short: false,
    grows_by_delivered: false,
    grows_in_disorder: false,
    grows_last: false,
    starts_unpaced: false,
    paces_in_bursts: false,
    restarts_timer: false,
    bounds_variation: false,
    measures_sacked: false,
    keeps_to_window_edge: false,
    forgets_duplicates: false,
    waits_after_frto: false,
    notices_reneging: false,
    awaits_arrivals: false,
    judges_once: false,
    counts_duplicates: false,
    rests_while_late: false,
    credits_reordering_timeout: false,
    adds_slack: false,
    resets_probe_timer: false,
    rearms_from_now: false,
    reduces_from_window: false,
};

static NS2: Personality = Personality { restarts_timer: true, ..RFC };

static LINUX: Personality = Personality {
    uses_declined_options: true,
    reserves_syn_options: true,
    retries_syn_linearly: true,
    measures_resent_syn: true,
    forgives_lost_syn: true,
    acknowledges_apart: true,
    accepts_last_segment: true,
    challenges_at_edges: true,
    repeats_refused_syn: true,
    reports_syn_again: true,
    forgives_old_timestamps: true,
    ignores_acks_ahead: true,
    limits_challenges: true,
    weighs_segments: true,
    forgets_in_time_wait: true,
    orders_window_updates: true,
    halves_small_windows: true,
    keeps_push_from_fin: true,
    counts_use_of_window: true,
    counts_segments: true,
    waits_for_short: true,
    grows_by_delivered: true,
    grows_in_disorder: true,
    grows_last: true,
    starts_unpaced: true,
    paces_in_bursts: true,
    restarts_timer: false,
    bounds_variation: true,
    measures_sacked: true,
    keeps_to_window_edge: true,
    forgets_duplicates: true,
    waits_after_frto: true,
    notices_reneging: true,
    awaits_arrivals: true,
    judges_once: true,
    counts_duplicates: true,
    rests_while_late: true,
    credits_reordering_timeout: true,
    adds_slack: true,
    resets_probe_timer: true,
    rearms_from_now: true,
    reduces_from_window: true,
};
