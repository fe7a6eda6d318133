//! Capacities of paths.

use super::{Build, Decision, PacketScheduler, PathState, Situation, least_of};
use vazao_engine::registry::{Entry, Kind, parameters};
use vazao_engine::{Duration, Time};

/// The lowest round-trip time of the paths that hold less than they have capacity for (Yang, Amer, Ekiz, *A scheduler
/// for Multipath TCP*, ICCCN 2013): what a coupled control's window lets out beyond that is lost or waits in a queue.
///
/// After the description in Lima, UNIFEI 2017, section 4.2, which does not tell how capacity is estimated. Here it is the
/// highest rate at which a path has been acknowledged over one of its round trips, times its least round-trip time, and
/// a path may hold `gain` times that, so that a rise is noticed, but two segments in any case: a receiver waits for a second
/// one before it acknowledges (RFC 5681 section 4.2), and a rate measured one segment at a time would stay that low. A path
/// whose rate is not known yet may use its window.
pub struct PathCapacity {
    gain: f64,
    estimates: Vec<Estimate>,
}

parameters! {
    struct Settings { gain: f64 = Kind::Number(1.0, 10.0), "1.5", "how many times its capacity a path may hold"; }
}

/// What is known of a path.
#[derive(Clone, Copy, Default)]
struct Estimate {
    /// Start of the current round trip, and the bytes acknowledged by then.
    since: Time,
    acknowledged: u64,
    /// Highest rate of a round trip so far, in bytes a nanosecond.
    rate: f64,
}

impl Estimate {
    fn observe(&mut self, now: Time, path: &PathState) {
        let elapsed = now.since(self.since);
        if path.srtt == Duration::ZERO || elapsed < path.srtt {
            return;
        }
        if self.since > Time::ZERO {
            let bytes = path.acknowledged.saturating_sub(self.acknowledged);
            self.rate = self.rate.max(bytes as f64 / elapsed.as_nanos() as f64);
        }
        (self.since, self.acknowledged) = (now, path.acknowledged);
    }

    /// Whether the path holds less than `gain` times its capacity, or than two segments.
    fn has_capacity(&self, path: &PathState, gain: f64) -> bool {
        let (held, least) = (path.flight + path.queued, 2 * path.mss);
        held < least || self.rate == 0.0 || (held as f64) < gain * self.rate * path.min_rtt.as_nanos() as f64
    }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "path-capacity",
    aliases: &[],
    title: "Path capacity",
    source: "Yang, Amer, Ekiz, ICCCN 2013",
    help: "lowest round-trip time of the subflows that hold less than their path has been seen to carry in its least one",
    parameters: Settings::PARAMETERS,
    build: |p| Box::new(PathCapacity { gain: Settings::from(p).gain, estimates: Vec::new() }),
};

impl PacketScheduler for PathCapacity {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        self.estimates.resize(situation.paths.len(), Estimate::default());
        for (estimate, path) in self.estimates.iter_mut().zip(situation.paths) {
            estimate.observe(situation.now, path);
        }
        let fits = |&(number, path): &(usize, &PathState)| self.estimates[number].has_capacity(path, self.gain);
        Decision::send(least_of(situation.available().filter(fits), |path| path.srtt))
    }
}
