//! Multipath TCP against its RFC, and against adversarial networks.

#[path = "../shared/application.rs"]
mod application;
mod delivery;
mod handshake;
mod keys;
mod lab;
mod schedulers;
mod subflows;
mod transfer;
