//! Gradual window reduction by proportional rate reduction (PRR, RFC 9937), in fast recovery or, without a loss, over a
//! round trip.

use super::config::{Config, SackProfile};
use super::rack_tlp::Before;
use super::recovery::Recovery;
use super::sender::Sender;
use vazao_congestion::{CongestionControl, Prr};

/// State of window reductions.
#[derive(Debug)]
pub(crate) struct Reduction {
    /// Whether PRR is used. Never with a rate-based congestion control, which sets the recovery window itself.
    uses_prr: bool,
    profile: SackProfile,
    /// Reduction under way.
    prr: Option<Prr>,
    /// Whether the current acknowledgement covers a retransmitted segment.
    resent: bool,
    /// End of a reduction without loss: the acknowledgement of data beyond this octet, which was sent after it began.
    lossless_until: Option<u64>,
    /// Whether the reduction starts only with the next acknowledgement.
    fresh: bool,
}

impl Reduction {
    pub fn new(config: &Config, recovery: Recovery, control: &dyn CongestionControl) -> Self {
        let paced = recovery == Recovery::Rack || recovery == Recovery::Sack && config.prr;
        Reduction {
            uses_prr: paced && !control.wants_rate(),
            profile: config.sack_profile,
            prr: None,
            resent: false,
            lossless_until: None,
            fresh: false,
        }
    }

    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.prr.is_some()
    }

    /// Begins a reduction from the flight size to ssthresh in a recovery.
    pub fn begin(&mut self, mss: u64, ssthresh: u64, flight: u64) {
        let prr = Prr::new(mss, ssthresh, flight);
        self.prr = self.uses_prr.then(|| if self.profile == SackProfile::Ns3 { prr.like_ns3() } else { prr });
        self.lossless_until = None;
        self.fresh = false;
    }

    /// Whether the window is being reduced without a loss.
    #[inline]
    pub fn is_lossless(&self) -> bool {
        self.lossless_until.is_some()
    }

    /// Merges a loss into a reduction without loss, which suffices for it; returns the end of that reduction.
    pub fn merge_loss(&mut self) -> Option<u64> {
        self.lossless_until.take()
    }

    pub fn end(&mut self) {
        (self.prr, self.lossless_until) = (None, None);
    }

    /// Records that the cumulative acknowledgement moved, and whether over a `resent` segment.
    #[inline]
    pub fn on_advance(&mut self, resent: bool) {
        self.resent = resent;
    }

    /// Records that `span` octets leave.
    #[inline]
    pub fn on_sent(&mut self, span: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(u64::from(span));
        }
    }
}

impl Sender {
    /// Sets the window after an acknowledgement in a recovery; `further` if it revealed a further loss.
    pub(super) fn reduce_in_proportion(&mut self, before: Before, further: bool) {
        let delivered = (self.una + self.board.sacked() + before.repeated).saturating_sub(before.una + before.sacked);
        let advanced = self.una > before.una;
        let resent = std::mem::take(&mut self.reduction.resent);
        let fresh = std::mem::take(&mut self.reduction.fresh);
        let (Some(prr), false) = (&mut self.reduction.prr, fresh) else { return };
        if delivered == 0 && self.host.grows_last {
            return; // Also in tcp_cwnd_reduction.
        }
        let pipe = self.board.pipe();
        if self.reduction.profile == SackProfile::Rfc {
            self.cwnd = prr.on_ack(delivered, pipe, advanced && !further);
            return;
        }
        if before.new_sacks {
            self.cwnd = prr.on_ack(delivered, pipe, resent);
        }
        if advanced {
            self.cwnd = prr.on_ack(delivered, pipe, resent);
        }
    }

    /// Base of a reduction that begins: RFC 9937's RecoverFS is the flight size; Linux uses the window (prior_cwnd),
    /// which is far smaller shortly after many losses were repaired.
    pub(super) fn reduction_base(&self, flight: u64) -> u64 {
        if self.host.reduces_from_window { self.cwnd } else { flight }
    }

    /// Reduces the window from `from` to ssthresh over a round trip without retransmissions or growth (Linux's CWR
    /// state, net/ipv4/tcp_input.c).
    pub(super) fn reduce_without_loss(&mut self, from: u64) {
        self.undo.forget();
        if !self.board.measures_rates() {
            self.reduction.begin(self.mss, self.control.ssthresh(), from);
            self.reduction.lossless_until = Some(self.nxt);
        }
    }

    /// Begins a reduction without loss that an acknowledgement caused. The data it releases leaves at the old window.
    #[cold]
    pub(super) fn reduce_for_delay(&mut self, from: u64) {
        self.marks.on_reduction(self.nxt);
        self.reduce_without_loss(from);
        self.reduction.fresh = self.reduction.is_under_way() && !self.host.grows_last;
    }

    /// Ends a reduction without loss once its round trip is acknowledged.
    #[cold]
    pub(super) fn end_lossless_reduction(&mut self) {
        if self.reduction.lossless_until.is_some_and(|until| self.una > until) {
            self.reduction.end();
            self.control.on_recovered(u64::MAX);
            self.cwnd = self.control.cwnd();
            self.round_end = self.nxt;
        }
    }
}
