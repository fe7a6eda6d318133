//! Each page against the numbers and closed forms of its own source.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, Path, assert_close, avoiding, control, setup, wide};
use vazao_congestion::window::{BandwidthEstimate, HighSpeed};
use vazao_congestion::{CONGESTION_CONTROLS, Signal};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};

/// Part kept of a window of so many segments, after a loss unless said otherwise: 1 - b of each source.
#[test]
fn every_control_keeps_its_part_of_the_window() {
    let loss = |name, w, kept| (name, w, Signal::Loss, kept);
    let all = [
        loss("reno", 100.0, 0.5),
        loss("highspeed", 38.0, 0.5),
        loss("highspeed", 83_000.0, 0.9),
        loss("scalable", 100.0, 0.875),
        loss("scalable", 10.0, 0.5),
        loss("bic", 100.0, 0.8),
        loss("bic", 10.0, 0.5),
        loss("cubic", 100.0, 0.7),
        loss("vegas", 100.0, 0.75),
        ("vegas", 100.0, Signal::Timeout, 0.5),
    ];
    for (name, w, signal, kept) in all {
        let mut flow = avoiding(name, &[], w, wide(0.1));
        flow.signal(signal);
        assert_close(flow.control.ssthresh() as f64, kept * w * MSS as f64, 1e-9, name);
    }
}

/// Scalable up to 16 segments and BIC below 14 are Reno: 1/w for each of n acknowledgements, so w² grows by 2n (and by
/// the sum of 1/w², under 1 % of it).
#[test]
fn small_windows_grow_as_reno() {
    for name in ["reno", "highspeed", "scalable", "bic"] {
        let mut flow = avoiding(name, &[], 8.0, wide(0.1));
        (0..3).for_each(|_| flow.round());
        assert_close(flow.window(), f64::sqrt(64.0 + 2.0 * flow.acked as f64), 0.005, name);
    }
}

/// RFC 3649 appendix B: (w, b(w)); a(w) is the number of the row, from 1.
#[rustfmt::skip]
const RFC3649_TABLE: [(f64, &str); 73] = [
    (38.0, "0.50"), (118.0, "0.44"), (221.0, "0.41"), (347.0, "0.38"), (495.0, "0.37"), (663.0, "0.35"),
    (851.0, "0.34"), (1058.0, "0.33"), (1284.0, "0.32"), (1529.0, "0.31"), (1793.0, "0.30"), (2076.0, "0.29"),
    (2378.0, "0.28"), (2699.0, "0.28"), (3039.0, "0.27"), (3399.0, "0.27"), (3778.0, "0.26"), (4177.0, "0.26"),
    (4596.0, "0.25"), (5036.0, "0.25"), (5497.0, "0.24"), (5979.0, "0.24"), (6483.0, "0.23"), (7009.0, "0.23"),
    (7558.0, "0.22"), (8130.0, "0.22"), (8726.0, "0.22"), (9346.0, "0.21"), (9991.0, "0.21"), (10661.0, "0.21"),
    (11358.0, "0.20"), (12082.0, "0.20"), (12834.0, "0.20"), (13614.0, "0.19"), (14424.0, "0.19"), (15265.0, "0.19"),
    (16137.0, "0.19"), (17042.0, "0.18"), (17981.0, "0.18"), (18955.0, "0.18"), (19965.0, "0.17"), (21013.0, "0.17"),
    (22101.0, "0.17"), (23230.0, "0.17"), (24402.0, "0.16"), (25618.0, "0.16"), (26881.0, "0.16"), (28193.0, "0.16"),
    (29557.0, "0.15"), (30975.0, "0.15"), (32450.0, "0.15"), (33986.0, "0.15"), (35586.0, "0.14"), (37253.0, "0.14"),
    (38992.0, "0.14"), (40808.0, "0.14"), (42707.0, "0.13"), (44694.0, "0.13"), (46776.0, "0.13"), (48961.0, "0.13"),
    (51258.0, "0.13"), (53677.0, "0.12"), (56230.0, "0.12"), (58932.0, "0.12"), (61799.0, "0.12"), (64851.0, "0.11"),
    (68113.0, "0.11"), (71617.0, "0.11"), (75401.0, "0.10"), (79517.0, "0.10"), (84035.0, "0.10"), (89053.0, "0.10"),
    (94717.0, "0.09"),
];

