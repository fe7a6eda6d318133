//! Foundation of the simulator: integer time, units, the event order, and named random streams.
//!
//! Nothing here knows of networks or protocols, and nothing here (or in any crate above it, up to the runner) reads a
//! wall clock or a global random source: the same inputs give the same simulation, on any thread, on any day.

mod cache;
mod capacity;
pub mod distribution;
mod ecn;
mod histogram;
mod problem;
mod random;
pub mod registry;
mod scheduler;
mod time;
pub mod units;

pub use cache::{fetch, fetch_element};
pub use capacity::Capacity;
pub use distribution::{Dimension, Law};
pub use ecn::Ecn;
pub use histogram::Histogram;
pub use random::RandomStream;
pub use registry::{DISTRIBUTIONS, Distribution};
pub use scheduler::{EventScheduler, Heap, Kind, Place, Slot, Wheel};
pub use time::{Duration, Time};
pub use units::{Bytes, Rate};
