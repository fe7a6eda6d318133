//! Traffic: what endpoints send and receive.
