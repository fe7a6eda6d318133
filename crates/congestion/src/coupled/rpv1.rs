use super::Siblings;
use crate::entry::Constructor;
use crate::window::{Reno, Window, windowed};
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::Entry;

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "rpv1",
    aliases: &["cmt-rpv1"],
    title: "CMT/RPv1",
    source: "Dreibholz, Becke, Pulinthanath, Rathgeb, AINA 2010",
    help: "coupled, for SCTP's paths: growth in proportion to thresholds; a loss takes half of all windows' sum from one",
    parameters: &[],
    build: |_, setup| windowed(Rpv1::default(), setup),
};

/// Resource pooling for CMT, version 1 (Dreibholz, Becke, Pulinthanath, Rathgeb, *Applying TCP-friendly congestion
/// control to concurrent multipath transfer*, AINA 2010): a slow-start threshold tells a path's capacity. So a path grows
/// by its threshold's part of all thresholds, and a loss takes half of the sum of all windows from the one with the loss.
#[derive(Debug, Default)]
pub struct Rpv1 {
    siblings: Siblings,
}

impl Rpv1 {
    /// ŝ: the path's threshold over the sum of all.
    fn share(&self, state: &WindowState) -> f64 {
        self.siblings.share(state, |path| path.ssthresh)
    }
}

impl Window for Rpv1 {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        state.cwnd + self.share(state) * Reno::increase(state, ack)
    }

    fn slow_start(&mut self, state: &WindowState, ack: &Ack) -> Option<f64> {
        Some(state.cwnd + self.share(state) * (ack.acked as f64).min(state.mss))
    }

    fn shrink(&mut self, state: &WindowState, _: &Congestion) -> f64 {
        let (all, _) = self.siblings.sum(state, |path| path.cwnd);
        (state.cwnd - all / 2.0).max(self.share(state) * 4.0 * state.mss)
    }

    fn least_threshold(&self) -> f64 {
        1.0
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
