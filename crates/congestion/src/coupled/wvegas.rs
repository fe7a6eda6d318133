use super::{Sibling, Siblings};
use crate::registry::Constructor;
use crate::window::round::Round;
use crate::window::{Window, windowed};
use crate::{Ack, Congestion, State};
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "wvegas",
    aliases: &["weighted-vegas"],
    title: "Weighted Vegas",
    source: "Xu, Cao, Fu, ICNP 2012; draft-xu-mptcp-congestion-control-05",
    help: "coupled: as many segments in queues on all paths together as one Vegas flow, shared by the paths' rates",
    parameters: &[
        Parameter::new("total_alpha", Kind::Number(1.0, 1000.0), "10", "segments in queues, of all paths together"),
        Parameter::new("gamma", Kind::Number(0.0, 1000.0), "1", "segments in queues above which slow start ends"),
    ],
    build: |p, setup| windowed(WVegas::from(p), setup),
};

/// The least alpha of a path, and its first, in segments: as in the authors' implementation.
const LEAST_ALPHA: f64 = 2.0;

/// Weighted Vegas (Cao, Xu, Fu, *Delay-based congestion control for multipath TCP*, ICNP 2012;
/// draft-xu-mptcp-congestion-control-05): each path follows the queue that it builds, as Vegas does, towards alpha segments.
///
/// alpha is a path's part of `total_alpha`, by its part of all rates. In equilibrium rate times queueing delay is alpha, so
/// the queueing delay is `total_alpha` over the sum of rates on every path: all are equally congested.
///
/// A queue of others, or one's own that never empties, hides the base round-trip time. So when the queueing delay is twice
/// the least seen in equilibrium, the window falls to half of what the path carries and lets the queue drain. The authors'
/// implementation takes the least of all delays, which a path without noise, where queues grow from nothing, does not bear.
#[derive(Debug)]
pub struct WVegas {
    total_alpha: f64,
    gamma: f64,
    /// The rate in equilibrium, in bytes a second, is what a path tells the others; zero before.
    siblings: Siblings,
    /// Segments that the path is to keep in queues.
    alpha: f64,
    round: Round,
    /// The mean and the least round-trip time, in seconds, once a round trip is over.
    rtts: Option<(f64, f64)>,
    /// The least queueing delay in equilibrium since the last time that queues were let drain.
    least: Option<f64>,
}

impl WVegas {
    /// Weighted Vegas with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        WVegas {
            total_alpha: p.number("total_alpha"),
            gamma: p.number("gamma"),
            siblings: Siblings::default(),
            alpha: LEAST_ALPHA,
            round: Round::default(),
            rtts: None,
            least: None,
        }
    }

    /// Segments that the path is to keep in queues.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// What of a window of `segments` waits in queues, by mean and least round-trip time.
    fn queued(segments: f64, (mean, base): (f64, f64)) -> f64 {
        segments * (1.0 - base / mean)
    }

    /// The path has what it was to have: its rate is told, and alpha follows its part of what all tell.
    fn weigh(&mut self, state: &State, rate: f64) {
        let (all, before) = self.siblings.sum(state, |path: &Sibling| path.told);
        self.alpha = (self.total_alpha * rate / (all - before + rate)).max(LEAST_ALPHA);
        self.siblings.tell(rate);
    }

    /// Whether queues are to be let drain.
    fn is_to_drain(&mut self, delay: f64, balanced: bool) -> bool {
        if balanced {
            self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        }
        let drains = self.least.is_some_and(|least| delay > 2.0 * least);
        if drains {
            self.least = None;
        }
        drains
    }
}

impl Window for WVegas {
    fn observe(&mut self, _: &State, ack: &Ack) {
        if ack.round {
            self.rtts = self.round.take_mean().map(|mean| (mean, ack.min_rtt.as_secs()));
        }
        if let Some(rtt) = ack.rtt {
            self.round.add(rtt);
        }
    }

    /// Once a round trip a segment more, or one less; never below two.
    fn grow(&mut self, state: &State, ack: &Ack) -> f64 {
        let Some((mean, base)) = self.rtts.filter(|_| ack.round) else { return state.cwnd };
        let queued = Self::queued(state.segments(), (mean, base));
        if queued >= self.alpha {
            self.weigh(state, state.cwnd / mean);
        }
        let least = 2.0 * state.mss;
        if self.is_to_drain(mean - base, queued >= self.alpha) {
            return (state.cwnd * base / mean / 2.0).max(least);
        }
        if queued < self.alpha { state.cwnd + state.mss } else { (state.cwnd - state.mss).max(least) }
    }

    fn leave_slow_start(&mut self, state: &State, ack: &Ack) -> bool {
        ack.round && self.rtts.is_some_and(|rtts| Self::queued(state.segments(), rtts) > self.gamma)
    }

    /// What the path carries without a queue, and a segment.
    fn after_slow_start(&mut self, state: &State) -> f64 {
        let (mean, base) = self.rtts.unwrap_or((1.0, 1.0));
        (state.cwnd * base / mean + state.mss).min(state.cwnd).max(2.0 * state.mss)
    }

    /// Loss is Reno's; what was known of the equilibrium is not any more.
    fn shrink(&mut self, state: &State, congestion: &Congestion) -> f64 {
        (self.alpha, self.least) = (LEAST_ALPHA, None);
        self.siblings.tell(0.0);
        state.in_use(congestion) / 2.0
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
