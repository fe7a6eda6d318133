//! Multipath TCP (RFC 8684).

pub mod keys;
