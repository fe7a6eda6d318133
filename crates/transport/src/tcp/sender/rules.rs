//! What configuration and congestion control decide of a sender for good.

use crate::tcp::config::{Bursting, Config, Counting, RttSource, SackProfile};
use crate::tcp::recovery::Recovery;
use crate::tcp::scoreboard::Scoreboard;
use vazao_congestion::CongestionControl;

/// Rules of a sender, which its configuration sets for good.
pub(super) struct Rules {
    pub sack_profile: SackProfile,
    /// Maximum octets that one acknowledgement counts for.
    pub max_counted: u64,
    pub limited_transmit: bool,
    /// Whether a short segment waits while an earlier one is unacknowledged (Nagle).
    pub nagle: bool,
    /// Whether windows count segments, each as a full one.
    pub counts_segments: bool,
    /// Whether RTT samples come from timestamp echoes.
    pub rtt_by_timestamps: bool,
    /// Expiries of the timer before the connection is given up.
    pub retries: u32,
}

impl Rules {
    pub fn new(config: &Config, mss: u64) -> Rules {
        Rules {
            sack_profile: config.sack_profile,
            max_counted: if config.counting == Counting::Bytes { u64::MAX } else { mss },
            limited_transmit: config.limited_transmit,
            nagle: config.nagle,
            counts_segments: config.host.personality().counts_segments && config.bursts != Bursting::Off,
            rtt_by_timestamps: config.rtt == RttSource::Timestamps,
            retries: config.retries,
        }
    }
}

/// Creates the scoreboard, which keeps as much of each segment as recovery and congestion control want.
pub(super) fn scoreboard(recovery: Recovery, control: &dyn CongestionControl) -> Scoreboard {
    let mut board = Scoreboard::default();
    if recovery == Recovery::Rack {
        board.record_newly_acked();
    }
    if control.wants_rate() {
        board.measure_rates();
    }
    board
}
