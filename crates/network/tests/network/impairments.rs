//! Effects of wires on packets: how often, when, and that none of it disturbs the rest.

use crate::lab::{ALTERED, ENDLESS, Event, Lab};
use proptest::prelude::*;
use std::collections::BTreeMap;
use vazao_engine::registry::{Parameters, Raw};
use vazao_engine::{RandomStream, Time};
use vazao_network::impairment::{Chance, IMPAIRMENTS, Impairments, Jitter, Outage, Reorder};
use vazao_network::loss::Bernoulli;
use vazao_network::queue::DropTail;

fn parameters(name: &str, given: &[(&str, Raw)]) -> Parameters {
    let entry = IMPAIRMENTS.iter().find(|entry| entry.name == name).expect("an impairment");
    let given: BTreeMap<_, _> = given.iter().map(|(name, raw)| ((*name).to_owned(), raw.clone())).collect();
    Parameters::resolve(entry.parameters, &given).unwrap()
}

fn text(value: &str) -> Raw {
    Raw::Text(value.into())
}

fn stream(name: &str) -> RandomStream {
    RandomStream::new(7, &format!("{name}/link/forward"))
}

/// A link of 8 Mbit/s (1000 B take 1 ms) and 10 ms on the two-event path, with impairments.
fn lab(impairments: Impairments) -> Lab {
    let mut lab = Lab::new(&[(8_000_000, 10_000_000, 0, ENDLESS)]);
    lab.network.set_discipline(0, Box::new(DropTail::new(ENDLESS)), &mut lab.scheduler);
    lab.impaired(impairments)
}

fn jitter(given: &[(&str, Raw)]) -> Impairments {
    Impairments { jitter: Jitter::new(&parameters("jitter", given), stream("jitter")).ok(), ..Impairments::default() }
}

/// Delays of packets far apart, in units of the spread above the link's own.
fn delays(given: &[(&str, Raw)], packets: u64) -> Vec<f64> {
    let mut lab = lab(jitter(&[&[("spread", text("2 ms"))], given].concat()));
    (0..packets).for_each(|n| lab.send(n * 1_000_000_000, 1000));
    lab.finish();
    let base = |n: usize| n as u64 * 1_000_000_000 + 11_000_000;
    lab.arrivals().iter().enumerate().map(|(n, at)| (at - base(n)) as f64 / 2e6).collect()
}

/// Each distribution has the spread as its mean, and its own part of delays above twice the mean: none (uniform), 0.13 %
/// (normal, 3 deviations), e^-2 = 13.5 % (exponential), 2^-3 = 12.5 % (Pareto of shape 3 shifted to 0, whose survival
/// function is (1 + x/2)^-3 in means). Five standard errors of 20 000 draws; the Pareto's deviation is 1.73 means.
#[test]
fn jitter_has_its_distribution() {
    let table =
        [("uniform", 0.577, 0.0), ("normal", 0.333, 0.00135), ("exponential", 1.0, 0.1353), ("pareto", 1.732, 0.125)];
    for (name, deviation, above) in table {
        for correlation in [0.0f64, 0.5] {
            let given = [("distribution", text(name)), ("correlation", Raw::Number(correlation))];
            let delays = delays(&given, 20_000);
            let mean = delays.iter().sum::<f64>() / 20_000.0;
            let long = delays.iter().filter(|&&delay| delay > 2.0).count() as f64 / 20_000.0;
            // Correlated draws count for fewer: (1 + c) / (1 - c) times the variance.
            let inflation = ((1.0 + correlation) / (1.0 - correlation)).sqrt() / 20_000f64.sqrt();
            assert!((mean - 1.0).abs() < 5.0 * deviation * inflation, "{name} {correlation}: mean {mean}");
            let error = 5.0 * f64::sqrt(above * (1.0 - above)) * inflation;
            assert!((long - above).abs() <= error, "{name} {correlation}: {long} above twice the mean");
        }
    }
}

