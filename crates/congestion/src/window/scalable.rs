use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        increase: f64 = Kind::Number(1e-4, 0.5), "0.01", "a: part of the bytes acknowledged added";
        decrease: f64 = Kind::Number(0.01, 0.9), "0.125", "b: part of the window given up on loss";
        legacy_window: f64 = Kind::Number(0.0, 1e6), "16", "lwnd: window in segments up to which Reno rules";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "scalable",
    aliases: &["stcp"],
    title: "Scalable TCP",
    source: "Kelly, CCR 33(2), 2003",
    help: "grows by 1 % of what is acknowledged, falls by 1/8: recovers in the same time from any window",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Scalable::from(p), setup),
};

/// Scalable TCP (Kelly, *Scalable TCP: improving performance in highspeed wide area networks*, CCR 33(2), 2003): the
/// window grows by 1 % of what is acknowledged and falls by an eighth on loss.
///
/// Both are proportional to the window, so recovery takes log(1/(1-b)) / log(1+a) = 13.4 round trips whatever the
/// window is (Reno: half as many round trips as the window has segments). The price: two such flows never become
/// equal, for both grow and shrink in proportion.
#[derive(Debug)]
pub struct Scalable {
    increase: f64,
    decrease: f64,
    /// Small windows share fairly with Reno.
    legacy_window: f64,
    /// Linux knows no legacy window: it grows by a segment for a hundred acknowledged, or for a smaller window, and
    /// gives up an eighth, rounded down.
    linux: Option<WholeSegments>,
}

impl Scalable {
    /// Scalable TCP with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, increase, decrease, legacy_window } = p.into();
        Scalable { increase, decrease, legacy_window, linux: WholeSegments::wanted(profile) }
    }

    fn is_legacy(&self, state: &WindowState) -> bool {
        state.segments() <= self.legacy_window
    }
}

impl Window for Scalable {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        if let Some(whole) = &mut self.linux {
            return whole.grow(state, ack, WholeSegments::window(state).min((1.0 / self.increase).floor()));
        }
        if self.is_legacy(state) {
            return state.cwnd + Reno::increase(state, ack);
        }
        state.cwnd + self.increase * ack.acked as f64
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        if let Some(whole) = &mut self.linux {
            let window = WholeSegments::window(state);
            return whole.keep(state, window - (self.decrease * window).floor());
        }
        let decrease = if self.is_legacy(state) { 0.5 } else { self.decrease };
        (1.0 - decrease) * state.in_use(congestion)
    }
}
