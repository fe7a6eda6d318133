//! HyStart++ against RFC 9406 section 4.2, with the RFC's constants.

use std::collections::BTreeMap;
use vazao_congestion::slow_start::SlowStart;
use vazao_congestion::{Ack, SLOW_STARTS, WindowState, build_slow_start};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};

const MSS: f64 = 1_000.0;

/// A slow start under way.
struct Start {
    page: Box<dyn SlowStart>,
    state: WindowState,
}

fn start(changed: &[(&str, f64)]) -> Start {
    let entry = find("slow start", SLOW_STARTS, "hystart++").unwrap();
    let changed: BTreeMap<_, _> = changed.iter().map(|(k, v)| ((*k).to_owned(), Raw::Number(*v))).collect();
    let page = build_slow_start(entry.name, &Parameters::resolve(entry.parameters, &changed).unwrap(), 1.0).unwrap();
    Start { page, state: WindowState { cwnd: 64.0 * MSS, ssthresh: f64::INFINITY, mss: MSS } }
}

impl Start {
    /// One acknowledgement of so many segments. Whether slow start is over; what the window grew by, in segments.
    fn ack(&mut self, round: bool, segments: f64, rtt_ms: f64) -> (bool, f64) {
        let rtt = Some(Duration::from_secs_f64(rtt_ms / 1e3));
        let ack = Ack { acked: (segments * MSS) as u64, rtt, round, window_limited: true, ..Ack::default() };
        let over = self.page.leave(&self.state, &ack);
        let before = self.state.cwnd;
        self.state.cwnd = self.page.grow(&self.state, &ack);
        (over, (self.state.cwnd - before) / MSS)
    }

    /// A round trip of 16 acknowledgements of a segment with this RTT. Whether slow start was over in it; the growth.
    fn round(&mut self, rtt_ms: f64) -> (bool, f64) {
        (0..16).map(|i| self.ack(i == 0, 1.0, rtt_ms)).fold((false, 0.0), |a, b| (a.0 | b.0, a.1 + b.1))
    }
}

/// RttThresh = max(4 ms, min(lastRoundMinRTT/8, 16 ms)). When the eighth sample shows the rise, that acknowledgement and the
/// eight after it grow by a quarter: 7 + 9/4.
#[test]
fn a_rise_by_an_eighth_slows_it_down() {
    for (base, rise) in [(100.0, 12.5), (16.0, 4.0), (400.0, 16.0)] {
        for (above, growth) in [(-0.1, 16.0), (0.1, 7.0 + 9.0 / 4.0)] {
            let mut slow_start = start(&[]);
            assert_eq!(slow_start.round(base), (false, 16.0));
            assert_eq!(slow_start.round(base + rise + above), (false, growth), "{base} ms and {above} over the rise");
        }
    }
}

/// The rise is from one round trip to the next, not from the least of all (as in HyStart): a slow one is not seen.
#[test]
fn only_the_round_trip_before_counts() {
    let mut slow_start = start(&[]);
    for i in 0..20 {
        assert_eq!(slow_start.round(100.0 + 10.0 * f64::from(i)), (false, 16.0), "round trip {i}");
    }
}

/// Five round trips of a quarter's growth, the one in which it was slowed down counted, then slow start is over.
#[test]
fn it_ends_after_five_conservative_round_trips() {
    let mut slow_start = start(&[]);
    slow_start.round(100.0);
    slow_start.round(120.0);
    for i in 2..=5 {
        assert_eq!(slow_start.round(120.0), (false, 4.0), "conservative round trip {i}");
    }
    assert!(slow_start.ack(true, 1.0, 120.0).0);
}

/// A delay below that of the conservative phase's start was jitter: from the eighth sample on it doubles again.
#[test]
fn jitter_does_not_end_it() {
    let mut slow_start = start(&[]);
    slow_start.round(100.0);
    slow_start.round(120.0);
    assert_eq!(slow_start.round(110.0), (false, 7.0 / 4.0 + 9.0));
    for i in 0..10 {
        assert_eq!(slow_start.round(110.0), (false, 16.0), "round trip {i}");
    }
}

/// L = 8 without pacing: an acknowledgement of 20 segments adds 8. A sender that paces sets no bound.
#[test]
fn growth_is_bounded_by_l() {
    assert_eq!(start(&[]).ack(true, 20.0, 100.0), (false, 8.0));
    assert_eq!(start(&[("l", 1e9)]).ack(true, 20.0, 100.0), (false, 20.0));
}

/// Section 4.3: only the first slow start; after a timeout it is standard slow start.
#[test]
fn a_timeout_ends_it() {
    let mut slow_start = start(&[]);
    slow_start.round(100.0);
    slow_start.page.restart(Time::ZERO);
    for i in 0..10 {
        assert_eq!(slow_start.round(200.0 + 100.0 * f64::from(i)), (false, 16.0), "round trip {i}");
    }
}
