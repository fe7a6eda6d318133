//! Samples of the round-trip time.

use super::Sender;
use vazao_engine::{Duration, Time};

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
            self.rtt.sample_with_flight(
                coarse.unwrap_or(exact).max(Duration::from_micros(1)),
                self.octets.una..self.octets.nxt,
            );
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
            self.rtt.sample_coarse(rtt.max(Duration::from_millis(1)), self.octets.una..self.octets.nxt);
        }
        None
    }

    /// Takes a sample for the RTO from SACKed data sent once, as Linux does; returns when the first of it left.
    pub(super) fn sample_sacked(&mut self, now: Time) -> Option<Time> {
        let first = self.board.first_newly_sacked().filter(|_| self.host.measures_sacked);
        if let Some(first) = first {
            self.rtt.sample_coarse(now.since(first), self.octets.una..self.octets.nxt);
        }
        first
    }

    /// Restarts the timer if the first segment was last sent after `sent`, when data SACKed now was: its acknowledgement cannot
    /// be there yet (FLAG_SET_XMIT_TIMER in Linux's tcp_clean_rtx_queue).
    pub(super) fn await_front(&mut self, now: Time, sent: Time) {
        if self.board.front().is_some_and(|front| sent < front.at) {
            self.restart_timer(now);
        }
    }

    /// Updates the least round-trip time from the last SACKed segment, or else from the last one of a `cumulative`
    /// acknowledgement; returns the sample.
    pub(super) fn observe(&mut self, now: Time, cumulative: Option<Duration>) -> Option<Duration> {
        let rtt = self.board.last_newly_sacked().map(|at| now.since(at)).or(cumulative);
        rtt.inspect(|&rtt| self.rtt.observe(rtt))
    }
}
