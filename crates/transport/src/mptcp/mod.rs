//! Multipath TCP (RFC 8684) as a state machine: one byte stream over several TCP connections, its subflows.
//!
//! A [`Connection`] has a [`tcp::Connection`](crate::tcp::Connection) for each subflow and passes segments through it
//! unchanged except for options: the mapping of the payload to connection-level octets, and the cumulative DATA_ACK.
//! Octets of the connection count from 0, those of a subflow from 1 (0 is its SYN).

mod config;
mod connection;
mod inbox;
pub mod keys;
mod memory;
mod outbox;
pub mod path_manager;
mod subflow;

pub use config::Config;
pub use connection::{Connection, Identity, Stats};
pub use path_manager::{AddressPair, PATH_MANAGERS};
pub use subflow::Subflow;

pub use crate::tcp::multipath::{Announced, DataAck, Dss, Mapping, Multipath, Signal, Tuple, reason};
