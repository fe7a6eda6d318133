//! Measurements of a flow while it runs, beside the counts of its endpoints.

use super::limits::Limits;
use super::series::SenderState;
use vazao_engine::{Duration, Histogram, Time, fetch};

/// Delays, losses and window phases of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowMeasure {
    /// Account of what the sender waited for.
    pub limits: Limits,
    /// One-way delays of data packets.
    pub owd: Histogram,
    /// IP bytes that reached the receiver.
    pub delivered_bytes: u64,
    /// Interarrival jitter of data packets (RFC 3550 section 6.4.1), in nanoseconds.
    jitter: f64,
    last_transit: Option<Duration>,
    /// Packets of the sender that the network dropped.
    pub lost: u64,
    /// Loss events, and when the first packet of the latest one was sent.
    pub loss_events: u64,
    loss_event: Option<Time>,
    /// Round-trip time of the path without queues.
    base_rtt: Duration,
    phase: Phase,
    /// End of the first slow start; `NEVER` until then.
    pub slow_start_end: Time,
    /// Packets sent in the first slow start.
    pub slow_start_sent: u64,
    /// Packets of the first slow start that were dropped.
    pub slow_start_lost: u64,
    /// Threshold at the end of the first slow start, in bytes.
    pub first_ssthresh: Option<u64>,
    /// Least window after the first slow start, in bytes.
    pub cwnd_min: Option<u64>,
    /// Bandwidth-delay product of the path in bytes.
    pub bdp: u64,
    /// Payload of a full segment in bytes.
    segment: u64,
    /// First time that the window was as large as the bandwidth-delay product, after the first slow start and its repair.
    pub refilled: Option<Time>,
    /// First window cut in congestion avoidance: its time, and the window before it.
    cut: Option<(Time, u64)>,
    /// Time from the cut until the window was as large again, to a segment: it grows by about one a round trip, and where in
    /// that round trip the next loss is found decides how far below the last peak or above it the next one is.
    pub recovery: Option<Duration>,
    last_cwnd: u64,
    last_cuts: u64,
    /// Integral of the window over time up to `last_event`, in byte-nanoseconds.
    cwnd_area: f64,
    first_event: Time,
    /// Time of the sender's last event.
    pub last_event: Time,
}

/// Phase of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    SlowStart,
    /// The losses of slow start are being repaired.
    Repair,
    Avoidance,
    /// All phases have been measured.
    Done,
}

impl FlowMeasure {
    /// Creates the measure of a flow with segments of this payload over a path of this bandwidth-delay product, in bytes, and
    /// of this round-trip time without queues.
    pub fn new(bdp: u64, segment: u64, base_rtt: Duration) -> Self {
        let never = Time::NEVER;
        FlowMeasure { bdp, segment, base_rtt, slow_start_end: never, first_event: never, ..FlowMeasure::default() }
    }

    /// Fetches what the sender's events need into the cache.
    pub fn fetch_for_sender(&self) {
        fetch(&self.cwnd_area);
        fetch(&self.phase);
    }

    /// Fetches what the receiver's events need into the cache.
    pub fn fetch_for_receiver(&self) {
        fetch(&self.owd);
        fetch(&self.delivered_bytes);
        self.owd.fetch();
    }

    /// Records the arrival of a data packet of `size` IP bytes, `transit` after it was sent.
    #[inline]
    pub fn on_data(&mut self, transit: Duration, size: u32) {
        self.owd.record(transit);
        self.delivered_bytes += u64::from(size);
        if let Some(last) = self.last_transit {
            self.jitter += (transit.abs_diff(last).as_nanos() as f64 - self.jitter) / 16.0;
        }
        self.last_transit = Some(transit);
    }

    /// Adds another connection's packets. Measurements of the window, of which there are several then, are dropped.
    pub fn join(&mut self, other: &FlowMeasure) {
        let (delivered_bytes, lost) = (self.delivered_bytes + other.delivered_bytes, self.lost + other.lost);
        let loss_events = self.loss_events + other.loss_events;
        let mut owd = std::mem::take(&mut self.owd);
        owd.merge(&other.owd);
        let new = FlowMeasure::new(self.bdp, self.segment, self.base_rtt);
        *self = FlowMeasure { owd, delivered_bytes, lost, loss_events, ..new };
    }

    /// Returns the interarrival jitter in seconds; `None` before two packets have arrived, or where they came by
    /// several connections.
    pub fn jitter(&self) -> Option<f64> {
        self.last_transit.filter(|_| self.owd.count() > 1).map(|_| self.jitter / 1e9)
    }

    /// Records that a packet of the sender, sent at `sent`, was dropped, when the sender's round-trip time was `rtt`, if it
    /// knows one, and whether it was sent in the first slow start.
    ///
    /// It belongs to the latest loss event if it was sent within a round-trip time of that one's first packet (RFC 5348
    /// section 5.2); packets may be dropped in another order than they were sent in.
    pub fn on_drop(&mut self, sent: Time, rtt: Option<Duration>, in_slow_start: bool) {
        self.lost += 1;
        let rtt = rtt.unwrap_or(self.base_rtt);
        if self.loss_event.is_none_or(|first| sent > first.saturating_add(rtt)) {
            self.loss_events += 1;
            self.loss_event = Some(sent);
        }
        self.slow_start_lost += u64::from(in_slow_start);
    }

    /// Records the window after the sender has handled an acknowledgement or a timeout.
    #[inline]
    pub fn on_sender_event(&mut self, now: Time, sender: &(impl SenderState + ?Sized)) {
        let cwnd = sender.cwnd();
        self.cwnd_area += self.last_cwnd as f64 * now.since(self.last_event).as_nanos() as f64;
        self.first_event = self.first_event.min(now);
        self.last_event = now;
        if self.phase != Phase::SlowStart && self.cwnd_min.is_none_or(|least| cwnd < least) {
            self.cwnd_min = Some(cwnd);
        }
        if self.phase != Phase::Done {
            self.follow(now, cwnd, sender);
        }
        self.last_cwnd = cwnd;
    }

