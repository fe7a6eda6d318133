//! Packet schedulers: they choose the subflow for the next segment.
//!
//! A scheduler looks at a [`Situation`] and takes a [`Decision`]. The connection handles what all of them share: which
//! subflows are usable, retransmission after a timeout, backups.

mod adaptive;
mod blest;
mod bufferbloat_mitigation;
mod constraint_proactive;
mod daps;
mod ecf;
mod forward_delay;
mod forward_prediction;
mod freeze;
mod hsr;
mod in_order;
mod least_linger;
mod lowest_rtt;
mod lts;
mod lws;
mod min_delivery_delay;
mod multiple_attribute;
mod path_capacity;
mod redundant;
mod retransmit_penalize;
mod round_robin;
mod scheduled_window;

pub use adaptive::Adaptive;
pub use blest::Blest;
pub use bufferbloat_mitigation::BufferbloatMitigation;
pub use constraint_proactive::ConstraintProactive;
pub use daps::DelayAware;
pub use ecf::EarliestCompletionFirst;
pub use forward_delay::ForwardDelay;
pub use forward_prediction::ForwardPrediction;
pub use freeze::Freeze;
pub use hsr::HighestSendingRate;
pub use in_order::InOrder;
pub use least_linger::LeastLinger;
pub use lowest_rtt::LowestRtt;
pub use lts::LowestTimeSpace;
pub use lws::LargestWindowSpace;
pub use min_delivery_delay::MinDeliveryDelay;
pub use multiple_attribute::MultipleAttribute;
pub use path_capacity::PathCapacity;
pub use redundant::Redundant;
pub use retransmit_penalize::RetransmitPenalize;
pub use round_robin::RoundRobin;
pub use scheduled_window::ScheduledWindow;

use super::PathState;
use std::sync::Arc;
use vazao_engine::registry::{Entry, Parameters};
use vazao_engine::{Duration, Time};

/// State that a scheduler decides on. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// Current time.
    pub now: Time,
    /// Subflows in the order in which they were opened; a closed subflow keeps its index.
    pub paths: &'a [PathState],
    /// Bitmask of the paths that may have room: the others need not be looked at.
    pub with_room: u64,
    /// New data waiting to be sent. (Zero for a retransmission, where only the path is chosen.)
    pub waiting: u64,
    /// Receive window left beyond all data sent.
    pub window: u64,
    /// Size of the receiver's window.
    pub buffer: u64,
    /// Bytes sent and not yet covered by a DATA_ACK.
    pub outstanding: u64,
    /// Offset below which all data was sent.
    pub sent: u64,
    /// Path that carries the oldest unacknowledged data while the receiver's window blocks new data.
    pub blocker: Option<usize>,
}

impl Situation<'_> {
    /// Paths on which a segment would leave at once.
    #[inline]
    pub fn available(&self) -> impl Iterator<Item = (usize, &PathState)> {
        let mut rest = self.with_room;
        let paths = std::iter::from_fn(move || {
            let number = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            self.paths.get(number).map(|path| (number, path))
        });
        paths.filter(|(_, path)| path.is_available())
    }
    /// Index of the available path with the least `value`; ties go to the first.
    #[inline]
    pub(crate) fn least<T: PartialOrd>(&self, value: impl Fn(&PathState) -> T) -> Option<usize> {
        least_of(self.available(), value)
    }
    /// Sends on the available path with the least smoothed round-trip time, unless the [fastest] of all is another path and
    /// `waits`, given the slower and the faster, decides to wait for room on it.
    #[inline]
    pub(crate) fn send_or_wait(&self, waits: impl FnOnce(&PathState, &PathState) -> bool) -> Decision {
        let best = self.least(|path| path.srtt);
        match best.zip(fastest(self.paths)) {
            Some((slow, fast)) if slow == fast || !waits(&self.paths[slow], &self.paths[fast]) => Decision::send(best),
            _ => Decision::Wait,
        }
    }
    /// Assigns the next data to the path with the least `arrival` (in nanoseconds), for a scheduler that
    /// [queues](PacketScheduler::queues), provided that `arrival` is within 1.5 times the longest round-trip time:
    /// windows beyond that are unknown, and an assignment is not taken back. A retransmission goes ahead of all waiting
    /// data and is exempt from that limit.
    #[inline]
    pub fn assign(&self, arrival: impl Fn(&PathState) -> f64) -> Decision {
        let known = || self.paths.iter().enumerate().filter(|(_, path)| path.is_known());
        let longest = known().map(|(_, path)| path.srtt).max().unwrap_or(Duration::ZERO).as_nanos() as f64;
        let best = least_of(known(), &arrival);
        let is_near = |path: &PathState| self.waiting == 0 || arrival(path) <= 1.5 * longest;
        let near = best.filter(|&path| is_near(&self.paths[path]));
        Decision::send(near.or_else(|| least_of(self.available(), &arrival)))
    }
}

