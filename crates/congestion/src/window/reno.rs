use super::Window;
use crate::{Ack, Congestion, State};
use vazao_engine::registry::Parameters;

/// Reno (RFC 5681): one segment more each round trip, half on loss.
#[derive(Debug)]
pub struct Reno;

impl Reno {
    pub(crate) fn from(_: &Parameters) -> Self {
        Reno
    }

    /// Equation 3, by bytes acknowledged so that delayed acknowledgements do not slow it (RFC 3465 section 2.1).
    pub(crate) fn increase(state: &State, ack: &Ack) -> f64 {
        state.mss * ack.acked as f64 / state.cwnd
    }
}

impl Window for Reno {
    fn grow(&mut self, state: &State, ack: &Ack) -> f64 {
        state.cwnd + Reno::increase(state, ack).min(state.mss)
    }

    /// Equation 4: half of what is in flight, which an application-limited sender's window may far exceed.
    fn shrink(&mut self, _: &State, congestion: &Congestion) -> f64 {
        congestion.flight as f64 / 2.0
    }
}
