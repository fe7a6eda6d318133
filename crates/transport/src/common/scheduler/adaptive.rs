//! The project's own scheduler: it switches policy with the pressure on the receiver's buffer.

use super::bufferbloat_mitigation::is_within;
use super::lts::least_time_space;
use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, parameters};

parameters! {
    /// Two policies, one for when the choice of path matters and one for when it does not.
    ///
    /// - *Relaxed*: less than `pressure` of the receiver's window is outstanding. All congestion windows are full in
    ///   whatever order they are filled, so a scheduler decides little: lowest time over space.
    /// - *Pressed*: more is outstanding. Received data waits for the slowest path while all paths fill the receiver's
    ///   buffer, which lasts for buffer / (sum of rates) seconds. A path whose queues raise its round-trip time above a
    ///   `share` of that is held below its window. This resembles bufferbloat mitigation, but the limit follows from the
    ///   receiver's buffer and the rates of all paths, not from the path's minimum round-trip time; and a path is never
    ///   held below its minimum round-trip time. Lowest time over space chooses among the paths within their limits; if
    ///   none is, nothing is sent.
    ///
    /// The inputs are the rates (flight over round-trip time, which losses keep low), the spread of round-trip times, the
    /// window space and the pressure on the buffer. Lossy and long paths are not limited while the others are slow too, and
    /// no path is limited if the buffer is large enough for all.
    pub struct Adaptive {
        pressure: f64 = Kind::Number(0.0, 1.0), "0.25", "part of the receiver's window above which paths are limited";
        share: f64 = Kind::Number(0.01, 10.0), "0.125", "round-trip time of a path that queues, of what the window lasts";
    }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "adaptive",
    aliases: &[],
    title: "Adaptive",
    source: "this project",
    help: "lowest time/space; under pressure on the receiver's window, paths that queue longer than it lasts are held back",
    parameters: Adaptive::PARAMETERS,
    build: |p| Box::new(Adaptive::from(p)),
};

impl Adaptive {
    /// Highest round-trip time in nanoseconds that a path's queues may cause; infinite while there is no pressure.
    fn limit(&self, situation: &Situation<'_>) -> f64 {
        let buffer = situation.buffer as f64;
        if situation.waiting == 0 || situation.outstanding as f64 <= self.pressure * buffer {
            return f64::INFINITY;
        }
        let known = situation.paths.iter().filter(|path| path.usable && path.srtt > Duration::ZERO);
        // Little's law, which also holds for a path held below its window.
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