/// Decision of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send nothing until something changes: an acknowledgement, a timeout, more data, or [`PacketScheduler::wake`].
    Wait,
    /// Send the next data on `path`, at once or when it has room; `skip` bytes of waiting data are left for others.
    Send {
        /// Index into [`Situation::paths`].
        path: usize,
        /// Bytes to skip.
        skip: u64,
    },
    /// Send on `path` the oldest unacknowledged data that it has not sent itself, new or not.
    Copy {
        /// Index into [`Situation::paths`].
        path: usize,
    },
    /// Retransmit the oldest unacknowledged data on `path`, and halve the window of `penalised` once per round trip.
    Repeat {
        /// Index into [`Situation::paths`].
        path: usize,
        /// Index of the path whose window is halved.
        penalised: Option<usize>,
    },
}

impl Decision {
    /// Sends the next data on `path`; `None` means to wait.
    pub fn send(path: Option<usize>) -> Decision {
        path.map_or(Decision::Wait, |path| Decision::Send { path, skip: 0 })
    }
}

/// A packet scheduler.
pub trait PacketScheduler: Send {
    /// Decides what leaves next. Called again after each segment until the answer is to wait.
    fn decide(&mut self, situation: &Situation<'_>) -> Decision;
    /// Records that `bytes` of new data were given to `path`.
    fn on_sent(&mut self, _path: usize, _bytes: u64) {}
    /// Whether the scheduler assigns data to paths without room, and so must be called even if none has room.
    fn queues(&self) -> bool {
        false
    }
    /// Time at which it must be called again even if nothing happens.
    fn wake(&self) -> Time {
        Time::NEVER
    }
}

/// Makes a connection's packet scheduler.
pub type SchedulerFactory = Arc<dyn Fn() -> Box<dyn PacketScheduler> + Send + Sync>;

/// Makes a packet scheduler from its parameters.
pub type Build = fn(&Parameters) -> Box<dyn PacketScheduler>;

/// All packet schedulers.
pub const SCHEDULERS: &[Entry<Build>] = &[
    lowest_rtt::ENTRY,
    least_linger::ENTRY,
    round_robin::ENTRY,
    redundant::ENTRY,
    lws::ENTRY,
    lts::ENTRY,
    hsr::ENTRY,
    retransmit_penalize::ENTRY,
    bufferbloat_mitigation::ENTRY,
    freeze::ENTRY,
    constraint_proactive::RADICAL,
    constraint_proactive::CONSERVATIVE,
    forward_delay::ENTRY,
    min_delivery_delay::ENTRY,
    in_order::ENTRY,
    path_capacity::ENTRY,
    multiple_attribute::ENTRY,
    forward_prediction::ENTRY,
    scheduled_window::ENTRY,
    blest::ENTRY,
    ecf::ENTRY,
    daps::ENTRY,
    adaptive::ENTRY,
];

/// Index of the path with the least `value`; ties go to the first.
#[inline]
pub(crate) fn least_of<'a, T: PartialOrd>(
    paths: impl Iterator<Item = (usize, &'a PathState)>,
    value: impl Fn(&PathState) -> T,
) -> Option<usize> {
    let mut best: Option<(usize, T)> = None;
    for (index, path) in paths {
        let this = value(path);
        if best.as_ref().is_none_or(|(_, best)| this < *best) {
            best = Some((index, this));
        }
    }
    best.map(|(index, _)| index)
}

/// Usable path with the least smoothed round-trip time; ties go to one that has room, then to the first.
#[inline]
pub(crate) fn fastest(paths: &[PathState]) -> Option<usize> {
    let known = paths.iter().enumerate().filter(|(_, path)| path.is_known());
    least_of(known, |path| (path.srtt, !path.has_room))
}
