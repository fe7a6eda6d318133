//! Progress of PROBE_RTT, in which a sender all but stops, so that queues empty and the propagation delay shows.

use super::State;
use vazao_engine::{Duration, Time};

/// Progress of PROBE_RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeRtt {
    /// Time at which it may end, once little enough is in flight.
    done: Option<Time>,
    /// Whether a round trip has passed with so little.
    round_done: bool,
}

impl ProbeRtt {
    /// Handles an acknowledgement: it lasts `duration` and a round trip from when little enough is in flight on. Returns
    /// whether that round trip has passed.
    pub fn update(&mut self, now: Time, is_little: bool, duration: Duration, state: &mut State) -> bool {
        if self.done.is_none() && is_little {
            self.done = Some(now + duration);
            state.rounds.restart(state.delivered);
        } else if self.done.is_some() {
            self.round_done |= state.rounds.start;
        }
        self.round_done
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Time) -> bool {
        self.done.is_some_and(|done| now.since(done) > Duration::ZERO)
    }
}
