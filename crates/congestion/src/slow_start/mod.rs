//! How the window grows below the slow-start threshold, and when that ends early. One page each.

mod limited;
mod standard;

pub use limited::Limited;
pub use standard::Standard;

use crate::{Ack, State};

/// A slow start.
pub trait SlowStart: Send {
    /// The window after `ack`.
    fn grow(&mut self, state: &State, ack: &Ack) -> f64;
    /// Whether slow start should end now, without a loss.
    fn leave(&mut self, _state: &State, _ack: &Ack) -> bool {
        false
    }
}
