use super::{Reno, Window};
use crate::{Ack, Congestion, State};
use vazao_engine::registry::Parameters;

/// BIC TCP (Xu, Harfoush, Rhee, *Binary increase congestion control for fast long-distance networks*, INFOCOM 2004):
/// searches for the right window between the one after the last loss, which fits, and the one before, which did not.
///
/// Each round trip the window moves to the midpoint of what is left to search, by at most `s_max` segments (additive
/// increase, while far away) and at least `s_min` (the search's end). Once past the old maximum it looks for a new
/// one: 1, 2, 4, … up to `s_max` segments a round trip (max probing).
///
/// `beta` is what is kept on loss: 0.8 as in the authors' simulation code (Linux: 819/1024).
#[derive(Debug)]
pub struct Bic {
    /// Most segments the window may grow in a round trip (Smax).
    s_max: f64,
    /// Fewest (Smin).
    s_min: f64,
    beta: f64,
    /// The window in segments below which Reno rules.
    low_window: f64,
    fast_convergence: bool,
    /// The window of the last loss in segments; zero before the first.
    maximum: f64,
    /// Segments the window grows this round trip; zero when none has begun since the last loss.
    step: f64,
}

impl Bic {
    /// BIC with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        Bic {
            s_max: p.number("s_max"),
            s_min: p.number("s_min"),
            beta: p.number("beta"),
            low_window: p.number("low_window"),
            fast_convergence: p.flag("fast_convergence"),
            maximum: 0.0,
            step: 0.0,
        }
    }

    /// How many segments to grow in a round trip that begins with a window of `w` segments.
    fn next_step(&self, w: f64) -> f64 {
        let searched = self.maximum - w;
        if searched > 0.0 {
            (searched / 2.0).clamp(self.s_min, self.s_max)
        } else {
            (2.0 * self.step).clamp(1.0, self.s_max)
        }
    }
}

impl Window for Bic {
    fn grow(&mut self, state: &State, ack: &Ack) -> f64 {
        let w = state.segments();
        if w < self.low_window {
            return state.cwnd + Reno::increase(state, ack);
        }
        if ack.round || self.step == 0.0 {
            self.step = self.next_step(w);
        }
        state.cwnd + self.step * Reno::increase(state, ack)
    }

    fn shrink(&mut self, state: &State, congestion: &Congestion) -> f64 {
        let window = state.in_use(congestion);
        let w = window / state.mss;
        // Fast convergence: a maximum below the last one means that others want room, so aim lower still.
        let falling = self.fast_convergence && w < self.maximum;
        self.maximum = if falling { w * (1.0 + self.beta) / 2.0 } else { w };
        self.step = 0.0;
        if w < self.low_window { window / 2.0 } else { self.beta * window }
    }
}
