//! Each page against the numbers and closed forms of its own source.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, Path, control, setup, wide};
use vazao_congestion::window::{BandwidthEstimate, HighSpeed};
use vazao_congestion::{Ack, CONGESTION_CONTROLS, Congestion, Signal};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};

/// A flow in congestion avoidance from the start, with a window of `w` segments.
fn avoiding(name: &str, changed: &[(&str, Raw)], w: f64, path: Path) -> Flow {
    Flow::new(control(name, changed, setup(w, Some(w))), path)
}

fn assert_close(got: f64, want: f64, tolerance: f64, what: &str) {
    assert!((got - want).abs() <= tolerance * want.abs(), "{what}: {got}, not {want} within {tolerance}");
}

/// What is kept of a window of so many segments, after a loss unless said otherwise: 1 - b of each source.
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

/// RFC 5681 equation 4 and RFC 9438 section 4.6 take what is in flight; Linux's CUBIC takes the window.
#[test]
fn an_idle_part_of_the_window_does_not_count() {
    for (profile, kept) in [("rfc", 0.7 * 40.0), ("linux", 717.0 / 1024.0 * 100.0)] {
        let mut flow = cubic(profile, 100.0, 0.1);
        let none = (Time::ZERO, Duration::ZERO);
        let congestion =
            Congestion { now: none.0, signal: Signal::Loss, flight: 40 * MSS, srtt: none.1, min_rtt: none.1 };
        flow.control.on_congestion(&congestion);
        assert_close(flow.window(), kept, 1e-3, profile);
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

/// RFC 9438 section 4.2: from beta W_max at the loss to W_max at K = cbrt(W_max (1-beta) / C), and as far above
/// W_max as below at equal times (C (t-K)^3). The window follows W_cubic(t + RTT) a round trip late, which cancels to
/// second order: a hundredth of the reduction is allowed. Google's is at W_cubic(t + RTT) at once.
#[test]
fn cubic_follows_its_cubic() {
    for profile in ["rfc", "linux", "ns3", "google"] {
        for w in [1_000.0, 10_000.0] {
            let mut flow = cubic(profile, w, 0.1);
            flow.lose();
            assert_close(flow.window(), 0.7 * w, 1e-3, "W_cubic(0)");
            let k = libm::cbrt(0.3 * w / 0.4);
            let w_cubic = |t: f64| 0.4 * (t - k) * (t - k) * (t - k) + w;
            for part in [0.25, 0.5, 1.0, 1.5] {
                flow.until(part * k);
                let t = part * k + if profile == "google" { 0.1 } else { 0.0 };
                let error = (flow.window() - w_cubic(t)).abs();
                assert!(error < 0.01 * 0.3 * w, "{profile} at {part} K: {}, not {}", flow.window(), w_cubic(t));
            }
        }
    }
}

/// Section 4.3: at a short RTT the window grows by alpha_cubic = 3 (1-beta)/(1+beta) = 0.529 a round trip until it is
/// where the loss was, and then by 1.
#[test]
fn cubic_is_reno_friendly_at_short_round_trips() {
    let alpha = 3.0 * 0.3 / 1.7;
    let mut flow = cubic("rfc", 20.0, 0.001);
    flow.lose();
    flow.until(0.010);
    assert_close(flow.window() - 14.0, 10.0 * alpha, 0.02, "growth by alpha_cubic");
    let mut late = cubic("rfc", 20.0, 0.001);
    late.lose();
    late.until(0.030);
    let before = late.window();
    late.until(0.040);
    assert_close(late.window() - before, 10.0, 0.02, "growth by 1");
}

/// Chromium's cubic_bytes.cc: a loss among N connections keeps (N - 1 + 0.7) / N of the window, and where Reno would be faster
/// it grows by 3 N² (1 - β) / (1 + β) a round trip; with N = 2: 0.85 and 36/37.
#[test]
fn cubic_stands_for_several_connections() {
    for (n, beta) in [(1.0, 0.7), (2.0, 0.85), (5.0, 0.94)] {
        let given = [("profile", Raw::Text("google".into())), ("connections", Raw::Number(n))];
        let mut flow = avoiding("cubic", &given, 40.0, wide(0.001));
        flow.lose();
        let kept = flow.window();
        assert_close(kept, beta * 40.0, 1e-3, "kept");
        flow.until(0.010);
        let alpha = 3.0 * n * n * (1.0 - beta) / (1.0 + beta);
        assert_close(flow.window() - kept, 10.0 * alpha, 0.05, "growth by alpha");
    }
}

/// Section 4.7: a second loss below the first maximum makes the next one W (1+beta)/2, seen from K: the cubic is flat
/// (its slope lowest) there.
#[test]
fn cubic_converges_fast() {
    let mut flow = cubic("rfc", 10_000.0, 0.1);
    flow.lose();
    flow.lose();
    let (w, maximum) = (0.7 * 0.7 * 10_000.0, 0.7 * 10_000.0 * 0.85);
    assert_close(flow.window(), w, 1e-3, "after two losses");
    flow.until(libm::cbrt((maximum - w) / 0.4));
    assert_close(flow.window(), maximum, 2e-3, "W_cubic(K)");
}

/// A flow whose CUBIC follows `profile`, with a window of `w` segments.
fn cubic(profile: &str, w: f64, rtt: f64) -> Flow {
    avoiding("cubic", &[("profile", Raw::Text(profile.into()))], w, wide(rtt))
}

/// Section 4.8: after a timeout slow start up to beta W, then the cubic from its flat point (K = 0).
#[test]
fn cubic_is_convex_after_a_timeout() {
    let mut flow = cubic("rfc", 1_000.0, 0.1);
    flow.signal(Signal::Timeout);
    while flow.control.in_slow_start() {
        flow.ack();
    }
    let (start, w) = (flow.now, flow.window());
    assert_close(w, 700.0, 0.002, "end of slow start");
    flow.until(start + 10.0);
    assert_close(flow.window() - w, 0.4 * 1_000.0, 0.02, "C t^3");
}

/// Section 4.2: however far the cubic is ahead, the window grows by at most half a round trip.
#[test]
fn cubic_grows_by_at_most_half() {
    for profile in ["rfc", "linux", "ns3"] {
        let mut flow = cubic(profile, 1_000.0, 0.1);
        flow.lose();
        flow.round();
        let before = flow.window();
        flow.now += 1_000.0;
        flow.round();
        assert_close(flow.window() / before, 1.5, 0.002, profile);
    }
}

/// With W_max unknown Linux and ns-3 grow by 1/20 a round trip (no more than 20 acknowledgements for a segment); the
/// RFC's Reno-friendly region by one segment.
#[test]
fn cubic_profiles_differ_while_the_maximum_is_unknown() {
    for (profile, growth) in [("rfc", 1.0), ("linux", 5.0), ("ns3", 5.0)] {
        let mut flow = cubic(profile, 100.0, 0.01);
        flow.round();
        assert_close(flow.window() - 100.0, growth, 0.02, profile);
    }
}

/// At short round-trip times the RFC and Linux grow as Reno by alpha_cubic, Linux in leaps to where W_est is: it looks
/// where the window is to go when that has changed, or HZ / 32 after it last looked (bictcp_update). ns-3 has no such
/// region. Without it both hardly grow: their cubic, C (t-K)^3 truncated to whole segments, is one segment above the
/// window all along.
#[test]
fn cubic_profiles_differ_in_the_reno_friendly_region() {
    let alpha = 3.0 * 0.3 / 1.7;
    for (profile, until, growth, tolerance) in [
        ("rfc", 0.010, 10.0 * alpha, 0.02),
        ("linux", 0.030, 1.1, 0.1),
        // The first leap takes the window to W_est within two round trips of 32 ms; the next comes 31 ms later.
        ("linux", 0.060, 34.0 * alpha, 0.1),
        ("linux", 0.090, 66.0 * alpha, 0.1),
        ("ns3", 0.010, 1.1, 0.1),
    ] {
        let mut flow = cubic(profile, 20.0, 0.001);
        flow.lose();
        let kept = flow.window();
        flow.until(until);
        assert_close(flow.window() - kept, growth, tolerance, profile);
    }
}

/// Section 5.8: the RFC's clock stops while the application limits the flow, Linux's only while nothing is in flight,
/// ns-3's never; a clock that ran on makes the window leap by half in a round trip.
#[test]
fn cubic_profiles_differ_when_the_sender_pauses() {
    type Pause = (&'static str, fn(&mut Flow));
    let pauses: [Pause; 2] = [("trickle", |flow| flow.trickle(100.0)), ("idle", |flow| flow.idle(100.0))];
    for (profile, leaps) in [("rfc", [false, false]), ("linux", [true, false]), ("ns3", [true, true])] {
        for ((kind, pause), leap) in pauses.iter().zip(leaps) {
            let mut flow = cubic(profile, 1_000.0, 0.1);
            flow.lose();
            flow.until(2.0);
            let before = flow.window();
            pause(&mut flow);
            assert_eq!(flow.window(), before, "{profile}, {kind}: growth without need");
            flow.round();
            let growth = flow.window() / before - 1.0;
            // The cubic itself gains 8 segments a round trip here, 1 %.
            assert!(if leap { growth > 0.3 } else { growth < 0.03 }, "{profile}, {kind}: {growth}");
        }
    }
}

/// Linux counts whole segments: from ten, ten acknowledgements make eleven, however the division comes out; half of eleven
/// is five; and what was acknowledged towards a segment is forgotten at a loss.
#[test]
fn linux_counts_whole_segments() {
    let linux = [("profile", Raw::Text("linux".into()))];
    let mut flow = avoiding("reno", &linux, 10.0, wide(0.1));
    (0..9).for_each(|_| flow.ack());
    assert_eq!(flow.control.cwnd(), 10 * MSS);
    flow.ack();
    assert_eq!(flow.control.cwnd(), 11 * MSS);
    (0..10).for_each(|_| flow.ack());
    flow.lose();
    assert_eq!(flow.control.cwnd(), 5 * MSS);
    (0..4).for_each(|_| flow.ack());
    assert_eq!(flow.control.cwnd(), 5 * MSS);
}

/// What Linux keeps of a window: cwnd/2; beta 717/1024 and 819/1024; cwnd - cwnd/8 with the division rounded down; each
/// rounded down to whole segments.
#[test]
fn linux_keeps_whole_segments() {
    let all = [
        ("reno", 101.0, 50.0),
        ("vegas", 101.0, 50.0),
        ("westwood", 101.0, 50.0),
        ("cubic", 101.0, 70.0),
        ("bic", 101.0, 80.0),
        ("bic", 14.0, 7.0),
        ("scalable", 101.0, 89.0),
        ("scalable", 10.0, 9.0),
        ("highspeed", 38.0, 19.0),
    ];
    for (name, w, kept) in all {
        let mut flow = avoiding(name, &[("profile", Raw::Text("linux".into()))], w, wide(0.1));
        flow.lose();
        assert_eq!(flow.window(), kept, "{name} at {w}");
    }
}

/// 1 - b by the row of Appendix B, where b(118) = 0.441 is 112 256ths; but a window that never grew by a row, as when slow
/// start ends with a loss, is halved: 39 - 19.
#[test]
fn linux_highspeed_halves_until_it_has_grown() {
    let linux = [("profile", Raw::Text("linux".into()))];
    for (acks, kept) in [(0, 20.0), (1, 22.0)] {
        let mut flow = avoiding("highspeed", &linux, 39.0, wide(0.1));
        (0..acks).for_each(|_| flow.ack());
        flow.lose();
        assert_eq!(flow.window(), kept, "after {acks} acknowledgements");
    }
}

/// A segment for a hundred acknowledged, or for a window of fewer: 1 % a round trip, and Reno below.
#[test]
fn linux_scalable_has_no_legacy_window() {
    for (w, grown) in [(8.0, 9.0), (1_000.0, 1_010.0)] {
        let mut flow = avoiding("scalable", &[("profile", Raw::Text("linux".into()))], w, wide(0.1));
        flow.round();
        assert_eq!(flow.window(), grown, "from {w}");
    }
}

/// Appendix B's third row, windows of 119 to 221 segments, grows by three for each window of acknowledgements, less what
/// the last segment lacks since the window grew meanwhile.
#[test]
fn linux_highspeed_goes_by_rows() {
    for (w, grown) in [(38.0, 1.0), (100.0, 2.0), (150.0, 3.0), (200.0, 3.0)] {
        let mut flow = avoiding("highspeed", &[("profile", Raw::Text("linux".into()))], w, wide(0.1));
        flow.round();
        let got = flow.window() - w;
        assert!((grown - 1.0..=grown).contains(&got), "{got} from {w}");
    }
}

/// Linux moves a quarter of what is left to search, at most 16 segments a round trip, times the segments for each
/// acknowledgement. That ratio begins with 32 sixteenths and stays at 31 where each segment is acknowledged, for
/// 31/16 is cut to 1. After a loss at 1000 segments, far away: one more for 799/16, cut to 49, times 16/31, cut to 25, so 32.
#[test]
fn linux_bic_moves_by_sixteen_segments_at_most() {
    let mut flow = avoiding("bic", &[("profile", Raw::Text("linux".into()))], 1_000.0, wide(0.1));
    (0..100).for_each(|_| flow.ack());
    flow.lose();
    let before = flow.window();
    flow.round();
    assert!((31.0..=33.0).contains(&(flow.window() - before)), "{} from {before}", flow.window());
}

/// Up to its low window of 14 segments Linux's BIC is Reno, whatever the ratio: a segment for a window of them.
#[test]
fn linux_bic_is_reno_in_small_windows() {
    let mut flow = avoiding("bic", &[("profile", Raw::Text("linux".into()))], 10.0, wide(0.1));
    (0..9).for_each(|_| flow.ack());
    assert_eq!(flow.window(), 10.0);
    flow.ack();
    assert_eq!(flow.window(), 11.0);
}

/// Linux doubles every round trip until more than a segment is queued at the round trip's least, then falls to what the
/// least RTT of that round trip says the path carries: as that was measured when the window was half as large, at most
/// twice the BDP and a segment. It settles between its alpha of 2 and beta of 4.
#[test]
fn linux_vegas_keeps_two_to_four_segments_queued() {
    let path = Path { base_rtt: 0.05, rate: 2_000.0, buffer: 1_000.0 };
    let linux = [("profile", Raw::Text("linux".into()))];
    let mut flow = Flow::new(control("vegas", &linux, setup(10.0, None)), path);
    while flow.control.in_slow_start() {
        flow.ack();
    }
    assert!(flow.now < 7.0 * 0.05, "slow start took {} s", flow.now);
    assert!((100.0..=201.0).contains(&flow.window()), "{}", flow.window());
    flow.until(flow.now + 20.0);
    for _ in 0..50 {
        flow.round();
        assert!((102.0..=105.0).contains(&flow.window()), "{}", flow.window());
    }
}

/// Half on a loss; once it is repaired, rate times least RTT: 1000 segments a second and an RTT of exactly ten ticks make
/// 100. Two filters that keep 7/8 are within 1 % after 60 round trips.
#[test]
fn linux_westwood_sets_the_window_when_the_loss_is_repaired() {
    let path = Path { base_rtt: 0.1, rate: 1_000.0, buffer: 1_000.0 };
    let linux = [("profile", Raw::Text("linux".into()))];
    let mut flow = avoiding("westwood", &linux, 90.0, path);
    flow.until(8.0);
    let before = flow.window();
    flow.lose();
    assert_eq!(flow.window(), (before / 2.0).floor());
    flow.control.on_recovered(u64::MAX);
    assert_close(flow.window(), 100.0, 0.03, "window after the repair");
    assert_eq!(flow.control.ssthresh(), flow.control.cwnd());
}

/// RFC 9438 section 4.9.2: after a needless reduction the cubic goes on where it was. Linux begins a new one.
#[test]
fn cubic_forgets_a_needless_loss() {
    for (profile, same) in [("rfc", true), ("linux", false)] {
        let windows = [false, true].map(|disturbed| {
            let mut flow = cubic(profile, 100.0, 0.1);
            flow.signal(Signal::Loss);
            (0..20).for_each(|_| flow.round());
            if disturbed {
                flow.signal(Signal::Loss);
                flow.control.on_spurious(Time::ZERO);
            }
            (0..40).for_each(|_| flow.round());
            flow.window()
        });
        assert_eq!(windows[0] == windows[1], same, "{profile}: {windows:?}");
    }
}

/// Linux's Westwood counts a duplicate as a segment, whatever it reports: one that reports two segments every 2 ms (1000 a
/// second) counts half the rate. Over 40 samples what was before is forgotten.
#[test]
fn linux_westwood_counts_duplicates() {
    let mut control = control("westwood", &[("profile", Raw::Text("linux".into()))], setup(90.0, Some(90.0)));
    let rtt = Duration::from_millis(100);
    for i in 0..2_500 {
        control.on_ack(&Ack {
            now: Time::from_nanos(200_000_000 + i * 2_000_000),
            delivered: 2 * MSS,
            blocks: true,
            flight: 90 * MSS,
            rtt: Some(rtt),
            in_recovery: true,
            ..Ack::default()
        });
    }
    control.on_recovered(u64::MAX);
    // 50 segments in 100 ms; each filter and the sample are cut to whole bytes a tick.
    assert_close(control.cwnd() as f64 / MSS as f64, 50.0, 0.05, "window after the repair");
}

/// By a time stamp's echo a round trip is cut to milliseconds: 100.2 ms are eleven ticks, but ten once it was measured so.
#[test]
fn linux_westwood_cuts_what_is_echoed() {
    for (echo, expected) in [(None, 55.0), (Some(Duration::from_millis(100)), 50.0)] {
        let mut control = control("westwood", &[("profile", Raw::Text("linux".into()))], setup(90.0, Some(90.0)));
        for i in 0..5_000 {
            let (rtt, echo_rtt) = if i == 4_000 { (None, echo) } else { (Some(Duration::from_micros(100_200)), None) };
            let now = Time::from_nanos(200_000_000 + i * 2_000_000);
            let flight = 90 * MSS;
            control.on_ack(&Ack { now, advance: MSS, flight, rtt, echo_rtt, in_recovery: true, ..Ack::default() });
        }
        control.on_recovered(u64::MAX);
        // Each filter and the sample are cut to whole bytes a tick.
        assert_close(control.cwnd() as f64 / MSS as f64, expected, 0.03, "window after the repair");
    }
}
