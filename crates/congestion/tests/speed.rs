//! Cost of an acknowledgement. Run with `cargo test --release -p vazao-congestion --test speed -- --ignored --nocapture`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "it measures and reports"
)]

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{MSS, control, setup};
use std::time::Instant;
use vazao_congestion::{Ack, CONGESTION_CONTROLS};
use vazao_engine::{Duration, Time};

/// Nanoseconds an acknowledgement in congestion avoidance, at a window of 10 000 segments.
fn cost(name: &str) -> f64 {
    const ACKS: u64 = 20_000_000;
    let mut control = control(name, &[], setup(10_000.0, Some(10_000.0)));
    let rtt = Duration::from_millis(100);
    let started = Instant::now();
    for i in 0..ACKS {
        control.on_ack(&Ack {
            now: Time::from_nanos(i * 10_000),
            acked: MSS,
            delivered: MSS,
            advance: MSS,
            blocks: false,
            same_window: true,
            flight: 10_000 * MSS,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            round: i % 10_000 == 0,
            window_limited: true,
            in_recovery: false,
            ..Ack::default()
        });
    }
    assert!(control.cwnd() >= MSS);
    started.elapsed().as_nanos() as f64 / ACKS as f64
}

/// The simulator spends about 20 ns on a whole packet-hop: a control must stay well below. The bound leaves room for a
/// busy machine.
#[test]
#[ignore = "a measurement; meaningful in release only"]
fn an_acknowledgement_costs_a_few_nanoseconds() {
    for entry in CONGESTION_CONTROLS {
        let cost = cost(entry.name);
        println!("{:10} {cost:5.1} ns", entry.name);
        assert!(cost < 40.0, "{}: {cost} ns", entry.name);
    }
}
