//! Congestion controls: how much a sender may have in flight.
//!
//! An algorithm is one page in `window/`: it says how the window *grows* in congestion avoidance and how it *shrinks*
//! on congestion. What all window-based algorithms share (phase, slow start, timeouts, minimum window, growth only
//! when the window is what limits the sender) is written once, in [`Controller`]. Nothing here knows a protocol or a
//! link; windows are bytes throughout.

mod bbr;
mod bbr3;
mod controller;
pub mod coupled;
mod entry;
mod event;
mod model;
mod prr;
mod registry;
pub mod slow_start;
mod steered;
pub mod window;

pub use controller::{CongestionControl, Controller, Setup, WindowState};
pub use coupled::{Sibling, Siblings};
pub use entry::Constructor;
pub use event::{Ack, Congestion, RateSample, Sending, Signal};
pub use prr::Prr;
pub use registry::{CONGESTION_CONTROLS, SLOW_STARTS, build, build_slow_start};
pub use steered::{Seen, Steered, Steering};
