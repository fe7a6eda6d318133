//! Round trips, told by packets.

use crate::RateSample;

/// Counts round trips (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.1.1.3): one is over when a packet is
/// delivered that was sent after all that was delivered when it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    next: u64,
    /// Round trips so far.
    pub count: u64,
    /// Whether the last acknowledgement began one.
    pub start: bool,
}

impl Rounds {
    /// Takes the sample of an acknowledgement.
    pub fn update(&mut self, sample: &RateSample) {
        self.start = sample.prior_delivered >= self.next;
        if self.start {
            self.next = sample.total_delivered;
            self.count += 1;
        }
    }

    /// Begins a round trip now, with so much delivered.
    pub fn restart(&mut self, delivered: u64) {
        self.next = delivered;
    }
}
