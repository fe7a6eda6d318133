//! HyStart against its paper's two signs, with the constants of Linux: a train of acknowledgements as long as half the
//! least round-trip time (and half a millisecond, for batching), and a least round-trip time an eighth above the least.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, Path, control, setup};
use std::collections::BTreeMap;
use vazao_congestion::slow_start::SlowStart;
use vazao_congestion::{Ack, SLOW_STARTS, Setup, WindowState, build_slow_start};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};

fn hystart(changed: &[(&str, &str)]) -> Box<dyn SlowStart> {
    let entry = find("slow start", SLOW_STARTS, "hystart").unwrap();
    let changed: BTreeMap<_, _> = changed.iter().map(|(k, v)| ((*k).to_owned(), Raw::Text((*v).into()))).collect();
    build_slow_start(entry.name, &Parameters::resolve(entry.parameters, &changed).unwrap(), 2.0).unwrap()
}

/// One round trip: a window of `segments`, acknowledged one each `spacing_us` with the round-trip times `rtt_ms`, which go
/// on with the last. The number of the acknowledgement that ends slow start.
fn round(page: &mut dyn SlowStart, segments: f64, start_ms: u64, spacing_us: u64, rtt_ms: &[f64]) -> Option<usize> {
    let state = WindowState { cwnd: segments * MSS as f64, ssthresh: f64::INFINITY, mss: MSS as f64 };
    (0..segments as usize).position(|i| {
        let rtt = Duration::from_secs_f64(rtt_ms[i.min(rtt_ms.len() - 1)] / 1e3);
        page.leave(
            &state,
            &Ack {
                now: Time::from_nanos(start_ms * 1_000_000 + i as u64 * spacing_us * 1_000),
                acked: MSS,
                delivered: MSS,
                advance: MSS,
                blocks: false,
                same_window: true,
                flight: state.cwnd as u64,
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: rtt,
                round: i == 0,
                window_limited: true,
                in_recovery: false,
                ..Ack::default()
            },
        )
    })
}

/// Acknowledgements 1 ms apart with a least RTT of 100 ms: more than 50.5 ms after the round's first comes the one
/// numbered 51. A shorter train, or one of wider spacing, shows nothing.
#[test]
fn a_train_of_half_the_round_trip_time_ends_slow_start() {
    let steady = [100.0];
    assert_eq!(round(&mut *hystart(&[]), 80.0, 100, 1_000, &steady), Some(51));
    assert_eq!(round(&mut *hystart(&[]), 50.0, 100, 1_000, &steady), None);
    assert_eq!(round(&mut *hystart(&[]), 80.0, 100, 2_001, &steady), None);
    assert_eq!(round(&mut *hystart(&[("spacing", "3 ms")]), 80.0, 100, 2_001, &steady), Some(26));
    assert_eq!(round(&mut *hystart(&[("detect", "delay")]), 80.0, 100, 1_000, &steady), None);
}

/// A gap ends the train for the rest of its round trip; the next round trip starts another.
#[test]
fn a_train_is_of_one_round_trip() {
    let mut page = hystart(&[]);
    for start in [100, 200, 300] {
        assert_eq!(round(&mut *page, 40.0, start, 1_000, &[100.0]), None, "round trip at {start} ms");
    }
    assert_eq!(round(&mut *page, 60.0, 400, 1_000, &[100.0]), Some(51));
}

/// The least of a round trip's samples, once eight are in, against the least of all plus an eighth, 4 ms to 16 ms.
#[test]
fn a_rise_in_delay_ends_slow_start() {
    for (base, rise) in [(100.0, 12.5), (16.0, 4.0), (400.0, 16.0)] {
        for (above, found) in [(-0.1, None), (0.1, Some(8))] {
            let mut page = hystart(&[("detect", "delay")]);
            assert_eq!(round(&mut *page, 20.0, 500, 3_000, &[base]), None);
            assert_eq!(round(&mut *page, 20.0, 1_000, 3_000, &[base + rise + above]), found, "{base} ms, {above} ms");
        }
    }
    // One small sample among them, and the path was not full.
    let mut page = hystart(&[("detect", "delay")]);
    round(&mut *page, 20.0, 500, 3_000, &[100.0]);
    assert_eq!(round(&mut *page, 20.0, 1_000, 3_000, &[150.0, 150.0, 101.0, 150.0]), None);
}

