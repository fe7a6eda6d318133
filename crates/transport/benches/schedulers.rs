//! Cost of a scheduling decision in nanoseconds with 25 subflows, as many as full mesh makes of five interfaces a side.
//!
//! `cargo bench -p vazao-transport` prints it for each scheduler with room on all, half and one of the subflows.
//! Target: at most 200 ns.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use vazao_engine::registry::Parameters;
use vazao_engine::{Duration, Time};
use vazao_transport::common::{Decision, PacketScheduler, PathState, SCHEDULERS, Situation};

const PATHS: usize = 25;
const TARGET_NS: f64 = 200.0;
const ROUNDS: u32 = 5_000;
const BATCHES: u32 = 50;

/// Which subflows have room.
type Open = fn(usize) -> bool;

/// Subflows over five links; `has_room` tells which of them have room.
fn paths(has_room: Open) -> Vec<PathState> {
    let path = |index: usize| {
        let rtt = Duration::from_micros(10_000 + 7_919 * (index as u64 * 11 % PATHS as u64));
        let cwnd = 1448 * (10 + index as u64 * 7 % 30);
        let open = has_room(index);
        PathState {
            cwnd,
            ssthresh: cwnd,
            flight: if open { cwnd / 2 } else { cwnd },
            srtt: rtt,
            rttvar: Duration::from_micros(500),
            rtt,
            min_rtt: rtt,
            forward: rtt.as_nanos() as i64 / 2,
            usable: true,
            has_room: open,
            slow_start: false,
            ..PathState::UNKNOWN
        }
    };
    (0..PATHS).map(path).collect()
}

/// Nanoseconds of a decision including the report of its result.
fn cost(scheduler: &mut dyn PacketScheduler, paths: &[PathState]) -> f64 {
    let mut situation = Situation {
        now: Time::ZERO,
        paths,
        with_room: u64::MAX,
        waiting: 100_000_000,
        window: 6_000_000,
        buffer: 12_000_000,
        outstanding: 6_000_000,
        sent: 6_000_000,
        blocker: None,
    };
    let mut batch = || {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            situation.now += Duration::from_micros(10);
            if let Decision::Send { path, .. } = black_box(scheduler.decide(black_box(&situation))) {
                scheduler.on_sent(path, 1448);
            }
        }
        start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    // The minimum over the batches excludes the machine's other load.
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let cases: [(&str, Open); 3] = [("all", |_| true), ("half", |index| index % 2 == 0), ("one", |index| index == 12)];
    println!(
        "{:<24}{:>8}{:>8}{:>8}   ns a decision with {PATHS} subflows, those with room being",
        "", "all", "half", "one"
    );
    for entry in SCHEDULERS {
        let costs = cases.map(|(_, has_room)| {
            let mut scheduler = (entry.build)(&Parameters::defaults(entry.parameters));
            cost(&mut *scheduler, &paths(has_room))
        });
        let missed = if costs.iter().any(|&cost| cost > TARGET_NS) { "   missed: above 200 ns" } else { "" };
        println!("{:<24}{:>8.0}{:>8.0}{:>8.0}{missed}", entry.name, costs[0], costs[1], costs[2]);
    }
}
