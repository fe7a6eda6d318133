use super::{Settings, Sibling, Siblings, linked};
use crate::entry::Constructor;
use crate::window::{Reno, WholeSegments, Window};
use crate::{Ack, Congestion, WindowState};
use vazao_engine::Time;
use vazao_engine::registry::{Entry, Parameters};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "olia",
    aliases: &[],
    title: "Opportunistic linked increases",
    source: "Khalili, Gast, Popovic, Le Boudec, CoNEXT 2012; draft-khalili-mptcp-congestion-control-05",
    help: "coupled: as one Reno flow on the best paths, which it moves to from the fullest; others keep a trickle",
    parameters: Settings::PARAMETERS,
    build: |p, setup| linked(Olia::from(p), Settings::from(p).profile, setup),
};

/// The opportunistic linked-increases algorithm (Khalili, Gast, Popovic, Le Boudec, *MPTCP is not Pareto-optimal*, CoNEXT
/// 2012; draft-khalili-mptcp-congestion-control-05): LIA without its traffic over congested paths.
///
/// Growth has two terms. The first, a path's rate squared over the square of all, would leave every byte to the best paths.
/// The second, alpha, sums to nothing over all paths: it takes from those with the largest windows and gives to those that
/// are best by l / rtt² but have not the largest window, so that a path that gets better is found. l is the bytes that get
/// through between losses, so that sqrt(2 l) / rtt is what Reno would make of the path.
#[derive(Debug, Default)]
pub struct Olia {
    /// l is what a path tells the others.
    siblings: Siblings,
    /// Bytes that arrived between the last two losses, l₁, and since the last, l₂.
    between: f64,
    since: f64,
    /// Both before the last loss.
    before: (f64, f64),
    linux: Option<Steps>,
}

/// Linux counts acknowledgements, whatever they cover, and whole segments (net/mptcp/mptcp_olia.c).
#[derive(Debug, Default)]
struct Steps {
    /// Increase collected towards one segment more or less, in 1024ths.
    credit: f64,
}

impl Steps {
    /// Returns the window in bytes, where an acknowledgement adds `growth` over the window.
    fn take(&mut self, state: &WindowState, growth: f64) -> f64 {
        const SEGMENT: f64 = 1024.0;
        let window = WholeSegments::window(state);
        self.credit += (SEGMENT * growth / window).trunc();
        let step = if self.credit.abs() < SEGMENT - 1.0 { 0.0 } else { self.credit.signum() };
        if step != 0.0 {
            self.credit = 0.0;
        }
        (window + step).max(1.0) * state.mss
    }
}

impl Olia {
    /// OLIA as the registry describes it.
    pub fn from(p: &Parameters) -> Self {
        let linux = Settings::from(p).profile.is_linux();
        Olia { linux: linux.then(Steps::default), ..Olia::default() }
    }

    /// alpha of the own path: above zero where it is to get more than its part; zero of a path alone.
    pub fn alpha(&self) -> f64 {
        let quality = |path: &Sibling| path.told / (path.seconds() * path.seconds());
        let (best, widest) = (self.siblings.most(quality), self.siblings.most(|path| path.cwnd));
        let is_widest = |path: &Sibling| Some(path.cwnd) == widest;
        let is_collected = |path: &Sibling| Some(quality(path)) == best && !is_widest(path);
        let paths = self.siblings.paths();
        let collected = paths.iter().filter(|path| is_collected(path)).count() as f64;
        match self.siblings.own() {
            Some(own) if is_collected(own) => 1.0 / paths.len() as f64 / collected,
            Some(own) if is_widest(own) && collected > 0.0 => {
                -1.0 / paths.len() as f64 / paths.iter().filter(|path| is_widest(path)).count() as f64
            }
            _ => 0.0,
        }
    }

    fn tell(&mut self) {
        self.siblings.tell(self.between.max(self.since));
    }
}

impl Window for Olia {
    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        self.since += ack.delivered as f64;
        self.tell();
    }

    /// Returns the increase for each byte acknowledged: w / rtt² / (sum of w / rtt)² + alpha / w segments.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let share = self.siblings.share(state, Sibling::rate);
        let growth = share * share + self.alpha();
        match &mut self.linux {
            Some(steps) => steps.take(state, growth),
            None => state.cwnd + Reno::increase(state, ack) * growth,
        }
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        self.before = (self.between, self.since);
        if self.since > 0.0 {
            (self.between, self.since) = (self.since, 0.0);
        }
        self.tell();
        match self.linux {
            Some(_) => (WholeSegments::window(state) / 2.0).floor() * state.mss,
            None => state.in_use(congestion) / 2.0,
        }
    }

    fn undo(&mut self, _: Time) {
        (self.between, self.since) = (self.before.0, self.before.1 + self.since);
        self.tell();
    }

    /// Returns whether it is the paper's: Linux's leaves the threshold alone when alpha takes a segment away.
    fn rests_below_threshold(&self) -> bool {
        self.linux.is_none()
    }

    /// Returns one segment where there are other paths, so that little is sent over a congested one.
    fn least_threshold(&self) -> f64 {
        if self.siblings.are_several() && self.linux.is_none() { 1.0 } else { 2.0 }
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
