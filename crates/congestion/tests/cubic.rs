//! CUBIC against RFC 9438, and where its profiles differ.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, assert_close, avoiding, wide};
use vazao_congestion::{Congestion, Signal};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

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
