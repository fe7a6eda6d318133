//! Events that the congestion control is told of: acknowledgements, and data about to leave.

use super::Sender;
use crate::tcp::rate::Rates;
use crate::tcp::recovery::Episode;
use vazao_congestion::{Ack, Sending};
use vazao_engine::{Duration, Time};

/// Acknowledgement that the window follows only after loss detection.
pub(super) type Deferred = (Ack, AckReport);

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
    /// Reports an acknowledgement to the congestion control. In Linux these are its measurements alone: what is returned goes to
    /// [`follow_ack`](Self::follow_ack) after loss detection.
    #[inline]
    pub(super) fn report_ack(&mut self, now: Time, report: AckReport) -> Option<Deferred> {
        let mut ack = self.event(now, &report);
        if let Some(rates) = self.board.rates() {
            rates.pending = Some(ack);
            return None;
        }
        if self.host.grows_last {
            ack.observed = self.window.control.observe(&ack);
            if !self.is_uneventful(&report) {
                return Some((ack, report));
            }
        }
        self.follow(&ack, report.flight);
        None
    }

    /// Whether an acknowledgement affects neither loss detection nor a reduction, as most do not.
    #[inline]
    fn is_uneventful(&self, report: &AckReport) -> bool {
        report.advance > 0
            && !self.is_repairing()
            && self.board.is_all_in_network()
            && !self.reduction.is_under_way()
            && !self.marks.echoed
            && !self.undo.has_dsack()
            && self.rack_tlp.as_ref().is_none_or(|rack_tlp| !rack_tlp.probe.is_unanswered())
    }

    /// Adjusts the window to a deferred acknowledgement, in the state after loss detection.
    #[inline]
    pub(super) fn follow_ack(&mut self, (mut ack, report): Deferred) {
        ack.acked = self.counted(&report);
        ack.in_recovery |= self.in_recovery() || self.reduction.is_lossless();
        ack.after_timeout = matches!(self.repair.episode, Episode::Restart { .. });
        (ack.pipe, ack.window_limited) = (self.board.pipe(), ack.window_limited || self.usage.uses(&self.window));
        let reduced = self.reduction.is_under_way().then_some(self.window.cwnd);
        self.follow(&ack, report.flight);
        self.window.cwnd = reduced.unwrap_or(self.window.cwnd);
    }

    /// Octets by which an acknowledgement lets the window grow. Linux grows the window by delivered data, on an acknowledgement that moves
    /// SND.UNA; on any where segments are known to be reordered (tcp_may_raise_cwnd).
    fn counted(&self, report: &AckReport) -> u64 {
        let &AckReport { delivered, advance, padding, .. } = report;
        let by_delivered = self.rack_tlp.is_some() || self.host.grows_by_delivered;
        let grows = advance > 0 || self.is_reordered();
        let acked = if by_delivered && grows { delivered } else { advance }.min(self.rules.max_counted);
        acked + padding[1]
    }

    /// Whether segments are known to be reordered, so that the window grows in disorder too.
    fn is_reordered(&self) -> bool {
        self.host.grows_in_disorder && self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.is_reordered())
    }

    /// Returns the event for the congestion control, and ends the round trip that the acknowledgement ends.
    #[inline]
    fn event(&mut self, now: Time, report: &AckReport) -> Ack {
        let &AckReport { delivered, advance, same_window, blocks, flight, rtt, echo_rtt, in_recovery, padding } =
            report;
        let acked = self.counted(report);
        // Linux waits for an octet sent after the last round began; in the historic recoveries, as in ns-2, it suffices
        // that everything sent before is acknowledged.
        let passed = if self.rack_tlp.is_some() {
            self.octets.una > self.window.round_end
        } else {
            self.octets.una >= self.window.round_end
        };
        let round = acked > 0 && passed;
        if round {
            self.window.round_end = self.octets.nxt;
        }
        self.usage.revalidate(now, &mut self.window, &self.octets, self.rtt.srtt());
        let flown = self.octets.una - advance..self.octets.nxt;
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
            window_limited: self.usage.update(flown, flight + padding[0], &self.window),
            in_recovery: in_recovery || self.marks.suspends_growth(self.octets.una) || self.reduction.is_lossless(),
            after_timeout: matches!(self.repair.episode, Episode::Restart { .. }),
            marked: if self.marks.echoed { delivered } else { 0 },
            pipe: self.board.pipe(),
            one_way: self.window.one_way.delay.filter(|_| advance > 0),
            untimed: self.window.one_way.is_unknown,
            ..Ack::default()
        }
    }

    /// Tells the congestion control of an acknowledgement, and takes over its window.
    #[inline]
    fn follow(&mut self, ack: &Ack, flight: u64) {
        self.window.control.on_ack(ack);
        let cwnd = self.window.control.cwnd();
        if cwnd < self.window.cwnd && !ack.in_recovery && self.window.control.falls_gradually() {
            return self.reduce_for_delay(flight);
        }
        self.window.cwnd = cwnd;
    }

    /// Tells a congestion control that measures rates that data is about to leave.
    #[inline(never)]
    pub(super) fn before_send(&mut self, now: Time) {
        let losses = self.board.losses();
        let Some(rates) = self.board.rates() else { return };
        rates.count_losses(losses);
        let app_limited = rates.sampler.is_app_limited();
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
        let sending = Sending { now, flight: self.board.pipe(), app_limited, srtt, min_rtt };
        self.window.update(|control| control.on_send(&sending));
    }

    /// Reports an acknowledgement to a congestion control that measures rates, after loss detection; `losses` octets were lost
    /// before.
    #[inline(never)]
    pub(super) fn report_with_rate(&mut self, now: Time, losses: u64) {
        let (pipe, min_rtt, total) = (self.board.pipe(), self.rtt.min(), self.board.losses());
        let lost = total - losses;
        let (in_recovery, is_repairing) = (self.in_recovery(), self.is_repairing());
        let held = self.paced.as_ref().map_or(Duration::ZERO, |paced| paced.pacer.release().since(now));
        let Some(rates) = self.board.rates() else { return };
        rates.count_losses(total);
        let Rates { sampler, pending, .. } = rates;
        let Some(ack) = pending else { return };
        // Updated in place to avoid copying the large struct.
        ack.rate = sampler.sample(now, ack.delivered, min_rtt);
        (ack.pipe, ack.lost, ack.held) = (pipe, lost, held);
        (ack.in_recovery, ack.after_timeout) = (in_recovery, is_repairing && !in_recovery);
        self.window.on_ack(ack);
        *pending = None;
    }
}
