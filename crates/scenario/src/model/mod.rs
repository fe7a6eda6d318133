//! Scenarios after reading: flows, transports, and the interface of the protocols.

pub(crate) mod address;
mod addressing;
pub(crate) mod application;
pub(crate) mod extensions;
pub(crate) mod flow;
pub(crate) mod guest;
pub(crate) mod kernel;
mod making;
pub(crate) mod memory;
pub(crate) mod multipath;
pub(crate) mod plugin;
pub(crate) mod protocol;
pub(crate) mod requirements;
pub(crate) mod routes;
pub(crate) mod scenario;
pub(crate) mod stack;
pub(crate) mod transport;
pub(crate) mod ways;
