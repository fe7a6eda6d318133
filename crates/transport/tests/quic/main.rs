//! QUIC against its RFCs.

mod congestion;
mod delivery;
mod ecn;
mod flow_control;
mod handshake;
mod lab;
