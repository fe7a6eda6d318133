//! Scenarios as they are understood: networks, flows, transports, and what each protocol answers for itself.

pub(crate) mod address;
pub(crate) mod flow;
pub(crate) mod memory;
pub(crate) mod plugin;
pub(crate) mod scenario;
pub(crate) mod stack;
pub(crate) mod transport;
pub(crate) mod ways;
