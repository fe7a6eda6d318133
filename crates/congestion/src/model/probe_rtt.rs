//! Progress of PROBE_RTT: a short phase with little in flight, in which queues drain and the propagation delay shows.

use super::State;
use vazao_engine::{Duration, Time};

/// Progress of PROBE_RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeRtt {
    /// Time at which it may end, once little enough is in flight.
    done: Option<Time>,
    /// Whether a round trip has passed since.
    round_done: bool,
}

impl ProbeRtt {
    /// Handles an acknowledgement: the phase ends `duration` and a round trip after little enough is in flight. Returns whether
    /// that round trip has passed.
    pub fn update(&mut self, now: Time, is_little: bool, duration: Duration, state: &mut State) -> bool {
        if self.done.is_none() && is_little {
            self.done = Some(now + duration);
            state.rounds.restart(state.delivered);
        } else if self.done.is_some() {
            self.round_done |= state.rounds.start;
        }
        self.round_done
    }

    /// Whether its least duration has passed.
    pub fn is_over(&self, now: Time) -> bool {
        self.done.is_some_and(|done| now > done)
    }
}
