//! Slow starts: growth of the window below the threshold, and its early end. One module each.

pub(crate) mod hystart;
pub(crate) mod hystart_plus_plus;
pub(crate) mod limited;
pub(crate) mod standard;

pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
pub use limited::Limited;
pub use standard::Standard;

use crate::{Ack, WindowState};
use vazao_engine::Time;

/// A slow start.
pub trait SlowStart: Send {
    /// Returns the window after `ack`.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64;
    /// Sees an acknowledgement [before losses are looked for](crate::CongestionControl::observe), in whatever phase; returns
    /// whether it shows that slow start, if under way, should end now.
    fn observe(&mut self, _state: &WindowState, _ack: &Ack) -> bool {
        false
    }
    /// Returns whether slow start should end now, without a loss.
    fn leave(&mut self, _state: &WindowState, _ack: &Ack) -> bool {
        false
    }
    /// Returns whether the window stops at the threshold, and what an acknowledgement covers beyond counts in congestion
    /// avoidance, as in Linux (`tcp_slow_start` of net/ipv4/tcp_cong.c). If not, the window may pass it by two segments.
    fn stops_at_threshold(&self) -> bool {
        false
    }
    /// Restarts slow start after a timeout at `now`.
    fn restart(&mut self, _now: Time) {}
    /// Returns the name of the phase that it is in, if that is not plain slow start.
    fn phase(&self) -> Option<&'static str> {
        None
    }
}
