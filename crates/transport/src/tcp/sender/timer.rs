//! The sender's timer: retransmission, zero-window probes, loss probes and RACK's reordering timer.

use super::Sender;
use crate::tcp::recovery::Episode;
use vazao_congestion::Signal;
use vazao_engine::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Retransmission, or a zero-window probe.
    Retransmission,
    /// Tail loss probe (TLP).
    LossProbe,
    /// Marking overtaken segments lost (RACK).
    Reordering,
}

impl Sender {
    /// Takes the RTT sample of an acknowledgement. RFC 6298 measures from the first segment that it covers, including
    /// the ACK delay; congestion controls and statistics from the last, which is returned.
    #[inline]
    pub(super) fn sample_rtt(
        &mut self,
        now: Time,
        first: Option<Time>,
        last: Option<Time>,
        echo: Option<Duration>,
    ) -> Option<Duration> {
        if let Some(first) = first {
            let exact = now.since(first);
            let coarse = if self.rules.rtt_by_timestamps { echo } else { None };
            self.rtt.sample_with_flight(coarse.unwrap_or(exact).max(Duration::from_micros(1)), self.una..self.nxt);
            let latest = last.map(|last| now.since(last));
            if let Some(latest) = latest {
                self.stats.rtt.record(latest);
            }
            return if self.host.measures_sacked { self.observe(now, latest) } else { latest };
        }
        // Only retransmitted data was acknowledged: a timestamp tells which copy (RFC 7323 section 4), to the
        // millisecond. That is accurate enough for the timer only.
        if self.sample_sacked(now).is_some() {
            return self.observe(now, None);
        }
        if let Some(rtt) = echo {
            self.rtt.sample_coarse(rtt.max(Duration::from_millis(1)), self.una..self.nxt);
        }
        None
    }

    /// Takes a sample for the RTO from SACKed data sent once, as Linux does; returns when the first of it left.
    pub(super) fn sample_sacked(&mut self, now: Time) -> Option<Time> {
        let first = self.board.first_newly_sacked().filter(|_| self.host.measures_sacked);
        if let Some(first) = first {
            self.rtt.sample_coarse(now.since(first), self.una..self.nxt);
        }
        first
    }

    /// Restarts the timer where data SACKed now was `sent` before the first segment last was: the answer to that one cannot be
    /// there yet, however long it takes (FLAG_SET_XMIT_TIMER in Linux's tcp_clean_rtx_queue).
    pub(super) fn await_front(&mut self, now: Time, sent: Time) {
        if self.board.front().is_some_and(|front| sent < front.at) {
            self.restart_timer(now);
        }
    }

    /// Records the round-trip time of the last SACKed segment, or else of the last one of a cumulative acknowledgement, as
    /// the least if it is; returns it.
    pub(super) fn observe(&mut self, now: Time, cumulative: Option<Duration>) -> Option<Duration> {
        let rtt = self.board.last_newly_sacked().map(|at| now.since(at)).or(cumulative);
        rtt.inspect(|&rtt| self.rtt.observe(rtt))
    }

    #[inline]
    pub(in crate::tcp) fn restart_timer(&mut self, now: Time) {
        self.timer = self.clock.expiry(now, self.rtt.rto());
        if self.rack_tlp.is_some() {
            (self.expiry, self.purpose) = (self.timer, Purpose::Retransmission);
            self.arm_probe(now);
        }
    }

    /// Arms the persist timer when the receiver's window is closed and no acknowledgement is outstanding.
    #[cold]
    pub(in crate::tcp) fn persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && self.timer == Time::NEVER {
            self.persisting = true;
            self.restart_timer(now);
        }
    }

    /// Ends zero-window probing when the window has opened.
    #[cold]
    pub(super) fn resume(&mut self) {
        self.persisting = false;
        self.probe = false;
        self.expiries = 0;
        self.rtt.forget_back_off();
        self.timer = Time::NEVER;
    }

    /// Handles expiry of the timer; returns false if the connection must be aborted.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        match self.purpose {
            Purpose::Retransmission => return self.on_retransmission_timeout(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
            Purpose::LossProbe => self.request_probe(now),
        }
        true
    }

    fn on_retransmission_timeout(&mut self, now: Time) -> bool {
        self.expiries += 1;
        if self.expiries > self.rules.retries {
            return false;
        }
        if self.board.outstanding() == 0 {
            // The receiver's window is closed: probe it with exponential back-off (RFC 9293 section 3.8.6.1). A peer
            // that answers may keep it closed indefinitely.
            self.probe = self.nxt < self.finish();
            self.rtt.back_off();
            self.timer = if self.probe { self.clock.expiry(now, self.rtt.rto()) } else { Time::NEVER };
            return true;
        }
        self.stats.timeouts += 1;
        // A burst of losses reduces ssthresh only once: in fast recovery it was reduced for the same flight. After the
        // receiver has closed the window again, a retransmission is only a probe.
        let probes = self.is_window_closed() && matches!(self.episode, Episode::Restart { .. });
        let first = self.expiries == 1 && !self.episode.is_fast() && !self.reduction.is_lossless() && !probes;
        self.reduce(now, if first { Signal::Timeout } else { Signal::RepeatedTimeout });
        self.declare_lost_on_timeout(now);
        self.episode = Episode::Restart { recover: self.nxt };
        self.guard = self.nxt;
        self.duplicates = 0;
        // The earliest segment is retransmitted (RFC 6298 section 5.4) even if recent transmissions fill the window.
        self.force = true;
        self.rtt.back_off();
        self.restart_timer(now);
        true
    }
}
