//! Veno, Illinois and YeAH, which weigh delay beside loss, against the numbers of their papers.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, Path, assert_close, avoiding, control, setup, wide};
use vazao_congestion::window::Illinois;
use vazao_congestion::{Ack, CONGESTION_CONTROLS, Signal};
use vazao_engine::registry::{Parameters, Raw, find};

fn profile(name: &str) -> [(&'static str, Raw); 1] {
    [("profile", Raw::Text(name.into()))]
}

/// Acknowledgements until the window is `w` segments.
fn grow_to(flow: &mut Flow, w: f64) {
    while flow.window() < w {
        flow.ack();
    }
}

/// A BDP of 100 segments and a queue that never overflows.
const QUEUED: Path = Path { base_rtt: 0.1, rate: 1_000.0, buffer: 10_000.0 };

// ---- Veno -----------------------------------------------------------------------------------------------------------

/// Fu and Liew 2003: with fewer than 3 segments in queues a loss takes a fifth, else a half; a timeout always a half.
#[test]
fn veno_gives_up_a_fifth_without_a_queue() {
    for name in ["rfc", "linux"] {
        for (w, kept) in [(95.0, 0.8), (102.0, 0.8), (104.0, 0.5), (150.0, 0.5)] {
            let mut flow = avoiding("veno", &profile(name), 90.0, QUEUED);
            grow_to(&mut flow, w);
            flow.lose();
            assert_close(flow.window(), kept * w, 0.01, &format!("{name}, window of {w}"));
        }
    }
    let mut flow = avoiding("veno", &[], 90.0, QUEUED);
    flow.ack();
    flow.signal(Signal::Timeout);
    assert_close(flow.control.ssthresh() as f64, flow.control.cwnd() as f64 * 45.0, 0.01, "after a timeout");
}

/// A segment a round trip without a queue, one every other with three or more.
#[test]
fn veno_grows_half_as_fast_with_a_queue() {
    for name in ["rfc", "linux"] {
        let mut flow = avoiding("veno", &profile(name), 90.0, QUEUED);
        let grown = |flow: &mut Flow| {
            let before = flow.window();
            (0..20).for_each(|_| flow.round());
            flow.window() - before
        };
        let without = (0..8).map(|_| flow.round()).count() as f64;
        assert!((flow.window() - 90.0 - without).abs() <= 1.0, "{name}: {}", flow.window());
        grow_to(&mut flow, 105.0);
        let with = grown(&mut flow);
        assert!((with - 10.0).abs() <= 1.0, "{name}: {with} in 20 round trips");
    }
}

/// BaseRTT is found anew after a loss, and so is a route that has become longer; Linux's is the least of all.
#[test]
fn veno_forgets_its_base_with_a_loss() {
    for (name, kept) in [("rfc", 0.8), ("linux", 0.5)] {
        let mut flow = avoiding("veno", &profile(name), 100.0, wide(0.1));
        flow.round();
        flow.path.base_rtt = 0.2;
        flow.round();
        flow.lose();
        flow.round();
        let before = flow.window();
        flow.lose();
        assert_close(flow.window(), kept * before, 0.02, name);
    }
}

// ---- Illinois -------------------------------------------------------------------------------------------------------

fn illinois() -> Illinois {
    let entry = find("congestion control", CONGESTION_CONTROLS, "illinois").unwrap();
    Illinois::from(&Parameters::defaults(entry.parameters))
}

/// Liu, Basar, Srikant 2008, section 3, with the paper's constants and a largest delay of 100: d1 = 1, d2 = 10, d3 = 80;
/// kappa1 = 99 x 3 / 9.7 = 30.62 and kappa2 = 99 x 0.3 / 9.7 - 1 = 2.06.
#[test]
fn illinois_has_the_curves_of_its_paper() {
    let page = illinois();
    let (kappa1, kappa2) = (297.0 / 9.7, 29.7 / 9.7 - 1.0);
    for (da, alpha) in
        [(0.0, 10.0), (1.0, 10.0), (10.0, kappa1 / (kappa2 + 10.0)), (50.0, kappa1 / (kappa2 + 50.0)), (100.0, 0.3)]
    {
        assert_close(page.alpha(da, 100.0), alpha, 1e-9, &format!("alpha({da})"));
    }
    assert_close(page.alpha(1.0 + 1e-9, 100.0), 10.0, 1e-6, "alpha is continuous at d1");
    for (da, beta) in [(0.0, 0.125), (10.0, 0.125), (45.0, 0.3125), (80.0, 0.5), (100.0, 0.5)] {
        assert_close(page.beta(da, 100.0), beta, 1e-9, &format!("beta({da})"));
    }
}

/// Without a queue 10 segments a round trip and an eighth given up; below 10 segments (Linux: 15) as Reno.
#[test]
fn illinois_is_bold_without_a_queue_and_reno_in_small_windows() {
    for (name, threshold) in [("rfc", 10.0), ("linux", 15.0)] {
        let mut flow = avoiding("illinois", &profile(name), 1_000.0, wide(0.1));
        (0..3).for_each(|_| flow.round());
        let before = flow.window();
        flow.round();
        assert_close(flow.window() - before, 10.0, 0.1, name);
        let before = flow.window();
        flow.lose();
        assert_close(flow.window(), 0.875 * before, 2e-3, name);
        let mut small = avoiding("illinois", &profile(name), threshold - 3.0, wide(0.1));
        (0..2).for_each(|_| small.round());
        assert!((small.window() - threshold + 1.0).abs() <= 0.5, "{name}: {} from {}", small.window(), threshold - 3.0);
        small.lose();
        assert!((small.window() - (threshold - 1.0) / 2.0).abs() <= 0.5, "{name}: {}", small.window());
    }
}

/// After a delay above d1 growth stays what it was until the delay was low for five round trips. The BDP falls from 1000 to
/// 500 segments for a while, which makes the queue of 500 the largest delay: growth of 0.3, or a little more since.
#[test]
fn illinois_waits_before_it_is_bold_again() {
    let mut flow = avoiding("illinois", &[], 1_000.0, Path { base_rtt: 0.1, rate: 20_000.0, buffer: 1e6 });
    (0..3).for_each(|_| flow.round());
    flow.path.rate = 5_000.0;
    (0..3).for_each(|_| flow.round());
    flow.path.rate = 20_000.0;
    let mut growths = vec![];
    for _ in 0..9 {
        let before = flow.window();
        flow.round();
        growths.push(flow.window() - before);
    }
    let slow = growths.iter().filter(|grown| **grown < 1.0).count();
    assert!((5..=6).contains(&slow), "{growths:?}");
    assert!(growths[7..].iter().all(|grown| *grown > 9.0), "{growths:?}");
}

/// Linux counts what a cumulative acknowledgement covers: one that ends a recovery and covers 16 segments makes a window of
/// eight ten at once (Reno rules there: alpha is 1), whatever of it was new.
#[test]
fn linux_illinois_counts_what_an_acknowledgement_covers() {
    let mut control = control("illinois", &profile("linux"), setup(8.0, Some(8.0)));
    let ack =
        Ack { acked: MSS, delivered: MSS, advance: 16 * MSS, round: true, window_limited: true, ..Ack::default() };
    control.on_ack(&ack);
    assert_eq!(control.cwnd(), 10 * MSS);
}

/// ns-3 rounds what an acknowledgement adds down to whole segments of credit: with alpha of 0.3 none ever comes, where
/// others grow by 0.3 segments a round trip.
#[test]
fn ns3_illinois_stands_still_where_growth_is_below_a_segment() {
    let path = Path { base_rtt: 0.1, rate: 1_000.0, buffer: 1e6 };
    let grown = |name: &str| {
        let mut flow = avoiding("illinois", &profile(name), 100.0, path);
        flow.round();
        flow.path.rate = 200.0;
        (0..4).for_each(|_| flow.round());
        let before = flow.window();
        (0..20).for_each(|_| flow.round());
        flow.window() - before
    };
    assert_close(grown("rfc"), 6.0, 0.15, "the paper's");
    assert_eq!(grown("ns3"), 0.0);
}

// ---- YeAH -----------------------------------------------------------------------------------------------------------

/// Fast mode is Scalable TCP: 1 % a round trip from 100 segments on, a segment below.
#[test]
fn yeah_is_scalable_without_a_queue() {
    for name in ["rfc", "linux"] {
        for (w, grown) in [(1_000.0, 10.0), (50.0, 1.0)] {
            let mut flow = avoiding("yeah", &profile(name), w, wide(0.1));
            flow.round();
            assert_close(flow.window() - w, grown, 0.05, &format!("{name} from {w}"));
        }
    }
}

/// Baiocchi, Castellani, Vacirca 2007: more than Q_max = 80 segments in queues are drained at once, before any is lost. A
/// round trip that began below the bound ends at most 1 % of the window above, and it is noticed a round trip later.
#[test]
fn yeah_keeps_its_queue_bounded() {
    for name in ["rfc", "linux"] {
        let path = Path { base_rtt: 0.1, rate: 10_000.0, buffer: 1_000.0 };
        let mut flow = avoiding("yeah", &profile(name), 900.0, path);
        let (mut largest, mut drained) = (0.0, 0);
        while flow.now < 60.0 {
            let before = flow.window();
            flow.ack();
            largest = f64::max(largest, flow.window() - 1_000.0);
            drained += u32::from(flow.window() < before - 40.0);
            if flow.now > 10.0 {
                assert!(flow.window() > 985.0, "{name}: {} leaves the path idle", flow.window());
            }
        }
        assert!((80.0..=105.0).contains(&largest), "{name}: {largest} queued");
        assert!(drained >= 5 && flow.losses == 0, "{name}: drained {drained} times, {} losses", flow.losses);
    }
}

/// A queueing delay above an eighth of the base RTT makes it slow, whatever the queue: Reno's segment a round trip.
#[test]
fn yeah_is_reno_when_the_delay_is_long() {
    for name in ["rfc", "linux"] {
        let mut flow = avoiding("yeah", &profile(name), 150.0, Path { base_rtt: 0.1, rate: 2_000.0, buffer: 1e6 });
        grow_to(&mut flow, 240.0);
        let before = flow.window();
        (0..10).for_each(|_| flow.round());
        assert_close(flow.window() - before, 10.0, 0.1, name);
    }
}

/// A loss takes an eighth without a queue, the queue if that is more (the path has come down to 70 segments), and a half
/// where 16 round trips on end were slow, which shows competitors that do not give way.
#[test]
fn yeah_gives_up_its_queue_on_loss() {
    for name in ["rfc", "linux"] {
        for (rate, rounds, kept) in [(1_000.0, 0, 7.0 / 8.0), (700.0, 4, 0.7), (700.0, 20, 0.5)] {
            let mut flow = avoiding("yeah", &profile(name), 99.0, Path { base_rtt: 0.1, rate: 1_000.0, buffer: 1e6 });
            flow.round();
            flow.path.rate = rate;
            (0..rounds).for_each(|_| flow.round());
            let before = flow.window();
            flow.lose();
            assert_close(flow.window() / before, kept, 0.03, &format!("{name} after {rounds} slow round trips"));
        }
    }
}

/// ns-3's Vegas (tcp-vegas.cc) gives up one segment on a first loss, whatever its window, and after that what it has grown
/// by, up to a quarter; Linux's gives up half.
#[test]
fn ns3_vegas_hardly_answers_a_loss() {
    for (name, kept) in [("ns3", 39.0), ("linux", 20.0)] {
        let mut flow = avoiding("vegas", &profile(name), 40.0, QUEUED);
        flow.lose();
        assert_close(flow.window(), kept, 1e-9, name);
    }
    let mut flow = avoiding("vegas", &profile("ns3"), 40.0, QUEUED);
    flow.lose();
    grow_to(&mut flow, 44.0);
    flow.lose();
    assert_close(flow.window(), 39.0, 1e-9, "grown by five");
    grow_to(&mut flow, 60.0);
    flow.lose();
    assert_close(flow.window(), 45.0, 1e-9, "three quarters of 60");
}
