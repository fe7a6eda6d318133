//! Short flows that come and go: when each begins and how large it is, drawn before the run.

use crate::RandomStreams;
use vazao_engine::{Duration, Law, Time};

/// Arriving flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time from the start of the process.
    pub after: Duration,
    /// Bytes to transfer.
    pub size: u64,
}

/// A renewal process of flows with independent sizes. Exponential intervals make it a Poisson process, the usual model of
/// how users' flows begin (Paxson and Floyd, *Wide-area traffic: the failure of Poisson modeling*, 1995).
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Interval between arrivals, in nanoseconds; the first comes after one such interval.
    pub interval: Law,
    /// Bytes of a flow.
    pub sizes: Law,
    /// Most flows.
    pub count: Option<u64>,
    /// Duration of the process.
    pub duration: Option<Duration>,
    /// Whether the server sends.
    pub download: bool,
}

impl Arrivals {
    /// The most flows that one process may have.
    pub const MOST: usize = 1_000_000;

    /// Returns all arrivals of a process that has ended after `horizon` at the latest; `None` when there are too many.
    pub fn plan(&self, streams: RandomStreams, horizon: Duration) -> Option<Vec<Arrival>> {
        let (mut intervals, mut sizes) = (streams.of("interval"), streams.of("size"));
        let end = self.duration.map_or(horizon, |duration| duration.min(horizon));
        let mut all = Vec::new();
        let mut at = Time::ZERO;
        while self.count.is_none_or(|count| (all.len() as u64) < count) {
            at = at.saturating_add(self.interval.span(&mut intervals));
            let after = at.since(Time::ZERO);
            if after >= end {
                break;
            }
            if all.len() == Self::MOST {
                return None;
            }
            all.push(Arrival { after, size: self.sizes.bytes(&mut sizes) });
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Poisson process of 100 a second has 6000 arrivals a minute with a variance of as many.
    #[test]
    fn a_poisson_process_has_its_rate_and_repeats() {
        let process = Arrivals {
            interval: Law::Exponential(10e6),
            sizes: Law::Constant(1000.0),
            count: None,
            duration: Some(Duration::from_secs(60)),
            download: false,
        };
        let plan = |seed| process.plan(RandomStreams { seed, flow: 3 }, Duration::MAX).expect("not too many");
        let first = plan(1);
        assert!((first.len() as f64 - 6000.0).abs() < 4.0 * libm::sqrt(6000.0), "{}", first.len());
        assert!(first.is_sorted_by_key(|arrival| arrival.after));
        assert_eq!(first, plan(1));
        assert_ne!(first, plan(2));
    }

    #[test]
    fn a_count_a_duration_and_the_runs_end_each_limit_it() {
        let process = |count, secs: Option<u64>| Arrivals {
            interval: Law::Constant(1e9),
            sizes: Law::Constant(1.0),
            count,
            duration: secs.map(Duration::from_secs),
            download: false,
        };
        let number = |process: Arrivals, secs| {
            process.plan(RandomStreams { seed: 1, flow: 0 }, Duration::from_secs(secs)).map(|plan| plan.len())
        };
        assert_eq!(number(process(Some(5), Some(100)), 100), Some(5));
        assert_eq!(number(process(None, Some(10)), 100), Some(9));
        assert_eq!(number(process(Some(50), None), 20), Some(19));
        assert_eq!(number(process(None, None), 10_000_000), None);
    }
}
