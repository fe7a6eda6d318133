//! Retransmission policies: the five of Iyengar, Amer and Stewart (*Retransmission policies for concurrent multipath
//! transfer using SCTP multihoming*, ICON 2004; ToN 2006 section V), and those of RFC 9260 and Linux.

use super::path::Path;
use vazao_engine::RandomStream;
use vazao_engine::registry::choice;

choice! {
    /// Retransmission policy, which chooses among the active paths.
    pub enum Policy {
        /// RTX-SAME: the path of the last transmission, while it is active.
        Same = "same",
        /// RTX-ASAP: any path with room in its window; ties at random.
        Asap = "asap",
        /// RTX-CWND: the path with the largest window; ties at random.
        Cwnd = "cwnd",
        /// RTX-SSTHRESH: the path with the largest slow-start threshold; ties at random.
        Ssthresh = "ssthresh",
        /// RTX-LOSSRATE: the path with the lowest loss rate; ties at random.
        LossRate = "loss-rate",
        /// RFC 9260 section 6.4.1: another path after a timeout, the same one after missing reports.
        Alternate = "alternate",
        /// Linux: one path for all retransmissions: the second at first, the next one whenever T3-rtx expires on it.
        RetranPath = "retran-path",
    }
}

/// State of a path for policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Whether it may be used.
    pub usable: bool,
    /// Whether its window has room.
    pub room: bool,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes.
    pub ssthresh: u64,
    /// Fraction of its chunks that were presumed lost.
    pub loss_rate: f64,
}

impl From<&Path> for View {
    fn from(path: &Path) -> View {
        View {
            usable: path.is_usable(),
            room: path.has_room(),
            cwnd: path.cwnd(),
            ssthresh: path.ssthresh(),
            loss_rate: path.loss_rate(),
        }
    }
}

impl Policy {
    /// Returns the path for retransmitting a chunk last sent on `last`; `timed_out` says whether its loss was detected
    /// by a timeout rather than by missing reports, and `retran` is the association's retransmission path. `None`: none
    /// for now. Paths beyond the 64th are ignored.
    pub fn target(
        self,
        last: usize,
        timed_out: bool,
        retran: usize,
        paths: &[View],
        rng: &mut RandomStream,
    ) -> Option<usize> {
        match self {
            Policy::RetranPath if paths[retran].usable => Some(retran),
            Policy::Same if paths[last].usable => Some(last),
            Policy::Alternate if !timed_out && paths[last].usable => Some(last),
            Policy::Same | Policy::RetranPath => best(paths, rng, |path| path.cwnd as f64),
            Policy::Alternate => {
                let others = (1..=paths.len()).map(|step| (last + step) % paths.len());
                others.into_iter().find(|&i| paths[i].usable)
            }
            Policy::Asap => best(paths, rng, |path| if path.room { 1.0 } else { 0.0 }).filter(|&i| paths[i].room),
            Policy::Cwnd => best(paths, rng, |path| path.cwnd as f64),
            Policy::Ssthresh => best(paths, rng, |path| path.ssthresh as f64),
            Policy::LossRate => best(paths, rng, |path| -path.loss_rate),
        }
    }
}

/// Usable path of highest worth; ties at random.
fn best(paths: &[View], rng: &mut RandomStream, worth: impl Fn(&View) -> f64) -> Option<usize> {
    let usable = || paths.iter().enumerate().filter(|(_, path)| path.usable).take(64);
    let top = usable().map(|(_, path)| worth(path)).max_by(f64::total_cmp)?;
    let mut tied = usable().filter(|(_, path)| worth(path) == top).map(|(i, _)| i);
    let count = tied.clone().count() as u64;
    if count > 1 { tied.nth(rng.below(count) as usize) } else { tied.next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: View = View { usable: true, room: true, cwnd: 10_000, ssthresh: 20_000, loss_rate: 0.01 };

    fn target(policy: Policy, last: usize, timed_out: bool, paths: &[View]) -> Option<usize> {
        policy.target(last, timed_out, paths.len() - 1, paths, &mut RandomStream::new(1, "lots"))
    }

    #[test]
    fn each_policy_follows_its_definition() {
        let full = View { room: false, cwnd: 30_000, ssthresh: 10_000, loss_rate: 0.02, ..PATH };
        let keen = View { cwnd: 5_000, ssthresh: 60_000, loss_rate: 0.05, ..PATH };
        let calm = View { cwnd: 4_000, ssthresh: 8_000, loss_rate: 0.0, room: false, ..PATH };
        let paths = [full, keen, calm];
        for (policy, expected) in [
            (Policy::Same, 0),
            (Policy::Asap, 1),
            (Policy::Cwnd, 0),
            (Policy::Ssthresh, 1),
            (Policy::LossRate, 2),
            (Policy::Alternate, 0),
            (Policy::RetranPath, 2),
        ] {
            assert_eq!(target(policy, 0, false, &paths), Some(expected), "{policy:?}");
        }
        assert_eq!(target(Policy::Alternate, 0, true, &paths), Some(1));
    }

    #[test]
    fn inactive_paths_are_not_used() {
        let dead = View { usable: false, cwnd: 1_000_000, ssthresh: 1_000_000, loss_rate: 0.0, ..PATH };
        for &(name, policy) in Policy::ALL {
            for timed_out in [false, true] {
                assert_eq!(target(policy, 0, timed_out, &[dead, PATH]), Some(1), "{name}");
            }
        }
    }

    #[test]
    fn asap_waits_where_no_window_has_room() {
        let full = View { room: false, ..PATH };
        assert_eq!(target(Policy::Asap, 0, false, &[full, full]), None);
        assert!(target(Policy::Cwnd, 0, false, &[full, PATH]).is_some());
    }

    /// Each of two equal paths comes up about half of the time: within four standard errors of 200 draws, 28.
    #[test]
    fn ties_are_broken_at_random() {
        let mut rng = RandomStream::new(7, "lots");
        for policy in [Policy::Asap, Policy::Cwnd, Policy::Ssthresh, Policy::LossRate] {
            let second = (0..200).filter(|_| policy.target(0, false, 0, &[PATH, PATH], &mut rng) == Some(1)).count();
            assert!(second.abs_diff(100) <= 28, "{policy:?}: {second}");
        }
    }
}
