//! How long SCTP keeps trying to deliver a message: until it is there, or not as long (PR-SCTP, RFC 3758).

use vazao_engine::Duration;

/// A policy, the same for all messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Until it is delivered.
    Full,
    /// RFC 3758 section 4.1: while it is younger than that; looked at whenever it would be sent, or sent again.
    Timed(Duration),
    /// RFC 7496 section 3.1: while none of its chunks would have to be sent again more often than that.
    Retransmissions(u32),
    /// RFC 7496 section 3.2: while the send buffer has room for it beside all that is more important.
    Priority,
}

impl Reliability {
    /// The names of the policies.
    pub const NAMES: &[&str] = &["none", "timed", "retransmissions", "priority"];

    /// Whether messages may be given up.
    pub fn is_partial(self) -> bool {
        self != Reliability::Full
    }
}
