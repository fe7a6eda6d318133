//! How the window comes down: in proportion to what is delivered (PRR, RFC 9937), where that is wanted; in a fast recovery,
//! or over a round trip in which nothing need be sent again.

use super::config::{Config, SackProfile};
use super::rack_tlp::Before;
use super::recovery::Recovery;
use super::sender::Sender;
use vazao_congestion::{CongestionControl, Prr};

/// What a sender knows of it.
#[derive(Debug)]
pub(crate) struct Reduction {
    /// Whether recoveries are paced so. Never where the control has a rate, and so a window of its own for them.
    wanted: bool,
    profile: SackProfile,
    /// The one under way.
    prr: Option<Prr>,
    /// The acknowledgement at hand covers something that had been resent.
    resent: bool,
    /// Of one without a loss: it is over when something beyond this octet is acknowledged, for only that left afterwards.
    lossless_until: Option<u64>,
    /// It begins with the next acknowledgement.
    fresh: bool,
}

impl Reduction {
    pub fn new(config: &Config, recovery: Recovery, control: &dyn CongestionControl) -> Self {
        let paced = recovery == Recovery::Rack || recovery == Recovery::Sack && config.prr;
        Reduction {
            wanted: paced && !control.wants_rate(),
            profile: config.sack_profile,
            prr: None,
            resent: false,
            lossless_until: None,
            fresh: false,
        }
    }

    /// Whether the window is being brought down.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.prr.is_some()
    }

    /// A recovery begins: from what is in flight to the control's threshold.
    pub fn begin(&mut self, mss: u64, ssthresh: u64, flight: u64) {
        let prr = Prr::new(mss, ssthresh, flight);
        self.prr = self.wanted.then(|| if self.profile == SackProfile::Ns3 { prr.like_ns3() } else { prr });
        self.lossless_until = None;
        self.fresh = false;
    }

    /// Whether the window comes down although nothing was lost.
    #[inline]
    pub fn is_lossless(&self) -> bool {
        self.lossless_until.is_some()
    }

    /// A loss is repaired while the window comes down anyway, which is enough. Up to where.
    pub fn join(&mut self) -> Option<u64> {
        self.lossless_until.take()
    }

    /// It is over, or something else has taken its place.
    pub fn end(&mut self) {
        (self.prr, self.lossless_until) = (None, None);
    }

    /// The cumulative acknowledgement moves; whether over something `resent`.
    #[inline]
    pub fn on_advance(&mut self, resent: bool) {
        self.resent = resent;
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
        let advanced = self.una > before.una;
        let resent = std::mem::take(&mut self.reduction.resent);
        let fresh = std::mem::take(&mut self.reduction.fresh);
        let (Some(prr), false) = (&mut self.reduction.prr, fresh) else { return };
        let pipe = self.board.pipe();
        if self.reduction.profile == SackProfile::Rfc {
            self.cwnd = prr.on_ack(delivered, pipe, advanced && !further);
            return;
        }
        if before.news {
            self.cwnd = prr.on_ack(delivered, pipe, resent);
        }
        if advanced {
            self.cwnd = prr.on_ack(delivered, pipe, resent);
        }
    }

    /// What a reduction that begins is in proportion to: RFC 9937's RecoverFS, what is in flight; Linux takes the window
    /// (prior_cwnd), which is far less where many losses were repaired just before.
    pub(super) fn reduces_from(&self, flight: u64) -> u64 {
        if self.lenient { self.cwnd } else { flight }
    }

    /// The control came down to its threshold, `from` there, and nothing is to be sent again: the window
    /// follows over a round trip, in which it does not grow (Linux's state CWR, net/ipv4/tcp_input.c).
    pub(super) fn reduce_without_loss(&mut self, from: u64) {
        self.undo.forget();
        if !self.rated {
            self.reduction.begin(self.mss, self.control.ssthresh(), from);
            self.reduction.lossless_until = Some(self.nxt);
        }
    }

    /// The same for what an acknowledgement told the control. What that lets out leaves at the old window.
    #[cold]
    pub(super) fn reduce_for_delay(&mut self, from: u64) {
        self.marks.on_reduction(self.nxt);
        self.reduce_without_loss(from);
        self.reduction.fresh = self.reduction.is_under_way();
    }

    /// Something has been acknowledged: it may end a reduction without loss.
    #[cold]
    pub(super) fn conclude_without_loss(&mut self) {
        if self.reduction.lossless_until.is_some_and(|until| self.una > until) {
            self.reduction.end();
            self.control.on_recovered(u64::MAX);
            self.cwnd = self.control.cwnd();
            self.round_end = self.nxt;
        }
    }
}
