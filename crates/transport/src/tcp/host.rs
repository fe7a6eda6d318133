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

/// Declares the questions that a host answers.
macro_rules! personality {
    ($($(#[$deviation:meta])* $name:ident,)*) => {
        /// Answers of a host. Each is true where a host deviates from the RFCs; another one may combine them.
        #[derive(Debug)]
        pub(super) struct Personality {
            $($(#[$deviation])* pub $name: bool,)*
        }

        impl Personality {
            /// Host that deviates in everything, or in nothing.
            const fn deviating(always: bool) -> Personality {
                Personality { $($name: always,)* }
            }
        }
    };
}

personality! {
    /// The payload uses the space of timestamps that the peer declined.
    uses_declined_options,
    /// A SYN with data leaves room for the longest options, since middleboxes may add some (tcp_send_syn_data).
    reserves_syn_options,
    /// The first retransmissions of a SYN are a timeout apart, without back-off.
    retries_syn_linearly,
    /// A retransmitted SYN measures a round trip by its timestamp, which tells the copies apart (RFC 7323 section 4).
    measures_resent_syn,
    /// One lost SYN leaves the initial window as it is (tcp_init_transfer; RFC 5681 section 3.1 says one segment).
    forgives_lost_syn,
    /// The acknowledgement of the peer's SYN, or of a FIN that crossed ours, leaves at once by itself.
    acknowledges_apart,
    /// A segment that ends at the last acknowledgement sent is acceptable: its timestamp counts (tcp_sequence).
    accepts_last_segment,
    /// A reset is challenged between the last acknowledgement sent and the right edge of the window, both included
    /// (tcp_sequence; RFC 5961 section 3.2: within the window).
    challenges_at_edges,
    /// An unacceptable acknowledgement of a SYN lets it go again two ticks later (tcp_rcv_synsent_state_process).
    repeats_refused_syn,
    /// In a simultaneous open the peer's SYN, which comes again with its acknowledgement of ours, is reported as a duplicate
    /// (tcp_data_queue).
    reports_syn_again,
    /// In ESTABLISHED, an ACK for data not yet sent is ignored, as by Linux before 7.1 and the fix's way into older series
    /// (tcp_ack).
    ignores_acks_ahead,
    /// PAWS lets an acknowledgement pass that others have overtaken (tcp_disordered_ack).
    forgives_old_timestamps,
    /// Challenge ACKs leave twice a second at most (tcp_oow_rate_limited; RFC 5961 section 7).
    limits_challenges,
    /// The receive buffer and the delay of acknowledgements follow from the segments that arrive (tcp_rcv_space_adjust,
    /// tcp_event_data_recv).
    weighs_segments,
    /// In TIME-WAIT a duplicate segment is acknowledged without a D-SACK.
    forgets_in_time_wait,
    /// An acknowledgement that is no newer updates the window only if it enlarges or closes it
    /// (tcp_may_update_window).
    orders_window_updates,
    /// Segments are cut to half of a window that is smaller than two of them.
    halves_small_windows,
    /// PSH is set on data only, not on a FIN without data.
    keeps_push_from_fin,
    /// The window grows by how much of it was used in the last round trip, and in slow start while half is in use
    /// (tcp_is_cwnd_limited).
    counts_use_of_window,
    /// With bursts, the congestion window counts segments, whatever their length (tcp_packets_in_flight).
    counts_segments,
    /// A short segment waits only for the acknowledgement of another short one (tcp_minshall_check), not of any data.
    waits_for_short,
    /// The window grows by delivered data, on an acknowledgement that moves SND.UNA.
    grows_by_delivered,
    /// The window grows by what is SACKed too, once segments arrived out of order by more than three (tcp_may_raise_cwnd).
    grows_in_disorder,
    /// The window follows an acknowledgement only after losses have been looked for: what begins a recovery does not grow it
    /// (tcp_fastretrans_alert before tcp_cong_control), and an acknowledgement that others have overtaken leaves it as it is.
    grows_last,
    /// The first segments are not paced.
    starts_unpaced,
    /// A pacer sends bursts, and makes up for timers that are late (tcp_tso_autosize).
    paces_in_bursts,
    /// A fast retransmission restarts the retransmission timer (ns-2's dupack_action, as BSD), not only an acknowledgement of
    /// new data (RFC 6298 section 5.3): a segment that is repaired behind a long queue then does not time out.
    restarts_timer,
    /// The minimum RTO bounds four times RTTVAR, not the whole timeout (tcp_rtt_estimator).
    bounds_variation,
    /// SACKed data that was sent once gives samples: the first for the RTO where the cumulative acknowledgement gives none, the
    /// last for the least round-trip time and the congestion control, as the last segment of a cumulative one
    /// (tcp_clean_rtx_queue, tcp_ack_update_rtt).
    measures_sacked,
    /// Retransmissions other than the first never pass the right edge of the window (tcp_retransmit_skb).
    keeps_to_window_edge,
    /// Duplicate acknowledgements that stood for data are forgotten when an episode ends.
    forgets_duplicates,
    /// After F-RTO finds a loss, the retransmission waits for the window.
    waits_after_frto,
    /// SACKed data before the next hole that was not acknowledged cumulatively has been discarded
    /// (tcp_check_sack_reneging).
    notices_reneging,
    /// RACK looks for losses when something has arrived, not at an acknowledgement of nothing new (tcp_rack_mark_lost).
    awaits_arrivals,
    /// RACK examines what it has called lost only after it was sent again, even if a loss detection proves spurious
    /// (tcp_rack_detect_loss takes it off its list).
    judges_once,
    /// A D-SACK counts for any retransmission, and as delivered, unless there were no more retransmissions than reported
    /// (tcp_check_dsack); it ends a recovery once all are reported (tcp_try_undo_dsack), and widens RACK's window only where
    /// segments are known to be reordered (tcp_rack_update_reo_wnd). RFC 3708 and RFC 8985 leave the first to the sender.
    counts_duplicates,
    /// An acknowledgement that shows a segment presumed lost to have been late declares none lost while retransmissions are
    /// in flight, and releases new data instead of further ones (tcp_try_undo_partial).
    rests_while_late,
    /// A recovery that the reordering timer starts counts one segment as delivered (tcp_rack_reo_timeout).
    credits_reordering_timeout,
    /// Timers of RACK and TLP are two milliseconds longer (TCP_TIMEOUT_MIN_US).
    adds_slack,
    /// While a probe is unanswered its timer expires nevertheless, and is then set for the retransmission
    /// (tcp_send_loss_probe).
    resets_probe_timer,
    /// The retransmission timer that follows a probe's uses the current RTO (tcp_rearm_rto).
    rearms_from_now,
    /// A reduction starts from the window (prior_cwnd), not from the flight size (RFC 9937's RecoverFS).
    reduces_from_window,
}

static RFC: Personality = Personality::deviating(false);
static NS2: Personality = Personality { restarts_timer: true, ..Personality::deviating(false) };
static LINUX: Personality = Personality { restarts_timer: false, ..Personality::deviating(true) };
