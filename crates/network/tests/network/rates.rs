//! Rates that vary: the time that each packet takes, exactly.

use crate::lab::{ENDLESS, Lab};
use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{Rate, Time};
use vazao_network::SHAPERS;
use vazao_network::impairment::{IMPAIRMENTS, Outage};
use vazao_network::queue::DropTail;
use vazao_network::rate::{Opportunities, Schedule, Service, TokenBucket, Trace};

const MS: u64 = 1_000_000;

fn steps(list: &[(u64, u64)]) -> Vec<(u64, Rate)> {
    list.iter().map(|&(ms, bps)| (ms * MS, Rate::from_bps(bps))).collect()
}

fn resolve(known: &[vazao_engine::registry::Parameter], given: &[(&str, &str)]) -> Parameters {
    let given: BTreeMap<_, _> = given.iter().map(|(name, x)| ((*name).to_owned(), Raw::Text((*x).into()))).collect();
    Parameters::resolve(known, &given).unwrap()
}

fn pause(at: &str, length: &str) -> Outage {
    let entry = IMPAIRMENTS.iter().find(|entry| entry.name == "outages").unwrap();
    Outage::from(&resolve(entry.parameters, &[("at", at), ("for", length)])).unwrap()
}

/// When packets of 1000 B sent at once have been sent, in microseconds, on either path.
fn departures(service: impl Service + Clone + 'static, packets: usize) -> Vec<u64> {
    let line = [(8_000_000, 0, 0, ENDLESS)];
    let [fast, general] = [false, true].map(|served| {
        let mut lab = if served { Lab::served(&line) } else { Lab::new(&line) }.varied(service.clone());
        (0..packets).for_each(|_| lab.send(0, 1000));
        lab.finish();
        lab.arrivals()
    });
    assert_eq!(fast, general);
    fast.into_iter().map(|at| at / 1000).collect()
}

/// 8 Mbit/s for 2.5 ms, then 2 Mbit/s: two packets at 1 ms each, half of the third in 0.5 ms and its rest in 2 ms, then one
/// each 4 ms.
#[test]
fn a_packet_takes_the_integral_of_the_rate() {
    let schedule =
        Schedule::new(vec![(0, Rate::from_bps(8_000_000)), (2_500_000, Rate::from_bps(2_000_000))], None, vec![]);
    assert_eq!(departures(schedule, 5), [1_000, 2_000, 4_500, 8_500, 12_500]);
}

/// An outage that keeps packets: the one being sent stops, and goes on where it was.
#[test]
fn a_pause_stops_what_is_being_sent() {
    let schedule = Schedule::new(steps(&[(0, 8_000_000)]), None, vec![pause("1500 us", "10 ms")]);
    assert_eq!(departures(schedule.clone(), 3), [1_000, 12_000, 13_000]);
    // Of 20 ms at 8 Mbit/s ten were lost.
    assert_eq!(schedule.capacity(20 * MS), 80_000.0);
}

/// It begins anew after its period, and its mean is that of a period.
#[test]
fn a_schedule_may_repeat() {
    let list = steps(&[(0, 8_000_000), (3, 1_000_000)]);
    let schedule = Schedule::new(list.clone(), Some(4 * MS), vec![]);
    // 3 ms and 1 ms carry 3 and 1/8 packets.
    assert_eq!(departures(schedule.clone(), 7), [1_000, 2_000, 3_000, 4_875, 5_875, 6_875, 8_750]);
    assert_eq!(Schedule::mean(&list, Some(4 * MS)), Rate::from_bps(6_250_000));
    assert_eq!(Schedule::mean(&list, None), Rate::from_bps(1_000_000));
    assert_eq!(schedule.capacity(8 * MS), 50_000.0);
}

/// A trace's line is an instant at which 1500 B may pass: a packet of 1000 B uses one, the 500 B left start the next packet,
/// which takes 500 B of the next, and so on; three packets in two opportunities. Its last millisecond is its length.
#[test]
fn a_trace_delivers_at_its_instants() {
    let trace = Opportunities::parse("2\n2\n5\n10\n").unwrap();
    let link = Trace::new(trace.clone(), vec![]);
    // 2: one and a half; 2: the rest; 5: one and a half, 10: the rest; then 12 (two instants), 15, 20.
    assert_eq!(departures(link.clone(), 9), [2_000, 2_000, 2_000, 5_000, 10_000, 10_000, 12_000, 12_000, 12_000]);
    assert_eq!(trace.mean(), Rate::from_bps(4 * 12_000 * 100));
    assert_eq!(link.capacity(30 * MS), 11.0 * 12_000.0);
}

