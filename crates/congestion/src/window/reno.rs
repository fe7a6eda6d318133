use super::{ABE, PROFILE, Profile, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::registry::{Entry, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        abe: bool = ABE;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "reno",
    aliases: &["newreno"],
    title: "Reno",
    source: "RFC 5681",
    help: "one segment more each round trip, half on loss: what every other control is measured against",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Reno::from(p), setup),
};

/// Reno (RFC 5681): one segment more each round trip, half on loss.
#[derive(Debug)]
pub struct Reno {
    /// Linux counts whole segments, and halves the window rather than what is in flight.
    linux: Option<WholeSegments>,
    /// Part of the window kept on a mark.
    beta_ecn: f64,
}

impl Reno {
    /// Reno as the registry describes it.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, abe } = p.into();
        Reno { linux: WholeSegments::wanted(profile), beta_ecn: if abe { 0.8 } else { 0.5 } }
    }

    /// Equation 3, by bytes acknowledged so that delayed acknowledgements do not slow it (RFC 3465 section 2.1); at
    /// most a segment, however much one acknowledgement covers.
    pub fn increase(state: &WindowState, ack: &Ack) -> f64 {
        state.mss * (ack.acked as f64 / state.cwnd).min(1.0)
    }
}

impl Window for Reno {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        match &mut self.linux {
            Some(whole) => whole.grow(state, ack, WholeSegments::window(state)),
            None => state.cwnd + Reno::increase(state, ack),
        }
    }

    /// Equation 4: half of what is in flight; or more after a mark, which tells of a queue that is kept short anyway (RFC
    /// 8511 section 3).
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let kept = if congestion.signal == Signal::Mark { self.beta_ecn } else { 0.5 };
        match &mut self.linux {
            Some(whole) => whole.keep(state, kept * WholeSegments::window(state)),
            None => kept * state.in_use(congestion),
        }
    }
}
