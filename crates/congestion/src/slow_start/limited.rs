use super::{SlowStart, Standard};
use crate::entry::SlowStartConstructor;
use crate::{Ack, WindowState};
use vazao_engine::registry::{Entry, Kind, parameters};

parameters! {
    struct Settings {
        max_ssthresh: f64 = Kind::Integer(2, 1_000_000), "100", "where the limit begins, in segments";
    }
}

pub(crate) const ENTRY: Entry<SlowStartConstructor> = Entry {
    name: "limited",
    aliases: &[],
    title: "Limited slow start",
    source: "RFC 3742",
    help: "above max_ssthresh the window grows by at most max_ssthresh/2 a round trip",
    parameters: Settings::PARAMETERS,
    build: |p, limit| Box::new(Limited { standard: Standard { limit }, max_ssthresh: Settings::from(p).max_ssthresh }),
};

/// Limited slow start (RFC 3742): above `max_ssthresh` the window grows by at most `max_ssthresh / 2` a round trip,
/// so that a window of thousands of segments does not overshoot by thousands.
#[derive(Clone, Copy, Debug)]
pub struct Limited {
    /// Standard slow start, which rules below `max_ssthresh`.
    pub standard: Standard,
    /// Window from which growth is limited, in segments (the RFC recommends 100).
    pub max_ssthresh: f64,
}

impl SlowStart for Limited {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let increase = self.standard.increase(state, ack);
        if state.segments() <= self.max_ssthresh {
            return state.cwnd + increase;
        }
        // Section 2: K = int(cwnd / (0.5 max_ssthresh)), and each segment acknowledged adds 1/K of a segment.
        let k = (state.segments() / (0.5 * self.max_ssthresh)).floor();
        state.cwnd + increase / k
    }

    fn stops_at_threshold(&self) -> bool {
        self.standard.stops_at_threshold()
    }
}
