//! Code that several protocols share; it depends on none of them.

mod bucket;
mod control;
mod counters;
pub mod datagrams;
mod delivery_rate;
mod limit;
mod pacer;
mod path;
mod ranges;
mod reassembly;
mod rtt;
pub mod scheduler;
mod stamp;
mod stream;

pub use bucket::{Bucket, Burst};
pub use control::ControlFactory;
pub use counters::counters;
pub use delivery_rate::{DeliveryRate, PacketState};
pub use limit::Limit;
pub use pacer::{Pacer, Spread};
pub use path::PathState;
pub use ranges::RangeSet;
pub use reassembly::Reassembly;
pub use rtt::{RtoRule, RttEstimator};
pub use scheduler::{Decision, PacketScheduler, SCHEDULERS, SchedulerFactory, Situation};
pub use stamp::stamp;
pub use stream::{ByteStream, Streams};

use vazao_engine::Duration;
use vazao_engine::registry::Kind;

/// Range of a timeout that a user sets.
pub(crate) const TIMEOUT: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(3600));
