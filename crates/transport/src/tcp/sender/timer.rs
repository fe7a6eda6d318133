//! The sender's timer: it sends again, probes a window that is shut, or serves what recovers by time.

use super::Sender;
use crate::tcp::recovery::Episode;
use vazao_congestion::Signal;
use vazao_engine::{Duration, Time};

/// What the timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To send again what was not acknowledged in time, or to probe a window that is shut.
    Retransmission,
    /// To probe the tail (TLP).
    LossProbe,
    /// To call lost what has not arrived out of order (RACK).
    Reordering,
}

impl Sender {
    /// RFC 6298 measures from the first segment an ACK covers (a delayed one's wait is part of it); congestion controls
    /// and statistics from the last.
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
            let coarse = if self.rtt_by_timestamps { echo } else { None };
            self.rtt.sample_in(coarse.unwrap_or(exact).max(Duration::from_micros(1)), self.una..self.nxt);
            let latest = last.map(|last| now.since(last));
            if let Some(latest) = latest {
                self.stats.rtt.record(latest);
            }
            return latest;
        }
        // Only resent data was acknowledged: a timestamp tells which of its copies (RFC 7323 section 4), to the
        // millisecond. That is good enough for the timer, and for nothing else.
        if !self.sample_sacked(now)
            && let Some(rtt) = echo
        {
            self.rtt.sample_coarse(rtt.max(Duration::from_millis(1)), self.una..self.nxt);
        }
        None
    }

    /// Linux measures the timeout by what SACK blocks report too, if it was sent once. Whether there was any.
    pub(super) fn sample_sacked(&mut self, now: Time) -> bool {
        let first = self.board.first_news().filter(|_| self.lenient);
        if let Some(first) = first {
            self.rtt.sample_coarse(now.since(first), self.una..self.nxt);
        }
        first.is_some()
    }

    #[inline]
    pub(in crate::tcp) fn restart_timer(&mut self, now: Time) {
        self.timer = self.clock.expiry(now, self.rtt.rto());
        if self.modern.is_some() {
            (self.expiry, self.purpose) = (self.timer, Purpose::Retransmission);
            self.arm_probe(now);
        }
    }

    /// The receiver's window keeps data back. With nothing in flight no acknowledgement will come, so the timer must.
    #[cold]
    pub(in crate::tcp) fn persist(&mut self, now: Time) {
        if self.board.outstanding() == 0 && self.timer == Time::NEVER {
            self.persisting = true;
            self.restart_timer(now);
        }
    }

    /// The receiver's window let data out again: the timer that paced probes is free for it.
    #[cold]
    pub(super) fn resume(&mut self) {
        self.persisting = false;
        self.probe = false;
        self.expiries = 0;
        self.rtt.forget_back_off();
        self.timer = Time::NEVER;
    }

    /// The timer expired. False when the connection is to be given up.
    pub fn on_timeout(&mut self, now: Time) -> bool {
        match self.purpose {
            Purpose::Retransmission => return self.on_retransmission_timeout(now),
            Purpose::Reordering => self.stop_waiting(now),
            Purpose::LossProbe => self.want_probe(now),
        }
        true
    }

    fn on_retransmission_timeout(&mut self, now: Time) -> bool {
        self.expiries += 1;
        if self.expiries > self.retries {
            return false;
        }
        if self.board.outstanding() == 0 {
            // The receiver's window is shut: probe it, less and less often (RFC 9293 section 3.8.6.1). A peer that
            // answers may keep it shut as long as it likes.
            self.probe = self.nxt < self.finish();
            self.rtt.back_off();
            self.timer = if self.probe { self.clock.expiry(now, self.rtt.rto()) } else { Time::NEVER };
            return true;
        }
        self.stats.timeouts += 1;
        // One burst of losses cuts the threshold once: in a fast recovery, FlightSize is still what it was when that cut.
        // And where the receiver has shut the window again, what is sent into it is a probe.
        let probes = self.is_shut() && matches!(self.episode, Episode::Restart { .. });
        let first = self.expiries == 1 && !self.episode.is_fast() && !self.reduction.is_lossless() && !probes;
        self.reduce(now, if first { Signal::Timeout } else { Signal::RepeatedTimeout });
        self.lose_by_timeout(now);
        self.episode = Episode::Restart { recover: self.nxt };
        self.guard = self.nxt;
        self.duplicates = 0;
        // The earliest segment leaves (RFC 6298 section 5.4), also where what left shortly before fills the window.
        self.force = true;
        self.rtt.back_off();
        self.restart_timer(now);
        true
    }
}
