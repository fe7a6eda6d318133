//! Processing of acknowledgements: the order in which the mechanisms look at each.

use super::Sender;
use super::control_events::{AckReport, Deferred};
use crate::tcp::acknowledgement::{Acknowledgement, Before};
use crate::tcp::recovery::{Episode, Recovery};
use vazao_engine::Time;

impl Sender {
    /// Handles an acknowledgement of SND.UNA or later.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Acknowledgement) {
        let same_window = self.peer.window == ack.window;
        let (una, losses) = (self.octets.una, self.board.losses());
        self.peer.update(self.host, una, ack.offset, ack.start, ack.window);
        let sacked = self.board.sacked() - ack.sacked;
        let before = Before { una, sacked, repeated: self.undo.reported(self.peer.mss), new_sacks: ack.sacked > 0 };
        self.marks.echoed = ack.echo;
        let mut deferred = None;
        if ack.offset > una {
            deferred = self.on_new_ack(now, ack, same_window);
        } else {
            if self.board.outstanding() == 0 || self.is_window_closed() {
                self.timer.expiries = 0; // The answer to a probe shows that the peer is alive.
            }
            if self.is_repairing() || self.undo.has_dsack() {
                self.check_spurious(now, ack, self.repair.episode, una);
            }
        }
        // RFC 5681 section 2; RFC 6675 section 2: with SACK, any ACK that reports new data.
        let same = ack.bare && same_window && ack.offset == una;
        if self.board.outstanding() > 0 && if self.repair.selective { ack.sacked > 0 } else { same } {
            if ack.offset == una {
                deferred = self.report_duplicate(now, ack, same_window);
            }
            self.on_duplicate_ack(now, before);
        }
        if ack.echo {
            self.on_echo(now, una);
        }
        self.repair(now, ack, before, losses);
        self.undo.forget_reports();
        if let Some(deferred) = deferred {
            self.follow_ack(deferred);
        }
    }

    /// Handles a reordered acknowledgement of less than SND.UNA. Its SACK blocks still count (RFC 6675 section 5: any
    /// acknowledgement updates the scoreboard), which makes it a duplicate (section 2). Its window and RTT are out of
    /// date.
    #[cold]
    pub fn on_late_ack(&mut self, now: Time, ack: &Acknowledgement) {
        let new_sacks = ack.sacked > 0;
        if !new_sacks && !self.undo.has_dsack() {
            return;
        }
        // Linux goes without tcp_cong_control here, so that PRR counts nothing as delivered.
        let counted = if self.host.grows_last { 0 } else { ack.sacked };
        let before = Before { una: self.octets.una, sacked: self.board.sacked() - counted, repeated: 0, new_sacks };
        self.undo.forget_reports();
        self.check_spurious(now, ack, self.repair.episode, self.octets.una);
        if new_sacks {
            self.on_duplicate_ack(now, before);
        }
        self.repair(now, ack, before, self.board.losses());
    }

    /// Detects losses after an acknowledgement; `losses` octets had been lost before it.
    #[inline]
    fn repair(&mut self, now: Time, ack: &Acknowledgement, before: Before, losses: u64) {
        if self.rack_tlp.is_some() {
            self.repair_by_time(now, ack, before);
        } else if self.repair.algorithm == Recovery::Pipe {
            self.repair_by_pipe(before);
        } else if self.repair.selective && (ack.sacked > 0 || self.board.has_pending() || self.reduction.is_under_way())
        {
            self.detect_losses(now, before);
        }
        if self.board.measures_rates() {
            self.report_with_rate(now, losses);
        }
    }

    /// Handles an acknowledgement of new data.
    #[inline]
    fn on_new_ack(&mut self, now: Time, ack: &Acknowledgement, same_window: bool) -> Option<Deferred> {
        let mss = self.peer.mss;
        let (flight, padding) = (self.flight(), self.short.padding(&self.board, mss));
        let newly = ack.offset - self.octets.una;
        let acked = self.board.acknowledge(ack.offset);
        let padding = [padding, self.short.take_padding(&self.board, mss)];
        self.octets.una = ack.offset;
        self.reduction.on_advance(acked.resent);
        if let Some(bursts) = &mut self.bursts {
            bursts.buffer.acknowledge(ack.offset);
        }
        self.repair.duplicates = 0;
        let rtt = self.sample_rtt(now, acked.first_sent, acked.last_sent, ack.echo_rtt);
        self.window.one_way.measure(rtt, ack.return_delay_ms);
        let was = self.repair.episode;
        let restart_timer = self.advance_recovery(newly);
        let undone =
            (was != Episode::None || self.undo.has_dsack()) && self.check_spurious(now, ack, was, ack.offset - newly);
        if was.is_fast()
            && self.octets.una >= was.recover()
            && let Some(rack_tlp) = &mut self.rack_tlp
        {
            rack_tlp.rack.on_recovered(undone);
        }
        self.timer.expiries = 0;
        if self.board.outstanding() == 0 {
            if self.octets.una == self.octets.finish() {
                self.chronograph.busy.end(now);
            }
            self.timer.stop();
            self.usage.idle_since = acked.last_sent.unwrap_or(now);
        } else if restart_timer {
            self.restart_timer(now);
        }
        let credit = self.repair.take_credit(newly, mss);
        if self.host.forgets_duplicates && was != Episode::None && !self.is_repairing() {
            self.repair.credit = 0;
        }
        let deferred = self.report_ack(
            now,
            AckReport {
                delivered: newly - acked.sacked - credit + ack.sacked + self.undo.reported(mss),
                advance: newly,
                same_window,
                blocks: ack.blocks,
                flight,
                rtt,
                echo_rtt: ack.echo_rtt.filter(|_| rtt.is_none()),
                // Linux grows the window on the acknowledgement that ends a recovery too.
                in_recovery: if self.rack_tlp.is_some() { self.in_recovery() } else { was.is_fast() },
                padding,
            },
        );
        if self.repair.vegas_checks > 0 {
            self.check_vegas(now);
        }
        deferred
    }

    /// Reports a duplicate acknowledgement to the congestion control, with the samples that SACKed data gives.
    fn report_duplicate(&mut self, now: Time, ack: &Acknowledgement, same_window: bool) -> Option<Deferred> {
        let mss = self.peer.mss;
        if let Some(sent) = self.sample_sacked(now) {
            self.observe(now, None);
            self.await_front(now, sent);
        }
        self.report_ack(
            now,
            AckReport {
                delivered: if self.repair.selective { ack.sacked + self.undo.reported(mss) } else { mss },
                advance: 0,
                same_window,
                blocks: ack.blocks,
                flight: self.flight(),
                rtt: self.board.last_newly_acked().map(|at| now.since(at)),
                echo_rtt: None,
                in_recovery: self.in_recovery(),
                padding: [self.short.padding(&self.board, mss), 0],
            },
        )
    }

    /// Advances the episode after `newly` octets were acknowledged; returns whether to restart the timer.
    #[inline]
    fn advance_recovery(&mut self, newly: u64) -> bool {
        let (una, mss) = (self.octets.una, self.peer.mss);
        let Episode::Fast { recover, inflation, first_partial } = self.repair.episode else {
            if self.is_repairing() && una >= self.repair.episode.recover() {
                self.repair.episode = Episode::None;
                self.window.round_end = self.octets.nxt;
            }
            if self.reduction.is_lossless_over(una) {
                self.end_lossless_reduction();
            }
            return true;
        };
        if una >= recover || self.repair.algorithm == Recovery::Reno {
            self.repair.episode = Episode::None;
            // RFC 6582's rule against bursts; it helps the other recoveries without gradual reduction as well.
            let gradual = self.rack_tlp.is_some() || self.reduction.is_under_way();
            let flight = if gradual { u64::MAX } else { self.flight() };
            self.reduction.end();
            self.window.on_recovered(flight);
            self.window.round_end = self.octets.nxt;
            return true;
        }
        if self.repair.selective {
            return true;
        }
        // RFC 6582 section 3.2 step 3: a partial acknowledgement reveals the next hole. Deflate the window by the
        // amount acknowledged and add back a segment. Only the first one restarts the timer.
        self.board.declare_front_lost(false);
        self.repair.force = true;
        let inflation = inflation - newly as i64 + if newly >= mss { mss as i64 } else { 0 };
        self.repair.episode = Episode::Fast { recover, inflation, first_partial: false };
        first_partial
    }
}
