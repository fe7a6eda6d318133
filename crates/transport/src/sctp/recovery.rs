//! Fast retransmit and fast recovery (RFC 9260 section 7.2.4): missing reports and the scope of recovery.

use vazao_engine::registry::choice;

choice! {
    /// Scope of fast recovery.
    pub enum Scope {
        /// All paths' windows, until the highest TSN outstanding at its start is acknowledged (RFC 9260).
        PerAssociation = "per-association",
        /// Window of the path with the loss, until the highest TSN outstanding on it is acknowledged.
        PerPath = "per-path",
        /// None, but a window is cut once for each window of data: not for a chunk that was outstanding at the last cut
        /// (RFC 6582's `recover`). Growth never stops. So it is in ns-2's CMT (`SctpCMTAgent::FastRtx`).
        PerWindow = "per-window",
        /// None: each SACK that shows a loss cuts the window of its path, as in usrsctp with CMT
        /// (`sctp_cwnd_update_after_fr`).
        None = "none",
    }
}

/// Range of TSNs that a SACK newly acknowledges, for missing reports: at or above `lowest`, below `highest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Newly {
    /// Lowest TSN newly acknowledged, and highest plus one: chunks below may be missing.
    pub lowest: u64,
    pub highest: u64,
}

impl Newly {
    pub const NOTHING: Newly = Newly { lowest: u64::MAX, highest: 0 };

    pub fn add(&mut self, tsn: u64) {
        self.lowest = self.lowest.min(tsn);
        self.highest = self.highest.max(tsn + 1);
    }
    pub fn is_nothing(&self) -> bool {
        self.highest == 0
    }
}

/// Missing reports that a SACK makes for a chunk below the TSNs that it newly acknowledges on the chunk's path.
///
/// DAC (Iyengar and others 2006): a SACK that acknowledges several packets counts as several, unless it acknowledges
/// data of several paths or below the chunk, to which the packets may belong.
pub(super) fn reports(packets: u8, mixed: bool, newly: Newly, tsn: u64) -> u8 {
    if mixed || newly.lowest < tsn { 1 } else { packets.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delayed_acks_count_each_later_packet() {
        let newly = Newly { lowest: 10, highest: 13 };
        // Both packets came after TSN 7: two reports. TSN 11 lies between them: one. Data of two paths: one.
        assert_eq!(reports(2, false, newly, 7), 2);
        assert_eq!(reports(2, false, newly, 11), 1);
        assert_eq!(reports(2, true, newly, 7), 1);
        // A SACK without a packet count counts once.
        assert_eq!(reports(0, false, newly, 7), 1);
    }
}
