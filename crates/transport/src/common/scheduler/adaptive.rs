//! Ours: it looks at what the receiver can hold, and switches.

use super::bufferbloat_mitigation::is_within;
use super::lts::least_time_space;
use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameter};

/// A policy for each of two states, of which one is where schedulers differ and the other where they do not.
///
/// - *Relaxed*: less than `pressure` of the receiver's window is outstanding. All windows are full whatever the order in which they
///   are filled, so a scheduler decides little: lowest time over space.
/// - *Pressed*: more is. What arrives is then held for the path that is last, and all paths fill the receiver's buffer for as long
///   as that takes: it suffices for buffer / (sum of rates) seconds. So a path whose queues make it slower than a `share` of that is
///   held to less than its window, as by bufferbloat mitigation, but with a limit that follows from what the receiver can hold and
///   the others need, not from the path's least round-trip time; a path is not held below what it takes when it is empty.
///   Lowest time over space chooses among those that are within their limits; if none is, nothing leaves.
///
/// So it reads rates and losses (what is in the network over the round-trip time, which losses keep small), the spread of
/// round-trip times, space, and pressure on the buffer. Paths that are long because they lose or are far away are not limited while
/// the others are slow too, and none is where the buffer is large for them all.
pub struct Adaptive {
    pressure: f64,
    share: f64,
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "adaptive",
    aliases: &[],
    title: "Adaptive",
    source: "this project",
    help: "lowest time/space; under pressure on the receiver's window, paths that queue longer than it lasts are held back",
    parameters: &[
        Parameter::new(
            "pressure",
            Kind::Number(0.0, 1.0),
            "0.25",
            "part of the receiver's window above which paths are limited",
        ),
        Parameter::new(
            "share",
            Kind::Number(0.01, 10.0),
            "0.125",
            "round-trip time of a path that queues, of what the window lasts",
        ),
    ],
    build: |p| Box::new(Adaptive { pressure: p.number("pressure"), share: p.number("share") }),
};

impl Adaptive {
    /// Nanoseconds that a path's queues may make its round-trip time; without a limit while there is no pressure.
    fn limit(&self, situation: &Situation<'_>) -> f64 {
        let buffer = situation.buffer as f64;
        if situation.waiting == 0 || situation.outstanding as f64 <= self.pressure * buffer {
            return f64::INFINITY;
        }
        let known = situation.paths.iter().filter(|path| path.usable && path.srtt > Duration::ZERO);
        // By Little's law, also where a path is held below its window.
        let rate: f64 = known.map(|path| path.flight as f64 / path.srtt.as_nanos() as f64).sum();
        self.share * buffer / rate
    }
}

impl PacketScheduler for Adaptive {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let limit = self.limit(situation);
        let within =
            situation.available().filter(|(_, path)| is_within(path, limit.max(path.min_rtt.as_nanos() as f64)));
        Decision::send(least_time_space(within))
    }
}
