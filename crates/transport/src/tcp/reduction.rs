//! Gradual window reduction by proportional rate reduction (PRR, RFC 9937), in fast recovery or, without a loss, over a
//! round trip.

use super::config::{Config, SackProfile};
use super::host::Personality;
use super::recovery::Recovery;
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
    host: &'static Personality,
}

/// Delivery that an acknowledgement reports in a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Octets delivered.
    pub delivered: u64,
    /// Octets that remain in the network.
    pub pipe: u64,
    /// Whether the cumulative acknowledgement moved, whether SACK blocks reported new data, and whether a further loss shows.
    pub advanced: bool,
    pub new_sacks: bool,
    pub further: bool,
}

impl Reduction {
    pub fn new(config: &Config, recovery: Recovery, control: &dyn CongestionControl) -> Self {
        let gradual = recovery == Recovery::Rack || recovery == Recovery::Sack && config.prr;
        Reduction {
            uses_prr: gradual && !control.wants_rate(),
            profile: config.sack_profile,
            prr: None,
            resent: false,
            lossless_until: None,
            fresh: false,
            host: config.host.personality(),
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

    /// Turns a reduction without loss into one for a loss, for which it suffices; returns its end.
    pub fn merge_loss(&mut self) -> Option<u64> {
        self.lossless_until.take()
    }

    /// Begins a reduction without a loss, to ssthresh over the round trip of what was sent before octet `until`: without
    /// retransmissions or growth (Linux's CWR state, net/ipv4/tcp_input.c).
    pub fn begin_lossless(&mut self, mss: u64, ssthresh: u64, from: u64, until: u64) {
        self.begin(mss, ssthresh, from);
        self.lossless_until = Some(until);
    }

    /// Skips the current acknowledgement: the data that it releases leaves at the old window.
    pub fn skip_acknowledgement(&mut self) {
        self.fresh = self.is_under_way() && !self.host.grows_last;
    }

    /// Whether a reduction without a loss is over: data beyond its end is acknowledged.
    pub fn is_lossless_over(&self, una: u64) -> bool {
        self.lossless_until.is_some_and(|until| una > until)
    }

    /// Base of a reduction that begins: RFC 9937's RecoverFS is the flight size; Linux uses the window (prior_cwnd),
    /// which is far smaller shortly after many losses were repaired.
    pub fn base(&self, cwnd: u64, flight: u64) -> u64 {
        if self.host.reduces_from_window { cwnd } else { flight }
    }

    /// Returns the window after an acknowledgement in a reduction, if it sets one.
    pub fn window_after(&mut self, delivery: &Delivery) -> Option<u64> {
        let Delivery { delivered, pipe, advanced, new_sacks, further } = *delivery;
        let resent = std::mem::take(&mut self.resent);
        let fresh = std::mem::take(&mut self.fresh);
        let prr = self.prr.as_mut().filter(|_| !fresh)?;
        if delivered == 0 && self.host.grows_last {
            return None; // As in tcp_cwnd_reduction.
        }
        if self.profile == SackProfile::Rfc {
            return Some(prr.on_ack(delivered, pipe, advanced && !further));
        }
        // ns-3 counts what is SACKed and what is acknowledged apart.
        let by_sack = new_sacks.then(|| prr.on_ack(delivered, pipe, resent));
        let by_advance = advanced.then(|| prr.on_ack(delivered, pipe, resent));
        by_advance.or(by_sack)
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
