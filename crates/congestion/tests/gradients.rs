//! CDG against its paper.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::packets::Network;
use bottleneck::{MSS, Path, control, setup};
use vazao_congestion::window::Cdg;
use vazao_congestion::{Ack, CONGESTION_CONTROLS, Congestion, CongestionControl, Setup, Signal};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, RandomStream, Time};

/// A flow in congestion avoidance at 100 segments.
fn cdg(changed: &[(&str, Raw)], seed: u64) -> Box<dyn CongestionControl> {
    control("cdg", changed, Setup { seed, ..setup(100.0, Some(100.0)) })
}

/// Round trips of four acknowledgements each, with these least and largest RTTs in milliseconds. They acknowledge next to
/// nothing, so that the window changes by what the gradients do alone. The acknowledgement that ends a round trip is its last.
fn rounds(control: &mut dyn CongestionControl, extremes: impl IntoIterator<Item = (f64, f64)>) {
    for (least, most) in extremes {
        for (i, ms) in [least, most, least, most].into_iter().enumerate() {
            let (rtt, round) = (Some(Duration::from_secs_f64(ms / 1e3)), i == 3);
            let flight = control.cwnd();
            control.on_ack(&Ack { acked: 1, delivered: 1, flight, rtt, round, window_limited: true, ..Ack::default() });
        }
    }
}

/// Round trips whose RTTs rise by `gradient` milliseconds each.
fn rise(control: &mut dyn CongestionControl, from: f64, gradient: f64, count: u32) {
    rounds(control, (0..count).map(|i| from + f64::from(i) * gradient).map(|ms| (ms, ms + 20.0)));
}

fn congestion(signal: Signal) -> Congestion {
    Congestion { now: Time::ZERO, signal, flight: u64::MAX, srtt: Duration::ZERO, min_rtt: Duration::ZERO }
}

/// P[backoff] = 1 - exp(-g/G) with G = 3: of 4000 flows that see one gradient each, as many as that back off, within
/// five standard errors; and what is left is 0.7 of the window.
#[test]
fn cdg_backs_off_with_its_probability() {
    let entry = find("congestion control", CONGESTION_CONTROLS, "cdg").unwrap();
    let page = Cdg::from(&Parameters::defaults(entry.parameters), RandomStream::new(1, "test"));
    for g in [-1.0, 0.3, 1.0, 3.0, 9.0] {
        let want = if g > 0.0 { 1.0 - libm::exp(-g / 3.0) } else { 0.0 };
        assert!((page.probability(g) - want).abs() < 1e-12);
        let backed_off = (0..4_000).filter(|&seed| {
            let mut control = cdg(&[("window", Raw::Number(1.0))], seed);
            rise(&mut *control, 50.0, g, 2);
            let kept = control.cwnd() as f64 / MSS as f64;
            assert!((kept - 70.0).abs() < 0.1 || (kept - 100.0).abs() < 0.1, "{kept}");
            kept < 71.0
        });
        let got = backed_off.count() as f64 / 4_000.0;
        let error = 5.0 * f64::sqrt(want * (1.0 - want) / 4_000.0);
        assert!((got - want).abs() <= error, "at {g} ms: {got}, not {want} within {error}");
    }
}

/// The mean of the last eight gradients counts: a step of 24 ms is 3 ms in each of eight round trips, so that 1 - e^(-8)
/// of all flows have backed off by then (those that did pause for a round trip, so not quite as often as could be).
#[test]
fn cdg_smooths_gradients() {
    let count = |steps: usize| {
        let flow = |seed| {
            let mut control = cdg(&[], seed);
            let rtts = [50.0].into_iter().chain(std::iter::repeat_n(74.0, steps));
            rounds(&mut *control, rtts.map(|ms| (ms, ms + 20.0)));
            control.cwnd() < 99 * MSS
        };
        (0..1_000).filter(|&seed| flow(seed)).count()
    };
    let one = 1_000.0 * (1.0 - libm::exp(-1.0));
    assert!((count(1) as f64 - one).abs() < 5.0 * f64::sqrt(one * libm::exp(-1.0)), "{} of 1000", count(1));
    assert!(count(8) >= 995 && count(60) == count(8), "{} and {}", count(8), count(60));
}

