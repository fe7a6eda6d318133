//! H-TCP, Hybla and Westwood+ against the closed forms of their sources.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, Path, assert_close, avoiding, control, setup, wide};
use vazao_congestion::{Ack, Congestion, Signal};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

fn linux() -> [(&'static str, Raw); 1] {
    [("profile", Raw::Text("linux".into()))]
}

// ---- H-TCP ----------------------------------------------------------------------------------------------------------

/// alpha(t) for t seconds since the loss.
fn alpha(t: f64) -> f64 {
    if t <= 1.0 { 1.0 } else { 1.0 + 10.0 * (t - 1.0) + 0.25 * (t - 1.0) * (t - 1.0) }
}

/// Growth of the round trip that begins `t` seconds after a loss.
fn growth(changed: &[(&str, Raw)], rtt: f64, t: f64) -> (f64, f64) {
    let mut flow = avoiding("htcp", changed, 10_000.0, wide(rtt));
    flow.lose();
    flow.until(t);
    let (start, before) = (flow.now, flow.window());
    flow.round();
    (flow.window() - before, (start + flow.now) / 2.0)
}

/// Leith and Shorten 2004: the first loss halves the window, so growth is 2 (1 - 1/2) alpha(t). Within a round trip alpha
/// is nearly a line, and the window grows by under 1 % of itself, by which each acknowledgement then adds less.
#[test]
fn htcp_grows_by_alpha_of_the_time_since_the_loss() {
    let unscaled = [("rtt_scaling", Raw::Flag(false))];
    for t in [0.3, 2.0, 5.0, 10.5] {
        let (grown, middle) = growth(&unscaled, 0.1, t);
        assert_close(grown, alpha(middle), 0.01, &format!("growth after {t} s"));
    }
    assert_close(alpha(5.0), 45.0, 1e-12, "the paper's own sum");
}

/// Scaled by RTT/100 ms between 1/10 and 2, but not below 1, and not in the first second.
#[test]
fn htcp_grows_alike_in_time_whatever_the_round_trip_time() {
    for (rtt, scale) in [(0.02, 0.2), (0.05, 0.5), (0.1, 1.0), (0.2, 2.0), (0.4, 2.0)] {
        let (grown, middle) = growth(&[], rtt, 5.0);
        assert_close(grown, scale * alpha(middle), 0.015, &format!("RTT of {rtt} s"));
        let (reno, _) = growth(&[], rtt, 0.2);
        assert_close(reno, 1.0, 0.01, "in the first second");
    }
}

/// RTTmin/RTTmax within 0.5 and 0.8 of what was in flight: the BDP, where the queue is a quarter to one BDP long. RTTmax is
/// the loss's own or what 19/20 of the last loss's queue makes it, the same within a twentieth of the queue.
#[test]
fn htcp_gives_up_the_queue() {
    for (buffer, kept) in [(10.0, 0.8), (25.0, 0.8), (50.0, 100.0 / 150.0), (80.0, 100.0 / 180.0), (300.0, 0.5)] {
        let path = Path { base_rtt: 0.1, rate: 1_000.0, buffer };
        let mut flow = avoiding("htcp", &[], 90.0, path);
        let mut ratio = 0.0;
        while flow.losses < 4 {
            let (before, losses) = (flow.window(), flow.losses);
            flow.ack();
            if flow.losses > losses {
                ratio = flow.window() / before;
            }
        }
        assert_close(ratio, kept, 0.02, &format!("part kept with a buffer of {buffer}"));
    }
}

/// A change of throughput by more than a fifth from one loss to the next: half. Otherwise, as losses come at 125 segments,
/// RTTmin/RTTmax = 0.1 rate/125.
#[test]
fn htcp_halves_when_the_throughput_changed() {
    for (rate, kept) in [(1_000.0, 0.8), (900.0, 0.72), (700.0, 0.5)] {
        let mut flow = avoiding("htcp", &[], 90.0, Path { base_rtt: 0.1, rate: 1_000.0, buffer: 25.0 });
        while flow.losses < 4 {
            flow.ack();
        }
        flow.path = Path { rate, buffer: 125.0 - 0.1 * rate, ..flow.path };
        while flow.losses < 5 {
            flow.ack();
        }
        assert_close(flow.window() / 125.0, kept, 0.02, &format!("part kept at {rate} segments a second"));
    }
}

/// A reduction that was for nothing is forgotten: growth goes on as if the loss before had been the last.
#[test]
fn htcp_forgets_a_loss_that_was_none() {
    let mut flow = avoiding("htcp", &[("rtt_scaling", Raw::Flag(false))], 10_000.0, wide(0.1));
    flow.lose();
    flow.until(5.0);
    flow.lose();
    flow.control.on_spurious(Time::from_nanos(5_000_000_000));
    let before = flow.window();
    flow.round();
    assert_close(flow.window() - before, alpha(5.05), 0.02, "growth");
}

/// Linux computes with whole ticks: 2 s after a loss 1 + (10 x 100 + 50 x 50 / 100) / 100 = 11 (the formula: 11.25). A segment
/// is due when the acknowledgement after the last of 91 finds them counted: 1000/92 a round trip.
#[test]
fn linux_htcp_counts_whole_segments_and_ticks() {
    let mut flow = avoiding("htcp", &linux(), 2_000.0, wide(0.1));
    flow.lose();
    assert_eq!(flow.window(), 1_000.0);
    flow.until(2.0);
    let before = flow.window();
    flow.round();
    assert!((10.0..=11.0).contains(&(flow.window() - before)), "{} from {before}", flow.window());
}

/// Linux adapts from the second loss with steady throughput on: half, half, then RTTmin/RTTmax: 10 ticks over 13, in 128ths
/// rounded down, 98.
#[test]
fn linux_htcp_adapts_from_the_third_loss() {
    let mut flow = avoiding("htcp", &linux(), 90.0, Path { base_rtt: 0.1, rate: 1_000.0, buffer: 25.0 });
    let mut kept = vec![];
    while flow.losses < 5 {
        let losses = flow.losses;
        flow.ack();
        if flow.losses > losses {
            kept.push(flow.window());
        }
    }
    assert_eq!(kept, [63.0, 63.0, 96.0, 96.0, 96.0]);
}

// ---- Hybla ----------------------------------------------------------------------------------------------------------

/// rho²/w for each segment of a window: rho² segments a round trip, with rho = RTT/25 ms but at least 1. Acknowledgements
/// late in the round trip add less by what the window grew meanwhile.
#[test]
fn hybla_grows_by_rho_squared_a_round_trip() {
    for (rtt, rho) in [(0.01, 1.0), (0.025, 1.0), (0.05, 2.0), (0.1, 4.0), (0.55, 22.0)] {
        let mut flow = avoiding("hybla", &[], 10_000.0, wide(rtt));
        flow.round();
        assert_close(flow.window() - 10_000.0, rho * rho, 0.03, &format!("growth at {rtt} s"));
    }
}

/// 2^rho - 1 for each segment acknowledged in slow start: 1 at 25 ms, 3 at 50 ms, 15 at 100 ms.
#[test]
fn hybla_leaps_in_slow_start() {
    for (rtt, leap) in [(0.02, 1.0), (0.05, 3.0), (0.1, 15.0)] {
        let mut flow = Flow::new(control("hybla", &[], setup(10.0, None)), wide(rtt));
        (0..2).for_each(|_| flow.ack());
        assert_close(flow.window(), 10.0 + 2.0 * leap, 1e-3, &format!("window at {rtt} s"));
    }
}

/// The paper's claim: whatever the RTT, segments a second at a time are those of a Reno flow over 25 ms. Rounding the 10 s
/// to round trips moves that by one of them in a hundred.
#[test]
fn hybla_is_as_fast_as_reno_over_rtt0() {
    let rate = |name: &str, rtt: f64, w: f64| {
        let mut flow = avoiding(name, &[], w, wide(rtt));
        flow.until(10.0);
        flow.window() / rtt
    };
    let reno = rate("reno", 0.025, 20.0);
    for rho in [2.0, 4.0, 10.0] {
        assert_close(rate("hybla", 0.025 * rho, 20.0 * rho), reno, 0.01, &format!("rate at rho = {rho}"));
    }
}

/// Linux starts with rho segments; at 110 ms rho is 35 eighths: 2^4 (128 x 2^(3/8) rounded down, 165) - 128 = 2512 128ths an
/// acknowledgement, 19 and 5/8 segments.
#[test]
fn linux_hybla_counts_in_eighths_and_128ths() {
    let mut flow = Flow::new(control("hybla", &linux(), setup(10.0, None)), wide(0.11));
    flow.control.on_established(Some(Duration::from_millis(110)));
    let windows: Vec<f64> = (0..3).map(|_| (flow.window(), flow.ack()).0).collect();
    assert_eq!(windows, [4.0, 23.0, 43.0]);
}

/// As long as Linux repairs a loss, its Hybla is Reno: a segment more for each acknowledged in slow start.
#[test]
fn linux_hybla_is_reno_after_a_timeout() {
    let mut control = control("hybla", &linux(), setup(100.0, Some(100.0)));
    let srtt = Duration::from_millis(100);
    let congestion = Congestion { now: Time::ZERO, signal: Signal::Timeout, flight: 100 * MSS, srtt, min_rtt: srtt };
    control.on_congestion(&congestion);
    let ack = Ack { acked: MSS, delivered: MSS, srtt, min_rtt: srtt, window_limited: true, ..Ack::default() };
    control.on_ack(&Ack { after_timeout: true, ..ack });
    assert_eq!(control.cwnd(), 2 * MSS);
    control.on_ack(&ack);
    assert_eq!(control.cwnd(), 17 * MSS);
}

/// ns-3's Hybla (tcp-hybla.cc in 3.37) asks for the RTT only while the smoothed one is the least so far: at 110 ms with an
/// RTT0 of 50 ms rho is 2.2 if no data waits, and stays 1 once the first has: 2^rho - 1 segments an acknowledgement.
#[test]
fn ns3_hybla_is_reno_where_the_first_data_waits() {
    for (rtt_ms, leap) in [(110, libm::exp2(2.2) - 1.0), (111, 1.0)] {
        let mut control = control("hybla", &[("profile", Raw::Text("ns3".into()))], setup(10.0, None));
        control.on_established(Some(Duration::from_millis(110)));
        let srtt = Duration::from_millis(rtt_ms);
        let ack = Ack { acked: MSS, delivered: MSS, srtt, min_rtt: srtt, window_limited: true, ..Ack::default() };
        control.on_ack(&ack);
        assert_close(control.cwnd() as f64, (10.0 + leap) * MSS as f64, 1e-4, "after one acknowledgement");
    }
}

// ---- Westwood+ ------------------------------------------------------------------------------------------------------

/// Feeds round trips of 100 ms that deliver so many segments each, and says what a loss then leaves, in segments.
fn kept_after(rounds: impl Iterator<Item = u64>) -> f64 {
    let mut control = control("westwood-plus", &[], setup(1_000.0, Some(1_000.0)));
    let rtt = Duration::from_millis(100);
    let mut now = Time::ZERO;
    for segments in std::iter::once(0).chain(rounds) {
        let delivered = segments * MSS;
        control.on_ack(&Ack { now, acked: delivered, delivered, rtt: Some(rtt), round: true, ..Ack::default() });
        now += rtt;
    }
    control.on_congestion(&Congestion { now, signal: Signal::Loss, flight: 1_000 * MSS, srtt: rtt, min_rtt: rtt });
    control.ssthresh() as f64 / MSS as f64
}

/// One sample a round trip, of which the filter takes an eighth: after n round trips of half the rate what is left of the
/// difference is (7/8)^n. Windows are whole bytes, a thousandth of a segment.
#[test]
fn westwood_plus_filters_a_sample_a_round_trip() {
    assert_close(kept_after([100; 3].into_iter()), 100.0, 1e-6, "steady");
    for n in [1, 8, 20] {
        let want = 50.0 + 50.0 * libm::pow(7.0 / 8.0, f64::from(n));
        let got = kept_after([100; 10].into_iter().chain(std::iter::repeat_n(50, n as usize)));
        assert_close(got, want, 1e-3 / want, &format!("after {n} round trips"));
    }
}

/// The purpose of Westwood+: acknowledgements that come in one bunch do not make the path look faster than it is.
#[test]
fn westwood_plus_is_not_fooled_by_bunches() {
    let path = Path { base_rtt: 0.1, rate: 1_000.0, buffer: 50.0 };
    let mut flow = avoiding("westwood-plus", &[], 120.0, path);
    while flow.losses < 3 {
        flow.ack();
    }
    assert_close(flow.window(), 100.0, 0.015, "window after a loss");
}

/// ns-3's Westwood and Westwood+ (tcp-westwood.cc in 3.37) keep 0.9 of the estimate, take the mean of this sample and the last
/// for the rest, and start from nothing: at a steady rate r the n-th estimate is r (1 - 0.9^n) - 0.05 r 0.9^(n-1), for the
/// first sample's mean is half. Westwood's sample is an acknowledgement, Westwood+'s a round trip: after ten round trips of
/// ten acknowledgements one sees nearly all of the rate and the other, of which nine samples are over, 58 %.
#[test]
fn ns3_westwood_starts_from_nothing() {
    for (name, samples) in [("westwood", 100), ("westwood-plus", 9)] {
        let mut control = control(name, &[("profile", Raw::Text("ns3".into()))], setup(1_000.0, Some(1_000.0)));
        let srtt = Duration::from_millis(100);
        let mut now = Time::ZERO;
        for _ in 0..100 {
            now += Duration::from_millis(10);
            control.on_ack(&Ack { now, acked: 10 * MSS, delivered: 10 * MSS, srtt, ..Ack::default() });
        }
        let congestion = Congestion { now, signal: Signal::Loss, flight: 1_000 * MSS, srtt, min_rtt: srtt };
        control.on_congestion(&congestion);
        let left = libm::pow(0.9, f64::from(samples));
        let want = 100.0 * (1.0 - left - 0.05 * left / 0.9);
        assert_close(control.ssthresh() as f64 / MSS as f64, want, 1e-3, name);
    }
}

/// Linux's Westwood is Westwood+: by either name the same.
#[test]
fn linux_has_one_westwood() {
    let windows = |name| {
        let mut flow = avoiding(name, &linux(), 90.0, Path { base_rtt: 0.1, rate: 1_000.0, buffer: 30.0 });
        let mut windows = vec![];
        while flow.losses < 3 {
            let losses = flow.losses;
            flow.ack();
            if flow.losses > losses {
                flow.control.on_recovered(u64::MAX);
            }
            windows.push(flow.window());
        }
        windows
    };
    assert_eq!(windows("westwood"), windows("westwood-plus"));
}
