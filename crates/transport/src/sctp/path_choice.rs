//! Which path new data goes by where all may be used at once.

use super::path::Path;

/// A rule, asked anew for each packet. All choose among usable paths whose window has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// The one with the most room in its window; of several the first.
    LargestFreeCwnd,
    /// The next one in turn.
    RoundRobin,
    /// The one with the least smoothed round-trip time; of several the first.
    LowestRtt,
}

impl PathChoice {
    /// The rules by name.
    pub const ALL: [(&'static str, PathChoice); 3] = [
        ("largest-free-cwnd", PathChoice::LargestFreeCwnd),
        ("round-robin", PathChoice::RoundRobin),
        ("lowest-rtt", PathChoice::LowestRtt),
    ];

    /// The path for the next packet of new data; `last` is the one of the last.
    pub fn choose(self, paths: &[Path], last: usize) -> Option<usize> {
        let mut ready = paths.iter().enumerate().filter(|(_, path)| path.is_usable() && path.takes_new());
        match self {
            // The first of those that are equal: `max_by_key` would take the last.
            PathChoice::LargestFreeCwnd => ready.min_by_key(|(_, path)| std::cmp::Reverse(path.free())).map(|(i, _)| i),
            PathChoice::LowestRtt => ready.min_by_key(|(_, path)| path.rtt().srtt()).map(|(i, _)| i),
            PathChoice::RoundRobin => {
                let first = ready.clone().find(|&(i, _)| i > last);
                first.or_else(|| ready.next()).map(|(i, _)| i)
            }
        }
    }
}
