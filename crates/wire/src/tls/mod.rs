//! TLS 1.3 (RFC 8446) as QUIC carries it: the key schedule, and handshakes made up from a number with messages of given sizes,
//! so that packets that were only counted can be written down and read by others. Nothing here keeps a secret.

mod certificate;
mod handshake;
mod message;
mod schedule;

pub use certificate::{LEAST as LEAST_CERTIFICATE, certificate};
pub use handshake::{Handshake, Plan, Resumption};
pub use schedule::{Schedule, Secret, derive, expand_label, expand_label_384, extract, hash, verify_data};
