//! The bounds (section 4.5.6 and 4.5.7): what was in flight when losses told that it was too much.

use super::{Bbr3, Mode, Phase};
use crate::{Ack, RateSample};

/// Upper and lower bounds, infinite while there are none, and what they are made of. Bytes, and bytes a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Flight that the path held in the last probe.
    pub inflight_hi: f64,
    /// Bandwidth that recent losses leave, until the next probe.
    pub bw_lo: f64,
    pub inflight_lo: f64,
    /// Bounds before the last loss.
    before: (f64, f64, f64),
    /// Greatest rate and amount delivered of the round trip under way.
    latest: (f64, f64),
    /// The end of the round trip whose losses count together; whether the last acknowledgement began one; its losses.
    round_end: u64,
    round_start: bool,
    loss_in_round: bool,
    /// Meaning of acknowledgements.
    pub feedback: Feedback,
    /// Whether samples of a probe are still coming, and may set `inflight_hi`.
    pub probing: bool,
    /// UP: how many round trips it has been growing, each twice as fast.
    pub up_rounds: u32,
}

/// Meaning of acknowledgements (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feedback {
    None,
    Refilling,
    ProbeStarting,
    Probe,
    ProbeStopping,
}

impl Default for Bounds {
    fn default() -> Self {
        const NONE: f64 = f64::INFINITY;
        Bounds {
            inflight_hi: NONE,
            bw_lo: NONE,
            inflight_lo: NONE,
            before: (NONE, NONE, NONE),
            latest: (0.0, 0.0),
            round_end: 0,
            round_start: false,
            loss_in_round: false,
            feedback: Feedback::None,
            probing: false,
            up_rounds: 0,
        }
    }
}

impl Bounds {
    /// No lower bounds: a probe begins, or the queue is known to be empty.
    pub fn forget_lower(&mut self) {
        (self.bw_lo, self.inflight_lo) = (f64::INFINITY, f64::INFINITY);
    }

    /// BBRResetCongestionSignals.
    pub fn forget_signals(&mut self) {
        (self.latest, self.loss_in_round) = ((0.0, 0.0), false);
    }

    /// Before losses change them.
    pub fn save(&mut self) {
        self.before = (self.inflight_hi, self.bw_lo, self.inflight_lo);
    }

    /// Restores the bounds after spurious losses.
    pub fn undo(&mut self) {
        let (inflight_hi, bw_lo, inflight_lo) = self.before;
        self.inflight_hi = self.inflight_hi.max(inflight_hi);
        self.bw_lo = self.bw_lo.max(bw_lo);
        self.inflight_lo = self.inflight_lo.max(inflight_lo);
    }

    /// BBRAdvanceLatestDeliverySignals: a round trip's greatest begin with its first sample.
    pub fn advance(&mut self, sample: &RateSample) {
        if self.round_start {
            self.latest = (sample.bytes_per_second(), sample.delivered as f64);
        }
    }

    /// Returns the most data delivered in the round trip under way.
    pub fn inflight_latest(&self) -> f64 {
        self.latest.1
    }
}

impl Bbr3 {
    /// Section 4.5.7: once a round trip that lost something, but not while probing, both fall to beta of what they were,
    /// or to what was delivered.
    pub(super) fn update_lower_bounds(&mut self, ack: &Ack, sample: &RateSample) {
        let alpha = self.marks.update(ack, self.state.rounds.start);
        let bounds = &mut self.bounds;
        bounds.latest.0 = bounds.latest.0.max(sample.bytes_per_second());
        bounds.latest.1 = bounds.latest.1.max(sample.delivered as f64);
        bounds.loss_in_round |= ack.lost > 0;
        bounds.round_start = sample.prior_delivered >= bounds.round_end;
        if !bounds.round_start {
            return;
        }
        bounds.round_end = sample.total_delivered;
        let lost = std::mem::take(&mut bounds.loss_in_round);
        let marked = self.rules.ecn && alpha.is_some_and(|alpha| alpha > 0.0);
        let probing = match self.mode {
            Mode::Startup => true,
            Mode::ProbeBw(cycle) => matches!(cycle.phase, Phase::Refill | Phase::Up),
            Mode::Drain | Mode::ProbeRtt(_) => false,
        };
        if probing || !(lost || marked) {
            return;
        }
        let (max_bw, cwnd, beta) = (self.max_bw(), self.state.cwnd, self.rules.beta);
        let bounds = &mut self.bounds;
        if bounds.bw_lo.is_infinite() {
            bounds.bw_lo = max_bw;
        }
        if bounds.inflight_lo.is_infinite() {
            bounds.inflight_lo = cwnd;
        }
        if lost {
            bounds.bw_lo = bounds.latest.0.max(beta * bounds.bw_lo);
            bounds.inflight_lo = bounds.latest.1.max(beta * bounds.inflight_lo);
        }
        if marked {
            bounds.inflight_lo *= super::marks::kept(alpha.unwrap_or(0.0));
        }
    }

    /// Section 4.5.6: a probe that lost 2 % was too much; one that did not may go on.
    pub(super) fn update_upper_bounds(&mut self, ack: &Ack, sample: &RateSample) {
        if !self.full_pipe.reached {
            return;
        }
        let in_cycle = matches!(self.mode, Mode::ProbeBw(_));
        if self.state.rounds.start {
            match self.bounds.feedback {
                Feedback::ProbeStarting => self.bounds.feedback = Feedback::Probe,
                Feedback::ProbeStopping => {
                    (self.bounds.probing, self.bounds.feedback) = (false, Feedback::None);
                    if in_cycle && !self.state.is_app_limited(sample) {
                        self.rates = [self.rates[1], 0.0];
                    }
                }
                _ => {}
            }
        }
        if self.is_too_high(sample) {
            if self.bounds.probing {
                self.on_too_high(ack, sample);
            }
            return;
        }
        if self.bounds.inflight_hi.is_infinite() {
            return;
        }
        self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.tx_in_flight as f64);
        if matches!(self.mode, Mode::ProbeBw(cycle) if cycle.phase == Phase::Up) {
            self.raise(ack);
        }
    }

    /// Returns whether more than LossThresh of what was in flight with a packet was lost, or half of it marked.
    pub(super) fn is_too_high(&self, sample: &RateSample) -> bool {
        sample.lost as f64 > self.rules.loss_thresh * sample.tx_in_flight as f64
            || self.rules.ecn && self.marks.are_many()
    }

    fn on_too_high(&mut self, ack: &Ack, sample: &RateSample) {
        self.bounds.probing = false;
        if !self.state.is_app_limited(sample) {
            self.bounds.inflight_hi = (sample.tx_in_flight as f64).max(self.rules.beta * self.target());
        }
        if matches!(self.mode, Mode::ProbeBw(cycle) if cycle.phase == Phase::Up) {
            self.start_down(ack.now);
        }
    }

    /// BBRProbeInflightHiUpward: where `inflight_hi` is what limits, it grows by a segment in the first round trip of UP,
    /// two in the next, four, and so on.
    fn raise(&mut self, ack: &Ack) {
        if ack.window_limited && self.state.cwnd >= self.bounds.inflight_hi {
            let segments = f64::from(1u32 << self.bounds.up_rounds.min(30));
            self.bounds.inflight_hi += ack.delivered as f64 * (segments * self.state.mss / self.state.cwnd).min(1.0);
        }
        if self.state.rounds.start {
            self.bounds.up_rounds = (self.bounds.up_rounds + 1).min(30);
        }
    }
}
