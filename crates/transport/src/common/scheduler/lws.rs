//! Largest window space.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::Duration;
use vazao_engine::registry::Entry;

/// The subflow whose congestion window has the most free space, in segments; where a subflow's has none, the lowest
/// round-trip time decides. Ties go to the last one opened (Lima, *Soluções alternativas de escalonamento e
/// gerenciamento de caminhos para o MPTCP*, UNIFEI 2017, algorithm 4 and appendix A.1).
///
/// The hypothesis: links of higher capacity drain windows sooner and so have more space.
pub struct LargestWindowSpace;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "lws",
    aliases: &["largest-window-space"],
    title: "Largest window space",
    source: "Lima, UNIFEI 2017, algorithm 4",
    help: "the subflow whose window has most space",
    parameters: &[],
    build: |_| Box::new(LargestWindowSpace),
};

impl PacketScheduler for LargestWindowSpace {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let (mut least_srtt, mut most_space, mut best) = (Duration::MAX, 0, None);
        for (index, path) in situation.available() {
            let space = path.free_segments();
            if space <= 0 && path.srtt <= least_srtt {
                (least_srtt, best) = (path.srtt, Some(index));
            } else if space >= most_space {
                (most_space, best) = (space, Some(index));
            }
        }
        Decision::send(best)
    }
}
