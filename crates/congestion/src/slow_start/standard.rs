use super::SlowStart;
use crate::entry::SlowStartConstructor;
use crate::{Ack, WindowState};
use vazao_engine::registry::Entry;

pub(crate) const ENTRY: Entry<SlowStartConstructor> = Entry {
    name: "standard",
    aliases: &[],
    title: "Standard slow start",
    source: "RFC 5681 section 3.1, RFC 3465",
    help: "the window doubles each round trip until a loss",
    parameters: &[],
    build: |_, limit| Box::new(Standard { limit }),
};

/// Standard slow start (RFC 5681 section 3.1, RFC 3465 section 2.2): the window grows by what is acknowledged, so it
/// doubles each round trip, but by at most `limit` segments for one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    /// RFC 3465's L: 1 counts acknowledgements as RFC 5681 does (growth of 1.5 with delayed ones); 2 makes up for them.
    pub limit: f64,
}

impl Standard {
    /// Returns the growth for one acknowledgement.
    pub fn increase(&self, state: &WindowState, ack: &Ack) -> f64 {
        (ack.acked as f64).min(self.limit * state.mss)
    }
}

impl SlowStart for Standard {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        state.cwnd + self.increase(state, ack)
    }

    /// Who counts more than RFC 3465's two segments counts as Linux does.
    fn stops_at_threshold(&self) -> bool {
        self.limit > 2.0
    }
}
