//! FQ-CoDel: flows do not see each other (RFC 8290).

use crate::lab::{Event, Lab};
use vazao_engine::registry::Raw;

/// Flows as (gap between packets in microseconds, size in bytes), over 10 Mbit/s for 20 s: for each the bits that arrived a
/// second and the longest time from sending to arrival in seconds, both after the first two seconds.
fn share(exact: bool, flows: &[(u64, u32)]) -> Vec<(f64, f64)> {
    let mut lab = Lab::queued(10_000_000, "fq-codel", &[("exact", Raw::Flag(exact))]);
    let mut sends: Vec<(u64, usize)> = (0..flows.len())
        .flat_map(|flow| (0..20_000_000 / flows[flow].0).map(move |n| (n * flows[flow].0, flow)))
        .collect();
    sends.sort_unstable();
    for &(at, flow) in &sends {
        lab.flow = flow as u32;
        lab.send(at * 1000, flows[flow].1);
    }
    lab.run(20_000_000_000);
    let mut result = vec![(0.0, 0.0f64); flows.len()];
    for event in &lab.log {
        if let Event::Arrived(number, at) = *event
            && at > 2_000_000_000
        {
            let (sent, flow) = sends[number as usize];
            result[flow].0 += 8.0 * f64::from(flows[flow].1) / 18.0;
            result[flow].1 = result[flow].1.max((at - sent * 1000) as f64 / 1e9);
        }
    }
    result
}

/// Deficit round robin is fair in bytes, whatever the sizes and rates are: 20 Mbit/s of large packets and 8 Mbit/s of small
/// ones get 5 Mbit/s each. A quantum each way in 18 s would be 0.01 %; one percent for drops at the edges.
#[test]
fn flows_that_do_not_slow_down_share_equally() {
    for exact in [false, true] {
        let shares = share(exact, &[(600, 1500), (500, 500)]);
        for (rate, _) in &shares {
            assert!((rate / 5e6 - 1.0).abs() < 0.01, "exact {exact}: {shares:?}");
        }
    }
}

/// A flow that sends less than its share waits for no more than what is being sent, as it is always new: with two others
/// that fill the link its packets of 100 B (0.08 ms) meet one of 1500 B (1.2 ms), and at most one more new one. And it loses
/// nothing.
#[test]
fn a_sparse_flow_hardly_waits() {
    let shares = share(true, &[(600, 1500), (600, 1500), (20_000, 100)]);
    let (rate, longest) = shares[2];
    assert!((rate - 40_000.0).abs() < 100.0, "{rate}");
    assert!(longest < 0.0026, "{longest} s");
    // The others wait far longer.
    assert!(shares[0].1 > 0.05, "{shares:?}");
}

/// When all queues together are full, the longest makes room, and a flow that sends little loses nothing (RFC 8290,
/// section 4.1).
#[test]
fn the_longest_queue_makes_room() {
    let mut lab = Lab::queued(10_000_000, "fq-codel", &[("limit", Raw::Text("100 packets".into()))]);
    let mut numbers = Vec::new();
    for n in 0..3_000u64 {
        lab.flow = u32::from(n % 10 == 0);
        numbers.push(lab.flow);
        lab.send(n * 300_000, 1500);
    }
    lab.finish();
    let refused = lab.refused();
    assert!(refused.len() > 1_500, "{}", refused.len());
    assert!(refused.iter().all(|&n| numbers[n as usize] == 0));
}
