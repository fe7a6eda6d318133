//! Bufferbloat mitigation.

use super::{Build, Decision, PacketScheduler, PathState, Situation, least_of};
use vazao_engine::registry::{Entry, Kind, parameters};

parameters! {
    /// Lowest round-trip time first, but a path whose round-trip time has grown above its minimum by queueing is limited to
    /// the window w_limit = lambda (rtt_min / srtt) w (Ferlin, Dreibholz, Alay, GLOBECOM 2014; Paasch et al., CSWS 2014).
    ///
    /// A queue can thus raise the round-trip time to lambda times the minimum, and no further.
    pub struct BufferbloatMitigation {
        lambda: f64 = Kind::Number(1.0, 100.0), "3", "how far a round-trip time may grow over its least";
    }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "bufferbloat-mitigation",
    aliases: &["bm"],
    title: "Bufferbloat mitigation",
    source: "Ferlin, Dreibholz, Alay, GLOBECOM 2014; Paasch, Ferlin, Alay, Bonaventure, CSWS 2014",
    help: "lowest round-trip time, with less than the window on a path whose round-trip time has grown by queueing",
    parameters: BufferbloatMitigation::PARAMETERS,
    build: |p| Box::new(BufferbloatMitigation::from(p)),
};

/// Whether the path may send under the window limit / srtt × w, which keeps its round-trip time near `limit`
/// nanoseconds. An empty path always may.
#[inline]
pub(super) fn is_within(path: &PathState, limit: f64) -> bool {
    path.flight == 0 || (path.flight + path.queued) as f64 * (path.srtt.as_nanos() as f64) < limit * path.cwnd as f64
}

impl PacketScheduler for BufferbloatMitigation {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let within =
            situation.available().filter(|(_, path)| is_within(path, self.lambda * path.min_rtt.as_nanos() as f64));
        Decision::send(least_of(within, |path| path.srtt))
    }
}
