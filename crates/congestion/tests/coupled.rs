//! Coupled controls against the numbers of their sources.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{MSS, control, setup};
use vazao_congestion::coupled::{Lia, Siblings};
use vazao_congestion::{Ack, Congestion, CongestionControl, Sibling, Signal, State};
use vazao_engine::{Duration, Time};

const SEGMENT: f64 = MSS as f64;

fn path(segments: f64, threshold: f64, rtt_ms: u64) -> Sibling {
    Sibling { cwnd: segments * SEGMENT, ssthresh: threshold * SEGMENT, srtt: Duration::from_millis(rtt_ms) }
}

/// A control in congestion avoidance at a window of `segments`, which halves to it from twice as many while it is alone.
fn avoiding(name: &str, segments: u64) -> Box<dyn CongestionControl> {
    let twice = 2.0 * segments as f64;
    let mut control = control(name, &[], setup(twice, Some(twice)));
    lose(control.as_mut(), 2 * segments, Signal::Loss);
    assert_eq!(control.cwnd(), segments * MSS, "{name}");
    control
}

fn lose(control: &mut dyn CongestionControl, flight: u64, signal: Signal) {
    let (srtt, min_rtt) = (Duration::from_millis(50), Duration::from_millis(50));
    control.on_congestion(&Congestion { now: Time::ZERO, signal, flight: flight * MSS, srtt, min_rtt });
}

fn acknowledge(control: &mut dyn CongestionControl, bytes: u64) -> f64 {
    let before = control.cwnd();
    control.on_ack(&Ack { acked: bytes, delivered: bytes, window_limited: true, ..Ack::default() });
    (control.cwnd() - before) as f64
}

/// RFC 6356 section 3: alpha is 1 of one path, so that it is Reno; 1/2 of two equal ones, so that both together grow by a
/// segment each two round trips of one... and n equal paths take 1/n.
#[test]
fn lia_takes_one_flows_growth_for_all_paths() {
    let state = State { cwnd: 10.0 * SEGMENT, ssthresh: SEGMENT, mss: SEGMENT };
    for count in 1..=4 {
        let mut siblings = Siblings::default();
        siblings.see(&vec![path(10.0, 5.0, 50); count], 0);
        let mut lia = Lia::default();
        vazao_congestion::window::Window::couple(&mut lia, &vec![path(10.0, 5.0, 50); count], 0);
        assert!((lia.alpha(&state) - 1.0 / count as f64).abs() < 1e-12, "{count} paths");
    }
    // A window's worth acknowledged: a segment alone, a quarter of one beside an equal path (alpha over two windows).
    let mut alone = avoiding("lia", 10);
    assert!((acknowledge(alone.as_mut(), 10 * MSS) - SEGMENT).abs() <= 1.0);
    let mut beside = avoiding("lia", 10);
    beside.couple(&[path(10.0, 10.0, 50), path(10.0, 10.0, 50)], 1);
    assert!((acknowledge(beside.as_mut(), 10 * MSS) - SEGMENT / 4.0).abs() <= 1.0);
}

/// RFC 6356 section 3's general formula by hand: windows of 10 and 20 segments at 50 and 200 ms. The best of w / rtt² is
/// 10 / 0.05² = 4000, the sum of w / rtt 200 + 100 = 300; alpha = 30 * 4000 / 300² = 4/3, of the 30 segments of both.
#[test]
fn lia_with_unequal_paths() {
    let mut lia = Lia::default();
    let paths = [path(10.0, 5.0, 50), path(20.0, 5.0, 200)];
    vazao_congestion::window::Window::couple(&mut lia, &paths, 0);
    let state = State { cwnd: 10.0 * SEGMENT, ssthresh: SEGMENT, mss: SEGMENT };
    assert!((lia.alpha(&state) - 4.0 / 3.0).abs() < 1e-12);
    let mut control = avoiding("lia", 10);
    control.couple(&paths, 0);
    // A window's worth on the first path: 10 segments times 4/3 over 30, of a segment each.
    assert!((acknowledge(control.as_mut(), 10 * MSS) - SEGMENT * 4.0 / 9.0).abs() <= 1.0);
}

/// CMT/RPv1 by its formulae: thresholds of 10 and 30 segments make shares of 1/4 and 3/4. A loss at a window of 20 beside
/// one of 12 leaves max(20 - 32/2, 4/4, 1) = 4; one at 20 beside 60 leaves a share of four segments: 1.
#[test]
fn rpv1_shares_by_thresholds() {
    let growth = |own: usize| {
        let mut control = avoiding("rpv1", 10);
        control.couple(&[path(10.0, 10.0, 50), path(10.0, 30.0, 50)], own);
        acknowledge(control.as_mut(), 10 * MSS)
    };
    assert!((growth(0) - SEGMENT / 4.0).abs() <= 1.0 && (growth(1) - SEGMENT * 0.75).abs() <= 1.0);
    for (beside, left) in [(12.0, 4), (60.0, 1)] {
        let mut control = avoiding("rpv1", 20);
        control.couple(&[path(20.0, 10.0, 50), path(beside, 30.0, 50)], 0);
        lose(control.as_mut(), 20, Signal::Loss);
        assert_eq!((control.cwnd(), control.ssthresh()), (left * MSS, left * MSS), "beside {beside}");
    }
}

/// CMT/RPv2 by its formulae: windows of 20 and 10 segments at 50 and 100 ms carry 400 and 100 a second, shares of 4/5 and
/// 1/5. A loss on the first takes half of all, 250 of its 400 a second, 12.5 of its 20 segments; on the second more than it
/// has, so that a fifth of four segments would be left: less than one, which is the floor.
#[test]
fn rpv2_shares_by_rates() {
    let paths = [path(20.0, 10.0, 50), path(10.0, 30.0, 100)];
    for (own, window, share, left) in [(0, 20, 0.8, 7.5), (1, 10, 0.2, 1.0)] {
        let mut control = avoiding("rpv2", window);
        control.couple(&paths, own);
        assert!((acknowledge(control.as_mut(), window * MSS) - SEGMENT * share).abs() <= 1.0, "path {own}");
        let mut control = avoiding("rpv2", window);
        control.couple(&paths, own);
        lose(control.as_mut(), window, Signal::Loss);
        assert!((control.cwnd() as f64 - left * SEGMENT).abs() <= 1.0, "path {own}: {}", control.cwnd());
    }
}
