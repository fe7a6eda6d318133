//! Forward-delay-based packet scheduling.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::Duration;
use vazao_engine::registry::Entry;

/// Forward-delay-based packet scheduling (Le, Bui, arXiv 1501.03196, 2015): a segment on a slower path skips as much
/// waiting data as the faster paths will have delivered when it arrives (their rates times their leads), so that it
/// arrives in order.
///
/// Leads are differences of one-way delays. The paper measures them with pairs of segments whose acknowledgements
/// return on one path; here they come from the receiver's timestamps (RFC 7323), since it has one clock for all paths.
pub struct ForwardDelay;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "forward-delay",
    aliases: &["fdps"],
    title: "Forward-delay-based packet scheduling",
    source: "Le, Bui, arXiv 1501.03196, 2015",
    help: "each subflow sends what will be due when it arrives, leaving out what faster ones will have delivered by then",
    parameters: &[],
    build: |_| Box::new(ForwardDelay),
};

impl PacketScheduler for ForwardDelay {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let Some(best) = situation.least(|path| path.forward) else { return Decision::Wait };
        if situation.waiting == 0 {
            return Decision::Send { path: best, skip: 0 };
        }
        let own = situation.paths[best].forward;
        let faster =
            situation.paths.iter().filter(|path| path.usable && path.srtt > Duration::ZERO && path.forward < own);
        let skip: f64 = faster.map(|path| path.rate() * (own - path.forward) as f64 * 1e-9).sum();
        if skip >= situation.waiting as f64 {
            return Decision::Wait;
        }
        // Whole segments, to avoid fragments.
        let mss = situation.paths[best].mss;
        Decision::Send { path: best, skip: skip as u64 / mss * mss }
    }
}
