//! Serialisation: exact to the nanosecond however long a link is busy.

use crate::lab::{ENDLESS, Event, Lab, Line};
use proptest::prelude::*;
use vazao_network::loss::List;

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

/// A followed packet is seen at the end of each link, lost ones as well, and nothing else changes.
#[test]
fn followed_packets_are_seen_at_every_link() {
    let lines: [Line; 2] = [(8_000_000, 1_000_000, 0, ENDLESS), (4_000_000, 2_000_000, 0, ENDLESS)];
    let loses = || Lab::new(&lines).lossy(Box::new(List::new(&[2])));
    let (mut plain, mut followed) = (loses(), loses());
    followed.network.follow();
    for lab in [&mut plain, &mut followed] {
        (0..3).for_each(|_| lab.send(0, 1000));
        lab.finish();
    }
    assert_eq!((&followed.log, plain.crossed.len()), (&plain.log, 0));
    // 1 ms to send over the first link and 1 ms of delay; 2 ms and 2 ms over the second.
    let ms = |time: u64| time * 1_000_000;
    let expected = [(0, 0, 2), (1, 0, 3), (2, 0, 4), (0, 1, 6), (2, 1, 8)];
    assert_eq!(followed.crossed, expected.map(|(number, link, time)| (number, link, ms(time))));
}
