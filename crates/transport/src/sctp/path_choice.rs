//! Path selection for new data in concurrent multipath transfer.

use super::path::Path;
use vazao_engine::registry::choice;

choice! {
    /// Path selection rule, applied to each packet, among usable paths whose window has room.
    pub enum PathChoice {
        /// The path with the most free window; ties go to the first.
        LargestFreeCwnd = "largest-free-cwnd",
        /// The next path in turn.
        RoundRobin = "round-robin",
        /// The path with the least smoothed round-trip time; ties go to the first.
        LowestRtt = "lowest-rtt",
    }
}

impl PathChoice {
    /// Path for the next packet of new data; `last` is that of the previous one.
    pub fn choose(self, paths: &[Path], last: usize) -> Option<usize> {
        let mut ready = paths.iter().enumerate().filter(|(_, path)| path.is_usable() && path.takes_new());
        match self {
            // Ties go to the first; `max_by_key` would take the last.
            PathChoice::LargestFreeCwnd => ready.min_by_key(|(_, path)| std::cmp::Reverse(path.free())).map(|(i, _)| i),
            PathChoice::LowestRtt => ready.min_by_key(|(_, path)| path.rtt().srtt()).map(|(i, _)| i),
            PathChoice::RoundRobin => {
                let first = ready.clone().find(|&(i, _)| i > last);
                first.or_else(|| ready.next()).map(|(i, _)| i)
            }
        }
    }
}
