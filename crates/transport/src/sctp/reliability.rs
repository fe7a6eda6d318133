//! Partial reliability: how long SCTP attempts to deliver a message (PR-SCTP, RFC 3758).

use vazao_engine::Duration;

/// Reliability policy, the same for all messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Until it is delivered.
    Full,
    /// RFC 3758 section 4.1: until its lifetime ends, checked at each transmission and retransmission.
    Timed(Duration),
    /// RFC 7496 section 3.1: until a chunk would be retransmitted more than this many times.
    Retransmissions(u32),
    /// RFC 7496 section 3.2: while the send buffer has room for it beside all messages of higher priority.
    Priority,
}

impl Reliability {
    /// Names of the policies.
    pub const NAMES: &[&str] = &["none", "timed", "retransmissions", "priority"];

    /// Whether messages may be abandoned.
    pub fn is_partial(self) -> bool {
        self != Reliability::Full
    }
}
