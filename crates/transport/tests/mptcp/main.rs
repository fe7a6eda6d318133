//! Multipath TCP against its RFC, and against adversarial networks.

mod delivery;
mod handshake;
mod keys;
mod lab;
mod schedulers;
mod subflows;
mod transfer;
