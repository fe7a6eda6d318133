//! Random numbers of one flow's applications.

use vazao_engine::RandomStream;

/// Random streams of one flow's applications: one for each purpose, so that flows do not disturb each other, nor
/// sizes gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomStreams {
    /// The run's seed.
    pub seed: u64,
    /// The flow's number among those described.
    pub flow: usize,
}

impl RandomStreams {
    /// Returns the stream for a purpose.
    pub fn of(self, purpose: &str) -> RandomStream {
        RandomStream::new(self.seed, &format!("{purpose}/flow {}", self.flow))
    }
}