/// An opportunity that is not used at its instant is lost: a packet that comes after an instant waits for the next, and
/// cannot use what another left of one before.
#[test]
fn unused_opportunities_are_lost() {
    let link = Trace::new(Opportunities::parse("1\n4\n10").unwrap(), vec![]);
    let mut lab = Lab::new(&[(1_000_000, 0, 0, ENDLESS)]).varied(link);
    for (at, size) in [(0, 100), (2, 1500), (4, 100), (5, 3000)] {
        lab.send(at * MS, size);
    }
    lab.finish();
    // The packet of 100 B at 4 ms comes at that very instant, but all of it is used; 3000 B take what is left at 10 ms
    // (1400 B), 1500 B at 11 ms and the rest at 14 ms.
    assert_eq!(lab.arrivals(), [MS, 4 * MS, 10 * MS, 14 * MS]);
}

/// In an outage instants pass unused.
#[test]
fn an_outage_stops_a_trace() {
    let link = Trace::new(Opportunities::parse("1\n2\n3\n4\n5").unwrap(), vec![pause("2 ms", "2 ms")]);
    let mut lab = Lab::new(&[(1_000_000, 0, 0, ENDLESS)]).varied(link.clone());
    (0..4).for_each(|_| lab.send(0, 1500));
    lab.finish();
    assert_eq!(lab.arrivals(), [MS, 4 * MS, 5 * MS, 6 * MS]);
    assert_eq!(link.capacity(5 * MS + 1), 3.0 * 12_000.0);
}

/// Bad traces are refused with their line.
#[test]
fn a_bad_trace_names_its_line() {
    let refused = |text: &str| Opportunities::parse(text).unwrap_err();
    assert_eq!(refused("1\n2\nthree\n"), (3, "is not a whole number of milliseconds".into()));
    assert_eq!(refused("1\n5\n4\n"), (3, "\"4\" is less than the line before it".into()));
    assert_eq!(refused("1\n-5").0, 2);
    assert_eq!(refused("").0, 1);
    assert!(refused("0\n0\n").1.contains("how long the trace lasts"));
}

/// The synthetic trace is a minute of what it says: around 9 Mbit/s (the mean of a log-normal rate is exp(0.92²/2) = 1.5 of
/// its median, less the outages), times of nothing, and the same of the same seed.
#[test]
fn the_cellular_trace_is_what_it_says() {
    let trace = Opportunities::cellular(1);
    assert_eq!(trace, Opportunities::cellular(1));
    assert_ne!(trace, Opportunities::cellular(2));
    assert_eq!((trace.times().last(), trace.times().is_sorted()), (Some(&60_000), true));
    let means: Vec<f64> = (0..20).map(|seed| Opportunities::cellular(seed).mean().as_bps() as f64 / 1e6).collect();
    let mean = means.iter().sum::<f64>() / 20.0;
    assert!((11.0..16.0).contains(&mean), "{means:?}");
    assert!(trace.times().windows(2).any(|pair| pair[1] - pair[0] > 100));
}

/// A token bucket passes its burst at the link's rate and then its own: 10 kB at 8 Mbit/s, then 1 kB each 8 ms at 1 Mbit/s;
/// while the burst passes, 1 kB and a quarter of tokens come.
#[test]
fn a_bucket_passes_its_burst_then_its_rate() {
    let bucket = || {
        let link = Box::new(Schedule::new(steps(&[(0, 8_000_000)]), None, vec![]));
        TokenBucket::from(&resolve(SHAPERS[0].parameters, &[("rate", "1 Mbps"), ("burst", "10 kB")]), link)
    };
    let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]).varied(bucket());
    (0..100).for_each(|_| lab.send(0, 1000));
    lab.finish();
    let arrivals = lab.arrivals();
    // Tokens for packet n (from 1) are there at 8 (n - 10) ms; sending takes 1 ms more.
    let expected = |n: u64| (n * MS).max(8 * MS * n.saturating_sub(10) + MS);
    assert_eq!(arrivals, (1..=100).map(expected).collect::<Vec<_>>());
    // Idle, it fills again: another burst passes at once.
    lab.send(2_000 * MS, 1000);
    (0..9).for_each(|_| lab.send(2_000 * MS, 1000));
    lab.finish();
    assert_eq!(lab.arrivals()[109], 2_010 * MS);
    // In the long run no more than burst + rate x time.
    assert_eq!(bucket().capacity(1_000 * MS), 1_080_000.0);
}

