//! What is dropped before it comes to a queue: by a policer, or because the link holds too much.

use crate::lab::{ENDLESS, Event, Lab, queue};
use std::collections::BTreeMap;
use vazao_engine::Time;
use vazao_engine::registry::{Parameters, Raw};
use vazao_network::Impairments;
use vazao_network::impairment::{IMPAIRMENTS, Policer};
use vazao_network::queue::DropTail;

const MS: u64 = 1_000_000;

fn policer(rate: &str, burst: &str) -> Policer {
    let entry = IMPAIRMENTS.iter().find(|entry| entry.name == "policer").expect("an impairment");
    let given: BTreeMap<_, _> =
        [("rate", rate), ("burst", burst)].map(|(name, text)| (name.to_owned(), Raw::Text(text.into()))).into();
    Policer::from(&Parameters::resolve(entry.parameters, &given).unwrap())
}

/// A link of 80 Mbit/s (1000 B take 0.1 ms) without delay, and a policer in front of it.
fn policed(policer: Policer) -> Lab {
    let mut lab = Lab::new(&[(80_000_000, 0, 0, ENDLESS)]);
    lab.network.set_discipline(0, Box::new(DropTail::new(ENDLESS)), &mut lab.scheduler);
    lab.impaired(Impairments { policer: Some(policer), ..Impairments::default() })
}

/// RFC 2697 section 3 by hand: a bucket of 3000 B that fills with 1000 B a millisecond. Of five packets of 1000 B at once
/// three pass; after 0.999 ms there are 999 B, too few, after 1 ms enough for one; and after a long pause there are 3000 B
/// again and not more. What passes does not wait for tokens, as it would behind a shaper.
#[test]
fn a_policer_passes_what_its_bucket_holds() {
    let mut lab = policed(policer("8 Mbps", "3 kB"));
    (0..5).for_each(|_| lab.send(0, 1000));
    [999_000, MS, MS].into_iter().for_each(|at| lab.send(at, 1000));
    (0..4).for_each(|_| lab.send(1_000 * MS, 1000));
    lab.finish();
    assert_eq!(lab.refused(), [3, 4, 5, 7, 11]);
    let passed = [100_000, 200_000, 300_000, 1_100_000, 1_000_100_000, 1_000_200_000, 1_000_300_000];
    assert_eq!(lab.arrivals(), passed);
    let report = lab.network.report(0, Time::from_nanos(2_000 * MS));
    assert_eq!((report.drops_policer, report.drops_queue, report.packets), (5, 0, 7));
}

/// A packet that does not conform takes no tokens: a smaller one after it passes (RFC 2697: only what is green lessens the
/// bucket), and one that is larger than the bucket never does.
#[test]
fn what_a_policer_drops_takes_no_tokens() {
    let mut lab = policed(policer("8 Mbps", "1500 B"));
    [1_501, 1_000, 501, 500, 1].into_iter().for_each(|size| lab.send(0, size));
    lab.send(3_600_000 * MS, 1_501);
    lab.finish();
    assert_eq!(lab.refused(), [0, 2, 4, 5]);
}

/// In the long run the rate passes and the bucket once: of 80 Mbit/s for a second an eighth and 20 kB.
#[test]
fn a_policer_passes_its_rate_in_the_long_run() {
    let mut lab = policed(policer("10 Mbps", "20 kB"));
    (0..10_000u64).for_each(|n| lab.send(n * MS / 10, 1000));
    lab.finish();
    // The last packet comes after 999.9 ms.
    let bytes = 20_000.0 + 10e6 / 8.0 * 0.9999;
    assert_eq!(lab.arrivals().len() as u64, (bytes / 1000.0) as u64);
}

/// One limit of 5 packets for queue and delay, as netem has it: at 8 Mbit/s (1000 B take 1 ms) and 10 ms, of eight packets at
/// once five are taken, which leave 11 to 15 ms later; there is room at each of those instants and not before. Behind
/// drop-tail with the same limit six are taken, as the packet being sent is not counted, and a millisecond later another is.
#[test]
fn a_limit_of_all_that_a_link_holds_counts_delayed_packets() {
    let play = |name: &str| {
        let mut lab = Lab::new(&[(8_000_000, 10 * MS, 0, ENDLESS)]);
        let limit = [("limit", Raw::Text("5 packets".into()))];
        lab.network.set_discipline(0, queue(8_000_000, name, &limit), &mut lab.scheduler);
        (0..8).for_each(|_| lab.send(0, 1000));
        [MS, 11 * MS - 1, 11 * MS, 11 * MS, 12 * MS].into_iter().for_each(|at| lab.send(at, 1000));
        lab.finish();
        (lab.refused(), lab.network.report(0, Time::from_nanos(60 * MS)).drops_queue)
    };
    assert_eq!(play("netem"), (vec![5, 6, 7, 8, 9, 11], 6));
    assert_eq!(play("drop-tail"), (vec![6, 7], 2));
}

/// So it bounds the rate by limit / delay: 10 packets of 1000 B each 20 ms are 4 Mbit/s of the link's 80, whatever its other
/// impairments do, and a packet lost on the wire leaves at once.
#[test]
fn a_limit_of_all_that_a_link_holds_bounds_the_rate() {
    let mut lab = Lab::new(&[(80_000_000, 20 * MS, 0, ENDLESS)]);
    let limit = [("limit", Raw::Text("10 packets".into()))];
    lab.network.set_discipline(0, queue(80_000_000, "netem", &limit), &mut lab.scheduler);
    (0..10_000u64).for_each(|n| lab.send(n * MS / 10, 1000));
    lab.finish();
    // The first ten fill it until 20.1 ms, when there is room for each of the next ten: a period of 20.1 ms.
    let periods = 1_000 * MS / 20_100_000 + 1;
    let arrived = lab.log.iter().filter(|event| matches!(event, Event::Arrived(..))).count() as u64;
    assert!(arrived.abs_diff(10 * periods) <= 10, "{arrived} for {periods} periods");
}
