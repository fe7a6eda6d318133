//! Scenarios after reading: flows, transports, and the interface of the protocols.

pub(crate) mod address;
pub(crate) mod flow;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod plugin;
pub(crate) mod scenario;
pub(crate) mod stack;
pub(crate) mod transport;
pub(crate) mod ways;
