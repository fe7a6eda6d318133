//! SCTP against its RFCs and papers.

mod delivery;
mod failover;
mod handshake;
mod lab;
mod shutdown;
mod timers;