/// Mean and deviation apart, around the link's own 10 ms: of 40 000 draws the mean is within five standard errors of that
/// asked for, and so is the variance, whose standard error is sqrt((kurtosis - 1) / n) of it: kurtosis 1.8 (uniform), 3
/// (normal), 9 (exponential). Pareto's of shape 3 has none, and its median is told instead: 2^(1/3) of the scale, where the
/// mean is 1.5 and the deviation sqrt(3)/2 of it.
#[test]
fn jitter_has_mean_and_deviation_apart() {
    let table = [("uniform", Some(1.8)), ("normal", Some(3.0)), ("exponential", Some(9.0)), ("pareto", None)];
    let n = 40_000;
    for ((name, kurtosis), spread) in table.into_iter().flat_map(|row| [(row, "0 s"), (row, "5 ms")]) {
        let given = [("spread", text(spread)), ("deviation", text("2 ms")), ("distribution", text(name))];
        let mut lab = lab(jitter(&given));
        (0..n).for_each(|i| lab.send(i * 1_000_000_000, 1000));
        lab.finish();
        let mut late: Vec<f64> =
            lab.arrivals().iter().zip(0..).map(|(&at, i)| (at - i * 1_000_000_000) as f64 / 1e6 - 11.0).collect();
        let added = if spread == "0 s" { 0.0 } else { 5.0 };
        let mean = late.iter().sum::<f64>() / n as f64;
        assert!((mean - added).abs() < 5.0 * 2.0 / (n as f64).sqrt(), "{name}: mean {mean}");
        if let Some(kurtosis) = kurtosis {
            let variance = late.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64 / 4.0;
            assert!((variance - 1.0).abs() < 5.0 * f64::sqrt((kurtosis - 1.0) / n as f64), "{name}: {variance}");
            continue;
        }
        late.sort_by(f64::total_cmp);
        let median = added + 2.0 * (libm::cbrt(2.0) - 1.5) / 0.75f64.sqrt();
        // Of a median the standard error is 1 / (2 f sqrt(n)), the density f there 3 / 2^(4/3) of the scale.
        let scale = 2.0 / 0.75f64.sqrt();
        let error = scale / (2.0 * 3.0 / libm::pow(2.0, 4.0 / 3.0) * (n as f64).sqrt());
        assert!((late[n as usize / 2] - median).abs() < 5.0 * error, "{} for {median}", late[n as usize / 2]);
    }
}

/// No packet comes before it was sent, however wide its delays are; half of those of a normal distribution around the link's
/// own 10 ms with a deviation of 1000 s would (five standard errors).
#[test]
fn no_delay_is_below_zero() {
    let mut lab = lab(jitter(&[("deviation", text("1000 s")), ("distribution", text("normal"))]));
    (0..2_000u64).for_each(|n| lab.send(n * 100_000_000_000_000, 1000));
    lab.finish();
    let late = |(at, n): (&u64, u64)| at - n * 100_000_000_000_000 - 1_000_000;
    let at_once = lab.arrivals().iter().zip(0..).map(late).filter(|&late| late == 0).count();
    assert!(at_once.abs_diff(1_000) < 5 * 23, "{at_once}");
}

/// What has no effect is refused: jitter without a size, a gap beside a delay.
#[test]
fn parameters_that_do_not_go_together_are_refused() {
    let p = parameters("jitter", &[("distribution", text("normal"))]);
    assert_eq!(Jitter::new(&p, stream("jitter")).unwrap_err().path, ["spread"]);
    let both = [("probability", Raw::Number(0.1)), ("gap", Raw::Number(2.0)), ("delay", text("1 ms"))];
    assert_eq!(Reorder::new(&parameters("reorder", &both), stream("reorder")).unwrap_err().path, ["gap"]);
}

/// A packet's delay resembles that before it by as much as was asked for; rank correlation of a normal process, 6/π asin(c/2),
/// is what uniform delays show.
#[test]
fn jitter_may_be_correlated() {
    for correlation in [0.0, 0.5, 0.9] {
        let delays = delays(&[("correlation", Raw::Number(correlation))], 20_000);
        let covariance = delays.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum::<f64>() / 19_999.0;
        let variance = delays.iter().map(|delay| (delay - 1.0) * (delay - 1.0)).sum::<f64>() / 20_000.0;
        let expected = 6.0 / std::f64::consts::PI * (correlation / 2.0f64).asin();
        assert!((covariance / variance - expected).abs() < 0.04, "{correlation}: {}", covariance / variance);
    }
}

/// Jitter larger than the gap between packets reorders them, or makes those behind wait, as was asked for.
#[test]
fn jitter_keeps_order_or_does_not() {
    let order = |keeps: bool| {
        let mut lab = lab(jitter(&[("spread", text("5 ms")), ("keeps_order", Raw::Flag(keeps))]));
        (0..1_000).for_each(|_| lab.send(0, 1000));
        lab.finish();
        let order: Vec<u32> =
            lab.log.iter().filter_map(|e| if let Event::Arrived(n, _) = e { Some(*n) } else { None }).collect();
        (order.is_sorted(), order.len(), lab.arrivals().is_sorted())
    };
    assert_eq!((order(true), order(false)), ((true, 1_000, true), (false, 1_000, true)));
}

