use super::{Sibling, Siblings};
use crate::entry::Constructor;
use crate::window::{Reno, Window, windowed};
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::registry::{Entry, Parameters, choice, parameters};

choice! { enum Profile { Rfc = "rfc", Usrsctp = "usrsctp" } }

parameters! {
    struct Settings {
        profile: Profile = Profile::KIND, "rfc",
            "whose decrease: its authors', who count rates, or usrsctp's (FreeBSD's), which counts windows and keeps a part of four segments";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "rpv2",
    aliases: &["cmt-rpv2"],
    title: "CMT/RPv2",
    source: "Dreibholz, Becke, Adhari, Rathgeb, ConTEL 2011",
    help: "coupled, for SCTP's paths: growth in proportion to rates; a loss takes half of all rates' sum from one",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Rpv2::from(p), setup),
};

/// Resource pooling for CMT, version 2 (Dreibholz, Becke, Adhari, Rathgeb, *On the impact of congestion control for
/// concurrent multipath transfer on the transport layer*, ConTEL 2011): RPv1 for paths that differ. What a path carries is
/// its window over its round-trip time; it grows by its part of that, and a loss takes as much of it as half of all make, of
/// which a segment is left at least.
///
/// This is the rule in the simulation of the first author (INET, SctpCcFunctions.cc), and in his version for Multipath TCP. The
/// usrsctp stack (sctp_cc_functions.c) grows so, too, but has another decrease, which is nearer to version 1's.
#[derive(Debug, Default)]
pub struct Rpv2 {
    siblings: Siblings,
    usrsctp: bool,
}

impl Rpv2 {
    /// RPv2 as the registry describes it.
    pub fn from(p: &Parameters) -> Self {
        Rpv2 { siblings: Siblings::default(), usrsctp: Settings::from(p).profile == Profile::Usrsctp }
    }

    /// Returns the path's rate over the sum of all.
    fn share(&self, state: &WindowState) -> f64 {
        self.siblings.share(state, Sibling::rate)
    }

    /// Half of all rates, as what the path has under way at them.
    fn half_of_all(&self, state: &WindowState) -> f64 {
        state.cwnd / (2.0 * self.share(state))
    }

    /// usrsctp's threshold: the window less half of all windows, and at least the path's part of four segments; after a
    /// timeout at least all windows less half of all rates.
    fn usrsctp(&self, state: &WindowState, signal: Signal) -> f64 {
        let (all, _) = self.siblings.sum(state, |path| path.cwnd);
        let least = match signal {
            Signal::Loss | Signal::Mark => self.share(state) * 4.0 * state.mss,
            Signal::Restart | Signal::Timeout | Signal::RepeatedTimeout => all - self.half_of_all(state),
        };
        (state.cwnd - all / 2.0).max(least)
    }
}

impl Window for Rpv2 {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        state.cwnd + self.share(state) * Reno::increase(state, ack)
    }

    fn slow_start(&mut self, state: &WindowState, ack: &Ack) -> Option<f64> {
        Some(state.cwnd + self.share(state) * (ack.acked as f64).min(state.mss))
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        if self.usrsctp { self.usrsctp(state, congestion.signal) } else { state.cwnd - self.half_of_all(state) }
    }

    fn least_threshold(&self) -> f64 {
        1.0
    }

    fn siblings(&mut self) -> Option<&mut Siblings> {
        Some(&mut self.siblings)
    }
}