/// Five times in a row without a negative gradient, then not for as many times that it would; Linux stops until the
/// gradient has been negative. At 60 ms a round trip it backs off nearly surely: 1 - e^(-20).
#[test]
fn cdg_stops_where_backing_off_has_no_effect() {
    for (profile, times) in [("rfc", [5, 5, 10]), ("linux", [5, 5, 5])] {
        let changed = [("window", Raw::Number(1.0)), ("profile", Raw::Text(profile.into()))];
        let mut control = cdg(&changed, 1);
        let (mut rtt, mut seen) = (50.0, 0);
        rise(&mut *control, rtt, 0.0, 1);
        let mut back_offs = |control: &mut dyn CongestionControl, count| {
            for _ in 0..count {
                let before = control.cwnd();
                rtt += 60.0;
                rise(control, rtt, 0.0, 1);
                seen += u64::from((control.cwnd() as f64) < 0.9 * before as f64);
            }
            seen
        };
        // Every other round trip at the most, the one after a backing off being silent, or left out.
        assert_eq!(back_offs(&mut *control, 10), times[0], "{profile}");
        assert_eq!(back_offs(&mut *control, 4), times[1], "{profile}");
        assert_eq!(back_offs(&mut *control, 12), times[2], "{profile}");
    }
}

/// A loss counts where the queue is full: RTTs have risen, and now the largest stands while the least still rises.
#[test]
fn cdg_tells_losses_from_full_queues() {
    let never = ("g", Raw::Number(1000.0));
    let kept = |rtts: &[(f64, f64)], tolerance: bool| {
        let changed = [never.clone(), ("window", Raw::Number(1.0)), ("tolerance", Raw::Flag(tolerance))];
        let mut control = cdg(&changed, 3);
        rounds(&mut *control, rtts.iter().copied());
        control.on_congestion(&congestion(Signal::Loss));
        (control.cwnd() as f64 / MSS as f64).round()
    };
    let rising = [(50.0, 60.0), (51.0, 61.0)];
    let full = [(50.0, 60.0), (51.0, 61.0), (51.5, 61.0)];
    assert_eq!(kept(&rising, true), 100.0);
    assert_eq!(kept(&full, true), 50.0);
    assert_eq!(kept(&rising, false), 50.0);
}

/// Losses one after the other, with no round trip measured between them, cannot all be chance: only the first is tolerated,
/// or a full queue, in which no round trip ends without a loss, would be overrun for ever.
#[test]
fn cdg_tolerates_no_loss_blindly() {
    let mut control = cdg(&[("g", Raw::Number(1000.0)), ("window", Raw::Number(1.0))], 3);
    rounds(&mut *control, [(50.0, 60.0), (51.0, 61.0)]);
    let kept = [(); 3].map(|()| {
        control.on_congestion(&congestion(Signal::Loss));
        (control.cwnd() as f64 / MSS as f64).round()
    });
    assert_eq!(kept, [100.0, 50.0, 25.0]);
}

/// The shadow window: from 100 segments it backed off twice, to 49, and a loss halves what it would have had without.
#[test]
fn cdg_regains_what_it_gave_up_for_nothing() {
    for (shadow, kept) in [(true, 49.0), (false, 24.5)] {
        let changed = [("shadow", Raw::Flag(shadow)), ("tolerance", Raw::Flag(false)), ("window", Raw::Number(1.0))];
        let mut control = cdg(&changed, 1);
        rise(&mut *control, 50.0, 60.0, 4);
        assert!((control.cwnd() as f64 / MSS as f64 - 49.0).abs() < 0.1, "{}", control.cwnd());
        control.on_congestion(&congestion(Signal::Loss));
        assert!((control.cwnd() as f64 / MSS as f64 - kept).abs() < 0.1, "{}", control.cwnd());
    }
}

/// Alone on a path with a queue of four bandwidth-delay products it uses the path and hardly the queue, which Reno fills
/// by more than half on average.
#[test]
fn cdg_keeps_queues_short() {
    let path = Path { base_rtt: 0.05, rate: 2_000.0, buffer: 400.0 };
    for profile in ["rfc", "linux"] {
        let flow = control("cdg", &[("profile", Raw::Text(profile.into()))], setup(10.0, None));
        let mut network = Network::new(path, vec![flow]);
        let share = network.shares(20.0, 120.0)[0];
        assert!(share > 0.85, "{profile}: {share}");
        assert!(network.mean_queue() < 0.1 * path.buffer, "{profile}: {}", network.mean_queue());
    }
}
