//! A probe for losses at the tail: TLP (RFC 8985 section 7).

use vazao_engine::Duration;

/// What is known of the last loss probe. When no acknowledgement has come for two round trips, the probe is sent: new
/// data if there is any, or else the last segment again. Its acknowledgement shows RACK what was lost before it, long
/// before the retransmission timer would expire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossProbe {
    /// A probe is to be sent.
    pub due: bool,
    /// While a probe is unanswered: SND.NXT when it had left (TLP.end_seq), and whether it was the last segment again.
    sent: Option<(u64, bool)>,
}

/// What an acknowledgement says that is at or beyond a probe's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// SND.UNA after it.
    pub una: u64,
    /// It reported something that had arrived twice (RFC 2883).
    pub duplicate_report: bool,
    /// It acknowledged nothing new, neither cumulatively nor selectively, and came with nothing else.
    pub bare_duplicate: bool,
}

impl LossProbe {
    /// The most that a receiver may delay the acknowledgement of a lone segment (TLP.max_ack_delay).
    const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

    /// Section 7.2: how long to wait for an acknowledgement before probing. `lone`: one segment is in flight.
    pub fn timeout(srtt: Duration, lone: bool) -> Duration {
        srtt * 2 + if lone { Self::MAX_ACK_DELAY } else { Duration::from_nanos(0) }
    }

    /// Whether a probe was sent and its fate is not known. There is no second one meanwhile.
    pub fn is_unanswered(&self) -> bool {
        self.sent.is_some()
    }

    /// The probe has left.
    pub fn on_sent(&mut self, nxt: u64, again: bool) {
        self.due = false;
        self.sent = Some((nxt, again));
    }

    /// Another repair has begun, which answers for all losses.
    pub fn forget(&mut self) {
        *self = LossProbe::default();
    }

    /// Section 7.4: whether the probe itself repaired a loss, which calls for what every loss calls for. The segment sent
    /// again was no repair if it arrived twice.
    pub fn on_ack(&mut self, answer: &Answer) -> bool {
        let Some((end, again)) = self.sent.filter(|&(end, _)| answer.una >= end) else { return false };
        let harmless = !again || answer.duplicate_report;
        let repaired = !harmless && answer.una > end;
        if harmless || repaired || answer.bare_duplicate {
            self.sent = None;
        }
        repaired
    }
}
