//! Reductions of the congestion window: for a loss, a timeout, ECE or a delay, at once or by proportional rate reduction.

use super::Sender;
use crate::tcp::acknowledgement::Before;
use crate::tcp::reduction::Delivery;
use vazao_congestion::{Congestion, Signal};
use vazao_engine::Time;

impl Sender {
    /// Reports a loss or a timeout to the congestion control and remembers it for a possible undo.
    pub(super) fn reduce(&mut self, now: Time, signal: Signal) {
        let (repairing, copies) = (self.board.is_repairing(), self.board.resent_segments());
        match signal {
            Signal::Loss | Signal::Restart => self.undo.on_loss(self.octets.una, repairing, copies),
            Signal::Timeout | Signal::RepeatedTimeout => {
                let afresh = !self.is_repairing() || signal == Signal::RepeatedTimeout;
                self.undo.on_timeout(self.octets.una, afresh && !self.in_recovery(), repairing);
                self.board.watch_below(self.octets.nxt);
            }
            Signal::Mark => self.undo.forget(),
        }
        self.marks.on_reduction(self.octets.nxt);
        self.signal(now, signal, self.flight());
    }

    /// Signals congestion to the congestion control, with `flight` octets outstanding.
    pub(super) fn signal(&mut self, now: Time, signal: Signal, flight: u64) {
        let (srtt, min_rtt) = (self.rtt.srtt(), self.rtt.min());
        let flight = self.usage.judged_flight(now, flight, srtt);
        self.window.on_congestion(&Congestion { now, signal, flight, srtt, min_rtt });
    }

    /// Handles ECE like a loss, at most once a round trip, without retransmissions (RFC 3168 section 6.1.2). `before` is the
    /// first octet that was unacknowledged when it arrived.
    #[cold]
    pub(super) fn on_echo(&mut self, now: Time, before: u64) {
        if self.is_repairing() || !self.marks.calls_for_reduction(self.octets.una) {
            return;
        }
        let flight = self.octets.nxt - before;
        self.stats.mark_reductions += 1;
        self.marks.on_reduction(self.octets.nxt);
        let from = self.reduction.base(self.window.cwnd, flight);
        self.signal(now, Signal::Mark, flight);
        self.reduce_without_loss(from);
    }

    /// Begins a reduction that the congestion control asks for without a loss, with `flight` octets outstanding.
    #[cold]
    pub(super) fn reduce_for_delay(&mut self, flight: u64) {
        self.marks.on_reduction(self.octets.nxt);
        self.reduce_without_loss(self.reduction.base(self.window.cwnd, flight));
        self.reduction.skip_acknowledgement();
    }

    /// Begins a reduction from `from` bytes to ssthresh over a round trip. A congestion control that measures rates sets its window
    /// itself.
    fn reduce_without_loss(&mut self, from: u64) {
        self.undo.forget();
        if !self.board.measures_rates() {
            let ssthresh = self.window.control.ssthresh();
            self.reduction.begin_lossless(self.peer.mss, ssthresh, from, self.octets.nxt);
        }
    }

    /// Ends a reduction without loss when its round trip is over.
    #[cold]
    pub(super) fn end_lossless_reduction(&mut self) {
        self.reduction.end();
        self.window.on_recovered(u64::MAX);
        self.window.round_end = self.octets.nxt;
    }

    /// Sets the window after an acknowledgement in a reduction; `further` if it revealed a further loss.
    pub(super) fn reduce_in_proportion(&mut self, before: Before, further: bool) {
        let delivery = Delivery {
            delivered: before.delivered(self.octets.una, self.board.sacked()),
            pipe: self.board.pipe(),
            advanced: self.octets.una > before.una,
            new_sacks: before.new_sacks,
            further,
        };
        if let Some(cwnd) = self.reduction.window_after(&delivery) {
            self.window.cwnd = cwnd;
        }
    }
}
