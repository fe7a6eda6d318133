use vazao_engine::Duration;

/// The RTT samples of one round trip.
#[derive(Debug)]
pub(crate) struct Round {
    sum: Duration,
    /// The least.
    pub least: Duration,
    /// Number of samples.
    pub count: u64,
}

impl Default for Round {
    fn default() -> Self {
        Round { sum: Duration::ZERO, least: Duration::MAX, count: 0 }
    }
}

impl Round {
    /// Adds a sample.
    pub fn add(&mut self, rtt: Duration) {
        self.sum += rtt;
        self.least = self.least.min(rtt);
        self.count += 1;
    }

    /// Returns the mean in seconds, if there was a sample; a new round trip starts.
    pub fn take_mean(&mut self) -> Option<f64> {
        let Round { sum, count, .. } = std::mem::take(self);
        (sum > Duration::ZERO).then(|| sum.as_secs() / count as f64)
    }
}
