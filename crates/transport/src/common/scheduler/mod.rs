//! Which subflow takes the next segment.
//!
//! A scheduler is one page: it looks at a [`Situation`] and takes a [`Decision`]. What all of them share (which subflows can be
//! used at all, what is sent again after a timeout, backups) is the connection's.

mod adaptive;
mod blest;
mod bufferbloat_mitigation;
mod constraint_proactive;
mod daps;
mod ecf;
mod forward_delay;
mod freeze;
mod hsr;
mod in_order;
mod lowest_rtt;
mod lts;
mod lws;
mod min_delivery_delay;
mod redundant;
mod retransmit_penalize;
mod round_robin;

pub use adaptive::Adaptive;
pub use blest::Blest;
pub use bufferbloat_mitigation::BufferbloatMitigation;
pub use constraint_proactive::ConstraintProactive;
pub use daps::DelayAware;
pub use ecf::EarliestCompletionFirst;
pub use forward_delay::ForwardDelay;
pub use freeze::Freeze;
pub use hsr::HighestSendingRate;
pub use in_order::InOrder;
pub use lowest_rtt::LowestRtt;
pub use lts::LowestTimeSpace;
pub use lws::LargestWindowSpace;
pub use min_delivery_delay::MinDeliveryDelay;
pub use redundant::Redundant;
pub use retransmit_penalize::RetransmitPenalize;
pub use round_robin::RoundRobin;

use super::PathState;
use std::sync::Arc;
use vazao_engine::registry::{Entry, Parameters};
use vazao_engine::{Duration, Time};

/// What a scheduler looks at. Sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The time.
    pub now: Time,
    /// The subflows, in the order in which they were opened; a subflow keeps its place when it is gone.
    pub paths: &'a [PathState],
    /// What waits to be sent for the first time. (Zero where something is to be sent again, and only the path is asked for.)
    pub waiting: u64,
    /// What the receiver's window leaves room for beyond all that was sent.
    pub window: u64,
    /// The receiver's window: what it holds at most.
    pub buffer: u64,
    /// Sent and not acknowledged by DATA_ACKs.
    pub outstanding: u64,
    /// All octets before this one were sent.
    pub sent: u64,
    /// Where the receiver's window keeps new data back: the path that has the oldest data not acknowledged.
    pub blocker: Option<usize>,
}

impl Situation<'_> {
    /// The paths by which a segment would leave at once.
    #[inline]
    pub fn available(&self) -> impl Iterator<Item = (usize, &PathState)> {
        self.paths.iter().enumerate().filter(|(_, path)| path.is_available())
    }
    /// For a scheduler that [queues](PacketScheduler::queues): the path for which `arrival` (in nanoseconds) is least is given the next data, if that is
    /// within one and a half of the longest round-trip time. Beyond that nothing is known of windows, and what a path was given is
    /// not taken back. What is to be sent again is put before all that waits, and does not wait for that.
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

/// What a scheduler decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing leaves until something changes: an acknowledgement, a timeout, more data, or [`PacketScheduler::wake`].
    Wait,
    /// The next data goes by `path`: at once where it has room, else as soon as it has. `skip` bytes of what waits are left
    /// for others.
    Send {
        /// Index into [`Situation::paths`].
        path: usize,
        /// Bytes left out.
        skip: u64,
    },
    /// `path` sends the oldest data that is not acknowledged and that it has not sent itself, be it new or not.
    Copy {
        /// Index into [`Situation::paths`].
        path: usize,
    },
    /// The oldest data that is not acknowledged is sent again by `path` (once), and the window of another is halved (once in
    /// its round-trip time).
    Repeat {
        /// Index into [`Situation::paths`].
        path: usize,
        /// Index of the path whose window is halved.
        penalised: Option<usize>,
    },
}

impl Decision {
    /// The next data goes by this path; without one, nothing does.
    pub fn send(path: Option<usize>) -> Decision {
        path.map_or(Decision::Wait, |path| Decision::Send { path, skip: 0 })
    }
}

/// A packet scheduler.
pub trait PacketScheduler: Send {
    /// Decides what leaves next. Asked again after each segment until it decides to wait.
    fn decide(&mut self, situation: &Situation<'_>) -> Decision;
    /// So many bytes of data were given to a path that had not been sent before.
    fn on_sent(&mut self, _path: usize, _bytes: u64) {}
    /// Whether it assigns data to paths that have no room, so that it is to be asked though none has.
    fn queues(&self) -> bool {
        false
    }
    /// When it is to be asked again though nothing happens.
    fn wake(&self) -> Time {
        Time::NEVER
    }
}

/// Makes a connection's packet scheduler.
pub type SchedulerFactory = Arc<dyn Fn() -> Box<dyn PacketScheduler> + Send + Sync>;

/// Makes a packet scheduler from its parameters.
pub type Build = fn(&Parameters) -> Box<dyn PacketScheduler>;

/// All schedulers.
pub const SCHEDULERS: &[Entry<Build>] = &[
    lowest_rtt::ENTRY,
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
    blest::ENTRY,
    ecf::ENTRY,
    daps::ENTRY,
    adaptive::ENTRY,
];

/// The path for which `value` is least; of equals the first.
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

/// The available path for which `value` is least; of equals the first.
#[inline]
pub(crate) fn least<T: PartialOrd>(paths: &[PathState], value: impl Fn(&PathState) -> T) -> Option<usize> {
    least_of(paths.iter().enumerate().filter(|(_, path)| path.is_available()), value)
}

/// The available path with the least smoothed round-trip time sends; unless the [fastest] of all is another one, for room on which
/// `waits`, shown the slower and the faster, would rather wait.
#[inline]
pub(crate) fn send_or_wait(paths: &[PathState], waits: impl FnOnce(&PathState, &PathState) -> bool) -> Decision {
    let best = least(paths, |path| path.srtt);
    match best.zip(fastest(paths)) {
        Some((slow, fast)) if slow == fast || !waits(&paths[slow], &paths[fast]) => Decision::send(best),
        _ => Decision::Wait,
    }
}

/// The usable path with the least smoothed round-trip time, be there room or not; of equals one that has room, then the first.
#[inline]
pub(crate) fn fastest(paths: &[PathState]) -> Option<usize> {
    let known = paths.iter().enumerate().filter(|(_, path)| path.is_known());
    least_of(known, |path| (path.srtt, !path.has_room))
}
