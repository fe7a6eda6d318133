//! How the window comes down in a fast recovery: in proportion to what is delivered (PRR, RFC 9937), where that is wanted.

use super::config::Config;
use super::rack_tlp::Before;
use super::recovery::Recovery;
use super::sender::Sender;
use vazao_congestion::{CongestionControl, Prr};

/// What a sender knows of it.
#[derive(Debug)]
pub(crate) struct Reduction {
    /// Whether recoveries are paced so. Never where the control has a rate, and so a window of its own for them.
    wanted: bool,
    /// The recovery under way.
    prr: Option<Prr>,
}

impl Reduction {
    pub fn new(config: &Config, recovery: Recovery, control: &dyn CongestionControl) -> Self {
        let paced = recovery == Recovery::Rack || recovery == Recovery::Sack && config.prr;
        Reduction { wanted: paced && !control.wants_rate(), prr: None }
    }

    /// Whether a recovery is being paced.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.prr.is_some()
    }

    /// A recovery begins: from what is in flight to the control's threshold.
    pub fn begin(&mut self, mss: u64, ssthresh: u64, flight: u64) {
        self.prr = self.wanted.then(|| Prr::new(mss, ssthresh, flight));
    }

    /// It is over, or something else has taken its place.
    pub fn end(&mut self) {
        self.prr = None;
    }

    /// `span` octets leave.
    #[inline]
    pub fn on_sent(&mut self, span: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(u64::from(span));
        }
    }
}

impl Sender {
    /// The window after an acknowledgement in a recovery. `further`: it showed a further loss.
    pub(super) fn reduce_in_proportion(&mut self, before: Before, further: bool) {
        let delivered = (self.una + self.board.sacked()).saturating_sub(before.una + before.sacked);
        if let (Some(prr), true) = (&mut self.reduction.prr, self.episode.is_fast()) {
            self.cwnd = prr.on_ack(delivered, self.board.pipe(), self.una > before.una && !further);
        }
    }
}
