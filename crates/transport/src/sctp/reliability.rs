//! Partial reliability: how long SCTP attempts to deliver a message (PR-SCTP, RFC 3758).

use vazao_engine::registry::choice;

choice! {
    /// Reliability policy, the same for all messages.
    pub enum Reliability {
        /// Until it is delivered.
        Full = "none",
        /// RFC 3758 section 4.1: until its lifetime ends, checked at each transmission and retransmission.
        Timed = "timed",
        /// RFC 7496 section 3.1: until a chunk would be retransmitted more than so many times.
        Retransmissions = "retransmissions",
        /// RFC 7496 section 3.2: while the send buffer has room for it beside all messages of higher priority.
        Priority = "priority",
    }
}

impl Reliability {
    /// Whether messages may be abandoned.
    pub fn is_partial(self) -> bool {
        self != Reliability::Full
    }
}