    /// Returns the time average of the window in bytes, from the sender's first event to `end`; `None` without events.
    pub fn cwnd_mean(&self, end: Time) -> Option<f64> {
        let span = end.since(self.first_event).as_nanos();
        let tail = self.last_cwnd as f64 * end.since(self.last_event).as_nanos() as f64;
        (span > 0).then(|| (self.cwnd_area + tail) / span as f64)
    }

    /// Follows the window from phase to phase.
    fn follow(&mut self, now: Time, cwnd: u64, sender: &(impl SenderState + ?Sized)) {
        let cuts = sender.cuts();
        match self.phase {
            Phase::SlowStart if cuts > 0 || !sender.in_slow_start() => {
                self.slow_start_end = now;
                self.slow_start_sent = sender.sent().segments;
                self.first_ssthresh = sender.ssthresh();
                self.cwnd_min = Some(cwnd);
                self.phase = Phase::Repair;
            }
            // Only what was acknowledged beyond the losses ends the repair: the timer or Tahoe may need slow start again.
            Phase::Repair if !sender.is_repairing() && !sender.in_slow_start() => {
                self.phase = Phase::Avoidance;
            }
            Phase::Avoidance => {
                if self.refilled.is_none() && cwnd >= self.bdp {
                    self.refilled = Some(now);
                }
                match self.cut {
                    None if cuts > self.last_cuts => self.cut = Some((now, self.last_cwnd)),
                    Some((since, before)) if cwnd + self.segment > before && !sender.is_repairing() => {
                        self.recovery = Some(now.since(since));
                    }
                    _ => {}
                }
                if self.recovery.is_some() && self.refilled.is_some() {
                    self.phase = Phase::Done;
                }
            }
            _ => {}
        }
        self.last_cuts = cuts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::series::{PathState, Sent};

    /// Sender in congestion avoidance with this window and this many cuts, which repairs nothing.
    struct Avoiding(u64, u64);

    impl SenderState for Avoiding {
        fn cwnd(&self) -> u64 {
            self.0
        }
        fn in_slow_start(&self) -> bool {
            false
        }
        fn is_repairing(&self) -> bool {
            false
        }
        fn cuts(&self) -> u64 {
            self.1
        }
        fn sent(&self) -> Sent {
            Sent::default()
        }
        fn path(&self, _: usize) -> PathState {
            PathState::default()
        }
    }

    /// A window of 100 segments is cut at 1 s and is regained at 51 s, a segment a second: by a peak 0.004 segments lower,
    /// which lets out as much, but not by one a segment lower.
    #[test]
    fn a_window_is_regained_to_a_segment() {
        for (peak, recovery) in [(100_000, Some(50)), (99_996, Some(50)), (99_000, None)] {
            let mut measure = FlowMeasure::new(u64::MAX, 1000, Duration::ZERO);
            let mut at = |seconds, cwnd, cuts| {
                measure.on_sender_event(Time::ZERO + Duration::from_secs(seconds), &Avoiding(cwnd, cuts))
            };
            // Slow start ends, is repaired, and the window grows before its first cut.
            (0..3).for_each(|_| at(0, 100_000, 0));
            at(1, 50_000, 1);
            (1..50).for_each(|second| at(1 + second, 50_000 + 1000 * second - 1000, 1));
            at(51, peak, 1);
            at(52, 50_000, 2);
            assert_eq!(measure.recovery, recovery.map(Duration::from_secs), "{peak}");
        }
    }

    /// RFC 3550 section 6.4.1, by hand: transits of 10, 14, 14, 6 and 10 ms differ by 4, 0, 8 and 4 ms, so J is 4/16, then
    /// 4/16 * 15/16, then that * 15/16 + 8/16, then that * 15/16 + 4/16.
    #[test]
    fn jitter_of_a_sequence_made_by_hand() {
        let mut measure = FlowMeasure::new(0, 1000, Duration::ZERO);
        assert_eq!(measure.jitter(), None);
        let mut seen = Vec::new();
        for transit in [10, 14, 14, 6, 10] {
            measure.on_data(Duration::from_millis(transit), 1500);
            seen.push(measure.jitter().map(|j| j * 1e3));
        }
        let kept = 15.0 / 16.0;
        let third = 0.25 * kept * kept + 0.5;
        let expected = [None, Some(0.25), Some(0.25 * kept), Some(third), Some(third * kept + 0.25)];
        for (got, want) in seen.iter().zip(expected) {
            assert!((got.unwrap_or(-1.0) - want.unwrap_or(-1.0)).abs() < 1e-12, "{got:?}, not {want:?}");
        }
    }

    /// RFC 5348 section 5.2 by hand, with a round-trip time of 100 ms: losses sent at 0, 50 and 100 ms are one event, that at
    /// 101 ms begins another, to which one sent before it and dropped later belongs.
    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut measure = FlowMeasure::new(0, 1000, Duration::from_millis(100));
        let mut events = Vec::new();
        for (ms, rtt) in [(0, None), (50, None), (100, None), (101, None), (90, None), (151, Some(50)), (152, Some(50))]
        {
            measure.on_drop(Time::from_nanos(ms * 1_000_000), rtt.map(Duration::from_millis), false);
            events.push(measure.loss_events);
        }
        assert_eq!((events, measure.lost), (vec![1, 1, 1, 2, 2, 2, 3], 7));
    }
}
