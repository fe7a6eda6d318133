//! Serialisation: exact to the nanosecond however long a link is busy.

use crate::lab::{ENDLESS, Event, Lab};
use proptest::prelude::*;

/// The k-th of k packets sent back to back has been sent after k·size·8/rate seconds: rounded down once, not k times.
fn departure(k: u64, bytes: u64, rate: u64) -> u64 {
    (u128::from(k * bytes) * 8_000_000_000 / u128::from(rate)) as u64
}

/// 1500 B at 3 Mbit/s take 4 ms; at 7 Mbit/s they take 1 714 285.714... ns, and a million of them exactly a million times
/// that: rounding each would be 0.7 ms off.
#[test]
fn a_million_packets_do_not_drift() {
    for (rate, last) in [(3_000_000, 4_000_000_000_000), (7_000_000, 1_714_285_714_285)] {
        for mut lab in [Lab::new(&[(rate, 0, 0, ENDLESS)]), Lab::served(&[(rate, 0, 0, ENDLESS)])] {
            // Blocks of a thousand, each sent when the one before it leaves: the link is never idle.
            for block in 0..1_000 {
                (0..1_000).for_each(|_| lab.send(departure(block * 1_000, 1500, rate), 1500));
            }
            assert_eq!(lab.finish().last(), Some(&Event::Arrived(999_999, last)), "at {rate} bit/s");
        }
    }
}

/// A link's header uses the rate of every packet but is not part of its size: 1500 + 14 B at 8 Mbit/s take 1514 us.
#[test]
fn overhead_takes_time_and_no_room() {
    let mut lab = Lab::new(&[(8_000_000, 5_000, 14, (u32::MAX, 3_000))]);
    (0..4).for_each(|_| lab.send(0, 1500));
    lab.finish();
    // One is being sent and 3000 B wait, headers not counted: the fourth packet is the first refused.
    assert_eq!(lab.refused(), [3]);
    assert_eq!(lab.arrivals(), [1_519_000, 3_033_000, 4_547_000]);
    let report = lab.network.report(0, vazao_engine::Time::from_nanos(4_542_000));
    assert_eq!((report.packets, report.bytes, report.utilisation), (3, 4_500, 1.0));
}

/// Store and forward over a chain: each packet pays every link's serialisation, and the slowest link spaces them.
#[test]
fn a_chain_is_the_sum_of_its_links() {
    let lines = [(8_000_000, 1_000_000, 0, ENDLESS), (4_000_000, 2_000_000, 0, ENDLESS), (16_000_000, 0, 0, ENDLESS)];
    let mut lab = Lab::new(&lines);
    (0..3).for_each(|_| lab.send(0, 1000));
    // 1 ms + 1 ms, then 2 ms + 2 ms, then 0.5 ms; after that one every 2 ms.
    assert_eq!(
        lab.finish(),
        [6.5, 8.5, 10.5]
            .map(|ms| ms * 1e6)
            .map(|ns| ns as u64)
            .into_iter()
            .enumerate()
            .map(|(n, at)| Event::Arrived(n as u32, at))
            .collect::<Vec<_>>()
    );
    assert_eq!(lab.network.hops(), 9);
}

proptest! {
    /// Any sizes at any rate: within one busy period departures are the running sum of bits over rate, rounded down.
    #[test]
    fn a_busy_period_is_one_division(rate in 1_000u64..100_000_000_000, sizes in prop::collection::vec(20u32..9_000, 1..200)) {
        let mut lab = Lab::new(&[(rate, 77, 0, ENDLESS)]);
        sizes.iter().for_each(|&size| lab.send(13, size));
        lab.finish();
        let mut bytes = 0;
        let expected: Vec<u64> = sizes.iter().map(|&size| {
            bytes += u64::from(size);
            13 + departure(1, bytes, rate) + 77
        }).collect();
        prop_assert_eq!(lab.arrivals(), expected);
    }
}
