//! SCTP against its RFCs and papers.

#[path = "../shared/application.rs"]
mod application;
mod bundling;
mod delivery;
mod errors;
mod failover;
mod handshake;
mod lab;
mod linux;
mod notifications;
mod pair;
mod partial;
mod partial_delivery;
mod restart;
mod shutdown;
mod timers;
