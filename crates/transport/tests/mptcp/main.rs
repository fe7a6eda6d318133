//! Multipath TCP.

mod keys;
mod schedulers;
