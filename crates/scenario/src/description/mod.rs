//! Descriptions: tables of a document become a scenario, and a scenario becomes one canonical text.

pub(crate) mod flow;
pub(crate) mod link;
pub(crate) mod network;
pub(crate) mod scenario;
pub(crate) mod schema;
pub(crate) mod transport;
