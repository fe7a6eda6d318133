//! Reactions of controls to marks (ECN), against their sources.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, control, setup, wide};
use vazao_congestion::window::{Dctcp, Window};
use vazao_congestion::{Ack, CONGESTION_CONTROLS, Congestion, Signal, WindowState};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};

fn dctcp() -> Dctcp {
    let entry = find("congestion control", CONGESTION_CONTROLS, "dctcp").unwrap();
    Dctcp::from(&Parameters::defaults(entry.parameters))
}

/// A round trip of `w` segments, of which the first `marked` are.
fn round(page: &mut Dctcp, state: &WindowState, w: u64, marked: u64) {
    for i in 0..w {
        let marked = if i < marked { MSS } else { 0 };
        page.observe(state, &Ack { acked: MSS, delivered: MSS, marked, round: i == w - 1, ..Ack::default() });
    }
}

fn state(segments: f64) -> WindowState {
    WindowState { cwnd: segments * MSS as f64, ssthresh: segments * MSS as f64, mss: MSS as f64 }
}

fn congestion(signal: Signal) -> Congestion {
    Congestion { now: Time::ZERO, signal, flight: u64::MAX, srtt: Duration::ZERO, min_rtt: Duration::ZERO }
}

/// RFC 8257 section 3.3: alpha starts at 1; alpha = (1 - g) alpha + g M with g = 1/16; a mark costs alpha/2 of the window,
/// and section 3.5: a loss half of it.
#[test]
fn dctcp_averages_the_marked_part() {
    let (mut page, state) = (dctcp(), state(100.0));
    assert_eq!(page.shrink(&state, &congestion(Signal::Mark)), 50.0 * MSS as f64, "alpha is 1");
    let mut alpha = 1.0;
    for marked in [0, 0, 10, 100, 37, 0] {
        round(&mut page, &state, 100, marked);
        alpha = (15.0 * alpha + marked as f64 / 100.0) / 16.0;
        assert!((page.alpha() - alpha).abs() < 1e-12, "{} not {alpha}", page.alpha());
        let kept = page.shrink(&state, &congestion(Signal::Mark)) / state.cwnd;
        assert!((kept - (1.0 - alpha / 2.0)).abs() < 1e-12);
        assert_eq!(page.shrink(&state, &congestion(Signal::Loss)), 50.0 * MSS as f64);
    }
}

/// Alizadeh et al., SIGCOMM 2010, section 3.3: one flow whose packets are marked in the one round trip of a cycle in which
/// its window is above W* has alpha²(1 - alpha/4) = (2 W* + 1) / (W* + 1)². The derivation wants alpha constant over a
/// cycle, so g is below their bound of 1.386 / sqrt(2 W*); and it takes sums over windows for integrals, which is a
/// round trip in the W* alpha / 2 of a cycle: 7 to 28 here.
#[test]
fn dctcp_oscillates_as_its_authors_say() {
    let entry = find("congestion control", CONGESTION_CONTROLS, "dctcp").unwrap();
    for threshold in [100.0f64, 400.0, 1_600.0] {
        let given = [("g".to_owned(), Raw::Number(1.0 / 512.0))].into();
        let mut page = Dctcp::from(&Parameters::resolve(entry.parameters, &given).unwrap());
        let (mut w, mut sum) = (threshold, 0.0);
        for i in 0..8_000 {
            let above = w > threshold;
            round(&mut page, &state(w), w as u64, if above { w as u64 } else { 0 });
            w = if above { page.shrink(&state(w), &congestion(Signal::Mark)) / MSS as f64 } else { w + 1.0 };
            sum += if i < 4_000 { 0.0 } else { page.alpha() };
        }
        let right = (2.0 * threshold + 1.0) / ((threshold + 1.0) * (threshold + 1.0));
        let want = (0..50).fold(0.1f64, |alpha, _| f64::sqrt(right / (1.0 - alpha / 4.0)));
        let rounds = threshold * want / 2.0;
        let got = sum / 4_000.0;
        assert!((got / want - 1.0).abs() < 1.0 / rounds, "alpha at W* = {threshold}: {got}, not {want}");
    }
}

/// Linux counts alpha in 1024ths and windows in segments, both rounded down (net/ipv4/tcp_dctcp.c): 1024 - 64 = 960 after a
/// round trip without marks; 100 - 100 * 960 / 2048 = 100 - 46 segments. What is below 16/1024 vanishes at once.
#[test]
fn linux_dctcp_counts_in_1024ths() {
    let entry = find("congestion control", CONGESTION_CONTROLS, "dctcp").unwrap();
    let given = [("profile".to_owned(), Raw::Text("linux".into()))].into();
    let mut page = Dctcp::from(&Parameters::resolve(entry.parameters, &given).unwrap());
    let state = state(100.0);
    round(&mut page, &state, 100, 0);
    assert_eq!(page.alpha(), 960.0 / 1024.0);
    assert_eq!(page.shrink(&state, &congestion(Signal::Mark)), 54.0 * MSS as f64);
    (0..200).for_each(|_| round(&mut page, &state, 100, 0));
    assert_eq!(page.alpha(), 0.0);
    round(&mut page, &state, 100, 50);
    assert_eq!(page.alpha(), 32.0 / 1024.0, "g M = 1024 / 16 / 2");
}

/// DCTCP grows, and answers losses, as Reno does.
#[test]
fn dctcp_without_marks_is_reno() {
    let windows = ["dctcp", "reno"].map(|name| {
        let mut flow = Flow::new(control(name, &[], setup(10.0, Some(40.0))), wide(0.1));
        (0..20).for_each(|_| flow.round());
        flow.lose();
        (0..20).for_each(|_| flow.round());
        flow.window()
    });
    assert_eq!(windows[0], windows[1]);
}

/// RFC 8511 section 3.1: a mark leaves 0.8 of Reno's window and 0.85 of CUBIC's; without ABE it is a loss (RFC 3168), and a
/// loss is one with ABE, too.
#[test]
fn abe_gives_up_less_for_a_mark() {
    let all = [("reno", false, [0.5, 0.5]), ("reno", true, [0.8, 0.5]), ("cubic", false, [0.7, 0.7])];
    for (name, abe, kept) in all.into_iter().chain([("cubic", true, [0.85, 0.7])]) {
        for profile in ["rfc", "linux"] {
            for (signal, kept) in [Signal::Mark, Signal::Loss].into_iter().zip(kept) {
                let changed = [("abe", Raw::Flag(abe)), ("profile", Raw::Text(profile.into()))];
                let mut flow = Flow::new(control(name, &changed, setup(1_000.0, Some(1_000.0))), wide(0.1));
                flow.signal(signal);
                // Linux's 0.7 is 717/1024, in whole segments.
                assert!(
                    (flow.window() - 1_000.0 * kept).abs() <= 1.0,
                    "{name} {profile} {signal:?}: {}",
                    flow.window()
                );
            }
        }
    }
}