/// ns-3's (tcp-cubic.cc in 3.37): a train as long as the least RTT, or one that has doubled, and only a round trip's first
/// eight samples tell, so that a small one that comes later hides nothing.
#[test]
fn ns3_waits_for_twice_as_long_a_train_and_for_twice_the_delay() {
    let ns3 = || hystart(&[("profile", "ns3")]);
    assert_eq!(round(&mut *ns3(), 150.0, 100, 1_000, &[100.0]), Some(101));
    assert_eq!(round(&mut *ns3(), 100.0, 100, 1_000, &[100.0]), None);
    let delay = || hystart(&[("profile", "ns3"), ("detect", "delay")]);
    for (late, found) in [(199.0, None), (201.0, Some(8))] {
        let mut page = delay();
        round(&mut *page, 20.0, 500, 3_000, &[100.0]);
        assert_eq!(
            round(&mut *page, 20.0, 1_000, 3_000, &[late, late, late, late, late, late, late, late, 100.0]),
            found
        );
    }
}

#[test]
fn nothing_ends_a_small_window() {
    assert_eq!(round(&mut *hystart(&[("spacing", "9 ms")]), 15.0, 100, 8_000, &[100.0]), None);
    assert_eq!(round(&mut *hystart(&[("spacing", "9 ms")]), 16.0, 100, 8_000, &[100.0]), Some(7));
}

/// Slow start ends once; a timeout makes all begin anew, the least RTT, too.
#[test]
fn a_timeout_starts_anew() {
    let mut page = hystart(&[]);
    assert_eq!(round(&mut *page, 80.0, 100, 1_000, &[100.0]), Some(51));
    assert_eq!(round(&mut *page, 80.0, 200, 1_000, &[100.0]), None);
    page.restart(Time::from_nanos(1_000_000_000));
    assert_eq!(round(&mut *page, 80.0, 1_100, 1_000, &[120.0]), Some(61));
}

/// Linux's samples come before losses are looked for (pkts_acked), and its round trips are HyStart's own: 20 segments are in
/// flight throughout, all of which are acknowledged in each of them. Data that arrives out of order measures too, and a recovery
/// changes nothing. The second round trip's delay is an eighth longer, and a little.
#[test]
fn linux_measures_before_losses_are_looked_for() {
    for (above, found) in [(-0.1, None), (0.1, Some(29))] {
        let mut page = hystart(&[("detect", "delay")]);
        let state = WindowState { cwnd: 20.0 * MSS as f64, ssthresh: f64::INFINITY, mss: MSS as f64 };
        let sample = |i: u64| {
            let rtt = Duration::from_secs_f64(if i < 20 { 0.1 } else { 0.1125 + above / 1e3 });
            let advance = if i.is_multiple_of(2) { 0 } else { 2 * MSS };
            let now = Time::from_nanos((100 + 3 * i) * 1_000_000);
            Ack { now, advance, flight: 20 * MSS, rtt: Some(rtt), in_recovery: i.is_multiple_of(3), ..Ack::default() }
        };
        let ends = (0..40).position(|i| page.observe(&state, &sample(i)));
        assert_eq!(ends, found, "{above} ms");
        assert!(!page.leave(&state, &Ack { observed: true, ..sample(40) }));
    }
}

/// With a BDP of buffer, doubling overshoots path and buffer; the delay shows the queue before that, once it takes an
/// eighth of the round-trip time. (The model spaces acknowledgements evenly, so trains mean nothing in it.)
#[test]
fn a_bottleneck_is_found_without_loss() {
    for rate in [1_000.0, 4_000.0, 20_000.0] {
        let bdp = rate * 0.05;
        let path = Path { base_rtt: 0.05, rate, buffer: bdp };
        let slow_start = hystart(&[("detect", "delay")]);
        let mut flow = Flow::new(control("reno", &[], Setup { slow_start, ..setup(10.0, None) }), path);
        while flow.control.in_slow_start() {
            flow.ack();
        }
        assert_eq!(flow.losses, 0, "{rate}");
        let window = flow.window();
        assert!((1.125 * bdp..2.0 * bdp).contains(&window), "{window} segments at a BDP of {bdp}");
    }
}