/// A packet larger than the bucket goes when that is full, and the next wait for the debt; a peak rate spaces a burst.
#[test]
fn large_packets_and_peaks() {
    let make = |given: &[(&str, &str)]| {
        let link = Box::new(Schedule::new(steps(&[(0, 8_000_000)]), None, vec![]));
        let bucket = TokenBucket::from(&resolve(SHAPERS[0].parameters, given), link);
        let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]).varied(bucket);
        (0..3).for_each(|_| lab.send(0, 1000));
        lab.finish();
        lab.arrivals()
    };
    // 500 B fill in 4 ms, the debt of as much in 4 ms more.
    assert_eq!(make(&[("rate", "1 Mbps"), ("burst", "500 B")]), [MS, 9 * MS, 17 * MS]);
    assert_eq!(make(&[("rate", "1 Mbps"), ("burst", "10 kB"), ("peak", "4 Mbps")]), [2 * MS, 4 * MS, 6 * MS]);
}

proptest! {
    /// A schedule of one rate is a link of that rate, to the nanosecond; and one that changes has sent, whenever it is busy,
    /// just the bits that it could.
    #[test]
    fn schedules_are_exact(
        rate in 1_000u64..100_000_000_000,
        list in prop::collection::vec((1u64..50_000_000, 1_000_000u64..1_000_000_000), 1..6),
        sizes in prop::collection::vec((0u64..100_000, 20u32..9_000), 1..200),
    ) {
        let one = Schedule::new(vec![(0, Rate::from_bps(rate))], None, vec![]);
        let (mut fixed, mut varied) =
            (Lab::new(&[(rate, 9, 0, ENDLESS)]), Lab::new(&[(rate, 9, 0, ENDLESS)]).varied(one));
        let mut now = 0;
        for &(gap, size) in &sizes {
            now += gap;
            fixed.send(now, size);
            varied.send(now, size);
        }
        prop_assert_eq!(fixed.finish(), varied.finish());

        let mut at = 0;
        let mut many: Vec<(u64, Rate)> = Vec::new();
        for &(length, bps) in &list {
            many.push((at, Rate::from_bps(bps)));
            at += length;
        }
        let schedule = Schedule::new(many, Some(at), vec![pause("3 ms", "4 ms")]);
        let mut lab = Lab::new(&[(rate, 0, 0, ENDLESS)]).varied(schedule.clone());
        sizes.iter().for_each(|&(_, size)| lab.send(0, size));
        lab.finish();
        let mut bits = 0.0;
        for (at, (_, size)) in lab.arrivals().into_iter().zip(&sizes) {
            bits += 8.0 * f64::from(*size);
            // Times are whole nanoseconds: up to a bit of 1 Gbit/s is not there yet. Rounding of the sum in floats aside.
            let possible = schedule.capacity(at);
            prop_assert!((possible - bits).abs() < 1.0 + bits * 1e-9, "{} of {} bits at {}", bits, possible, at);
        }
    }

    /// Both paths agree where the rate varies too.
    #[test]
    fn both_paths_agree_on_a_trace(
        trace in prop::collection::vec(1u64..60, 1..40), limit in 1u32..30,
        sizes in prop::collection::vec((0u64..4_000_000, 20u32..4_000), 1..150),
    ) {
        let mut times = trace;
        times.sort_unstable();
        let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
        let link = Trace::new(Opportunities::parse(&text).unwrap(), vec![]);
        let line = [(1_000_000, 5, 0, (limit, u64::MAX))];
        let mut labs = [Lab::new(&line).varied(link.clone()), Lab::new(&line).varied(link)];
        labs[1].network.set_discipline(0, Box::new(DropTail::new((limit, u64::MAX))), &mut labs[1].scheduler);
        let mut now = 0;
        for &(gap, size) in &sizes {
            now += gap;
            labs.iter_mut().for_each(|lab| lab.send(now, size));
        }
        let [mut fast, mut general] = labs;
        prop_assert_eq!(fast.finish(), general.finish());
        let end = Time::from_nanos(now + 100_000_000_000);
        prop_assert_eq!(fast.network.report(0, end).packets, general.network.report(0, end).packets);
        let report = fast.network.report(0, end);
        prop_assert_eq!(report.packets + report.drops_queue, sizes.len() as u64);
        prop_assert!(report.utilisation <= 1.0);
    }
}
