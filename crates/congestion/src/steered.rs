//! Congestion control whose window and rate are set from outside, step by step.

use crate::{Ack, Congestion, CongestionControl, Setup, Signal};
use vazao_engine::{Duration, Rate};

/// Window and rate that the outside sets, and what the connection has seen. Sizes are bytes, counts are totals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steering {
    /// Congestion window, at least one segment.
    pub cwnd: u64,
    /// Rate at which data leaves; `None`: as the window admits it.
    pub pacing_rate: Option<Rate>,
    /// Payload bytes of a full packet.
    pub mss: u64,
    /// What the acknowledgements told.
    pub seen: Seen,
}

/// What acknowledgements and signs of congestion told of a connection so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Acknowledgements.
    pub acks: u64,
    /// Bytes known to have arrived.
    pub delivered: u64,
    /// Bytes presumed lost.
    pub lost: u64,
    /// Bytes that arrived with a mark of congestion.
    pub marked: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Round-trip times measured: how many, and their sum.
    pub rtt_samples: u64,
    /// Sum of the measured round-trip times.
    pub rtt_sum: Duration,
    /// Latest round-trip time; zero before the first measurement.
    pub latest_rtt: Duration,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Least round-trip time so far; zero before the first measurement.
    pub min_rtt: Duration,
    /// Latest delivery rate in bytes a second; zero before the first sample.
    pub delivery_rate: f64,
}

/// Control that an agent steers: it answers with the window and the rate that it was told, and changes neither by itself.
pub struct Steered(Steering);

impl Steered {
    /// Creates a control with the initial window, unpaced.
    pub fn new(setup: &Setup) -> Steered {
        let (cwnd, mss) = (setup.initial_window.max(setup.mss), setup.mss);
        Steered(Steering { cwnd, pacing_rate: None, mss, seen: Seen::default() })
    }
}

impl CongestionControl for Steered {
    fn on_ack(&mut self, ack: &Ack) {
        let seen = &mut self.0.seen;
        seen.acks += 1;
        seen.delivered += ack.delivered;
        seen.lost += ack.lost;
        seen.marked += ack.marked;
        if let Some(rtt) = ack.rtt {
            seen.rtt_samples += 1;
            seen.rtt_sum += rtt;
            seen.latest_rtt = rtt;
        }
        seen.srtt = ack.srtt;
        if ack.min_rtt < Duration::MAX {
            seen.min_rtt = ack.min_rtt;
        }
        if let Some(sample) = ack.rate {
            seen.delivery_rate = sample.bytes_per_second();
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let is_timeout = matches!(congestion.signal, Signal::Timeout | Signal::RepeatedTimeout);
        self.0.seen.timeouts += u64::from(is_timeout);
    }

    /// Returns true: losses are then looked for before each acknowledgement is told, and a recovery leaves the window alone.
    fn wants_rate(&self) -> bool {
        true
    }
    /// Returns true: a rate may be set at any time.
    fn paces(&self) -> bool {
        true
    }
    fn steering(&mut self) -> Option<&mut Steering> {
        Some(&mut self.0)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate
    }
    fn cwnd(&self) -> u64 {
        self.0.cwnd.max(self.0.mss)
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn in_slow_start(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_slow_start;
    use vazao_engine::registry::Parameters;

    fn control() -> Steered {
        let slow_start = build_slow_start("standard", &Parameters::default(), 2.0).expect("known");
        Steered::new(&Setup { mss: 1000, initial_window: 10_000, initial_ssthresh: None, slow_start, seed: 1 })
    }

    #[test]
    fn nothing_but_the_outside_changes_the_window() {
        let mut control = control();
        let (srtt, min_rtt) = (Duration::from_millis(10), Duration::from_millis(10));
        for signal in [Signal::Loss, Signal::Timeout, Signal::RepeatedTimeout, Signal::Mark] {
            control.on_ack(&Ack { acked: 1000, delivered: 1000, window_limited: true, ..Ack::default() });
            control.on_congestion(&Congestion { now: vazao_engine::Time::ZERO, signal, flight: 5000, srtt, min_rtt });
            control.on_recovered(0);
            control.restrict(1, 1);
        }
        assert_eq!(control.cwnd(), 10_000);
        control.steering().expect("it is steered").cwnd = 1;
        assert_eq!(control.cwnd(), 1000, "a segment is the least");
        assert_eq!((control.0.seen.delivered, control.0.seen.timeouts), (4000, 2));
    }

    #[test]
    fn round_trips_add_up() {
        let mut control = control();
        for milliseconds in [10, 30] {
            control.on_ack(&Ack { rtt: Some(Duration::from_millis(milliseconds)), ..Ack::default() });
        }
        let Seen { rtt_samples, rtt_sum, latest_rtt, .. } = control.0.seen;
        assert_eq!((rtt_samples, rtt_sum, latest_rtt), (2, Duration::from_millis(40), Duration::from_millis(30)));
    }
}