fn highspeed() -> HighSpeed {
    let entry = find("congestion control", CONGESTION_CONTROLS, "highspeed").unwrap();
    HighSpeed::from(&Parameters::defaults(entry.parameters))
}

/// The table lists the windows at which a(w) reaches 1, 2, 3, ...; printed are a(w) in whole segments and b(w) in
/// hundredths.
#[test]
fn highspeed_reproduces_the_table_of_rfc3649() {
    let page = highspeed();
    for (row, (w, b)) in RFC3649_TABLE.into_iter().enumerate() {
        assert_eq!(page.a(w).round(), (row + 1) as f64, "a({w})");
        assert_eq!(format!("{:.2}", page.b(w)), b, "b({w})");
    }
}

/// A round trip's growth comes from straight lines between tabulated windows, within 0.1 % of the formula; and each
/// acknowledgement divides by the window as it has grown since the round trip began, by up to a part a/w.
#[test]
fn highspeed_grows_by_a_of_w_a_round_trip() {
    let page = highspeed();
    for w in [20.0, 38.0, 100.0, 1_000.0, 10_000.0, 83_000.0] {
        let mut flow = avoiding("highspeed", &[], w, wide(0.1));
        flow.round();
        assert_close(flow.window() - w, page.a(w), 0.001 + page.a(w) / w, &format!("growth from {w}"));
    }
}

/// Another window or loss rate than the RFC's: the same line through the two points, so w² p = 1.5 (Reno's response)
/// is met at neither end exactly, but p(high_window) is high_p: a = w² p 2b/(2-b) (section 5).
#[test]
fn highspeed_meets_other_parameters() {
    let entry = find("congestion control", CONGESTION_CONTROLS, "highspeed").unwrap();
    let given = [("high_window", 20_000.0), ("high_p", 1e-6), ("high_decrease", 0.2)];
    let given = given.into_iter().map(|(name, x)| (name.to_owned(), Raw::Number(x))).collect();
    let page = HighSpeed::from(&Parameters::resolve(entry.parameters, &given).unwrap());
    assert_close(page.b(20_000.0), 0.2, 1e-12, "b(high_window)");
    assert_close(page.a(20_000.0), 20_000.0 * 20_000.0 * 1e-6 * 0.4 / 1.8, 1e-9, "a(high_window)");
}

#[test]
fn scalable_grows_by_one_percent_a_round_trip() {
    let mut flow = avoiding("scalable", &[], 1_000.0, wide(0.1));
    flow.round();
    assert_close(flow.window(), 1_010.0, 1e-9, "window");
}

/// Kelly 2003, section 2: log(1-b) / log(1/(1+a)) round trips, 13.4, whatever the window; counted in whole ones, and a
/// round trip's acknowledgements are a whole number.
#[test]
fn scalable_recovers_in_the_same_time_from_any_window() {
    let rounds = libm::log(1.0 / 0.875) / libm::log(1.01);
    for w in [100.0, 1_000.0, 10_000.0, 100_000.0] {
        let mut flow = avoiding("scalable", &[], w, wide(0.1));
        flow.lose();
        assert_close(flow.window(), 0.875 * w, 1e-3, "after the loss");
        let mut taken = 0;
        while flow.window() < w {
            flow.round();
            taken += 1;
        }
        assert!((f64::from(taken) - rounds).abs() <= 1.0, "{taken} round trips from {w}, not {rounds}");
    }
}

/// A single flow settles with alpha to beta segments queued (Brakmo and Peterson, section III-B), without loss.
#[test]
fn vegas_keeps_alpha_to_beta_segments_queued() {
    for (alpha, beta, bdp) in [(1.0, 3.0, 40.0), (2.0, 4.0, 40.0), (2.0, 4.0, 300.0), (10.0, 20.0, 100.0)] {
        let path = Path { base_rtt: 0.05, rate: bdp / 0.05, buffer: 1_000.0 };
        let changed = [("alpha", Raw::Number(alpha)), ("beta", Raw::Number(beta))];
        let mut flow = Flow::new(control("vegas", &changed, setup(2.0, None)), path);
        flow.until(60.0);
        for _ in 0..100 {
            flow.round();
            let queued = flow.window() - bdp;
            assert!((alpha..=beta).contains(&queued), "{queued} queued, not {alpha} to {beta}");
        }
        assert_eq!(flow.losses, 0);
    }
}

