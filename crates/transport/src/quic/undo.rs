//! Undo of window reductions for losses that were none.

use vazao_engine::Time;

/// Last window reduction for losses, while it may prove needless: once every packet whose loss it answers has been
/// acknowledged after all. RFC 9002 does not say so; msquic (`QuicCongestionControlOnSpuriousCongestionEvent`), neqo
/// (`detect_spurious_congestion_event`) and quinn (`on_spurious_congestion_event`) do the same, and TCP with what Eifel
/// and D-SACK report (RFC 4015).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// Time of the reduction before, if any, and of this one: the packets whose loss it answers were sent in between.
    pub before: Option<Time>,
    at: Time,
    /// Number of those that have not arrived.
    missing: u64,
}

impl Reduction {
    pub fn new(before: Option<Time>, at: Time) -> Reduction {
        Reduction { before, at, missing: 0 }
    }

    /// Whether it answers the loss of a packet sent at this time.
    fn answers(&self, sent_at: Time) -> bool {
        sent_at <= self.at && self.before.is_none_or(|before| sent_at > before)
    }

    /// Records the loss of a packet.
    pub fn on_lost(&mut self, sent_at: Time) {
        self.missing += u64::from(self.answers(sent_at));
    }

    /// Records the late arrival of a packet; returns whether it was the last one missing.
    pub fn on_late(&mut self, sent_at: Time) -> bool {
        let counts = self.answers(sent_at);
        self.missing -= u64::from(counts);
        counts && self.missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vazao_engine::Duration;

    /// Two losses of the last round trip must both arrive; one that an earlier reduction answers does not count.
    #[test]
    fn the_last_of_its_losses_decides() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut reduction = Reduction::new(Some(at(10)), at(50));
        [5, 10, 20, 30].iter().for_each(|&ms| reduction.on_lost(at(ms)));
        assert_eq!([30, 10, 5, 20].map(|ms| reduction.on_late(at(ms))), [false, false, false, true]);
    }
}
