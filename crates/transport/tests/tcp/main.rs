//! TCP against its RFCs, read as protocol traces, and against adversarial networks.

#[path = "../shared/application.rs"]
mod application;
mod burst;
mod closing;
mod config;
mod cwv;
mod delivery;
mod disorder;
mod ecn;
mod fast_open;
mod flow_control;
mod handshake;
mod info;
mod lab;
mod linux;
mod metrics;
mod pacing;
mod rack;
mod rate;
mod receiving;
mod recovery;
mod short_segments;
mod timers;
mod trace;
mod undo;