/// Section III-C: two round trips for each doubling while nothing queues.
#[test]
fn vegas_doubles_every_other_round_trip() {
    let mut flow = Flow::new(control("vegas", &[], setup(4.0, None)), wide(0.05));
    let windows: Vec<f64> = (0..8).map(|_| (flow.round(), flow.window()).1).collect();
    let doublings = windows.windows(2).filter(|w| w[1] > w[0]).count();
    assert!((3..=4).contains(&doublings), "{windows:?}");
    assert!(windows.windows(2).all(|w| w[1] <= 2.0 * w[0]), "{windows:?}");
}

/// Section III-A and III-D: three quarters after a fast retransmit; with steady samples the fine timeout is the RTT.
#[test]
fn vegas_loses_a_quarter_and_retransmits_early() {
    let mut flow = avoiding("vegas", &[], 100.0, wide(0.05));
    flow.until(2.0);
    assert!(flow.control.retransmit_early(Duration::from_millis(51)));
    assert!(!flow.control.retransmit_early(Duration::from_millis(49)));
    let before = flow.window();
    flow.lose();
    assert_close(flow.window(), 0.75 * before, 1e-3, "after the loss");
}

/// The fine timeout is srtt + 4 rttvar: with samples of 40 and 60 ms in turn 50 + 4 x 10 ms, give or take what the last
/// sample moved.
#[test]
fn vegas_waits_for_four_deviations() {
    let mut flow = avoiding("vegas", &[], 100.0, wide(0.04));
    for i in 0..1_000 {
        flow.path.base_rtt = [0.04, 0.06][i % 2];
        flow.ack();
    }
    assert!(!flow.control.retransmit_early(Duration::from_millis(80)));
    assert!(flow.control.retransmit_early(Duration::from_millis(100)));
}

/// Slow start ends after a round trip in which the window was kept, an eighth lower; later steps below that threshold do
/// not start it again.
#[test]
fn vegas_leaves_slow_start_once() {
    let path = Path { base_rtt: 0.05, rate: 4_000.0, buffer: 1_000.0 };
    let mut flow = Flow::new(control("vegas", &[], setup(2.0, None)), path);
    let mut windows = vec![];
    while flow.control.in_slow_start() {
        windows.push(flow.window());
        flow.round();
    }
    // The round trip that leaves takes the eighth and, with its other acknowledgements, changes nothing more.
    let [.., before, kept] = windows[..] else { panic!("{windows:?}") };
    assert_eq!(before, kept, "a window that was not kept was compared");
    assert_close(flow.window(), kept * 7.0 / 8.0, 1e-3, "after slow start");
    let mut above = avoiding("vegas", &[], 300.0, path);
    (0..20).for_each(|_| above.round());
    assert_close(above.window(), 280.0, 0.01, "a segment less each round trip");
    assert!(!above.control.in_slow_start());
}

/// Section 2.2's difference equation with tau = 0.5 s for samples of 100 and 200 kB/s over 10 ms each.
#[test]
fn westwood_filters_as_the_paper_says() {
    let mut estimate = BandwidthEstimate::new(Duration::from_millis(500));
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    estimate.acknowledge(at(0), 1_000);
    estimate.acknowledge(at(10), 1_000);
    let first = 0.01 * (1e5 + 0.0) / 1.01;
    assert_close(estimate.bytes_per_second(), first, 1e-12, "first sample");
    estimate.acknowledge(at(20), 500);
    // Acknowledgements at one instant are one sample with all their bytes, from the next instant on.
    estimate.acknowledge(at(20), 1_500);
    estimate.acknowledge(at(20), 0);
    let second = (0.99 * first + 0.01 * (5e4 + 1e5)) / 1.01;
    assert_close(estimate.bytes_per_second(), second, 1e-12, "second sample");
    estimate.acknowledge(at(30), 500);
    let third = (0.99 * second + 0.01 * (2e5 + 5e4)) / 1.01;
    assert_close(estimate.bytes_per_second(), third, 1e-12, "third sample");
}

