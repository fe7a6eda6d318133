use super::{FAST_CONVERGENCE, PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        s_max: Option<f64> = Kind::Number(1.0, 10_000.0), "",
            "most segments of growth a round trip (Smax); default: 32, Linux 16";
        s_min: f64 = Kind::Number(1e-4, 1.0), "0.01", "fewest segments of growth a round trip (Smin)";
        beta: Option<f64> = Kind::Number(0.1, 0.99), "",
            "part of the window kept on loss; default: 0.8, Linux 819/1024";
        low_window: f64 = Kind::Number(0.0, 1e6), "14", "window in segments below which Reno rules";
        fast_convergence: bool = FAST_CONVERGENCE;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "bic",
    aliases: &[],
    title: "BIC TCP",
    source: "Xu, Harfoush, Rhee, INFOCOM 2004",
    help: "binary search for the window between the last that was lost and the one after it",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Bic::from(p), setup),
};

/// BIC TCP (Xu, Harfoush, Rhee, *Binary increase congestion control for fast long-distance networks*, INFOCOM 2004):
/// searches for the right window between the one after the last loss, which fits, and the one before, which did not.
///
/// Each round trip the window moves to the midpoint of what is left to search, by at most `s_max` segments (additive
/// increase, while far away) and at least `s_min` (the search's end). Once past the old maximum it looks for a new
/// one: 1, 2, 4, … up to `s_max` segments a round trip (max probing).
///
/// `beta` is what is kept on loss: 0.8 as in the authors' simulation code (Linux: 819/1024). Linux also divides what is
/// left to search by 4 and moves by at most 16 segments, near the maximum by a fifth of one.
#[derive(Debug)]
pub struct Bic {
    s_max: f64,
    s_min: f64,
    beta: f64,
    low_window: f64,
    fast_convergence: bool,
    /// The window of the last loss in segments; zero before the first.
    maximum: f64,
    /// Segments the window grows this round trip; zero when none has begun since the last loss.
    step: f64,
    linux: Option<Linux>,
}

/// Additions of Linux's BIC (net/ipv4/tcp_bic.c).
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    /// Sixteenths of segments for each acknowledgement while nothing is lost or out of order, smoothed over 16: growth above
    /// the low window is faster by as much, to make up for delayed ones, although segments are counted. Whole
    /// numbers: what is cut off keeps it near two segments even where each is acknowledged.
    ratio: f64,
    /// Whether nothing was lost or out of order when the last acknowledgement had come.
    open: bool,
}

impl Bic {
    /// BIC with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, s_max, s_min, beta, low_window, fast_convergence } = p.into();
        let linux = WholeSegments::wanted(profile).map(|whole| Linux { whole, ratio: 32.0, open: true });
        let own = if linux.is_some() { (16.0, 819.0 / 1024.0) } else { (32.0, 0.8) };
        let (s_max, beta) = (s_max.unwrap_or(own.0), beta.unwrap_or(own.1));
        Bic { s_max, s_min, beta, low_window, fast_convergence, maximum: 0.0, step: 0.0, linux }
    }

    /// Returns how many segments must be acknowledged for one more, in a window of `w`, as Linux has it.
    fn segments_for_one_more(&self, w: f64, ratio: f64) -> f64 {
        /// Divisor of the remaining search range; near the maximum a segment takes `SMOOTH / B` round trips.
        const B: f64 = 4.0;
        const SMOOTH: f64 = 20.0;
        let (ahead, beyond) = (((self.maximum - w) / B).floor(), w - self.maximum);
        let every = match () {
            () if w <= self.low_window => return w,
            () if beyond < 0.0 && ahead > self.s_max => w / self.s_max,
            () if beyond < 0.0 && ahead > 1.0 => w / ahead,
            () if beyond < B => w * SMOOTH / B,
            () if beyond < self.s_max * (B - 1.0) => w * (B - 1.0) / beyond,
            () => w / self.s_max,
        };
        let every = if self.maximum == 0.0 { every.floor().min(20.0) } else { every.floor() };
        (every * 16.0 / ratio).floor().max(1.0)
    }

    /// Returns how many segments to grow in a round trip that begins with a window of `w` segments.
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
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        let Some(linux) = &mut self.linux else { return };
        if linux.open {
            linux.ratio += (ack.advance as f64 / state.mss).floor() - (linux.ratio / 16.0).floor();
        }
        linux.open = !ack.in_recovery && !ack.blocks;
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let w = state.segments();
        if let Some(mut linux) = self.linux.take() {
            let every = self.segments_for_one_more(w.floor(), linux.ratio);
            let grown = linux.whole.grow(state, ack, every);
            self.linux = Some(linux);
            return grown;
        }
        if w < self.low_window {
            return state.cwnd + Reno::increase(state, ack);
        }
        if ack.round || self.step == 0.0 {
            self.step = self.next_step(w);
        }
        state.cwnd + self.step * Reno::increase(state, ack)
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let window = if self.linux.is_some() { state.cwnd } else { state.in_use(congestion) };
        let w = window / state.mss;
        // Fast convergence: a maximum below the last one means that others want room, so aim lower still.
        let falling = self.fast_convergence && w < self.maximum;
        self.maximum = if falling { w * (1.0 + self.beta) / 2.0 } else { w };
        self.step = 0.0;
        if let Some(linux) = &mut self.linux {
            if congestion.signal == Signal::Timeout {
                self.maximum = 0.0;
            }
            self.maximum = self.maximum.floor();
            return linux.whole.keep(state, if w <= self.low_window { w / 2.0 } else { self.beta * w });
        }
        if w < self.low_window { window / 2.0 } else { self.beta * window }
    }
}
