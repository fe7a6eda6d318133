//! Tail loss probe, TLP (RFC 8985 section 7).

use vazao_engine::Duration;

/// State of the last loss probe. After two round trips without an acknowledgement the probe is sent: new data if there
/// is any, or else the last segment again. Its acknowledgement lets RACK detect tail losses long before the
/// retransmission timer would expire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossProbe {
    /// Whether a probe must be sent.
    pub due: bool,
    /// While a probe is unanswered: SND.NXT after it (TLP.end_seq), and whether it was a retransmission.
    sent: Option<(u64, bool)>,
}

/// Acknowledgement at or beyond a probe's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// SND.UNA after it.
    pub una: u64,
    /// Whether it carried a D-SACK (RFC 2883).
    pub duplicate_report: bool,
    /// Whether it is a pure ACK without any new acknowledgement or SACK.
    pub bare_duplicate: bool,
}

impl LossProbe {
    /// Maximum delay of the acknowledgement of a single segment (TLP.max_ack_delay).
    const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

    /// Section 7.2: probe timeout; `lone` means that one segment is in flight.
    pub fn timeout(srtt: Duration, lone: bool) -> Duration {
        srtt * 2 + if lone { Self::MAX_ACK_DELAY } else { Duration::from_nanos(0) }
    }

    /// Whether a probe is unanswered; no second one is sent meanwhile.
    pub fn is_unanswered(&self) -> bool {
        self.sent.is_some()
    }

    /// Whether it is unanswered and ends at this octet.
    pub fn ends_at(&self, octet: u64) -> bool {
        self.sent.is_some_and(|(end, _)| end == octet)
    }

    /// Records that the probe leaves.
    pub fn on_sent(&mut self, nxt: u64, again: bool) {
        self.due = false;
        self.sent = Some((nxt, again));
    }

    /// Discards the probe when another repair begins.
    pub fn forget(&mut self) {
        *self = LossProbe::default();
    }

    /// Section 7.4: returns whether the probe itself repaired a loss, which calls for a congestion response. A
    /// retransmission that arrived as a duplicate did not.
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
