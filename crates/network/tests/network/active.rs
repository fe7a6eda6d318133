//! Active queues against what their sources say of them.

use crate::lab::{Event, Lab};
use vazao_engine::registry::Raw;
use vazao_engine::{RandomStream, Time};
use vazao_network::Ecn;
use vazao_network::queue::PieControl;

fn text(value: &str) -> Raw {
    Raw::Text(value.into())
}

/// Poisson arrivals of 1000 B at `load` times the rate of a link of 8 Mbit/s (1 ms each) for so many seconds; gives each
/// arrival's queue in packets after the first `warm` seconds.
fn poisson(lab: &mut Lab, load: f64, seconds: f64, warm: f64) -> Vec<f64> {
    let mut stream = RandomStream::new(11, "arrivals");
    let (mut now, mut queues) = (0.0, Vec::new());
    while now < seconds {
        now += stream.exponential(1e-3 / load);
        let at = (now * 1e9) as u64;
        lab.run(at);
        if now > warm {
            queues.push(lab.network.queue_bytes(0, Time::from_nanos(at)) as f64 / 1000.0);
        }
        lab.send(at, 1000);
    }
    queues
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// RED spreads its drops evenly over the 1/p_b packets after the last (1993, section 7, method 2), so it drops one in
/// (1/p_b + 1)/2. Under an overload that does not answer, one in load/(load - 1) must go: that gives p_b, and with it the
/// average queue, linear between min and max. Noise of an M/D/1 queue at its balance moves it: 10 % are allowed.
#[test]
fn the_average_queue_of_red_is_where_its_drops_balance_the_load() {
    let thresholds = [("min", text("50 packets")), ("max", text("150 packets")), ("weight", Raw::Number(0.0005))];
    for load in [1.02, 1.05, 1.1] {
        let mut lab = Lab::queued(8_000_000, "red", &thresholds);
        let average = mean(&poisson(&mut lab, load, 400.0, 50.0));
        let one_in = load / (load - 1.0);
        let p_b = 1.0 / (2.0 * one_in - 1.0);
        let expected = 50.0 + 100.0 * p_b / 0.1;
        assert!((average - expected).abs() < 0.1 * expected, "load {load}: {average} packets, not {expected}");
        let report = lab.network.report(0, Time::from_nanos(400_000_000_000));
        assert_eq!((report.drops_queue, report.marks), (report.drops_early, 0));
    }
}

/// Adaptive RED moves max_p until the average is between 0.4 and 0.6 of the way from min to max (Floyd, Gummadi, Shenker
/// 2001, section 3), whatever the load is.
#[test]
fn adaptive_red_keeps_the_average_half_way() {
    for load in [1.02, 1.1, 1.3] {
        let settings = [("min", text("50 packets")), ("adaptive", Raw::Flag(true)), ("weight", Raw::Number(0.0005))];
        let mut lab = Lab::queued(8_000_000, "red", &settings);
        let average = mean(&poisson(&mut lab, load, 600.0, 200.0));
        // min 50, max 150: the target is 90 to 110; the average may swing out of it between two moves.
        assert!((85.0..115.0).contains(&average), "load {load}: {average} packets");
    }
}

/// Below min nothing is dropped, and where the average is above twice max everything is (gentle), marks or not.
#[test]
fn red_marks_between_its_thresholds_and_drops_above_them() {
    let settings = [("min", text("5 packets")), ("weight", Raw::Number(0.002))];
    let mut calm = Lab::queued(8_000_000, "red", &settings);
    assert!(poisson(&mut calm, 0.5, 50.0, 0.0).iter().any(|&queue| queue > 4.0));
    assert_eq!(calm.network.report(0, Time::from_nanos(50_000_000_000)).drops_queue, 0);

    let mut busy = Lab::queued(8_000_000, "red", &settings);
    busy.ecn = Ecn::Ect0;
    let queues = poisson(&mut busy, 2.0, 50.0, 20.0);
    let report = busy.network.report(0, Time::from_nanos(50_000_000_000));
    assert!(report.marks > 1000, "{}", report.marks);
    // Senders that ignore marks are held at 2 max = 30 packets by drops alone.
    assert!((mean(&queues) - 30.0).abs() < 3.0, "{}", mean(&queues));
    assert!(report.drops_early > 40_000, "{}", report.drops_early);
}

/// CoDel's control law (RFC 8289, section 5.4): the first drop comes an interval after the wait first exceeded the target,
/// the n-th later by interval / sqrt(n - 1) than the one before it. Packets leave each millisecond, so each drop is at
/// most that late.
#[test]
fn codel_drops_by_the_root_of_their_number() {
    for (ecn, hit) in [(Ecn::NotEct, "dropped"), (Ecn::Ect0, "marked")] {
        let mut lab = Lab::queued(8_000_000, "codel", &[]);
        lab.ecn = ecn;
        // Sixty packets wait, and one comes for each that leaves: the wait stays far above the target.
        (0..60).for_each(|_| lab.send(0, 1000));
        let mut marks = Vec::new();
        for ms in 1..=800u64 {
            lab.send(ms * 1_000_000, 1000);
            let total = lab.network.report(0, Time::from_nanos(ms * 1_000_000)).marks;
            marks.extend((marks.len() as u64..total).map(|_| ms * 1_000_000));
        }
        lab.finish();
        let drops = lab.log.iter().filter_map(|e| if let Event::Refused(_, at) = e { Some(*at) } else { None });
        let times: Vec<u64> = if hit == "marked" { marks } else { drops.collect() };
        // The packet that leaves after 5 ms has waited as long; an interval later comes the first drop.
        assert_eq!(times[0], 105_000_000, "{hit}");
        let mut due = 105e6;
        for (n, at) in times.iter().enumerate().skip(1).take(12) {
            due += 100e6 / (n as f64).sqrt();
            let late = *at as f64 - due;
            assert!((-1.0..1e6).contains(&late), "{hit}: number {n} at {at}, due {due}");
        }
        assert!(times.len() > 12);
    }
}

/// Bursts that drain within an interval are not CoDel's business (RFC 8289, section 3), nor is a queue of one packet.
#[test]
fn codel_lets_bursts_pass() {
    let mut lab = Lab::queued(8_000_000, "codel", &[]);
    for burst in 0..50u64 {
        (0..90).for_each(|_| lab.send(burst * 100_000_000, 1000));
    }
    lab.finish();
    assert_eq!(lab.refused(), []);
}

/// CoDel stops dropping when the wait is below target, and when it must again soon it goes on where it had come to: drops
/// come sooner than an interval apart.
#[test]
fn codel_remembers_its_rate() {
    let mut lab = Lab::queued(8_000_000, "codel", &[]);
    (0..100).for_each(|_| lab.send(0, 1000));
    (1..2_000u64).for_each(|ms| lab.send(ms * 1_000_000, 1000));
    // A pause of 120 ms empties the queue; then as before.
    (0..100).for_each(|_| lab.send(2_120_000_000, 1000));
    (2_121..4_000u64).for_each(|ms| lab.send(ms * 1_000_000, 1000));
    lab.finish();
    let drops: Vec<u64> =
        lab.log.iter().filter_map(|e| if let Event::Refused(_, at) = e { Some(*at) } else { None }).collect();
    let again = drops.iter().position(|&at| at > 2_120_000_000).expect("it drops again");
    assert!(drops[again + 1] - drops[again] < 50_000_000, "{:?}", &drops[again..again + 3]);
}

/// The steps of PIE's probability by RFC 8033, section 4.2: divided by 2048 below 0.000001, by 512 below 0.00001, by 128
/// below 0.0001, by 32 below 0.001, by 8 below 0.01, by 2 below 0.1, by nothing above, where section 5.5 caps a rise at 0.02.
#[test]
fn pie_tunes_its_steps_as_the_rfc_does() {
    let table: [(f64, f64); 14] = [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_009, 512.0),
        (0.000_01, 128.0),
        (0.000_09, 128.0),
        (0.000_1, 32.0),
        (0.000_9, 32.0),
        (0.001, 8.0),
        (0.009, 8.0),
        (0.01, 2.0),
        (0.09, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ];
    let control = PieControl {
        target: 0.015,
        alpha: 0.125,
        beta: 1.25,
        max_burst: 0.15,
        probability: 0.0,
        old_delay: 0.020,
        burst_allowance: 0.1,
    };
    for (probability, divisor) in table {
        let mut moved = PieControl { probability, ..control };
        moved.update(0.025, 0.015);
        // 0.125 * (25 - 15) ms + 1.25 * (25 - 20) ms
        let step = (0.00125 + 0.00625) / divisor;
        assert!((moved.probability - probability - step).abs() < 1e-15, "at {probability}");
        assert!((moved.burst_allowance - 0.085).abs() < 1e-15);
    }
    // A jump by 100 ms is worth 0.13625, but no more than 0.02 above a probability of 0.1; falls are not capped.
    let mut capped = PieControl { probability: 0.2, ..control };
    capped.update(0.120, 0.015);
    assert!((capped.probability - 0.22).abs() < 1e-15);
    capped.update(0.020, 0.015);
    assert!((capped.probability - (0.22 + 0.000_625 - 0.125)).abs() < 1e-15);
    // Without a queue it falls by 2 % and the step; when it is gone, bursts are allowed again.
    let mut idle = PieControl { probability: 0.5, old_delay: 0.0, ..control };
    idle.update(0.0, 0.015);
    assert!((idle.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-15);
    (0..1000).for_each(|_| idle.update(0.0, 0.015));
    assert_eq!((idle.probability, idle.burst_allowance), (0.0, 0.15));
}

/// An integral controller leaves no error: whatever the overload, PIE's wait settles around 15 ms (RFC 8033, section 4.2),
/// however it knows the wait. The probability itself must be 1 - 1/load. 10 % for the controller's swings.
#[test]
fn pie_settles_at_its_target() {
    for delay in ["timestamps", "departure-rate"] {
        for load in [1.02, 1.05, 1.2] {
            let mut lab = Lab::queued(8_000_000, "pie", &[("delay", text(delay)), ("derandomize", Raw::Flag(false))]);
            let average = mean(&poisson(&mut lab, load, 300.0, 30.0));
            // A packet takes 1 ms: so many packets, so many milliseconds.
            assert!((average - 15.0).abs() < 1.5, "{delay}, load {load}: {average} ms");
        }
    }
}

/// Bursts shorter than 150 ms after idleness pass (RFC 8033, section 4.4), those that go on do not; and above a
/// probability of 10 % even what could be marked is dropped (section 5.1).
#[test]
fn pie_spares_bursts_and_does_not_trust_marks_alone() {
    let mut lab = Lab::queued(8_000_000, "pie", &[]);
    (0..140u64).for_each(|ms| (0..3).for_each(|_| lab.send(ms * 1_000_000, 1000)));
    assert_eq!(lab.refused(), []);
    (140..2_000u64).for_each(|ms| (0..3).for_each(|_| lab.send(ms * 1_000_000, 1000)));
    assert!(!lab.refused().is_empty());

    let mut marking = Lab::queued(8_000_000, "pie", &[]);
    marking.ecn = Ecn::Ect0;
    let queues = poisson(&mut marking, 1.5, 200.0, 50.0);
    let report = marking.network.report(0, Time::from_nanos(200_000_000_000));
    // The probability is beyond 10 % within some updates, and marks are over.
    assert!(
        (1..1_000).contains(&report.marks) && report.drops_early > 90_000,
        "{} {}",
        report.marks,
        report.drops_early
    );
    assert!((mean(&queues) - 15.0).abs() < 3.0, "{}", mean(&queues));
}

/// Sleeping, PIE drops nothing until a third of its limit waits (RFC 8033, section 5.3).
#[test]
fn pie_may_sleep() {
    let settings = [("activation", Raw::Flag(true)), ("limit", text("90 kB")), ("max_burst", text("0 s"))];
    let mut lab = Lab::queued(8_000_000, "pie", &settings);
    // The wait is 25 ms for long: above the target, but below a third of the limit.
    (0..25).for_each(|_| lab.send(0, 1000));
    (1..5_000u64).for_each(|ms| lab.send(ms * 1_000_000, 1000));
    assert_eq!(lab.refused(), []);
    (0..10).for_each(|_| lab.send(5_000_000_000, 1000));
    (5_001..9_000u64).for_each(|ms| lab.send(ms * 1_000_000, 1000));
    assert!(!lab.refused().is_empty());
}

/// Two queues in series (traffic control above a device's ring): what the device's queue holds is out of the discipline's
/// sight. A standing queue of 60 ms that fits below is never seen; of one that reaches 20 ms above, the first drop comes
/// an interval after a packet had waited above for the target, as with CoDel alone.
#[test]
fn what_waits_below_the_discipline_is_out_of_its_sight() {
    for (device, first) in [("100 packets", None), ("40 packets", Some(105_000_000))] {
        let mut lab = Lab::queued(8_000_000, "fq-codel", &[("exact", Raw::Flag(true)), ("device", text(device))]);
        (0..60).for_each(|_| lab.send(0, 1000));
        (1..=800u64).for_each(|ms| lab.send(ms * 1_000_000, 1000));
        lab.finish();
        let mut drops = lab.log.iter().filter_map(|e| if let Event::Refused(_, at) = e { Some(*at) } else { None });
        assert_eq!(drops.next(), first, "{device}");
        // One flow, so nothing overtakes; and nothing is forgotten below when no more comes.
        let arrived: Vec<u32> =
            lab.log.iter().filter_map(|e| if let Event::Arrived(n, _) = e { Some(*n) } else { None }).collect();
        assert!(arrived.is_sorted(), "{device}");
        assert_eq!(arrived.len() + drops.count() + usize::from(first.is_some()), 860, "{device}");
    }
}
