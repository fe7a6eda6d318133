//! ns-3's Westwood and Westwood+.

use super::Reno;
use crate::{Ack, WindowState};
use vazao_engine::{Duration, Time};

/// Differences of ns-3 (tcp-westwood.cc in 3.37): one filter for both, which keeps nine tenths of the estimate whatever the
/// time between samples and takes the mean of this sample and the last for the rest. It starts from nothing, so a loss
/// in the first round trips leaves a small part of what the path carries. Westwood's sample is of the time since the
/// acknowledgement before; Westwood+'s is what came in a smoothed RTT over that, and the next begins with the next
/// acknowledgement. The RTT is the smoothed one, and after a loss the window is the threshold even where that is higher.
#[derive(Debug)]
pub(super) struct Ns3Westwood {
    /// Bytes delivered since the last sample.
    delivered: f64,
    sampling: Sampling,
    /// Bytes a second: the last sample and the estimate.
    sample: f64,
    estimate: f64,
    /// The least smoothed RTT.
    least: Duration,
    threshold: f64,
}

/// Time at which a sample is over.
#[derive(Debug)]
enum Sampling {
    /// Sample with each acknowledgement, with the time of the last.
    Acknowledgement(Time),
    /// After a span, if one has begun: its end.
    RoundTrip(Option<(Time, Duration)>),
}

impl Ns3Westwood {
    /// Part of the estimate that a sample leaves.
    const KEPT: f64 = 0.9;

    fn new(sampling: Sampling) -> Self {
        let (delivered, sample, estimate, threshold) = (0.0, 0.0, 0.0, 0.0);
        Ns3Westwood { delivered, sampling, sample, estimate, least: Duration::MAX, threshold }
    }

    /// Returns its Westwood.
    pub fn westwood() -> Self {
        Self::new(Sampling::Acknowledgement(Time::ZERO))
    }

    /// Returns its Westwood+.
    pub fn westwood_plus() -> Self {
        Self::new(Sampling::RoundTrip(None))
    }

    /// Every acknowledgement counts.
    pub fn acknowledge(&mut self, ack: &Ack) {
        if ack.srtt == Duration::ZERO {
            return;
        }
        self.least = self.least.min(ack.srtt);
        let delivered = ack.delivered as f64;
        match &mut self.sampling {
            Sampling::Acknowledgement(last) => {
                let span = ack.now.since(std::mem::replace(last, ack.now));
                self.delivered += delivered;
                self.filter(span);
            }
            Sampling::RoundTrip(round) => {
                let (end, span) = *round.get_or_insert((ack.now + ack.srtt, ack.srtt));
                if ack.now >= end {
                    *round = Some((ack.now + ack.srtt, ack.srtt));
                    self.filter(span);
                }
                self.delivered += delivered;
            }
        }
    }

    /// Ends a sample that took `span`.
    fn filter(&mut self, span: Duration) {
        if span == Duration::ZERO {
            return;
        }
        let sample = std::mem::take(&mut self.delivered) / span.as_secs();
        let mean = (sample + std::mem::replace(&mut self.sample, sample)) / 2.0;
        self.estimate = Self::KEPT * self.estimate + (1.0 - Self::KEPT) * mean;
    }

    /// Returns the window of Reno.
    pub fn grow(&self, state: &WindowState, ack: &Ack) -> f64 {
        state.cwnd + Reno::increase(state, ack)
    }

    /// Returns the capacity of the path in a least RTT.
    pub fn shrink(&mut self) -> f64 {
        let seconds = if self.least < Duration::MAX { self.least.as_secs() } else { 0.0 };
        self.threshold = self.estimate * seconds;
        self.threshold
    }

    /// Returns the window once a loss is repaired.
    pub fn recovered(&self) -> f64 {
        self.threshold
    }
}
