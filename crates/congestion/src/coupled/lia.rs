use super::{Settings, Sibling, Siblings, linked};
use crate::entry::Constructor;
use crate::window::{Reno, WholeSegments, Window};
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Parameters};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "lia",
    aliases: &[],
    title: "Linked increases",
    source: "RFC 6356",
    help: "coupled: all paths together grow as one Reno flow would on the best of them; each halves on its own losses",
    parameters: Settings::PARAMETERS,
    build: |p, setup| linked(Lia::from(p), Settings::from(p).profile, setup),
};

/// The linked-increases algorithm (RFC 6356; Wischik, Raiciu, Greenhalgh, Handley, NSDI 2011): all paths together grow
/// as one Reno flow would on the best of them, each by its part of what is acknowledged, and never faster than Reno; each
/// halves on its own losses.
#[derive(Debug, Default)]
pub struct Lia {
    siblings: Siblings,
    /// Linux counts acknowledgements, whatever they cover, and whole segments (net/mptcp/mptcp_coupled.c).
    linux: Option<WholeSegments>,
}

impl Lia {
    /// LIA as the registry describes it.
    pub fn from(p: &Parameters) -> Self {
        Lia { siblings: Siblings::default(), linux: Settings::from(p).profile.whole_segments() }
    }

    /// Equation 2's alpha: how fast all together grow, as a part of what windows of their sum would; 1 of a path alone.
    pub fn alpha(&self, state: &WindowState) -> f64 {
        let (total, _) = self.siblings.sum(state, |path| path.cwnd);
        let (rates, _) = self.siblings.sum(state, Sibling::rate);
        let best = self.siblings.most(|path| path.rate() / path.seconds());
        best.map_or(1.0, |best| total * best / (rates * rates))
    }
}

impl Window for Lia {
    /// Section 3: min(alpha / total, 1 / cwnd) segments for each segment acknowledged.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let (total, own) = self.siblings.sum(state, |path| path.cwnd);
        let alpha = self.alpha(state);
        match &mut self.linux {
            Some(whole) => {
                whole.acknowledge(state, (total / state.mss / alpha).floor().max(WholeSegments::window(state)))
            }
            None => state.cwnd + Reno::increase(state, ack) * (alpha * own / total).min(1.0),
        }
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        match &mut self.linux {
            Some(whole) => whole.keep(state, WholeSegments::window(state) / 2.0),
            None => state.in_use(congestion) / 2.0,
        }
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
