use super::{PROFILE, Profile, Sibling, Siblings, linked};
use crate::entry::Constructor;
use crate::window::round::Round;
use crate::window::{WholeSegments, Window};
use crate::{Ack, Congestion, WindowState};
use std::cmp::Ordering;
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        total_alpha: f64 = Kind::Number(1.0, 1000.0), "10", "segments in queues, of all paths together";
        gamma: f64 = Kind::Number(0.0, 1000.0), "1", "segments in queues above which slow start ends";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "wvegas",
    aliases: &["weighted-vegas"],
    title: "Weighted Vegas",
    source: "Xu, Cao, Fu, ICNP 2012; draft-xu-mptcp-congestion-control-05",
    help: "coupled: as many segments in queues on all paths together as one Vegas flow, shared by the paths' rates",
    parameters: Settings::PARAMETERS,
    build: |p, setup| linked(WVegas::from(p), Settings::from(p).profile, setup),
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
/// the least seen in equilibrium, the window falls to half of what the path carries and lets the queue drain.
#[derive(Debug)]
pub struct WVegas {
    total_alpha: f64,
    gamma: f64,
    /// The rate in equilibrium, in bytes a second, is what a path tells the others; zero before.
    siblings: Siblings,
    /// Segments that the path is to keep in queues.
    alpha: f64,
    round: Round,
    /// The mean round-trip time, once a round trip is over, and its excess over the least.
    seen: Option<(Duration, Duration)>,
    /// The least queueing delay in equilibrium since the last time that queues were let drain.
    least: Option<Duration>,
    /// The authors' implementation for Linux (net/mptcp/mptcp_wvegas.c) counts whole segments, and its least queueing delay is
    /// that of all: where queues grow from nothing, without noise, their second segment is twice the first.
    linux: bool,
}

impl WVegas {
    /// Weighted Vegas with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, total_alpha, gamma } = p.into();
        WVegas {
            total_alpha,
            gamma,
            siblings: Siblings::default(),
            alpha: LEAST_ALPHA,
            round: Round::default(),
            seen: None,
            least: None,
            linux: profile.is_linux(),
        }
    }

    /// Segments that the path is to keep in queues.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns a number of segments as it counts.
    fn counted(&self, segments: f64) -> f64 {
        if self.linux { segments.floor() } else { segments }
    }

    /// Returns the part of the window that waits in queues, in segments.
    fn queued(&self, state: &WindowState, (rtt, delay): (Duration, Duration)) -> f64 {
        self.counted(self.counted(state.segments()) * delay.as_nanos() as f64 / rtt.as_nanos() as f64)
    }

    /// Tells the path's rate at the end of an adjustment, and moves alpha to its part of all rates.
    fn weigh(&mut self, state: &WindowState, rate: f64) {
        let (all, before) = self.siblings.sum(state, |path: &Sibling| path.told);
        self.alpha = self.counted(self.total_alpha * rate / (all - before + rate)).max(LEAST_ALPHA);
        self.siblings.tell(rate);
    }

    /// Returns whether queues are to be let drain.
    fn is_to_drain(&mut self, delay: Duration, balanced: bool) -> bool {
        // No path outside simulation shows a delay of exactly nothing, which would be twice itself.
        if balanced || self.linux && delay > Duration::ZERO {
            self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        }
        let drains = self.least.is_some_and(|least| delay > least * 2 || self.linux && delay == least * 2);
        if drains {
            self.least = None;
        }
        drains
    }
}

impl Window for WVegas {
    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        if ack.round {
            let mean = self.round.take_mean().map(Duration::from_secs_f64);
            self.seen = mean.map(|mean| (mean, mean.saturating_sub(ack.min_rtt)));
        }
        if let Some(rtt) = ack.rtt {
            self.round.add(rtt);
        }
    }

    /// Once a round trip a segment more, or one less; never below two.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let Some((rtt, delay)) = self.seen.filter(|_| ack.round) else { return state.cwnd };
        let queued = self.queued(state, (rtt, delay));
        if queued >= self.alpha {
            self.weigh(state, state.cwnd / rtt.as_secs());
        }
        let step = match queued.total_cmp(&self.alpha) {
            Ordering::Less => state.mss,
            Ordering::Equal => 0.0,
            Ordering::Greater => -state.mss,
        };
        let drains = self.is_to_drain(delay, queued >= self.alpha);
        let kept = if drains { (rtt - delay).as_secs() / rtt.as_secs() / 2.0 } else { 1.0 };
        self.counted((state.cwnd + step) / state.mss * kept).max(2.0) * state.mss
    }

    fn leave_slow_start(&mut self, state: &WindowState, ack: &Ack) -> bool {
        ack.round && self.seen.is_some_and(|seen| self.queued(state, seen) > self.gamma)
    }

    /// Returns the capacity of the path without a queue, and a segment.
    fn after_slow_start(&mut self, state: &WindowState) -> f64 {
        let queued = self.seen.map_or(0.0, |seen| self.queued(state, seen));
        (self.counted(state.segments()) + (1.0 - queued).min(0.0)).max(2.0) * state.mss
    }

    /// Loss is Reno's; what was known of the equilibrium is not any more.
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        (self.alpha, self.least) = (LEAST_ALPHA, None);
        self.siblings.tell(0.0);
        if self.linux {
            (WholeSegments::window(state) / 2.0).floor() * state.mss
        } else {
            state.in_use(congestion) / 2.0
        }
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
