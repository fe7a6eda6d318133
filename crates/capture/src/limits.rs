//! Account of what a sender waited for, as far as a capture shows it.

/// Reason why a sender sends nothing at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The connection is not open yet.
    Handshake,
    /// There is nothing to send.
    Application,
    /// The peer's window is full.
    ReceiveWindow,
    /// Neither data nor the peer's window is lacking: the congestion window, or a pacer, which a capture does not show.
    CongestionWindow,
    /// Losses are being repaired.
    Recovery,
    /// Nothing came back until a timer expired.
    Timeout,
}

impl Limit {
    /// Every limit with its column, in the order of their numbers.
    pub const ALL: [(Limit, &str); 6] = [
        (Limit::Handshake, "limited_handshake_s"),
        (Limit::Application, "limited_application_s"),
        (Limit::ReceiveWindow, "limited_receive_window_s"),
        (Limit::CongestionWindow, "limited_congestion_window_s"),
        (Limit::Recovery, "limited_recovery_s"),
        (Limit::Timeout, "limited_timeout_s"),
    ];
}

/// Nanoseconds by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits([u64; Limit::ALL.len()]);

impl Limits {
    /// Adds nanoseconds to a limit.
    pub(crate) fn charge(&mut self, limit: Limit, nanoseconds: u64) {
        self.0[limit as usize] += nanoseconds;
    }

    /// Returns the nanoseconds of a limit.
    pub fn of(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }
}
