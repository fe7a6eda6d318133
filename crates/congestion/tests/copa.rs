//! Copa against its paper.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::packets::Network;
use bottleneck::{MSS, Path, control, setup};
use vazao_congestion::{Ack, CongestionControl};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

const PATH: Path = Path { base_rtt: 0.05, rate: 2_000.0, buffer: 1_000.0 };

fn number(name: &str, value: f64) -> Vec<(&str, Raw)> {
    vec![(name, Raw::Number(value))]
}

/// Acknowledgements of one segment each, half a millisecond apart, all with an RTT of so many milliseconds.
struct Clock(f64);

impl Clock {
    fn acknowledge(&mut self, control: &mut dyn CongestionControl, rtt_ms: u64, count: u32, round: bool) {
        for i in 0..count {
            self.0 += 0.5e-3;
            let rtt = Duration::from_millis(rtt_ms);
            control.on_ack(&Ack {
                now: Time::from_nanos((self.0 * 1e9) as u64),
                acked: MSS,
                delivered: MSS,
                flight: control.cwnd(),
                rtt: Some(rtt),
                srtt: rtt,
                min_rtt: Duration::from_millis(50),
                round: round && i == 0,
                window_limited: true,
                ..Ack::default()
            });
        }
    }
}

/// Section 2.1: λ_t = 1 / (delta d_q); towards it by v / (delta cwnd) segments an acknowledgement, with v = 1. At RTTmin
/// = 50 ms and RTTstanding = 60 ms the target window is RTTstanding / (delta d_q) = 12 segments at delta = 0.5, 60 at 0.1.
#[test]
fn copa_moves_towards_its_target() {
    for delta in [0.5f64, 0.1] {
        let target = 6.0 / delta;
        for w in [0.5 * target, 0.9 * target, 1.1 * target, 2.0 * target] {
            let mut control = control("copa", &number("delta", delta), setup(w, Some(w)));
            let mut clock = Clock(0.0);
            clock.acknowledge(&mut *control, 50, 1, false);
            // The short RTT is not standing any more after half a smoothed one.
            clock.0 += 1.0;
            let before = control.cwnd() as f64;
            clock.acknowledge(&mut *control, 60, 1, false);
            let (got, want) = (control.cwnd() as f64 - before, MSS as f64 / delta / (before / MSS as f64));
            let want = if w < target { want } else { -want };
            assert!((got - want).abs() <= 0.001 * MSS as f64 + 1.0, "from {w} at delta {delta}: {got}, not {want}");
        }
    }
}

/// Section 2.1: v doubles each round trip once the direction has been the same for three, and is 1 again when it changes.
#[test]
fn copa_gathers_velocity() {
    let mut control = control("copa", &[], setup(1_000.0, Some(1_000.0)));
    let mut clock = Clock(0.0);
    clock.acknowledge(&mut *control, 50, 1, true);
    let step = |control: &mut dyn CongestionControl, clock: &mut Clock, rtt_ms, round| {
        let before = control.cwnd() as f64;
        clock.acknowledge(control, rtt_ms, 1, round);
        ((control.cwnd() as f64 - before) / MSS as f64 * 1_000.0 * 0.5).round()
    };
    let up: Vec<f64> = (0..7).map(|_| step(&mut *control, &mut clock, 50, true)).collect();
    assert_eq!(up, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    clock.0 += 1.0;
    assert_eq!(step(&mut *control, &mut clock, 100, false), -1.0, "the direction has changed");
}

/// Section 2.1: slow start doubles the window until its rate is above the target's.
#[test]
fn copa_leaves_slow_start_at_its_target() {
    let mut control = control("copa", &[], setup(10.0, None));
    let mut clock = Clock(0.0);
    clock.acknowledge(&mut *control, 50, 10, true);
    assert_eq!(control.cwnd(), 20 * MSS);
    clock.0 += 1.0;
    assert!(control.in_slow_start());
    clock.acknowledge(&mut *control, 60, 1, true);
    assert!(!control.in_slow_start() && control.cwnd() < 20 * MSS);
    let rate = control.pacing_rate().unwrap().as_bps() as f64;
    assert!((rate / (2.0 * 8.0 * control.cwnd() as f64 / 0.06) - 1.0).abs() < 1e-6, "twice the window a standing RTT");
}

/// Section 3: the queue swings between nothing and 2.5 segments for each 1/delta of all flows, once in five round trips, so
/// that its mean is 1.25 of them; a segment in service at most comes to that. Nothing is lost and the path is used, and
/// two flows of different beginnings share it equally.
#[test]
fn copa_queues_a_few_segments() {
    for (flows, delta) in [(1, 0.5), (1, 0.25), (1, 0.1), (2, 0.5)] {
        let flow = |i| control("copa", &number("delta", delta), setup(10.0 * f64::from(i + 1), None));
        let mut network = Network::new(PATH, (0..flows).map(flow).collect());
        let shares = network.shares(20.0, 60.0);
        let (queue, room) = (network.mean_queue(), f64::from(flows) / delta);
        assert!((room..1.25 * room + 1.0).contains(&queue), "{flows} flows, delta {delta}: {queue} segments");
        assert!(shares.iter().sum::<f64>() > 0.98, "{flows} flows, delta {delta}: {shares:?}");
        for (share, sender) in shares.iter().zip(&network.senders) {
            assert!((share * f64::from(flows) - 1.0).abs() < 0.05, "delta {delta}: {shares:?}");
            assert_eq!(sender.losses, 0);
        }
    }
}

/// Section 2.2: beside a Reno flow the default mode starves; the competitive mode finds that the queue is never empty, and
/// takes a fair part of the path.
#[test]
fn copa_competes_where_others_fill_the_queue() {
    let share = |mode: &str| {
        let copa = control("copa", &[("mode", Raw::Text(mode.into()))], setup(10.0, None));
        let path = Path { buffer: 100.0, ..PATH };
        Network::new(path, vec![copa, control("reno", &[], setup(10.0, None))]).shares(20.0, 200.0)[0]
    };
    assert!(share("default") < 0.15, "{}", share("default"));
    assert!((0.3..0.7).contains(&share("switching")), "{}", share("switching"));
}
