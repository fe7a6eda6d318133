//! Fast path of a transfer in order, after Jacobson's header prediction (1990): acknowledgements that say no more than that what
//! was sent has arrived, and full segments of new data while nothing is lost. Most segments of most connections take it. It does
//! what [`Sender::on_ack`] and the general way of sending do for them, without asking for what cannot be.

use super::control_events::AckReport;
use super::{Chunk, Sender};
use crate::tcp::chronograph::Wait;
use crate::tcp::recovery::Recovery;
use vazao_engine::{Duration, Time};

impl Sender {
    /// Returns whether the connection has none of what acts on any segment: pacing, bursts, rate samples, one-way delays, the
    /// measure of RFC 7661, a window that falls gradually without a loss, and a count of what is in the network apart from the
    /// scoreboard's.
    pub(super) fn has_fast_path(&self) -> bool {
        let acts = self.paced.is_some() || self.bursts.is_some() || self.usage.is_measured();
        let asks = self.board.measures_rates() || self.window.one_way.wanted || self.window.control.falls_gradually();
        !acts && !asks && self.repair.algorithm != Recovery::Pipe
    }

    /// Returns whether there is nothing to repair, undo, reduce or make up for.
    #[inline(always)]
    fn is_undisturbed(&self) -> bool {
        self.fast && !self.is_repairing() && self.short.is_empty()
    }

    /// Handles an acknowledgement of `offset`, of part of what is in flight, without data, SACK blocks and congestion mark, if all of
    /// that was sent once and arrived in order; `echo_rtt` is its round-trip time by the timestamp echo. Returns whether it was so;
    /// if not, nothing is done.
    #[inline(always)]
    pub fn on_ack_in_order(
        &mut self,
        now: Time,
        offset: u64,
        start: Option<u64>,
        window: u64,
        echo_rtt: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        let disturbed = !self.is_undisturbed()
            || self.repair.credit > 0
            || self.repair.vegas_checks > 0
            || self.undo.has_dsack()
            || self.reduction.is_under_way()
            || self.reduction.is_lossless()
            || self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.is_disturbed(self.stats.duplicate_reports));
        if disturbed {
            return false;
        }
        let flight = self.board.outstanding();
        let Some((first, last)) = self.board.acknowledge_in_order(offset) else { return false };
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.on_arrival(now, last, offset);
        }
        let same_window = self.peer.window == window;
        self.peer.update(self.host, self.octets.una, offset, start, window);
        let newly = offset - self.octets.una;
        self.octets.una = offset;
        self.marks.echoed = false;
        self.reduction.on_advance(false);
        (self.repair.duplicates, self.timer.expiries) = (0, 0);
        let coarse = if self.rules.rtt_by_timestamps { echo_rtt() } else { None };
        let (exact, latest) = (now.since(first), now.since(last));
        self.rtt.sample_with_flight(
            coarse.unwrap_or(exact).max(Duration::from_micros(1)),
            self.octets.una..self.octets.nxt,
        );
        self.stats.rtt.record(latest);
        if self.host.measures_sacked {
            self.rtt.observe(latest);
        }
        self.restart_timer(now);
        let (rtt, echo_rtt, padding) = (Some(latest), None, [0; 2]);
        let (delivered, advance, blocks, in_recovery) = (newly, newly, false, false);
        let report = AckReport { delivered, advance, same_window, blocks, flight, rtt, echo_rtt, in_recovery, padding };
        if let Some(deferred) = self.report_ack(now, report) {
            self.follow_ack(deferred);
        }
        true
    }

    /// Returns whether what is to be sent is a full segment of new data that the peer's window admits, and nothing is to be done
    /// before.
    #[inline(always)]
    pub(super) fn continues(&self) -> bool {
        let octets = self.octets.nxt + self.peer.mss;
        self.is_undisturbed()
            && octets <= self.octets.end.min(self.peer.edge)
            && self.octets.nxt >= self.octets.early
            && self.usage.idle_since == Time::NEVER
            && !(self.octets.fin || self.peer.persisting || self.board.has_pending())
            && !self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.probe.due)
    }

    /// Returns a full segment of new data where the transfer [continues](Self::continues), if the congestion window admits it.
    #[inline(always)]
    pub(super) fn next_full(&mut self, now: Time) -> Option<Chunk> {
        self.chronograph.busy.begin(now);
        self.chronograph.sndbuf_limited.end(now);
        let pipe = self.board.pipe();
        if pipe + self.peer.mss > self.allowance() && pipe > 0 {
            self.wait(now, Wait::CongestionWindow);
            return None;
        }
        let (start, span) = (self.octets.nxt, self.peer.mss as u32);
        self.board.push(start, span, now);
        self.octets.nxt += self.peer.mss;
        if !self.timer.is_set() {
            self.restart_timer(now);
        }
        self.reduction.on_sent(span);
        self.arm_probe(now);
        Some(Chunk { start, span, fin: false, new: true })
    }
}
