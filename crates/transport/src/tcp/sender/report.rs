//! What the congestion control is told of an acknowledgement.

use super::Sender;
use crate::tcp::cwv::Validation;
use crate::tcp::recovery::Episode;
use vazao_congestion::Ack;
use vazao_engine::{Duration, Time};

/// Facts about one acknowledgement for the congestion control, besides the sender's state.
#[derive(Clone, Copy)]
pub(super) struct AckReport {
    pub delivered: u64,
    pub advance: u64,
    pub same_window: bool,
    pub blocks: bool,
    pub flight: u64,
    pub rtt: Option<Duration>,
    pub echo_rtt: Option<Duration>,
    pub in_recovery: bool,
    /// Octets by which short segments fall short of full ones: those in flight, and the acknowledged ones of these.
    pub padding: [u64; 2],
}

impl Sender {
    /// Reports an acknowledgement to the congestion control. In Linux that is its measurements alone: what is returned goes to
    /// [`follow_ack`](Self::follow_ack) once losses have been looked for.
    #[inline]
    pub(super) fn report_ack(&mut self, now: Time, report: AckReport) -> Option<(Ack, AckReport)> {
        let mut ack = self.event(now, &report);
        if let Some(rates) = self.board.rates() {
            rates.pending = Some(ack);
            return None;
        }
        if self.host.grows_last {
            ack.observed = self.control.observe(&ack);
            if !self.is_uneventful(&report) {
                return Some((ack, report));
            }
        }
        self.follow(&ack, report.flight);
        None
    }

    /// Whether an acknowledgement can neither show a loss nor meet anything under way, as most are.
    #[inline]
    fn is_uneventful(&self, report: &AckReport) -> bool {
        report.advance > 0
            && self.episode == Episode::None
            && self.board.sacked() == 0
            && self.board.pipe() == self.board.outstanding()
            && !self.reduction.is_under_way()
            && !self.marks.echoed
            && !self.undo.has_dsack()
            && self.rack_tlp.as_ref().is_none_or(|rack_tlp| !rack_tlp.probe.is_unanswered())
    }

    /// Adjusts the window to an acknowledgement, in the state that looking for losses has left.
    #[inline]
    pub(super) fn follow_ack(&mut self, (mut ack, report): (Ack, AckReport)) {
        ack.acked = self.counted(&report);
        ack.in_recovery |= self.episode.is_fast() || self.reduction.is_lossless();
        ack.after_timeout = matches!(self.episode, Episode::Restart { .. });
        (ack.pipe, ack.window_limited) = (self.board.pipe(), ack.window_limited || self.uses_window());
        let reduced = self.reduction.is_under_way().then_some(self.cwnd);
        self.follow(&ack, report.flight);
        self.cwnd = reduced.unwrap_or(self.cwnd);
    }

    /// Octets that an acknowledgement counts for. Linux grows the window by delivered data, on an acknowledgement that moves
    /// SND.UNA; on any where segments are known to be reordered (tcp_may_raise_cwnd).
    fn counted(&self, report: &AckReport) -> u64 {
        let &AckReport { delivered, advance, padding, .. } = report;
        let by_delivered = self.rack_tlp.is_some() || self.host.grows_by_delivered;
        let grows = advance > 0 || self.host.grows_in_disorder && self.is_reordered();
        let acked = if by_delivered && grows { delivered } else { advance }.min(self.rules.max_counted);
        acked + padding[1]
    }

    /// Returns the event for the congestion control.
    #[inline]
    fn event(&mut self, now: Time, report: &AckReport) -> Ack {
        let &AckReport { delivered, advance, same_window, blocks, flight, rtt, echo_rtt, in_recovery, padding } =
            report;
        let acked = self.counted(report);
        // Linux waits for an octet sent after the last round began; in the historic recoveries, as in ns-2, it suffices
        // that everything sent before is acknowledged.
        let passed = if self.rack_tlp.is_some() { self.una > self.round_end } else { self.una >= self.round_end };
        let round = acked > 0 && passed;
        if round {
            self.round_end = self.nxt;
        }
        self.revalidate(now);
        Ack {
            now,
            acked,
            delivered,
            advance,
            blocks,
            same_window,
            flight,
            rtt,
            echo_rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            round,
            window_limited: self.is_window_limited(flight + padding[0], self.una - advance),
            in_recovery: in_recovery || self.marks.suspends_growth(self.una) || self.reduction.is_lossless(),
            after_timeout: matches!(self.episode, Episode::Restart { .. }),
            marked: if self.marks.echoed { delivered } else { 0 },
            pipe: self.board.pipe(),
            one_way: self.one_way.filter(|_| advance > 0),
            untimed: self.untimed,
            ..Ack::default()
        }
    }

    /// Tells the congestion control of an acknowledgement, and takes over its window.
    #[inline]
    fn follow(&mut self, ack: &Ack, flight: u64) {
        self.control.on_ack(ack);
        let cwnd = self.control.cwnd();
        if cwnd < self.cwnd && !ack.in_recovery && self.control.falls_gradually() {
            return self.reduce_for_delay(self.reduction_base(flight));
        }
        self.cwnd = cwnd;
    }

    /// Whether the congestion window limited the `flight` from `una` on when an acknowledgement came.
    #[inline]
    fn is_window_limited(&mut self, flight: u64, una: u64) -> bool {
        if !self.host.counts_use_of_window {
            return self.window_limited || self.rules.validation == Validation::Grow;
        }
        self.usage.update(una, self.nxt, flight, self.window_limited);
        self.uses_window()
    }
}
