use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        low_window: f64 = Kind::Number(2.0, 10_000.0), "38",
            "window in segments up to which Reno rules (RFC 3649 section 5: Low_Window)";
        high_window: f64 = Kind::Number(20_000.0, 1e8), "83000",
            "window in segments that high_p sustains (section 5: High_Window)";
        high_p: f64 = Kind::Number(1e-12, 1e-4), "1e-7", "loss probability at high_window (section 5: High_P)";
        high_decrease: f64 = Kind::Number(0.01, 0.5), "0.1",
            "part of the window given up on loss at high_window (section 5: High_Decrease)";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "highspeed",
    aliases: &["hstcp"],
    title: "HighSpeed TCP",
    source: "RFC 3649",
    help: "Reno whose increase rises and whose decrease falls with the window, for very large windows",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(HighSpeed::from(p), setup),
};

/// Loss rate at which the response meets Reno's at `low_window` (RFC 3649 section 5: Low_P).
const LOW_P: f64 = 1e-3;
/// Ratio of successive windows in the table of a(w). Straight lines between them stay within 0.1 % of the formula.
const STEP: f64 = 1.15;
/// The table ends here, in high windows: a little beyond, like the RFC's Appendix B. Larger windows grow by its last a.
const TOP: f64 = 1.25;

/// Appendix B's windows: up to row n the window grows by n segments a round trip. Linux goes by these rows.
#[rustfmt::skip]
const ROWS: [f64; 73] = [
    38.0, 118.0, 221.0, 347.0, 495.0, 663.0, 851.0, 1058.0, 1284.0, 1529.0, 1793.0, 2076.0, 2378.0, 2699.0, 3039.0,
    3399.0, 3778.0, 4177.0, 4596.0, 5036.0, 5497.0, 5979.0, 6483.0, 7009.0, 7558.0, 8130.0, 8726.0, 9346.0, 9991.0,
    10_661.0, 11_358.0, 12_082.0, 12_834.0, 13_614.0, 14_424.0, 15_265.0, 16_137.0, 17_042.0, 17_981.0, 18_955.0,
    19_965.0, 21_013.0, 22_101.0, 23_230.0, 24_402.0, 25_618.0, 26_881.0, 28_193.0, 29_557.0, 30_975.0, 32_450.0,
    33_986.0, 35_586.0, 37_253.0, 38_992.0, 40_808.0, 42_707.0, 44_694.0, 46_776.0, 48_961.0, 51_258.0, 53_677.0,
    56_230.0, 58_932.0, 61_799.0, 64_851.0, 68_113.0, 71_617.0, 75_401.0, 79_517.0, 84_035.0, 89_053.0, 94_717.0,
];

/// HighSpeed TCP (RFC 3649): Reno's additive increase and multiplicative decrease become functions of the window w.
///
/// On each round trip the window grows by a(w) segments, on loss it falls by the part b(w). Up to `low_window` they
/// are Reno's 1 and 0.5. At `high_window` the loss rate needed to sustain the window is `high_p` instead of Reno's
/// 1.5/w²; in between, log w and log p are related linearly, and b falls linearly with log w to `high_decrease`.
#[derive(Debug)]
pub struct HighSpeed {
    low_window: f64,
    high_window: f64,
    high_decrease: f64,
    /// p(w) = scale / w^exponent.
    scale: f64,
    exponent: f64,
    /// a(w) as straight lines between geometrically spaced windows, so that an ACK needs no logarithm.
    table: Vec<Line>,
    /// The row of `table` the window was in last; it is rarely more than one away.
    row: usize,
    linux: Option<Linux>,
}

/// Linux (net/ipv4/tcp_highspeed.c) goes by whole rows of Appendix B, and counts acknowledgements, whatever each covers. It
/// looks for the row only where the window grows by it: the loss that ends the first slow start halves any window.
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    row: usize,
}

/// a(w) = `a` + `slope` (w - `from`), from this window to the next line's.
#[derive(Clone, Copy, Debug)]
struct Line {
    from: f64,
    a: f64,
    slope: f64,
}

