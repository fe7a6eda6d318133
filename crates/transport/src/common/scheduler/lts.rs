//! Lowest time over space.

use super::{Build, Decision, PacketScheduler, PathState, Situation};
use vazao_engine::Duration;
use vazao_engine::registry::Entry;

/// The subflow with the least smoothed round-trip time over free space in its congestion window, in segments; where a
/// subflow's window has none, the lowest round-trip time decides. Ties go to the last one opened (Lima, UNIFEI 2017,
/// algorithm 5 and appendix A.2).
///
/// The hypothesis: such a path is both short and lightly loaded. As in the appendix, the quotient is an integer, in the
/// eighths of a microsecond of Linux's smoothed round-trip time.
pub struct LowestTimeSpace;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "lts",
    aliases: &["lowest-time-space"],
    title: "Lowest time/space",
    source: "Lima, UNIFEI 2017, algorithm 5",
    help: "the subflow with the least round-trip time over space in its window",
    parameters: &[],
    build: |_| Box::new(LowestTimeSpace),
};

impl PacketScheduler for LowestTimeSpace {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        Decision::send(least_time_space(situation.available()))
    }
}

/// Chooses the path by lowest time over space.
#[inline]
pub(super) fn least_time_space<'a>(paths: impl Iterator<Item = (usize, &'a PathState)>) -> Option<usize> {
    let (mut least_srtt, mut least_ratio, mut best) = (Duration::MAX, i64::MAX, None);
    for (index, path) in paths {
        let space = path.free_segments();
        if space <= 0 {
            if path.srtt <= least_srtt {
                (least_srtt, best) = (path.srtt, Some(index));
            }
            continue;
        }
        // Equivalent to time / space <= least_ratio, without a division for each path.
        let time = path.srtt.as_nanos() as i64 / 125;
        if time < least_ratio.saturating_add(1).saturating_mul(space) {
            (least_ratio, best) = (time / space, Some(index));
        }
    }
    best
}
