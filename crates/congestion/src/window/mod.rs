//! The algorithms, one page each.

pub(crate) mod bic;
pub(crate) mod cdg;
pub(crate) mod copa;
pub(crate) mod cubic;
pub(crate) mod dctcp;
pub(crate) mod highspeed;
pub(crate) mod htcp;
pub(crate) mod hybla;
pub(crate) mod illinois;
pub(crate) mod ledbat;
pub(crate) mod reno;
pub(crate) mod round;
pub(crate) mod scalable;
pub(crate) mod tcp_lp;
mod tick;
pub(crate) mod vegas;
pub(crate) mod veno;
pub(crate) mod westwood;
mod westwood_ns3;
pub(crate) mod westwood_plus;
mod whole;
pub(crate) mod yeah;

pub use bic::Bic;
pub use cdg::Cdg;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use highspeed::HighSpeed;
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use ledbat::Ledbat;
pub use reno::Reno;
pub use scalable::Scalable;
pub use tcp_lp::TcpLp;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::{BandwidthEstimate, Westwood};
pub use westwood_plus::WestwoodPlus;
pub(crate) use whole::WholeSegments;
pub use yeah::Yeah;

use crate::{Ack, Congestion, CongestionControl, Controller, Setup, Siblings, WindowState};
use vazao_engine::registry::{Kind, Parameter, choice};
use vazao_engine::{Duration, Time};

/// Boxes a window-based algorithm inside the shared controller.
pub(crate) fn windowed<W: Window>(window: W, setup: Setup) -> Box<dyn CongestionControl> {
    Box::new(Controller::new(setup, window))
}

/// The parameter that BIC and CUBIC share.
pub(crate) const FAST_CONVERGENCE: Parameter = Parameter::shared(
    Kind::Flag,
    "true",
    "whether a loss below the last maximum lowers the maximum further, to make room for others",
);

/// Alternative backoff with ECN.
pub(crate) const ABE: Parameter = Parameter::shared(
    Kind::Flag,
    "false",
    "whether a mark (ECN) takes less than a loss (RFC 8511): Reno keeps 0.8 of its window, CUBIC 0.85",
);

choice! {
    /// Whose rules a control follows where implementations differ.
    pub(crate) enum Profile { Rfc = "rfc", Linux = "linux", Ns3 = "ns3" }
}

/// Whether Linux's variant of a control is wanted instead of its source's.
pub(crate) const PROFILE: Parameter = Parameter::shared(
    Kind::Choice(&["rfc", "linux"]),
    "rfc",
    "whose rules where implementations differ: the source's (RFC or paper), or Linux 6, which counts whole segments",
);

/// Profiles of an algorithm for which ns-3 has rules of its own, too.
pub(crate) const PROFILES: Parameter = Parameter::shared(
    Profile::KIND,
    "rfc",
    "whose rules where implementations differ: the source's (RFC or paper), Linux 6's, which counts whole segments, or ns-3's",
);

/// Window-based algorithm. All windows are in bytes.
pub trait Window: Send + 'static {
    /// Returns the window after `ack` in congestion avoidance.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64;

    /// Returns the slow-start threshold after `congestion`; the window itself falls to it, or to one segment on a timeout.
    /// At least [two segments](Self::least_threshold) are kept whatever is returned (RFC 5681 equation 4).
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64;

    /// Returns the least slow-start threshold after congestion, in segments.
    fn least_threshold(&self) -> f64 {
        2.0
    }

    /// Returns its view of the other paths of its connection just before each event, if it is
    /// [coupled](crate::coupled).
    fn siblings(&mut self) -> Option<&mut Siblings> {
        None
    }

    /// Returns the window with which data transfer starts, where the algorithm does not leave that to the protocol;
    /// `rtt` is the handshake's round-trip time.
    fn initial(&mut self, _state: &WindowState, _rtt: Option<Duration>) -> Option<f64> {
        None
    }

    /// Sees every acknowledgement first, also in slow start and recovery: for estimators.
    fn observe(&mut self, _state: &WindowState, _ack: &Ack) {}

    /// Returns whether it lives by marks, of which the receiver is to tell each.
    fn wants_marks(&self) -> bool {
        false
    }

    /// Returns whether [`Ack::one_way`] is of use.
    fn wants_one_way(&self) -> bool {
        false
    }

    /// Returns the state after an early sign of congestion that `ack` shows, if it does: no larger a window, in
    /// whatever phase and whether or not the window was in use. Not asked in recovery.
    fn yield_early(&mut self, _state: &WindowState, _ack: &Ack) -> Option<WindowState> {
        None
    }

    /// Returns whether what [`yield_early`](Self::yield_early) gives up goes over a round trip, as after a loss.
    fn falls_gradually(&self) -> bool {
        false
    }

    /// Returns the window after `ack` in slow start, where the algorithm has a slow start of its own.
    fn slow_start(&mut self, _state: &WindowState, _ack: &Ack) -> Option<f64> {
        None
    }

    /// Returns whether [`grow`](Self::grow) counts what an acknowledgement covers beyond the threshold at which slow
    /// start stopped. Some modules of Linux do not.
    fn counts_what_slow_start_leaves(&self) -> bool {
        true
    }

    /// Returns whether slow start should end now, without a loss.
    fn leave_slow_start(&mut self, _state: &WindowState, _ack: &Ack) -> bool {
        false
    }

    /// Returns whether a window that congestion avoidance took below the threshold stays there, as a delay-based
    /// algorithm's must. If not, slow start takes it back up.
    fn rests_below_threshold(&self) -> bool {
        true
    }

    /// Returns the window with which congestion avoidance starts once slow start ended without a loss.
    fn after_slow_start(&mut self, state: &WindowState) -> f64 {
        state.cwnd
    }

    /// Returns the window, and with it the threshold, once a loss has been repaired, where the algorithm sets them only
    /// then.
    fn recovered(&mut self, _state: &WindowState) -> Option<f64> {
        None
    }

    /// Returns the last [`shrink`](Self::shrink) was for nothing: the window is what it was before, and so should be
    /// whatever the algorithm remembers of it.
    fn undo(&mut self, _now: Time) {}

    /// Returns whether one duplicate acknowledgement is enough to retransmit data sent `age` ago.
    fn retransmit_early(&self, _age: Duration) -> bool {
        false
    }
}
