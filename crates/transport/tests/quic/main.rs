//! QUIC against its RFCs.

mod adversity;
#[path = "../shared/application.rs"]
mod application;
mod congestion;
mod delivery;
mod ecn;
mod exchange;
mod flow_control;
mod google;
mod handshake;
mod lab;
mod late;
mod multipath;
