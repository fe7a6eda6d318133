//! SCTP against its RFCs and papers.

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
#[path = "../shared/weather.rs"]
mod weather;