impl HighSpeed {
    /// HighSpeed TCP with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, low_window, high_window, high_p, high_decrease } = p.into();
        let (scale, exponent) = response(low_window, high_window, high_p);
        let linux = WholeSegments::wanted(profile).map(|whole| Linux { whole, row: 0 });
        let mut new =
            HighSpeed { low_window, high_window, high_decrease, scale, exponent, table: vec![], row: 0, linux };
        let windows = std::iter::successors(Some(low_window), |w| Some(w * STEP));
        new.table = windows.take_while(|w| *w < TOP * high_window).map(|w| new.line(w, STEP * w)).collect();
        new.table.push(Line { slope: 0.0, ..new.line(TOP * high_window, STEP * TOP * high_window) });
        new
    }

    /// b(w) for a window of `w` segments: the part of the window given up on loss (section 5).
    pub fn b(&self, w: f64) -> f64 {
        let w = w.clamp(self.low_window, TOP * self.high_window);
        let position = libm::log(w / self.low_window) / libm::log(self.high_window / self.low_window);
        // The line goes on beyond `high_window`, as in Appendix B; far steeper ones than the RFC's must not reach zero.
        (0.5 + position * (self.high_decrease - 0.5)).max(self.high_decrease / 2.0)
    }

    /// a(w) for a window of `w` segments: how many more a round trip (section 5: w² p(w) 2 b(w) / (2 - b(w))).
    pub fn a(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let p = self.scale / libm::pow(w, self.exponent);
        let b = self.b(w);
        (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
    }

    fn line(&self, from: f64, to: f64) -> Line {
        let a = self.a(from);
        Line { from, a, slope: (self.a(to) - a) / (to - from) }
    }

    /// a(w) from the table.
    fn increase(&mut self, w: f64) -> f64 {
        while self.table.get(self.row + 1).is_some_and(|next| w >= next.from) {
            self.row += 1;
        }
        while self.row > 0 && w < self.table[self.row].from {
            self.row -= 1;
        }
        let Line { from, a, slope } = self.table[self.row];
        a + slope * (w - from).max(0.0)
    }
}

/// Returns the response function p(w) = scale / w^exponent through (`low_window`, 1e-3) and (`high_window`, `high_p`).
///
/// For the RFC's own points section 5 rounds it to 0.078 / w^1.2 and computes Appendix B from that; so do all
/// implementations that carry the table, and so do we (the unrounded exponent is 1.198; a(w) differs by 2.5 % at most).
fn response(low_window: f64, high_window: f64, high_p: f64) -> (f64, f64) {
    if (low_window, high_window, high_p) == (38.0, 83_000.0, 1e-7) {
        return (0.078, 1.2);
    }
    let exponent = libm::log(LOW_P / high_p) / libm::log(high_window / low_window);
    (LOW_P * libm::pow(low_window, exponent), exponent)
}

/// Returns the row of Appendix B that a window of `w` segments has not outgrown, from 0.
fn row(w: f64) -> usize {
    ROWS.partition_point(|&from| from < w).min(ROWS.len() - 1)
}

impl Window for HighSpeed {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        if let Some(linux) = &mut self.linux {
            let w = WholeSegments::window(state);
            linux.row = row(w);
            return linux.whole.add(state, (linux.row + 1) as f64, w);
        }
        let a = self.increase(state.segments());
        state.cwnd + a * Reno::increase(state, ack)
    }

    fn counts_what_slow_start_leaves(&self) -> bool {
        false
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        if let Some(mut linux) = self.linux.take() {
            let w = WholeSegments::window(state);
            // Linux has b as a number of 256ths.
            let part = (256.0 * self.b(ROWS[linux.row])).floor() / 256.0;
            let kept = linux.whole.keep(state, w - (part * w).floor());
            self.linux = Some(linux);
            return kept;
        }
        let window = state.in_use(congestion);
        (1.0 - self.b(window / state.mss)) * window
    }
}
