//! Round-trip time and retransmission timeout (RFC 6298).

use std::ops::Range;
use vazao_engine::Duration;

/// Smoothed round-trip time, its variation, and the retransmission timeout computed from them.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    srtt: u64,
    rttvar: u64,
    latest: u64,
    min: u64,
    rto: u64,
    min_rto: u64,
    max_rto: u64,
    backoff: u32,
    rule: RtoRule,
    margin: Margin,
}

/// Rule that computes the timeout from the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298 section 2: SRTT plus four times RTTVAR, but at least the minimum.
    Rfc6298,
    /// Linux's `tcp_rtt_estimator` (net/ipv4/tcp_input.c). The term added to SRTT is never below the minimum; it grows
    /// at once and shrinks once a round trip. A sample far below SRTT moves the variation an eighth as much. The
    /// timeout is counted and doubled in ticks of this length; zero: exactly.
    Linux(Duration),
}

/// Term that Linux adds to SRTT.
#[derive(Clone, Copy, Debug, Default)]
struct Margin {
    now: u64,
    /// Four times the largest variation in this round trip, which ends when data beyond `round_end` is acknowledged.
    peak: u64,
    round_end: u64,
}

/// RFC 6298's G: the timer's granularity.
const GRANULARITY: u64 = 1_000_000;

impl RttEstimator {
    /// Creates an estimator without samples; the timeout is `initial` (section 2.1: 1 s).
    pub fn new(initial: Duration, min_rto: Duration, max_rto: Duration, rule: RtoRule) -> Self {
        RttEstimator {
            srtt: 0,
            rttvar: 0,
            latest: 0,
            min: u64::MAX,
            rto: initial.as_nanos(),
            min_rto: min_rto.as_nanos(),
            max_rto: max_rto.as_nanos(),
            backoff: 0,
            rule,
            margin: Margin::default(),
        }
    }

    /// Assumes `rtt`, with half of it as the variation, until the first sample (RFC 9002 section 5.3).
    pub fn assume(&mut self, rtt: Duration) {
        (self.srtt, self.rttvar) = (rtt.as_nanos(), rtt.as_nanos() / 2);
    }
    /// Discards the assumed round-trip time just before the first sample.
    pub fn clear_assumption(&mut self) {
        (self.srtt, self.rttvar) = (0, 0);
    }

    /// Takes a sample that affects only the timeout, not the latest and minimum round-trip time: it is coarse, or the
    /// receiver may have delayed the ACK.
    pub fn sample_coarse(&mut self, rtt: Duration, flight: Range<u64>) {
        let (latest, min) = (self.latest, self.min);
        self.sample_with_flight(rtt, flight);
        (self.latest, self.min) = (latest, min);
    }

