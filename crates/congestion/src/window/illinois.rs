use super::round::Round;
use super::{Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = Profile::KIND, "rfc",
            "whose rules where implementations differ: the paper's, Linux 6's, ns-3's";
        alpha_max: f64 = Kind::Number(1.0, 1000.0), "10", "growth in segments a round trip without a queue";
        alpha_min: f64 = Kind::Number(0.01, 1.0), "0.3", "growth at the largest queueing delay seen";
        beta_min: f64 = Kind::Number(0.01, 0.5), "0.125", "part of the window given up without a queue";
        beta_max: f64 = Kind::Number(0.5, 0.99), "0.5", "part given up with a long queue";
        eta1: f64 = Kind::Number(0.0, 0.5), "0.01", "part of the largest delay up to which growth is alpha_max";
        eta2: f64 = Kind::Number(0.0, 0.5), "0.1", "part of the largest delay up to which beta_min is given up";
        eta3: f64 = Kind::Number(0.5, 1.0), "0.8", "part of the largest delay from which on it is beta_max";
        theta: f64 = Kind::Integer(1, 1000), "5", "round trips without a queue before growth is alpha_max again";
        win_thresh: Option<f64> = Kind::Number(0.0, 1e6), "",
            "window in segments below which Reno rules; default: 10, Linux 15, ns-3 none";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "illinois",
    aliases: &[],
    title: "TCP-Illinois",
    source: "Liu, Basar, Srikant, Performance Evaluation 65(6-7), 2008",
    help: "Reno whose growth falls and whose decrease rises with the queueing delay",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Illinois::from(p), setup),
};

/// TCP-Illinois (Liu, Başar, Srikant, *TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed
/// networks*, Performance Evaluation 65(6-7), 2008): loss says when the window falls, delay how fast it grows and how far
/// it falls. The curve of the window over time is concave: it stays long where it fits.
///
/// Once a round trip alpha and beta follow its mean queueing delay da; dm is the largest seen. Alpha is `alpha_max` up to
/// d1 = eta1 dm and then kappa1 / (kappa2 + da), down to `alpha_min` at dm; beta is `beta_min` up to d2 = eta2 dm, `beta_max`
/// from d3 = eta3 dm, and kappa3 + kappa4 da in between. After a delay above d1 alpha is `alpha_max` only once da stayed below
/// for `theta` round trips. Below `win_thresh` segments and after a timeout it is Reno: 1 and 0.5.
///
/// Where it errs: dm never forgets a delay, so that one spike makes all later queues look short; and a least RTT which a
/// new route has made unreachable makes all look long.
#[derive(Debug)]
pub struct Illinois {
    alpha_max: f64,
    alpha_min: f64,
    beta_min: f64,
    beta_max: f64,
    eta: [f64; 3],
    theta: f64,
    win_thresh: f64,
    alpha: f64,
    beta: f64,
    least: Duration,
    largest: Duration,
    round: Round,
    /// Whether the delay has been above d1, and for how many round trips it has been below again.
    above: bool,
    low: f64,
    /// Whether a round trip is over and the window was not what limited it, so that it was not looked at yet.
    due: bool,
    counting: Counting,
}

/// The arithmetic.
#[derive(Debug)]
enum Counting {
    /// Fractions.
    Fractions,
    /// Linux (net/ipv4/tcp_illinois.c): whole segments, alpha in 128ths and beta in 64ths. What a recovery's last
    /// acknowledgement covers counts all at once, though much of it had arrived before.
    Linux { credit: f64 },
    /// ns-3 (tcp-illinois.cc): whole segments; what each acknowledgement adds towards the next is rounded down, so that a
    /// delayed one adds nothing where alpha is below a half; delays in whole milliseconds. Its threshold for the window
    /// is in segments but compared with bytes, so that Reno never rules.
    Ns3 { credit: f64 },
}

