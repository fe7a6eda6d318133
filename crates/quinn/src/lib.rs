//! A production QUIC library, quinn-proto, unmodified, as both ends of a connection in virtual time: real packets, real
//! TLS 1.3, and our applications and congestion controls.
//!
//! The library is a machine of the same kind as ours, without a clock or a socket: it is handed datagrams and the time,
//! and asked for datagrams and its next wake-up. Its instants count virtual time, and its random numbers come from the run's
//! seed. So a run sends the same bytes at the same times, whenever it is run.
// The library's hooks take instants. Only the one from which all are counted is read from the machine's clock.
#![allow(clippy::disallowed_types)]

mod chance;
mod clock;
mod config;
mod connection;
mod content;
mod control;
mod identity;
mod nat;
mod records;
mod secrets;
mod watch;

pub use connection::{Connection, pair};