    /// Takes a sample that affects only the minimum.
    pub fn observe(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt.as_nanos());
    }

    /// Takes a sample (never of a retransmitted segment: Karn's algorithm, section 3) and resets the back-off.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        self.sample_with_flight(rtt, 0..0);
    }

    /// Takes a sample from a sender with this sequence range in flight, by which Linux tells round trips apart.
    #[inline]
    pub fn sample_with_flight(&mut self, rtt: Duration, flight: Range<u64>) {
        let r = rtt.as_nanos();
        self.latest = r;
        self.min = self.min.min(r);
        let rto = match self.rule {
            RtoRule::Rfc6298 => {
                self.smooth(r, 4);
                (self.srtt + (4 * self.rttvar).max(GRANULARITY)).max(self.min_rto)
            }
            RtoRule::Linux(tick) => {
                let first = self.srtt == 0;
                let falls = r < self.srtt && self.srtt - r > self.rttvar;
                self.smooth(r, if falls { 32 } else { 4 });
                self.update_margin(first, flight);
                let exact = self.srtt + self.margin.now;
                if tick == Duration::ZERO { exact } else { exact.next_multiple_of(tick.as_nanos()) }
            }
        };
        self.rto = rto.min(self.max_rto);
        self.backoff = 0;
    }

    /// Section 2.3: alpha = 1/8, beta = 1/`part` = 1/4.
    #[inline]
    fn smooth(&mut self, r: u64, part: u64) {
        if self.srtt == 0 {
            self.srtt = r.max(1);
            self.rttvar = r / 2;
        } else {
            self.rttvar = ((part - 1) * self.rttvar + self.srtt.abs_diff(r)) / part;
            self.srtt = ((7 * self.srtt + r) / 8).max(1);
        }
    }

    fn update_margin(&mut self, first: bool, flight: Range<u64>) {
        let (margin, variation) = (&mut self.margin, 4 * self.rttvar);
        if first {
            let now = variation.max(self.min_rto);
            *margin = Margin { now, peak: now, round_end: flight.end };
            return;
        }
        margin.peak = margin.peak.max(variation);
        margin.now = margin.now.max(margin.peak);
        if flight.start > margin.round_end {
            margin.now -= (margin.now - margin.peak) / 4;
            (margin.peak, margin.round_end) = (self.min_rto, flight.end);
        }
    }

    /// Takes a sample that includes the peer's reported ACK delay. The delay is subtracted unless the result would be
    /// below the minimum round-trip time (RFC 9002 section 5.3).
    #[inline]
    pub fn sample_delayed(&mut self, rtt: Duration, delay: Duration) {
        let raw = rtt.as_nanos();
        let min = self.min.min(raw);
        let adjusted = if raw >= min.saturating_add(delay.as_nanos()) { raw - delay.as_nanos() } else { raw };
        self.sample(Duration::from_nanos(adjusted));
        (self.latest, self.min) = (raw, min);
    }

    /// Resets the minimum to the latest sample: the path may have changed (RFC 9002 section 5.2).
    pub fn restart_min(&mut self) {
        self.min = self.latest;
    }

    /// Resets the back-off: the path was not probed, or answers again.
    pub fn forget_back_off(&mut self) {
        self.backoff = 0;
    }

    /// Raises the timeout to at least 3 s after a lost SYN (section 5.7).
    pub fn after_lost_syn(&mut self) {
        self.rto = self.rto.max(3_000_000_000).min(self.max_rto);
        self.backoff = 0;
    }

    /// Doubles the timeout after it expired (section 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Retransmission timeout including the back-off.
    #[inline]
    pub fn rto(&self) -> Duration {
        if self.backoff == 0 {
            return Duration::from_nanos(self.rto);
        }
        Duration::from_nanos(self.rto.saturating_mul(1 << self.backoff.min(30)).min(self.max_rto))
    }
    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt)
    }
    /// Round-trip time variation (RTTVAR); zero before the first sample.
    pub fn variation(&self) -> Duration {
        Duration::from_nanos(self.rttvar)
    }
    /// Latest sample; zero before the first.
    pub fn latest(&self) -> Duration {
        Duration::from_nanos(self.latest)
    }
    /// Minimum sample; `Duration::MAX` before the first.
    pub fn min(&self) -> Duration {
        Duration::from_nanos(self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        RttEstimator::new(Duration::from_secs(1), Duration::from_millis(200), Duration::from_secs(60), RtoRule::Rfc6298)
    }

    #[test]
    fn rfc_6298_section_2() {
        let mut e = estimator();
        assert_eq!(e.rto(), Duration::from_secs(1));
        e.sample(Duration::from_millis(100));
        // SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        assert_eq!((e.srtt(), e.rto()), (Duration::from_millis(100), Duration::from_millis(300)));
        e.sample(Duration::from_millis(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5 ms, SRTT = 7/8 * 100 + 1/8 * 180 = 110 ms.
        assert_eq!((e.srtt(), e.rto()), (Duration::from_millis(110), Duration::from_millis(340)));
    }

    /// Linux's tcp_input.c: a steady path of 100 ms has a timeout of 300 ms, however long it has been steady. A late
    /// sample counts at once; its effect decays by a quarter per round trip, not with each acknowledgement.
    #[test]
    fn linux_adds_the_variation_of_a_round_trip() {
        let mut e = RttEstimator { rule: RtoRule::Linux(Duration::ZERO), ..estimator() };
        let ms = Duration::from_millis;
        (0..100).for_each(|i| e.sample_with_flight(ms(100), i..i + 10));
        assert_eq!(e.rto(), ms(300));
        e.sample_with_flight(ms(900), 200..210);
        // RTTVAR is 200 ms, SRTT 200 ms: the minimum no longer counts.
        assert_eq!(e.rto(), ms(1_000));
        (0..10).for_each(|_| e.sample_with_flight(e.srtt(), 205..210));
        assert_eq!(e.rto(), ms(1_000), "the round trip goes on");
        // Its largest variation was three quarters of 200 ms; that of the next round trip is below the minimum.
        e.sample_with_flight(e.srtt(), 211..230);
        assert_eq!(e.rto(), ms(200 + 800 - (800 - 600) / 4));
        e.sample_with_flight(e.srtt(), 231..240);
        assert_eq!(e.rto(), ms(200 + 750) - ms(750 - 200) / 4);
    }

    /// A sample far below SRTT says nothing about losses: it moves the variation by an eighth of the usual amount.
    #[test]
    fn linux_weighs_a_fall_less_than_a_rise() {
        let mut e = RttEstimator { rule: RtoRule::Linux(Duration::ZERO), ..estimator() };
        e.sample_with_flight(Duration::from_millis(800), 0..1);
        e.sample_with_flight(Duration::from_millis(80), 1..2);
        // RTTVAR 400 ms, 720 ms away: 400 + 320 / 32.
        assert_eq!(e.variation(), Duration::from_millis(410));
    }

    #[test]
    fn the_timeout_has_a_minimum_backs_off_and_recovers() {
        let mut e = estimator();
        for _ in 0..100 {
            e.sample(Duration::from_millis(10));
        }
        assert_eq!(e.rto(), Duration::from_millis(200));
        e.back_off();
        e.back_off();
        assert_eq!(e.rto(), Duration::from_millis(800));
        (0..20).for_each(|_| e.back_off());
        assert_eq!(e.rto(), Duration::from_secs(60));
        e.sample(Duration::from_millis(10));
        assert_eq!(e.rto(), Duration::from_millis(200));
    }
}
