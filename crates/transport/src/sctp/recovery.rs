//! Fast retransmit and fast recovery (RFC 9260 section 7.2.4): who is missing, and how far a recovery reaches.

/// What a fast recovery stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The windows of all paths, until the highest TSN outstanding at its start is acknowledged (RFC 9260).
    PerAssociation,
    /// The window of the path with the loss, until the highest TSN outstanding there is.
    PerPath,
    /// Nothing: each SACK that shows a loss cuts the window of its path, as usrsctp's does where CMT is on
    /// (`sctp_cwnd_update_after_fr`).
    None,
}

impl Scope {
    /// The scopes by name.
    pub const ALL: [(&'static str, Scope); 3] =
        [("per-association", Scope::PerAssociation), ("per-path", Scope::PerPath), ("none", Scope::None)];
}

/// What a SACK newly acknowledges, as far as missing reports go. TSNs are below `highest`, at or above `lowest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Newly {
    /// The lowest and the highest TSN newly acknowledged, plus one for the latter: the chunks below it may be missing.
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

/// How many missing reports a SACK makes for a chunk with a TSN below what it newly acknowledges on the chunk's path.
///
/// DAC (Iyengar and others 2006): a SACK that answers several packets counts as several, unless it acknowledges data of
/// several paths, for then the packets may be another path's, or data below the chunk too.
pub(super) fn reports(packets: u8, mixed: bool, newly: Newly, tsn: u64) -> u8 {
    if mixed || newly.lowest < tsn { 1 } else { packets.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delayed_acknowledgements_count_for_each_packet_that_can_only_be_later() {
        let newly = Newly { lowest: 10, highest: 13 };
        // Both packets came after TSN 7: two reports. TSN 11 lies between them: one. Data of two paths: one.
        assert_eq!(reports(2, false, newly, 7), 2);
        assert_eq!(reports(2, false, newly, 11), 1);
        assert_eq!(reports(2, true, newly, 7), 1);
        // Who says nothing of packets means one.
        assert_eq!(reports(0, false, newly, 7), 1);
    }
}
