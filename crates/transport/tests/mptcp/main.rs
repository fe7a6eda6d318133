//! Multipath TCP.

mod keys;
