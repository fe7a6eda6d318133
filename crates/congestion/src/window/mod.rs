//! The algorithms, one page each.

mod bic;
mod cubic;
mod highspeed;
mod reno;
mod scalable;
mod vegas;
mod westwood;
mod whole;

pub use bic::Bic;
pub use cubic::Cubic;
pub use highspeed::HighSpeed;
pub use reno::Reno;
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use westwood::{BandwidthEstimate, Westwood};
use whole::WholeSegments;

use crate::{Ack, Congestion, State};
use vazao_engine::Duration;

/// What makes one window-based algorithm different from another. All windows are in bytes.
pub trait Window: Send + 'static {
    /// The window after `ack` in congestion avoidance.
    fn grow(&mut self, state: &State, ack: &Ack) -> f64;

    /// The slow-start threshold after `congestion`; the window itself falls to it, or to one segment on a timeout.
    /// At least two segments are kept whatever is returned (RFC 5681 equation 4).
    fn shrink(&mut self, state: &State, congestion: &Congestion) -> f64;

    /// Sees every acknowledgement first, also in slow start and recovery: for estimators.
    fn observe(&mut self, _state: &State, _ack: &Ack) {}

    /// The window after `ack` in slow start, where the algorithm has a slow start of its own.
    fn slow_start(&mut self, _state: &State, _ack: &Ack) -> Option<f64> {
        None
    }

    /// Whether slow start should end now, without a loss.
    fn leave_slow_start(&mut self, _state: &State, _ack: &Ack) -> bool {
        false
    }

    /// The window with which congestion avoidance starts once slow start ended without a loss.
    fn after_slow_start(&mut self, state: &State) -> f64 {
        state.cwnd
    }

    /// The window, and with it the threshold, once a loss has been repaired, where the algorithm sets them only then.
    fn recovered(&mut self, _state: &State) -> Option<f64> {
        None
    }

    /// Whether one duplicate acknowledgement is enough to retransmit data sent `age` ago.
    fn retransmit_early(&self, _age: Duration) -> bool {
        false
    }
}
