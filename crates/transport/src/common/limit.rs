//! Reasons why a sender sends nothing at an instant.

/// Reason why a sender sends nothing more now. At every instant of its connection there is exactly one, as in RFC 4898's
/// SndLim states, which know three of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Data may not flow yet: the transport's handshake, or that of TLS above it.
    #[default]
    Handshake,
    /// Everything written is sent.
    Application,
    /// Everything that the send buffer holds is sent, and it keeps the application from writing more.
    SendBuffer,
    /// The peer's window: TCP's and SCTP's receive window, or the limit of a QUIC stream.
    ReceiveWindow,
    /// The peer's window of a whole connection of several streams (QUIC) or subflows (Multipath TCP).
    ConnectionWindow,
    /// The congestion window, in slow start.
    SlowStart,
    /// The congestion window, otherwise.
    Avoidance,
    /// The congestion window, while losses are repaired.
    Recovery,
    /// The pacer.
    Pacing,
    /// Nothing until a retransmission or probe timeout expires. Nobody knows before it does.
    Timeout,
    /// The scheduler: a path has room, and data waits for another one.
    Scheduler,
    /// Nagle's algorithm, or a burst that waits to be filled.
    Nagle,
    /// Nothing: everything is sent, closed and acknowledged.
    Done,
}

impl Limit {
    /// Limits of a connection that is not done, in the order of their declaration.
    pub const ALL: [Limit; 12] = [
        Limit::Handshake,
        Limit::Application,
        Limit::SendBuffer,
        Limit::ReceiveWindow,
        Limit::ConnectionWindow,
        Limit::SlowStart,
        Limit::Avoidance,
        Limit::Recovery,
        Limit::Pacing,
        Limit::Timeout,
        Limit::Scheduler,
        Limit::Nagle,
    ];

    /// Names in texts, in the order of the declaration.
    pub const NAMES: [&str; 13] = [
        "handshake",
        "nothing to send",
        "send buffer",
        "receive window",
        "connection's window",
        "slow start",
        "congestion avoidance",
        "loss recovery",
        "pacing",
        "timeouts",
        "scheduler",
        "Nagle's algorithm",
        "done",
    ];

    /// Returns the limit that a full congestion window is.
    #[inline]
    pub fn of_window(in_slow_start: bool, is_repairing: bool) -> Limit {
        match (is_repairing, in_slow_start) {
            (true, _) => Limit::Recovery,
            (false, true) => Limit::SlowStart,
            (false, false) => Limit::Avoidance,
        }
    }

    /// Returns whether a path with more to carry would have carried more: a window or the pacer held data back.
    pub const fn is_window(self) -> bool {
        use Limit::{Avoidance, ConnectionWindow, Pacing, ReceiveWindow, Recovery, SlowStart};
        matches!(self, ReceiveWindow | ConnectionWindow | SlowStart | Avoidance | Recovery | Pacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stand_in_their_order() {
        assert!(Limit::ALL.iter().enumerate().all(|(place, limit)| *limit as usize == place));
        assert_eq!(Limit::Done as usize, Limit::ALL.len());
    }
}
