//! Highest sending rate.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::Entry;

/// The subflow with the highest window over latest round-trip time; ties go to the last one opened (Lima, UNIFEI 2017,
/// algorithm 6 and appendix A.3).
///
/// The hypothesis: a large window and a currently short round-trip time indicate capacity without congestion. As in the
/// appendix, the window is in segments and the rate is an integer, in sixteenths of a byte per microsecond: rates that
/// differ by less than half a megabit a second are equal.
pub struct HighestSendingRate;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "hsr",
    aliases: &["highest-sending-rate"],
    title: "Highest sending rate",
    source: "Lima, UNIFEI 2017, algorithm 6",
    help: "the subflow with the highest window over latest round-trip time",
    parameters: &[],
    build: |_| Box::new(HighestSendingRate),
};

impl PacketScheduler for HighestSendingRate {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let (mut most, mut best) = (0, None);
        for (index, path) in situation.available() {
            let window = 16 * path.segments() as u64 * path.mss;
            let time = path.rtt.as_nanos() / 1000;
            // Equivalent to window / time >= most, without a division for each path.
            if window >= time.saturating_mul(most) {
                (most, best) = (window.checked_div(time).unwrap_or(u64::MAX), Some(index));
            }
        }
        Decision::send(best)
    }
}
