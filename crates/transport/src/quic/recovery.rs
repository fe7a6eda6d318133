//! Loss detection and the probe timeout (RFC 9002, sections 5, 6 and appendix A).

use super::packet::Space;
use super::sent::{Sent, SentPackets};
use crate::{RtoFloor, RttEstimator};
use vazao_engine::{Duration, Time};

/// kPacketThreshold.
const PACKET_THRESHOLD: u64 = 3;
/// kTimeThreshold: 9/8.
const TIME_THRESHOLD: (u64, u64) = (9, 8);
/// kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);
/// kPersistentCongestionThreshold.
const PERSISTENT: u64 = 3;

/// What is known of the path, and of what is under way on it.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub rtt: RttEstimator,
    pub spaces: [SentPackets; 3],
    loss_times: [Time; 3],
    pub pto_count: u32,
    max_ack_delay: Duration,
    /// When the first round-trip time was measured.
    measured: Option<Time>,
}

/// What an acknowledgement, or time, has shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// What is lost, with its number.
    pub lost: Vec<(u64, Sent)>,
    /// Whether all that was sent in a long span was lost (section 7.6).
    pub persistent: bool,
}

impl Recovery {
    pub fn new(initial_rtt: Duration, max_ack_delay: Duration) -> Recovery {
        // The timeout of the estimator is not used; PTO is computed here.
        let mut rtt = RttEstimator::new(initial_rtt * 2, GRANULARITY, Duration::from_secs(60), RtoFloor::Total);
        rtt.assume(initial_rtt);
        Recovery {
            rtt,
            spaces: Default::default(),
            loss_times: [Time::NEVER; 3],
            pto_count: 0,
            max_ack_delay,
            measured: None,
        }
    }

    pub fn space(&mut self, space: Space) -> &mut SentPackets {
        &mut self.spaces[space as usize]
    }

    /// Bytes in flight in all spaces.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.spaces.iter().map(|space| space.in_flight).sum()
    }

    /// Takes a round-trip time (section 5): of which the peer held the answer for `delay`.
    pub fn sample(&mut self, now: Time, rtt: Duration, delay: Duration, confirmed: bool) {
        if self.measured.is_none() {
            self.measured = Some(now);
            self.rtt.forget_assumption();
            self.rtt.sample(rtt);
        } else {
            // Before the handshake is confirmed a peer may be late for reasons of its own.
            let delay = if confirmed { delay.min(self.max_ack_delay) } else { delay };
            self.rtt.sample_delayed(rtt, delay);
        }
    }

    /// How long what is in flight in a space may go unanswered (section 6.2.1), not backed off.
    pub fn pto(&self, space: Space) -> Duration {
        let variation = (self.rtt.variation() * 4).max(GRANULARITY);
        let delay = if space == Space::Data { self.max_ack_delay } else { Duration::ZERO };
        self.rtt.srtt() + variation + delay
    }

    /// When the timer expires (appendix A.8). `can_deadlock`: the client's, whose server may wait for more bytes.
    pub fn timer(&self, now: Time, confirmed: bool, can_deadlock: Option<Space>) -> Time {
        let loss = self.loss_times.iter().copied().min().unwrap_or(Time::NEVER);
        if loss < Time::NEVER {
            return loss;
        }
        let backoff = 1 << self.pto_count.min(20);
        if self.spaces.iter().all(|space| space.eliciting == 0) {
            return can_deadlock.map_or(Time::NEVER, |space| now + self.pto(space) * backoff);
        }
        let due = |space: Space| {
            let sent = &self.spaces[space as usize];
            let waits = sent.eliciting > 0 && (space != Space::Data || confirmed);
            if waits { sent.last_eliciting + self.pto(space) * backoff } else { Time::NEVER }
        };
        Space::ALL.into_iter().map(due).min().unwrap_or(Time::NEVER)
    }

    /// The space whose probe is due first.
    pub fn pto_space(&self, confirmed: bool) -> Option<Space> {
        let waiting = |space: &Space| {
            self.spaces[*space as usize].eliciting > 0 && (*space != Space::Data || confirmed)
        };
        Space::ALL
            .into_iter()
            .filter(waiting)
            .min_by_key(|&space| self.spaces[space as usize].last_eliciting + self.pto(space))
    }

    /// The space whose packets are to be looked at because time has passed.
    pub fn due_loss(&self, now: Time) -> Option<Space> {
        Space::ALL.into_iter().find(|&space| self.loss_times[space as usize] <= now)
    }

    /// DetectAndRemoveLostPackets (appendix A.10).
    pub fn detect(&mut self, now: Time, space: Space) -> Found {
        self.loss_times[space as usize] = Time::NEVER;
        let Some(largest) = self.spaces[space as usize].largest_acked else { return Found::default() };
        let rtt = self.rtt.latest().max(self.rtt.srtt());
        let delay = (rtt * TIME_THRESHOLD.0 / TIME_THRESHOLD.1).max(GRANULARITY);
        let mut numbers = Vec::new();
        let mut first_left = Time::NEVER;
        for (number, at) in self.spaces[space as usize].outstanding_through(largest) {
            if now.since(at) >= delay || largest >= number + PACKET_THRESHOLD {
                numbers.push(number);
            } else {
                // Sent in order: those after it are no earlier.
                first_left = at + delay;
                break;
            }
        }
        self.loss_times[space as usize] = first_left;
        let mut found = Found::default();
        for number in numbers {
            if let Some(sent) = self.space(space).lose(number) {
                found.lost.push((number, sent));
            }
        }
        found.persistent = self.is_persistent(&found.lost);
        found
    }

    /// Section 7.6: two that asked for acknowledgements were lost, nothing between them arrived, and they left further apart
    /// than the persistent congestion duration, after a round-trip time was known.
    fn is_persistent(&self, lost: &[(u64, Sent)]) -> bool {
        let Some(measured) = self.measured else { return false };
        let variation = (self.rtt.variation() * 4).max(GRANULARITY);
        let span = (self.rtt.srtt() + variation + self.max_ack_delay) * PERSISTENT;
        let mut first: Option<(u64, Time)> = None;
        let mut previous = None;
        for (number, sent) in lost.iter().filter(|(_, sent)| sent.at > measured) {
            // A number that is missing between them arrived.
            if previous.is_some_and(|previous| previous + 1 != *number) {
                first = None;
            }
            previous = Some(*number);
            if !sent.eliciting {
                continue;
            }
            match first {
                None => first = Some((*number, sent.at)),
                Some((_, at)) if sent.at.since(at) > span => return true,
                Some(_) => {}
            }
        }
        false
    }

    /// Keys of a space are discarded (section 6.4).
    pub fn discard(&mut self, space: Space) {
        self.space(space).discard();
        self.loss_times[space as usize] = Time::NEVER;
        self.pto_count = 0;
    }
}
