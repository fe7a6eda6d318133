//! What the congestion control is told of an acknowledgement.

use super::Sender;
use crate::tcp::cwv::Validation;
use crate::tcp::recovery::Episode;
use vazao_congestion::Ack;
use vazao_engine::{Duration, Time};

/// Facts about one acknowledgement for the congestion control, besides the sender's state.
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
    /// Reports an acknowledgement to the congestion control.
    #[inline]
    pub(super) fn report_ack(&mut self, now: Time, report: AckReport) {
        let AckReport { delivered, advance, same_window, blocks, flight, rtt, echo_rtt, in_recovery, padding } = report;
        // Linux grows the window by delivered data, on an acknowledgement that moves SND.UNA; on any where segments are known
        // to be reordered (tcp_may_raise_cwnd).
        let by_delivered = self.rack_tlp.is_some() || self.host.grows_by_delivered;
        let grows = advance > 0 || self.host.grows_in_disorder && self.is_reordered();
        let acked = if by_delivered && grows { delivered } else { advance }.min(self.rules.max_counted);
        let acked = acked + padding[1];
        // Linux waits for an octet sent after the last round began; in the historic recoveries, as in ns-2, it suffices
        // that everything sent before is acknowledged.
        let passed = if self.rack_tlp.is_some() { self.una > self.round_end } else { self.una >= self.round_end };
        let round = acked > 0 && passed;
        if round {
            self.round_end = self.nxt;
        }
        self.revalidate(now);
        let ack = Ack {
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
        };
        if let Some(rates) = self.board.rates() {
            rates.pending = Some(ack);
            return;
        }
        self.control.on_ack(&ack);
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