/// On a busy link a late packet is overtaken by as many as its gap says, and by a fixed delay's worth otherwise.
#[test]
fn late_packets_are_overtaken() {
    for (given, by) in [(("gap", Raw::Number(3.0)), 3), (("delay", text("5500 us")), 5)] {
        let p = parameters("reorder", &[("probability", Raw::Number(0.01)), given]);
        let reorder = Reorder::new(&p, stream("reorder")).ok();
        let mut lab = lab(Impairments { reorder, ..Impairments::default() });
        (0..10_000).for_each(|_| lab.send(0, 1000));
        lab.finish();
        let order: Vec<u32> =
            lab.log.iter().filter_map(|e| if let Event::Arrived(n, _) = e { Some(*n) } else { None }).collect();
        // Late ones that no other late one is near.
        let late: Vec<usize> = (0..order.len() - 1).filter(|&i| order[i] > order[i + 1]).map(|i| i + 1).collect();
        assert!(late.len().abs_diff(100) < 50, "{}", late.len());
        let alone: Vec<_> = late.windows(3).filter(|w| w[1] - w[0] > 10 && w[2] - w[1] > 10).map(|w| w[1]).collect();
        assert!(alone.len() > 50 && alone.iter().all(|&i| i - order[i] as usize == by), "{alone:?}");
    }
}

/// Doubled packets arrive twice at one instant, corrupt ones fail their checksum at the host, as often as was asked for (five
/// standard errors), and a packet may be both.
#[test]
fn packets_are_doubled_and_spoilt() {
    let mut lab = lab(Impairments {
        duplicate: Some(Chance::new(0.05, stream("duplicate"))),
        corrupt: Some(Chance::new(0.02, stream("corrupt"))),
        ..Impairments::default()
    });
    (0..20_000u64).for_each(|n| lab.send(n * 1_000_000, 1000));
    lab.finish();
    let doubled = lab.log.len() - 20_000;
    let corrupt = lab.log.iter().filter(|e| matches!(e, Event::Corrupt(..))).count();
    assert!(doubled.abs_diff(1_000) < 5 * 31, "{doubled}");
    assert!(corrupt.abs_diff(420) < 5 * 21, "{corrupt}");
    let report = lab.network.report(0, Time::from_nanos(20_010_000_000));
    assert_eq!((report.packets, report.drops_corrupt, report.drops_loss), (20_000, corrupt as u64, 0));
    let twins = lab.log.windows(2).filter(|pair| match (pair[0], pair[1]) {
        (Event::Arrived(a, s), Event::Arrived(b, t)) | (Event::Corrupt(a, s), Event::Corrupt(b, t)) => (a, s) == (b, t),
        _ => false,
    });
    assert_eq!(twins.count(), doubled);
}

/// Packets that a middlebox alters come to it with a bit of their own, as often as was asked for (five standard errors),
/// and each once.
#[test]
fn packets_are_altered() {
    let mut lab = lab(Impairments { alter: Some(Chance::new(0.05, stream("alter"))), ..Impairments::default() });
    (0..20_000u64).for_each(|n| lab.send(n * 1_000_000, 1000));
    lab.finish();
    // The laboratory adds what a middlebox is told to a packet's number.
    let number = |event: &Event| match event {
        Event::Arrived(number, _) => *number,
        other => panic!("{other:?}"),
    };
    let altered = lab.log.iter().map(number).filter(|&number| number >= 20_000).count();
    assert!(lab.log.iter().map(number).zip(0..).all(|(got, sent)| got == sent || got == sent + ALTERED));
    assert!(altered.abs_diff(1_000) < 5 * 31, "{altered}");
}

/// Each packet that is not lost meets each middlebox once, and its copy is one of what came out of it. The first link's adds
/// 10 000 to a packet's number, the second's 20 000.
#[test]
fn middleboxes_meet_every_packet_once() {
    let line = (8_000_000, 10_000_000, 0, ENDLESS);
    let mut lab = Lab::new(&[line, line]).impaired(Impairments {
        loss: Some(Box::new(Bernoulli::new(0.1, stream("loss")))),
        duplicate: Some(Chance::new(0.1, stream("duplicate"))),
        middlebox: 10_000,
        ..Impairments::default()
    });
    lab.network.set_impairments(1, Impairments { middlebox: 20_000, ..Impairments::default() });
    (0..5_000).for_each(|n| lab.send(n * 2_000_000, 1000));
    lab.finish();
    let mut times = BTreeMap::new();
    for event in &lab.log {
        match event {
            Event::Arrived(number, _) => *times.entry(number - 30_000).or_insert(0) += 1,
            Event::Lost(number, _) => assert!(times.insert(*number, 0).is_none()),
            other => panic!("{other:?}"),
        }
    }
    assert!(times.keys().copied().eq(0..5_000));
    // Five standard errors of the losses, and of the copies among the rest.
    let count = |wanted| times.values().filter(|&&n| n == wanted).count();
    assert!(count(0).abs_diff(500) < 5 * 22 && count(2).abs_diff(450) < 5 * 21, "{} {}", count(0), count(2));
    assert_eq!(count(0) + count(1) + count(2), 5_000);
}

