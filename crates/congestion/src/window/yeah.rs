use super::round::Round;
use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        alpha: f64 = Kind::Number(1.0, 1e5), "80", "segments in queues above which it is slow (Q_max)";
        gamma: f64 = Kind::Number(1.0, 1e3), "1", "part of the queue that is drained at once: 1/gamma";
        delta: f64 = Kind::Number(1.0, 1e3), "8", "part of the window given up on loss at least: 1/delta";
        epsilon: f64 = Kind::Number(1.0, 1e3), "2", "part of the window drained at most: 1/epsilon";
        phi: f64 = Kind::Number(0.1, 1e3), "8", "queueing delay above which it is slow: base RTT/phi";
        rho: f64 = Kind::Integer(1, 1000), "16", "slow round trips on end that show a greedy competitor";
        zeta: f64 = Kind::Integer(1, 1000), "50", "fast round trips after which competitors are forgotten";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "yeah",
    aliases: &[],
    title: "YeAH-TCP",
    source: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
    help: "Scalable TCP while the queue is short, Reno that drains its queue while it is long",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Yeah::from(p), setup),
};

/// YeAH-TCP (Baiocchi, Castellani, Vacirca, *YeAH-TCP: yet another highspeed TCP*, PFLDnet 2007): two modes, between which
/// Vegas' count of segments in queues, Q = w (1 - RTTbase/RTT), decides each round trip; RTT is the round trip's least.
///
/// *Fast*, with Q up to `alpha` and a queueing delay up to RTTbase/`phi`: Scalable TCP. *Slow* otherwise: Reno; and with Q
/// above `alpha` the window at once falls by Q/`gamma` (precautionary decongestion), but never below what a Reno flow
/// would have, which `reno` counts, so that greedy flows do not starve it. A loss takes Q, between 1/`delta` and a
/// half of the window; where competitors kept it slow for `rho` round trips, a half.
///
/// Where it errs: a base RTT found while others queue hides their queue from it; and it counts a queue on the way back as
/// its own.
#[derive(Debug)]
pub struct Yeah {
    settings: Settings,
    /// RTTbase.
    base: Duration,
    round: Round,
    /// Whether a round trip is over.
    due: bool,
    repairing: bool,
    /// Q of the last round trip.
    queued: f64,
    /// The window in segments to which slow start is to fall.
    drained: Option<f64>,
    /// Slow round trips on end (the paper's count of Reno mode); zero while it is fast.
    slow: f64,
    /// Fast round trips since a loss.
    fast: f64,
    /// The window in segments that a Reno flow would have.
    reno: f64,
    linux: Option<WholeSegments>,
}

/// Segments: no window is less.
const LEAST: f64 = 2.0;
/// Scalable TCP's growth: one segment for so many acknowledged.
const SCALABLE: f64 = 100.0;

impl Yeah {
    /// YeAH with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let settings = Settings::from(p);
        Yeah {
            linux: WholeSegments::wanted(settings.profile),
            settings,
            base: Duration::MAX,
            round: Round::default(),
            due: false,
            repairing: false,
            queued: 0.0,
            drained: None,
            slow: 0.0,
            fast: 0.0,
            reno: LEAST,
        }
    }

    /// Linux's whole segments (net/ipv4/tcp_yeah.c): quotients rounded down.
    fn whole(&self, x: f64) -> f64 {
        if self.linux.is_some() { x.floor() } else { x }
    }

    /// Decides at the end of a round trip: the mode of the next, and the window in segments if some of the queue is to be
    /// drained. As in Vegas, two samples may both be of delayed acknowledgements, and do not count.
    fn decide(&mut self, w: f64) -> Option<f64> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        let round = std::mem::take(&mut self.round);
        if round.count <= 2 {
            return None;
        }
        let (rtt, base) = (round.least.as_secs(), self.base.as_secs());
        self.queued = self.whole(w * (rtt - base) / rtt);
        if self.queued <= self.settings.alpha && rtt - base <= base / self.settings.phi {
            self.fast += 1.0;
            if self.fast > self.settings.zeta {
                (self.reno, self.fast) = (LEAST, 0.0);
            }
            self.slow = 0.0;
            return None;
        }
        let drained = (self.queued > self.settings.alpha && w > self.reno).then(|| {
            let excess = self.whole(self.queued / self.settings.gamma).min(self.whole(w / self.settings.epsilon));
            (w - excess).max(self.reno)
        });
        let window = drained.unwrap_or(w);
        self.reno = if self.reno <= LEAST { self.whole(window / 2.0).max(LEAST) } else { self.reno + 1.0 };
        self.slow += 1.0;
        drained
    }

    /// Returns the window in bytes after `ack`, as the mode of now has it.
    fn increase(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let w = state.segments().floor();
        let slow = self.slow > 0.0;
        match &mut self.linux {
            Some(whole) => whole.grow(state, ack, if slow { w } else { w.min(SCALABLE) }),
            None if slow => state.cwnd + Reno::increase(state, ack),
            None => state.cwnd + Reno::increase(state, ack) * (state.segments() / SCALABLE).max(1.0),
        }
    }
}

impl Window for Yeah {
    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = self.base.min(rtt);
            self.round.add(rtt);
        }
        if std::mem::replace(&mut self.repairing, ack.repairing()) && !ack.repairing() {
            // What was seen of the recovery is not to be compared.
            (self.round, self.due) = (Round::default(), false);
        } else {
            self.due |= ack.round;
        }
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let grown = self.increase(state, ack);
        self.decide(grown / state.mss).map_or(grown, |w| w * state.mss)
    }

    /// Returns whether slow start ends, as it does with a queue above the bound.
    fn leave_slow_start(&mut self, state: &WindowState, ack: &Ack) -> bool {
        let w = (state.cwnd + ack.acked as f64) / state.mss;
        self.drained = self.decide(self.whole(w));
        self.drained.is_some()
    }

    fn after_slow_start(&mut self, state: &WindowState) -> f64 {
        self.drained.take().map_or(state.cwnd, |w| state.cwnd.min(w * state.mss))
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let window = if self.linux.is_some() { state.cwnd } else { state.in_use(congestion) };
        let w = self.whole(window / state.mss);
        let half = self.whole(w / 2.0).max(LEAST);
        let alone = self.slow < self.settings.rho;
        let given_up = if alone { self.queued.min(half).max(self.whole(w / self.settings.delta)) } else { half };
        self.fast = 0.0;
        self.reno = self.whole(self.reno / 2.0).max(LEAST);
        match &mut self.linux {
            Some(whole) => whole.keep(state, w - given_up),
            None => (w - given_up) * state.mss,
        }
    }
}