/// A first-order filter reaches 1 - exp(-t/tau) of a step: 99.995 % after ten time constants, whatever the spacing of
/// the samples, even beyond the filter's own sampling interval tau/2.
#[test]
fn westwood_estimate_converges_to_the_rate() {
    for spacing_ms in [1, 10, 100] {
        let mut estimate = BandwidthEstimate::new(Duration::from_millis(500));
        for i in 0..=5_000 / spacing_ms {
            estimate.acknowledge(Time::from_nanos(i * spacing_ms * 1_000_000), 1_000 * spacing_ms);
        }
        assert_close(estimate.bytes_per_second(), 1e6, 1e-4, "rate");
    }
}

/// One time constant after the step it is at 1 - 1/e (the bilinear transform is exact to second order in dt/tau).
#[test]
fn westwood_estimate_has_its_time_constant() {
    let mut estimate = BandwidthEstimate::new(Duration::from_millis(500));
    for ms in 0..=500 {
        estimate.acknowledge(Time::from_nanos(ms * 1_000_000), 1_000);
    }
    assert_close(estimate.bytes_per_second(), 1e6 * (1.0 - libm::exp(-1.0)), 2e-3, "rate");
    // A second of silence: three samples of zero, after the first of which each keeps 3/5.
    let before = estimate.bytes_per_second();
    estimate.acknowledge(Time::from_nanos(1_500_000_000), 0);
    assert!(estimate.bytes_per_second() < 0.25 * before);
}

/// On a full bottleneck with a queue BWE is the bottleneck's rate, so the window falls to the BDP and the link stays
/// busy: ssthresh = BWE RTTmin (section 3).
#[test]
fn westwood_falls_to_the_bandwidth_delay_product() {
    let path = Path { base_rtt: 0.1, rate: 1_000.0, buffer: 50.0 };
    let mut flow = avoiding("westwood", &[], 120.0, path);
    while flow.losses < 3 {
        flow.ack();
    }
    assert_close(flow.window(), 100.0, 0.01, "window after a loss");
}

/// The window after a loss and then after each round trip, with Smax out of the way: the midpoint of what is left,
/// until steps of Smin.
#[test]
fn bic_halves_the_distance_each_round_trip() {
    let mut flow = avoiding("bic", &[("s_max", Raw::Number(10_000.0))], 1_000.0, wide(0.1));
    flow.lose();
    assert_close(flow.window(), 800.0, 1e-3, "after the loss");
    for distance in [100.0, 50.0, 25.0, 12.5] {
        flow.round();
        // A segment: acknowledgements of a growing window are a whole number and a little short of a round trip.
        assert!((1_000.0 - flow.window() - distance).abs() < 0.13 * distance, "{} at {distance}", flow.window());
    }
}

/// Steps of Smin reach the maximum, to which halves only come ever nearer: 200 segments away, 7 halves leave 1.6 and
/// two steps of one pass it.
#[test]
fn bic_ends_its_search_with_steps_of_s_min() {
    let changed = [("s_max", Raw::Number(10_000.0)), ("s_min", Raw::Number(1.0))];
    let mut flow = avoiding("bic", &changed, 1_000.0, wide(0.1));
    flow.lose();
    (0..11).for_each(|_| flow.round());
    assert!((1_000.0..1_010.0).contains(&flow.window()), "{}", flow.window());
}

/// A second loss at 800, below the maximum of 1000, makes the next maximum 800 (1 + 0.8)/2 = 720: from 640 the midpoint
/// is 680. Without fast convergence it is 800 and the midpoint 720.
#[test]
fn bic_converges_fast() {
    for (fast, midpoint) in [(true, 680.0), (false, 720.0)] {
        let changed = [("s_max", Raw::Number(10_000.0)), ("fast_convergence", Raw::Flag(fast))];
        let mut flow = avoiding("bic", &changed, 1_000.0, wide(0.1));
        flow.lose();
        flow.lose();
        flow.round();
        assert_close(flow.window(), midpoint, 0.01, "midpoint");
    }
}

/// Far from the maximum Smax segments a round trip; past it 1, 2, 4, ... up to Smax.
#[test]
fn bic_increases_additively_then_probes() {
    let mut flow = avoiding("bic", &[], 1_000.0, wide(0.1));
    flow.lose();
    flow.round();
    assert_close(flow.window(), 832.0, 2e-3, "additive increase");
    let mut fresh = avoiding("bic", &[], 1_000.0, wide(0.1));
    for grown in [1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 95.0] {
        fresh.round();
        assert!((fresh.window() - 1_000.0 - grown).abs() < 0.05 * grown + 0.1, "{} at {grown}", fresh.window());
    }
}