fn outage(given: &[(&str, Raw)]) -> Outage {
    Outage::from(&parameters("outages", given)).unwrap()
}

/// An outage holds from its start, not at its end; a periodic one comes again.
#[test]
fn outages_begin_and_end() {
    let once = outage(&[("at", text("10 s")), ("for", text("2 s"))]);
    let often = outage(&[("every", text("30 s")), ("for", text("1 s")), ("first", text("5 s"))]);
    let at = |o: &Outage, ms: u64| o.is_at(Time::from_nanos(ms * 1_000_000));
    assert_eq!([9_999, 10_000, 11_999, 12_000].map(|ms| at(&once, ms)), [false, true, true, false]);
    assert_eq!(
        [0, 4_999, 5_000, 6_000, 34_999, 35_500, 36_000].map(|ms| at(&often, ms)),
        [false, false, true, false, false, true, false]
    );
    let refused = |given: &[(&str, Raw)]| Outage::from(&parameters("outages", given)).unwrap_err().path.concat();
    assert_eq!(refused(&[("for", text("1 s"))]), "at");
    assert_eq!(refused(&[("at", text("1 s")), ("every", text("2 s")), ("for", text("1 s"))]), "at");
    assert_eq!(refused(&[("every", text("1 s")), ("for", text("1 s"))]), "for");
}

/// In an outage of a wire what is sent is lost, and the link is as busy as ever.
#[test]
fn a_black_hole_loses_what_is_sent_into_it() {
    let hole = outage(&[("at", text("10 ms")), ("for", text("5 ms")), ("kind", text("loss"))]);
    let mut lab = lab(Impairments { outages: vec![hole], ..Impairments::default() });
    (0..30).for_each(|_| lab.send(0, 1000));
    lab.finish();
    // Packet n has been sent at n + 1 ms.
    assert_eq!(lab.lost(), [9, 10, 11, 12, 13]);
    assert_eq!(lab.arrivals().last(), Some(&40_000_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// All at once, in any traffic: every packet and every copy comes out once, a run repeats, and which packets are lost is
    /// the loss model's affair alone, whatever else the wire does.
    #[test]
    fn impairments_do_not_disturb_each_other(
        traffic in prop::collection::vec((0u64..3_000_000, 20u32..9_000), 1..300), p in 0.0f64..0.5, on in prop::array::uniform4(any::<bool>()),
    ) {
        let play = |on: [bool; 4]| {
            let number = |name| parameters(name, &[("probability", Raw::Number(p))]);
            let mut lab = lab(Impairments {
                loss: Some(Box::new(Bernoulli::new(p, stream("loss")))),
                corrupt: on[0].then(|| Chance::new(p, stream("corrupt"))),
                duplicate: on[1].then(|| Chance::new(p, stream("duplicate"))),
                jitter: on[2].then(|| {
                    let given = [("spread", text("1 ms")), ("keeps_order", Raw::Flag(false))];
                    Jitter::new(&parameters("jitter", &given), stream("jitter")).unwrap()
                }),
                reorder: on[3].then(|| Reorder::new(&number("reorder"), stream("reorder")).unwrap()),
                ..Impairments::default()
            });
            let mut now = 0;
            for &(gap, size) in &traffic {
                now += gap;
                lab.send(now, size);
            }
            lab.finish();
            let mut lost = lab.lost();
            lost.sort_unstable();
            (lost, lab.log)
        };
        let (lost, log) = play(on);
        prop_assert_eq!(&log, &play(on).1);
        prop_assert_eq!(lost, play([false; 4]).0);
        let mut seen = BTreeMap::new();
        for event in &log {
            let (Event::Arrived(n, _) | Event::Corrupt(n, _) | Event::Lost(n, _) | Event::Refused(n, _)) = event;
            *seen.entry(*n).or_insert(0) += 1;
        }
        prop_assert_eq!(seen.len(), traffic.len());
        prop_assert!(seen.values().all(|&times| times == 1 || (on[1] && times == 2)));
    }
}
