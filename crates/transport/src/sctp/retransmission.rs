//! Which path a chunk is sent again by: the five policies of Iyengar, Amer and Stewart (*Retransmission policies for
//! concurrent multipath transfer using SCTP multihoming*, ICON 2004; ToN 2006 section V), and RFC 9260's.

use super::path::Path;
use vazao_engine::RandomStream;

/// A policy. All choose among the active paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// RTX-SAME: the one that it was sent by, while that is active.
    Same,
    /// RTX-ASAP: any with room in its window; one of several by lot.
    Asap,
    /// RTX-CWND: the one with the largest window; ties by lot.
    Cwnd,
    /// RTX-SSTHRESH: the one with the largest slow-start threshold; ties by lot.
    Ssthresh,
    /// RTX-LOSSRATE: the one that loses the least part of what is sent by it; ties by lot.
    LossRate,
    /// RFC 9260 section 6.4.1: after a timeout another than before; after missing reports the same.
    Alternate,
    /// Linux's: one path of the association's for all that is sent again, whatever path lost it: the second at first, and
    /// the next one whenever T3-rtx expires on it.
    RetranPath,
}

/// What a policy looks at of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Whether it may be used at all.
    pub usable: bool,
    /// Whether its window has room.
    pub room: bool,
    /// Congestion window and slow-start threshold in bytes.
    pub cwnd: u64,
    /// See `cwnd`.
    pub ssthresh: u64,
    /// The part of its chunks that were taken for lost.
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
    /// The policies by name.
    pub const ALL: [(&'static str, Policy); 7] = [
        ("same", Policy::Same),
        ("asap", Policy::Asap),
        ("cwnd", Policy::Cwnd),
        ("ssthresh", Policy::Ssthresh),
        ("loss-rate", Policy::LossRate),
        ("alternate", Policy::Alternate),
        ("retran-path", Policy::RetranPath),
    ];

    /// The path by which to send a chunk again that was last sent by `last`; `timed_out`: a timeout, not missing reports,
    /// showed its loss; `retran`: the association's path for what is sent again. `None`: none for now. Paths beyond the 64th are not looked at.
    pub fn target(
        self,
        last: usize,
        timed_out: bool,
        retran: usize,
        paths: &[View],
        lots: &mut RandomStream,
    ) -> Option<usize> {
        match self {
            Policy::RetranPath if paths[retran].usable => Some(retran),
            Policy::Same if paths[last].usable => Some(last),
            Policy::Alternate if !timed_out && paths[last].usable => Some(last),
            Policy::Same | Policy::RetranPath => best(paths, lots, |path| path.cwnd as f64),
            Policy::Alternate => {
                let others = (1..=paths.len()).map(|step| (last + step) % paths.len());
                others.into_iter().find(|&i| paths[i].usable)
            }
            Policy::Asap => best(paths, lots, |path| if path.room { 1.0 } else { 0.0 }).filter(|&i| paths[i].room),
            Policy::Cwnd => best(paths, lots, |path| path.cwnd as f64),
            Policy::Ssthresh => best(paths, lots, |path| path.ssthresh as f64),
            Policy::LossRate => best(paths, lots, |path| -path.loss_rate),
        }
    }
}

/// The usable path of highest worth, one of several by lot.
fn best(paths: &[View], lots: &mut RandomStream, worth: impl Fn(&View) -> f64) -> Option<usize> {
    let usable = || paths.iter().enumerate().filter(|(_, path)| path.usable).take(64);
    let top = usable().map(|(_, path)| worth(path)).max_by(f64::total_cmp)?;
    let mut tied = usable().filter(|(_, path)| worth(path) == top).map(|(i, _)| i);
    let count = tied.clone().count() as u64;
    if count > 1 { tied.nth(lots.below(count) as usize) } else { tied.next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: View = View { usable: true, room: true, cwnd: 10_000, ssthresh: 20_000, loss_rate: 0.01 };

    fn target(policy: Policy, last: usize, timed_out: bool, paths: &[View]) -> Option<usize> {
        policy.target(last, timed_out, paths.len() - 1, paths, &mut RandomStream::new(1, "lots"))
    }

    #[test]
    fn each_policy_looks_at_what_it_is_named_after() {
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
    fn nothing_is_sent_by_an_inactive_path() {
        let dead = View { usable: false, cwnd: 1_000_000, ssthresh: 1_000_000, loss_rate: 0.0, ..PATH };
        for (name, policy) in Policy::ALL {
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

    /// Of two alike, each comes up about half of the time: within four standard errors of 200 throws, 28.
    #[test]
    fn ties_are_broken_by_lot() {
        let mut lots = RandomStream::new(7, "lots");
        for policy in [Policy::Asap, Policy::Cwnd, Policy::Ssthresh, Policy::LossRate] {
            let second = (0..200).filter(|_| policy.target(0, false, 0, &[PATH, PATH], &mut lots) == Some(1)).count();
            assert!(second.abs_diff(100) <= 28, "{policy:?}: {second}");
        }
    }
}
