//! Contents of a queue and losses of a link, packet by packet.

use crate::lab::{ENDLESS, Lab};
use vazao_engine::{Duration, RandomStream, Rate, Time};
use vazao_network::loss::{Bernoulli, List, Periodic};
use vazao_network::{Capacity, LossModel};

/// 12 packets of 1000 B at once over 8 Mbit/s (1 ms each), with a limit written as a user does: how many are accepted.
fn accepted(limit: &str) -> usize {
    let capacity: Capacity = limit.parse().unwrap();
    let limits = capacity.limits(Rate::from_bps(8_000_000), Duration::from_millis(10));
    let both = [Lab::new(&[(8_000_000, 0, 0, limits)]), Lab::served(&[(8_000_000, 0, 0, limits)])];
    let [fast, general] = both.map(|mut lab| {
        (0..12).for_each(|_| lab.send(0, 1000));
        lab.finish();
        lab.arrivals().len()
    });
    assert_eq!(fast, general, "{limit}");
    fast
}

/// The packet being sent is not counted: a limit of n packets accepts n + 1 at once. Every unit says the same: n kB hold
/// n packets of 1000 B, as n ms at 1000 B/ms do, and 10 ms of base round trip make a BDP of 10 kB.
#[test]
fn limits_hold_in_every_unit() {
    let table = [
        ("0 packets", 1),
        ("1 packet", 2),
        ("5 packets", 6),
        ("5 kB", 6),
        ("5999 B", 6),
        ("6 kB", 7),
        ("5 ms", 6),
        ("5999 us", 6),
        ("0.5 bdp", 6),
        ("0.55 bdp", 6),
        ("1 bdp", 11),
        ("0.99 bdp", 10),
    ];
    for (limit, packets) in table {
        assert_eq!(accepted(limit), packets, "{limit}");
    }
}

/// A packet that fits may enter after one that did not: drop-tail looks at sizes.
#[test]
fn a_small_packet_fits_where_a_large_one_does_not() {
    let mut lab = Lab::new(&[(8_000_000, 0, 0, (u32::MAX, 1_600))]);
    [1500, 1500, 1500, 100, 1].into_iter().for_each(|size| lab.send(0, size));
    lab.finish();
    assert_eq!(lab.refused(), [2, 4]);
}

/// Room is made at the instant at which the packet in front has been sent, not a nanosecond before.
#[test]
fn room_is_made_when_transmission_ends() {
    for mut lab in [Lab::new(&[(8_000_000, 0, 0, (1, u64::MAX))]), Lab::served(&[(8_000_000, 0, 0, (1, u64::MAX))])] {
        for at in [0, 0, 999_999, 1_000_000, 1_000_000] {
            lab.send(at, 1000);
        }
        lab.finish();
        assert_eq!(lab.refused(), [2, 4]);
    }
}

/// The packets that wait are counted without the packet being sent, at every instant of its draining.
#[test]
fn the_queue_drains_at_the_rate() {
    for mut lab in [Lab::new(&[(8_000_000, 500, 0, ENDLESS)]), Lab::served(&[(8_000_000, 500, 0, ENDLESS)])] {
        (0..5).for_each(|_| lab.send(0, 1000));
        for (at, bytes) in [(0, 4_000), (999_999, 4_000), (1_000_000, 3_000), (3_999_999, 1_000), (4_000_000, 0)] {
            lab.run(at);
            assert_eq!(lab.network.queue_bytes(0, Time::from_nanos(at)), bytes, "at {at} ns");
        }
    }
}

/// A lost packet has used its time on the link: those behind it come when they would have come.
#[test]
fn losses_are_at_their_positions_and_free_no_time() {
    let models: [(Box<dyn LossModel>, Vec<u32>); 3] = [
        // Packets count from 1; numbers here from 0.
        (Box::new(List::new(&[1, 4, 5])), vec![0, 3, 4]),
        (Box::new(Periodic::new(3, 0)), vec![2, 5, 8]),
        (Box::new(Periodic::new(4, 2)), vec![1, 5, 9]),
    ];
    for (model, lost) in models {
        let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]).lossy(model);
        (0..10).for_each(|_| lab.send(0, 1000));
        lab.finish();
        assert_eq!(lab.lost(), lost);
        let others = (0..10).filter(|n| !lost.contains(n)).map(|n| u64::from(n + 1) * 1_000_000);
        assert_eq!(lab.arrivals(), others.collect::<Vec<_>>());
        let report = lab.network.report(0, Time::from_nanos(10_000_000));
        assert_eq!((report.packets, report.drops_loss, report.drops_queue), (10, 3, 0));
    }
}

/// A refused packet never reaches the wire, so it is not one of those that the loss model counts.
#[test]
fn loss_counts_what_is_sent() {
    let mut lab = Lab::new(&[(8_000_000, 0, 0, (1, u64::MAX))]).lossy(Box::new(List::new(&[3])));
    [0, 0, 0, 0, 2_000_000].into_iter().for_each(|at| lab.send(at, 1000));
    lab.finish();
    assert_eq!((lab.refused(), lab.lost()), (vec![2, 3], vec![4]));
}

/// Common random numbers: which packets are lost depends on the seed and the link alone, not on when they come, how large
/// they are or which path the queue takes.
#[test]
fn random_losses_depend_on_the_count_alone() {
    let lost = |mut lab: Lab, size: u32, gap: u64| {
        (0..20_000).for_each(|n| lab.send(n * gap, size));
        lab.finish();
        lab.lost()
    };
    let model = || Box::new(Bernoulli::new(0.01, RandomStream::new(5, "loss/bottleneck/forward")));
    let line = [(1_000_000_000, 1_000, 0, ENDLESS)];
    let first = lost(Lab::new(&line).lossy(model()), 1500, 12_000);
    assert_eq!(first, lost(Lab::new(&line).lossy(model()), 40, 1_000_000));
    assert_eq!(first, lost(Lab::served(&line).lossy(model()), 9_000, 10));
    // Four standard errors of a binomial count with n p = 200: 4 sqrt(198).
    assert!(first.len().abs_diff(200) < 57, "{}", first.len());
}
