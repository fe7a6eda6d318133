//! Congestion controls that are coupled: each path of a connection has a window of its own, whose growth and decrease
//! look at the other paths', so that all together take no more of a shared bottleneck than one flow would.
//!
//! A coupled control is a [`Window`] like any other, with [`Siblings`] beside its own state. Whoever
//! has several paths (SCTP with concurrent multipath transfer, Multipath TCP) makes one for each and shows it its siblings
//! before each event; with one path, which is shown none, it is what its source says of one path.

pub(crate) mod balia;
pub(crate) mod lia;
pub(crate) mod olia;
pub(crate) mod rpv1;
pub(crate) mod rpv2;
pub(crate) mod wvegas;

pub use balia::Balia;
pub use lia::Lia;
pub use olia::Olia;
pub use rpv1::Rpv1;
pub use rpv2::Rpv2;
pub use wvegas::WVegas;

use crate::window::{WholeSegments, Window};
use crate::{CongestionControl, Controller, Setup, WindowState};
use vazao_engine::Duration;
use vazao_engine::registry::{Parameter, choice, parameters};

choice! {
    /// Whose rules a coupled control follows where implementations differ.
    pub(crate) enum Profile { Rfc = "rfc", Linux = "linux", Linux318 = "linux-3.18" }
}

/// Whether a variant of Multipath TCP's Linux kernel is wanted instead of the source's.
pub(crate) const PROFILE: Parameter = Parameter::shared(
    Profile::KIND,
    "rfc",
    "whose rules where they differ: the source's (RFC, draft or paper), those of Multipath TCP for Linux 4.19 (v0.95), or \
     those for Linux 3.18 (v0.90), where a window that equals its threshold is still in slow start",
);

parameters! {
    /// Parameters of a control that has no other.
    pub(crate) struct Settings { profile: Profile = PROFILE; }
}

impl Profile {
    /// Returns whether it is one of Linux's, which counts acknowledgements and whole segments.
    pub fn is_linux(self) -> bool {
        self != Profile::Rfc
    }

    /// Counting as Linux does, if it is one of Linux's.
    pub fn whole_segments(self) -> Option<WholeSegments> {
        self.is_linux().then(WholeSegments::default)
    }
}

/// Boxes a coupled control inside the controller that all windows share.
///
/// Before 4.3 Linux took `cwnd <= ssthresh` for slow start, since then `cwnd < ssthresh` (commit 76174004a0f1). It matters
/// at BALIA's least threshold, one segment: in avoidance a window of one segment takes many round trips to become two.
pub(crate) fn linked<W: Window>(window: W, profile: Profile, setup: Setup) -> Box<dyn CongestionControl> {
    let controller = Controller::new(setup, window);
    Box::new(if profile == Profile::Linux318 { controller.through_threshold() } else { controller })
}

/// One path of a connection as its siblings see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sibling {
    /// Congestion window in bytes.
    pub cwnd: f64,
    /// Slow-start threshold in bytes; `u64::MAX` while there is none.
    pub ssthresh: f64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Value that its control [tells](Siblings::tell) controls of the same kind.
    pub told: f64,
    /// Round-trip time and rate: every acknowledgement on any path asks for them of all.
    seconds: f64,
    rate: f64,
}

impl Sibling {
    /// A path with its window and threshold in bytes.
    pub fn new(cwnd: f64, ssthresh: f64, srtt: Duration, told: f64) -> Sibling {
        let seconds = if srtt == Duration::ZERO { 1.0 } else { srtt.as_secs() };
        Sibling { cwnd, ssthresh, srtt, told, seconds, rate: cwnd / seconds }
    }

    /// Bytes a second: the window over the round-trip time. Without a sample yet all round trips are taken for alike.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// The paths of a connection as a coupled control was last shown them, and what it tells the others of its own.
#[derive(Clone, Debug, Default)]
pub struct Siblings {
    paths: Vec<Sibling>,
    own: usize,
    told: f64,
}

impl Siblings {
    /// Updates the paths that carry data, the own one at `own` among them.
    pub fn see(&mut self, paths: &[Sibling], own: usize) {
        self.paths.clear();
        self.paths.extend_from_slice(paths);
        self.own = own;
    }

    /// Sets the value that the others see as [`Sibling::told`] from now on; its meaning and unit are the control's.
    pub fn tell(&mut self, word: f64) {
        self.told = word;
    }

    /// Returns the value told last; zero at first.
    pub fn told(&self) -> f64 {
        self.told
    }

    /// Returns all paths, the own one among them; none of a window alone.
    pub fn paths(&self) -> &[Sibling] {
        &self.paths
    }

    /// Returns the own path; `None` of a window alone.
    pub fn own(&self) -> Option<&Sibling> {
        self.paths.get(self.own)
    }

    /// Returns the other paths.
    pub fn others(&self) -> impl Iterator<Item = &Sibling> {
        self.paths.iter().enumerate().filter(|(i, _)| *i != self.own).map(|(_, path)| path)
    }

    /// Returns whether there are other paths.
    pub fn are_several(&self) -> bool {
        self.paths.len() > 1
    }

    /// Returns the sum of a quantity over all paths, and its value on the own one; of a window alone, that of `state`.
    pub fn sum(&self, state: &WindowState, quantity: impl Fn(&Sibling) -> f64) -> (f64, f64) {
        let ssthresh = state.ssthresh.min(u64::MAX as f64);
        let alone = [Sibling::new(state.cwnd, ssthresh, Duration::ZERO, self.told)];
        let (paths, own) = if self.paths.is_empty() { (&alone[..], 0) } else { (&self.paths[..], self.own) };
        (paths.iter().map(&quantity).sum(), quantity(&paths[own]))
    }

    /// Returns the own path's part of the sum of a quantity over all paths.
    pub fn share(&self, state: &WindowState, quantity: impl Fn(&Sibling) -> f64) -> f64 {
        let (all, own) = self.sum(state, quantity);
        own / all
    }

    /// Returns the largest value of a quantity.
    pub fn most(&self, quantity: impl Fn(&Sibling) -> f64) -> Option<f64> {
        self.paths.iter().map(quantity).reduce(f64::max)
    }
}
