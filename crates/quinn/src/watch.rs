//! Measurements that the library passes to its congestion control alone: round-trip times, bytes in flight, cuts of the
//! window.

use vazao_engine::{Duration, Histogram, Time};

/// Measurements so far.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Round-trip times: one for each acknowledgement, of the latest packet that it acknowledges.
    pub rtt: Histogram,
    /// The last round-trip time.
    pub latest: Option<Duration>,
    /// Bytes in flight.
    pub flight: u64,
    /// Cuts of the window: congestion of packets that were sent since the cut before (RFC 9002 section 7.3.1).
    pub cuts: u64,
    /// When the window was last cut.
    cut_at: Option<Time>,
    /// Whether nothing sent since the last cut has been acknowledged.
    pub recovering: bool,
    /// When the latest packet of the present acknowledgement was sent.
    newest: Option<Time>,
}

impl Watch {
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.flight += bytes;
    }

    pub(crate) fn on_ack(&mut self, sent: Time) {
        self.newest = self.newest.max(Some(sent));
    }

    pub(crate) fn on_end_acks(&mut self, now: Time, in_flight: u64) {
        self.flight = in_flight;
        let Some(sent) = self.newest.take() else { return };
        self.recovering &= self.cut_at.is_some_and(|cut| sent <= cut);
        let rtt = now.since(sent);
        self.rtt.record(rtt);
        self.latest = Some(rtt);
    }

    pub(crate) fn on_congestion(&mut self, now: Time, sent: Time, lost: u64) {
        self.flight = self.flight.saturating_sub(lost);
        if self.cut_at.is_none_or(|cut| sent > cut) {
            self.cuts += 1;
            self.cut_at = Some(now);
            self.recovering = true;
        }
    }
}
