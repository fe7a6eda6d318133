use super::{Settings, Sibling, Siblings, linked};
use crate::entry::Constructor;
use crate::window::{Reno, WholeSegments, Window};
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Parameters};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "balia",
    aliases: &[],
    title: "Balanced linked adaptation",
    source: "Peng, Walid, Hwang, Low, ToN 24(1), 2016; draft-walid-mptcp-congestion-control-04",
    help: "coupled: between LIA's friendliness and OLIA's slowness to respond; slower paths also fall further on loss",
    parameters: Settings::PARAMETERS,
    build: |p, setup| linked(Balia::from(p), Settings::from(p).profile, setup),
};

/// Balanced linked adaptation (Peng, Walid, Hwang, Low, *Multipath TCP: analysis, design, and implementation*, IEEE/ACM
/// Transactions on Networking 24(1), 2016; draft-walid-mptcp-congestion-control-04): friendly to single-path TCP as LIA
/// is, without OLIA's long time to find a path that got better.
///
/// Both growth and decrease go by alpha, how much faster the fastest path is than this one. The fastest itself, with
/// alpha = 1, halves on loss; any other falls by up to three quarters.
#[derive(Debug, Default)]
pub struct Balia {
    siblings: Siblings,
    /// Linux counts acknowledgements and whole segments, and of alpha on loss only the whole (net/mptcp/mptcp_balia.c): a path
    /// half as fast as the best, or faster, halves as that does.
    linux: Option<WholeSegments>,
}

impl Balia {
    /// BALIA as the registry describes it.
    pub fn from(p: &Parameters) -> Self {
        Balia { siblings: Siblings::default(), linux: Settings::from(p).profile.whole_segments() }
    }

    /// alpha: the largest rate of all paths over the own one; 1 of a path alone.
    pub fn alpha(&self) -> f64 {
        let best = self.siblings.most(Sibling::rate);
        best.zip(self.siblings.own()).map_or(1.0, |(best, own)| best / own.rate())
    }
}

impl Window for Balia {
    /// x / rtt / (sum of x)² * (1 + alpha) / 2 * (4 + alpha) / 5 segments for each segment acknowledged, with x = w / rtt.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let (share, alpha) = (self.siblings.share(state, Sibling::rate), self.alpha());
        let growth = share * share * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0;
        match &mut self.linux {
            Some(whole) => whole.acknowledge(state, (WholeSegments::window(state) / growth).floor()),
            None => state.cwnd + Reno::increase(state, ack) * growth,
        }
    }

    /// w / 2 * min(alpha, 1.5) less.
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let alpha = self.alpha();
        let Some(whole) = &mut self.linux else { return state.in_use(congestion) * (1.0 - alpha.min(1.5) / 2.0) };
        let window = WholeSegments::window(state);
        whole.keep(state, window - ((window / 2.0).floor() * alpha.floor().min(1.5)).floor())
    }

    fn least_threshold(&self) -> f64 {
        if self.siblings.are_several() { 1.0 } else { 2.0 }
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
