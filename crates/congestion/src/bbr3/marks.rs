//! Marks of congestion, as Google's version 3 answers them where a path marks as for DCTCP.

use crate::Ack;

/// The marked part of what is delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// Moving average, once a round trip (ecn_alpha).
    alpha: f64,
    /// Delivered and marked in the round trip under way.
    delivered: u64,
    marked: u64,
}

impl Default for Marks {
    /// ecn_alpha_init: the first mark counts in full.
    fn default() -> Self {
        Marks { alpha: 1.0, delivered: 0, marked: 0 }
    }
}

/// Returns the remaining part of the bound when `alpha` is the marked part (ecn_factor: a third).
pub(super) fn kept(alpha: f64) -> f64 {
    1.0 - alpha / 3.0
}

impl Marks {
    /// ecn_alpha_gain.
    const GAIN: f64 = 1.0 / 16.0;
    /// ecn_thresh: more marks than this are too many.
    const THRESHOLD: f64 = 0.5;

    /// Takes an acknowledgement; the average at the end of a round trip that had marks.
    pub fn update(&mut self, ack: &Ack, round: bool) -> Option<f64> {
        let mut ended = None;
        if round {
            let part = if self.delivered > 0 { self.marked as f64 / self.delivered as f64 } else { 0.0 };
            self.alpha += Self::GAIN * (part - self.alpha);
            ended = (self.marked > 0).then_some(self.alpha);
            (self.delivered, self.marked) = (0, 0);
        }
        self.delivered += ack.delivered;
        self.marked += ack.marked.min(ack.delivered);
        ended
    }

    /// Returns whether more than half of the round trip under way is marked.
    pub fn are_many(&self) -> bool {
        self.marked as f64 > Self::THRESHOLD * self.delivered as f64
    }
}
