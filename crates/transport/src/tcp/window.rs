//! Congestion window of a sender, and the congestion control that sets it.

use vazao_congestion::{Ack, Congestion, CongestionControl};
use vazao_engine::{Duration, Time};

/// Congestion control with its window.
pub(crate) struct CongestionWindow {
    pub control: Box<dyn CongestionControl>,
    /// Congestion window in bytes: the control's, kept to save calls, or that of a [reduction](super::reduction) under way.
    pub cwnd: u64,
    /// Octet whose acknowledgement (or, with RACK, that of data beyond it) ends the round trip.
    pub round_end: u64,
    /// One-way delay of the current acknowledgement.
    pub one_way: OneWay,
}

/// One-way delay, for congestion controls that need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneWay {
    pub wanted: bool,
    /// Delay in nanoseconds by the two clocks, if the acknowledgement tells it.
    pub delay: Option<i64>,
    /// Whether the acknowledgement has no timestamp to tell it by.
    pub is_unknown: bool,
}

impl OneWay {
    /// Computes the delay of newly acknowledged data: the round-trip time less the delay of the acknowledgement itself by the
    /// two clocks. The timestamp echo does not serve: it may include the receiver's delayed-ACK time.
    #[inline]
    pub fn measure(&mut self, rtt: Option<Duration>, return_delay_ms: Option<i32>) {
        if self.wanted {
            let forth = |rtt: Duration, ms| rtt.as_nanos() as i64 - i64::from(ms) * 1_000_000;
            self.delay = rtt.zip(return_delay_ms).map(|(rtt, ms)| forth(rtt, ms));
            self.is_unknown = return_delay_ms.is_none();
        }
    }
}

impl CongestionWindow {
    pub fn new(control: Box<dyn CongestionControl>) -> Self {
        let one_way = OneWay { wanted: control.wants_one_way(), delay: None, is_unknown: false };
        CongestionWindow { cwnd: control.cwnd(), control, round_end: 1, one_way }
    }

    /// Runs a function on the congestion control, and copies its window.
    #[inline]
    pub fn update<R>(&mut self, update: impl FnOnce(&mut dyn CongestionControl) -> R) -> R {
        let answer = update(&mut *self.control);
        self.cwnd = self.control.cwnd();
        answer
    }

    /// Handles the end of the handshake, with its round-trip time unless a SYN was retransmitted.
    pub fn on_established(&mut self, rtt: Option<Duration>) {
        self.update(|control| control.on_established(rtt));
    }

    /// Handles an acknowledgement.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        self.update(|control| control.on_ack(ack));
    }

    /// Handles a loss, a timeout or a mark.
    pub fn on_congestion(&mut self, congestion: &Congestion) {
        self.update(|control| control.on_congestion(congestion));
    }

    /// Handles the end of a recovery: the window is limited to `flight` and a segment (RFC 6582 section 3.2 step 3); `u64::MAX`
    /// means no limit.
    pub fn on_recovered(&mut self, flight: u64) {
        self.update(|control| control.on_recovered(flight));
    }

    /// Undoes the last reduction, which was spurious.
    pub fn on_spurious(&mut self, now: Time) {
        self.update(|control| control.on_spurious(now));
    }

    /// Limits the window to `cwnd`, and ssthresh to no less than `threshold`.
    pub fn restrict(&mut self, cwnd: u64, threshold: u64) {
        self.update(|control| control.restrict(cwnd, threshold));
    }

    /// Whether the window is far below ssthresh, so that it may double within the next round trip.
    pub fn is_far_below_threshold(&self) -> bool {
        self.cwnd < self.control.ssthresh() / 2
    }
}
