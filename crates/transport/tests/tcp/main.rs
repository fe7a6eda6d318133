//! The TCP machine against its RFCs, read as protocol traces, and against adversarial networks.

mod config;
mod delivery;
mod lab;
mod recovery;
mod trace;
