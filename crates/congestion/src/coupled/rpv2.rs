use super::{Sibling, Siblings};
use crate::registry::Constructor;
use crate::window::{Reno, Window, windowed};
use crate::{Ack, Congestion, State};
use vazao_engine::registry::Entry;

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "rpv2",
    aliases: &["cmt-rpv2"],
    title: "CMT/RPv2",
    source: "Dreibholz, Becke, Adhari, Rathgeb, ConTEL 2011",
    help: "coupled, for SCTP's paths: growth in proportion to rates; a loss takes half of all rates' sum from one",
    parameters: &[],
    build: |_, setup| windowed(Rpv2::default(), setup),
};

/// Resource pooling for CMT, version 2 (Dreibholz, Becke, Adhari, Rathgeb, *On the impact of congestion control for
/// concurrent multipath transfer on the transport layer*, ConTEL 2011): RPv1 for paths that differ. What a path carries is
/// its window over its round-trip time; it grows by its part of that, and a loss takes as much of it as half of all make.
#[derive(Debug, Default)]
pub struct Rpv2 {
    siblings: Siblings,
}

impl Rpv2 {
    /// The path's rate over the sum of all.
    fn share(&self, state: &State) -> f64 {
        self.siblings.share(state, Sibling::rate)
    }
}

impl Window for Rpv2 {
    fn grow(&mut self, state: &State, ack: &Ack) -> f64 {
        state.cwnd + self.share(state) * Reno::increase(state, ack)
    }

    fn slow_start(&mut self, state: &State, ack: &Ack) -> Option<f64> {
        Some(state.cwnd + self.share(state) * (ack.acked as f64).min(state.mss))
    }

    fn shrink(&mut self, state: &State, _: &Congestion) -> f64 {
        let share = self.share(state);
        (state.cwnd - 0.5 / share * state.cwnd).max(share * 4.0 * state.mss)
    }

    fn least_threshold(&self) -> f64 {
        1.0
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