impl Illinois {
    /// Illinois with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let settings = Settings::from(p);
        let (counting, win_thresh) = match settings.profile {
            Profile::Linux => (Counting::Linux { credit: 0.0 }, 15.0),
            Profile::Ns3 => (Counting::Ns3 { credit: 0.0 }, 0.0),
            Profile::Rfc => (Counting::Fractions, 10.0),
        };
        let parts = |x: f64, parts: f64| {
            if matches!(counting, Counting::Linux { .. }) { (x * parts).floor() / parts } else { x }
        };
        Illinois {
            alpha_max: parts(settings.alpha_max, 128.0),
            alpha_min: parts(settings.alpha_min, 128.0).max(1.0 / 128.0),
            beta_min: parts(settings.beta_min, 64.0),
            beta_max: parts(settings.beta_max, 64.0),
            eta: [settings.eta1, settings.eta2, settings.eta3],
            theta: settings.theta,
            win_thresh: settings.win_thresh.unwrap_or(win_thresh),
            alpha: settings.alpha_max,
            beta: 0.5,
            least: Duration::MAX,
            largest: Duration::ZERO,
            round: Round::default(),
            above: false,
            low: 0.0,
            due: false,
            counting,
        }
    }

    /// Growth in segments a round trip at a mean queueing delay of `da`, when `dm` is the largest: the paper's curve.
    pub fn alpha(&self, da: f64, dm: f64) -> f64 {
        let d1 = self.eta[0] * dm;
        if da <= d1 {
            return self.alpha_max;
        }
        let kappa1 = (dm - d1) * self.alpha_min * self.alpha_max / (self.alpha_max - self.alpha_min).max(1e-9);
        let kappa2 = (dm - d1) * self.alpha_min / (self.alpha_max - self.alpha_min).max(1e-9) - d1;
        self.parts(kappa1 / (kappa2 + da), 128.0)
    }

    /// Returns the part of the window given up at that delay.
    pub fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.eta[1] * dm, self.eta[2] * dm);
        if da <= d2 {
            return self.beta_min;
        }
        if da >= d3 {
            return self.beta_max;
        }
        let kappa3 = (self.beta_min * d3 - self.beta_max * d2) / (d3 - d2);
        let kappa4 = (self.beta_max - self.beta_min) / (d3 - d2);
        self.parts(kappa3 + kappa4 * da, 64.0)
    }

    fn parts(&self, x: f64, parts: f64) -> f64 {
        if matches!(self.counting, Counting::Linux { .. }) { (x * parts).floor() / parts } else { x }
    }

    /// Updates the parameters at the end of a round trip.
    fn update(&mut self, state: &WindowState) {
        self.due = false;
        let mean = self.round.take_mean();
        if state.segments() < self.win_thresh {
            (self.alpha, self.beta) = (1.0, 0.5);
            return;
        }
        let Some(mean) = mean else { return };
        let whole = |ms: f64| if matches!(self.counting, Counting::Ns3 { .. }) { ms.floor() } else { ms };
        let da = whole(1e3 * (mean - self.least.as_secs()).max(0.0));
        let dm = whole(1e3 * (self.largest.as_secs() - self.least.as_secs()));
        self.beta = self.beta(da, dm);
        let low = da <= self.eta[0] * dm;
        if low && self.above {
            self.low += 1.0;
            if self.low < self.theta {
                return;
            }
            self.low = 0.0;
        }
        self.above = !low;
        self.alpha = self.alpha(da, dm);
    }
}

impl Window for Illinois {
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            (self.least, self.largest) = (self.least.min(rtt), self.largest.max(rtt));
            self.round.add(rtt);
        }
        self.due |= ack.round;
        if self.due && ack.acked > 0 && !ack.in_recovery {
            self.update(state);
        }
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let window = WholeSegments::window(state);
        match &mut self.counting {
            Counting::Fractions => state.cwnd + self.alpha * Reno::increase(state, ack),
            Counting::Linux { credit } => {
                *credit += (ack.advance as f64 / state.mss).floor();
                let due = ((*credit * self.alpha).floor() / window).floor();
                if due > 0.0 {
                    *credit = 0.0;
                }
                (window + due) * state.mss
            }
            Counting::Ns3 { credit } => {
                *credit = (*credit + (ack.acked as f64 / state.mss).floor() * self.alpha).floor();
                let mut grown = window;
                while *credit >= grown {
                    *credit -= grown;
                    grown += 1.0;
                }
                grown * state.mss
            }
        }
    }

    fn counts_what_slow_start_leaves(&self) -> bool {
        false
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let kept = match &mut self.counting {
            Counting::Fractions => (1.0 - self.beta) * state.in_use(congestion),
            Counting::Linux { credit } => {
                *credit = 0.0;
                let window = WholeSegments::window(state);
                (window - (window * self.beta).floor()) * state.mss
            }
            Counting::Ns3 { .. } => {
                let flight = (congestion.flight as f64 / state.mss).floor();
                ((1.0 - self.beta) * flight).floor() * state.mss
            }
        };
        if congestion.signal == Signal::Timeout {
            (self.alpha, self.beta, self.above, self.low) = (1.0, 0.5, false, 0.0);
            self.round = Round::default();
        }
        kept
    }
}
