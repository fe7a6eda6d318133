//! PROBE_BW (section 4.3.3): DOWN takes the queue away, CRUISE stays, with room for others, REFILL fills the pipe again
//! without a queue, and UP looks for more.

use super::bounds::Feedback;
use super::{Bbr3, Mode, Rules};
use crate::{Ack, RateSample};
use vazao_engine::{Duration, Time};

/// Position in the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub phase: Phase,
    /// Time at which the cycle began, and how long it waits for the next probe: in time, and round trips since.
    since: Time,
    wait: Duration,
    rounds: u64,
}

/// The phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

impl Phase {
    /// Section 4.6.1.
    pub fn pacing_gain(self) -> f64 {
        match self {
            Phase::Down => 0.9,
            Phase::Cruise | Phase::Refill => 1.0,
            Phase::Up => 1.25,
        }
    }

    /// Returns the phase's name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Down => "ProbeBW: down",
            Phase::Cruise => "ProbeBW: cruise",
            Phase::Refill => "ProbeBW: refill",
            Phase::Up => "ProbeBW: up",
        }
    }

    /// Returns the additional window of UP in bandwidth-delay products, which keeps it from limiting the rate.
    pub fn more_window(self) -> f64 {
        if self == Phase::Up { 0.25 } else { 0.0 }
    }
}

impl Bbr3 {
    /// Round trips after which it probes at the latest: Reno would have grown by a segment in each until it lost one.
    const RENO_ROUNDS: f64 = 63.0;

    /// Into DOWN: the next probe is two to three seconds ahead, by chance, so that flows do not probe together.
    pub(super) fn start_down(&mut self, now: Time) {
        self.bounds.forget_signals();
        let rounds = self.state.luck.below(2);
        let wait = Duration::from_secs(2) + Duration::from_nanos(self.state.luck.below(1_000_000_000));
        self.bounds.feedback = Feedback::ProbeStopping;
        self.state.rounds.restart(self.state.delivered);
        self.mode = Mode::ProbeBw(Cycle { phase: Phase::Down, since: now, wait, rounds });
    }

    /// Into CRUISE.
    pub(super) fn start_cruise(&mut self) {
        self.enter(Phase::Cruise);
    }

    fn enter(&mut self, phase: Phase) {
        if let Mode::ProbeBw(cycle) = self.mode {
            self.mode = Mode::ProbeBw(Cycle { phase, ..cycle });
        }
    }

    fn start_refill(&mut self) {
        self.bounds.forget_lower();
        (self.bounds.up_rounds, self.bounds.feedback) = (0, Feedback::Refilling);
        self.state.rounds.restart(self.state.delivered);
        self.enter(Phase::Refill);
    }

    fn start_up(&mut self, sample: &RateSample) {
        (self.bounds.feedback, self.bounds.probing) = (Feedback::ProbeStarting, true);
        self.state.rounds.restart(self.state.delivered);
        self.full_pipe.restart(sample.bytes_per_second());
        self.enter(Phase::Up);
    }

    /// Section 4.3.3.6: on to the next phase when it is time.
    pub(super) fn update_cycle(&mut self, ack: &Ack, sample: &RateSample) {
        let Mode::ProbeBw(cycle) = &mut self.mode else { return };
        cycle.rounds += u64::from(self.state.rounds.start);
        let cycle = *cycle;
        let waited = ack.now.since(cycle.since) > cycle.wait
            || cycle.rounds as f64 >= (self.target() / self.state.mss).min(Self::RENO_ROUNDS);
        match cycle.phase {
            Phase::Down | Phase::Cruise if waited => self.start_refill(),
            Phase::Down if self.has_room(ack.pipe as f64) => self.start_cruise(),
            Phase::Down | Phase::Cruise => {}
            Phase::Refill if self.state.rounds.start => self.start_up(sample),
            Phase::Refill => {}
            Phase::Up => {
                if ack.window_limited && self.state.cwnd >= self.bounds.inflight_hi {
                    self.full_pipe.restart(sample.bytes_per_second());
                } else if self.full_pipe.now {
                    self.start_down(ack.now);
                }
            }
        }
    }

    /// Returns whether DOWN has taken away the queue, and leaves others room.
    fn has_room(&self, in_flight: f64) -> bool {
        in_flight <= self.with_headroom() && in_flight <= self.inflight(1.0)
    }

    /// `inflight_hi` less what is left to others.
    pub(super) fn with_headroom(&self) -> f64 {
        let hi = self.bounds.inflight_hi;
        if hi.is_infinite() {
            return hi;
        }
        (hi - (self.rules.headroom * hi).max(self.state.mss)).max(Rules::MIN_PIPE * self.state.mss)
    }
}
