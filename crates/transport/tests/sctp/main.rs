//! SCTP against its RFCs and papers.

mod delivery;
mod failover;
mod handshake;
mod lab;
mod partial;
mod shutdown;
mod timers;
