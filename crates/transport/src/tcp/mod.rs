//! TCP (RFC 9293) as a state machine driven by segments and timeouts.

mod burst;
mod chronograph;
mod clock;
mod config;
mod connection;
mod cwv;
mod ecn;
mod fast_open;
mod host;
mod metrics;
pub(crate) mod multipath;
mod newly_acked;
mod pacing;
mod rack;
mod rack_tlp;
mod rate;
mod receiver;
mod recovery;
mod reduction;
mod scoreboard;
mod segment;
mod send_buffer;
mod sender;
mod stats;
mod tlp;
mod undo;

pub use config::{Bursting, Config, Counting, Pacing, RttSource, SackProfile};
pub(crate) use connection::timestamp;
pub use connection::{CaState, Connection, Failure, State};
pub use cwv::Validation;
pub use fast_open::{Cookie, CookieOption, Cookies};
pub use host::Host;
pub use metrics::Metrics;
pub use recovery::Recovery;
pub use segment::{Extra, Flags, SackBlocks, Segment, SynOptions};
pub use stats::Stats;
