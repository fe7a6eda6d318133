//! QUIC against its RFCs.

mod adversity;
mod congestion;
mod delivery;
mod ecn;
mod exchange;
mod flow_control;
mod google;
mod handshake;
mod lab;
mod multipath;
#[path = "../shared/weather.rs"]
mod weather;
