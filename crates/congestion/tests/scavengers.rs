//! The controls that yield to others, LEDBAT and TCP-LP, against their sources.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::packets::Network;
use bottleneck::{Flow, MSS, Path, control, setup, wide};
use vazao_congestion::{Ack, CongestionControl, Signal};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

/// An empty round trip of 50 ms at 2000 segments a second, and a queue of half a second.
const DEEP: Path = Path { base_rtt: 0.05, rate: 2_000.0, buffer: 1_000.0 };

/// An acknowledgement of one segment from a full window that took `ms` milliseconds one way, by some clock.
fn acknowledge(control: &mut dyn CongestionControl, now: f64, ms: i64, round: bool) {
    control.on_ack(&Ack {
        now: Time::from_nanos((now * 1e9) as u64),
        acked: MSS,
        delivered: MSS,
        flight: control.cwnd(),
        round,
        window_limited: true,
        one_way: Some(ms * 1_000_000),
        ..Ack::default()
    });
}

/// RFC 6817 section 2.4.2: at TARGET neither growth nor decrease. The queue is as long as the window is above the
/// bandwidth-delay product, so a segment more or less is half a millisecond.
#[test]
fn ledbat_holds_its_target() {
    for target_ms in [25, 60, 100] {
        let target = [("target", Raw::Text(format!("{target_ms} ms")))];
        let mut flow = Flow::new(control("ledbat", &target, setup(10.0, None)), DEEP);
        flow.until(60.0);
        let (mut least, mut most) = (f64::MAX, 0.0f64);
        while flow.now < 100.0 {
            flow.ack();
            (least, most) = (least.min(flow.queueing()), most.max(flow.queueing()));
        }
        let target = f64::from(target_ms) / 1e3;
        assert!(target - 1e-3 < least && most < target + 1e-3, "{least} to {most} s, not {target}");
        assert_eq!(flow.losses, 0);
    }
}

/// With off_target = (TARGET - queue) / TARGET, an acknowledged window adds GAIN off_target segments (RFC 6817). It
/// grows while it is acknowledged, by 1 % of 100 segments at most, and so does what is added.
#[test]
fn ledbat_grows_in_proportion_to_what_is_missing() {
    for (queue_ms, growth) in [(0, 1.0), (25, 0.75), (50, 0.5), (100, 0.0), (200, -1.0), (300, -2.0)] {
        let mut control = control("ledbat", &[], setup(100.0, Some(100.0)));
        // The base delay, and as many samples of the queue as are filtered.
        acknowledge(&mut *control, 0.0, -7_000, false);
        (0..4).for_each(|_| acknowledge(&mut *control, 0.0, -7_000 + queue_ms, false));
        let before = control.cwnd() as f64;
        (0..100).for_each(|_| acknowledge(&mut *control, 0.0, -7_000 + queue_ms, false));
        let got = (control.cwnd() as f64 - before) / MSS as f64;
        assert!((got - growth).abs() <= 0.03 * growth.abs().max(0.1), "queue of {queue_ms} ms: {got}, not {growth}");
    }
}

/// Section 2.4.2 with BASE_HISTORY = 10: a path that became 60 ms longer counts as a queue of 60 ms until the last
/// minute that saw the shorter one is forgotten, and not after that.
#[test]
fn ledbat_forgets_the_base_delay_after_its_history() {
    let mut control = control("ledbat", &[], setup(100.0, Some(100.0)));
    let growth = |control: &mut dyn CongestionControl, minute: f64, ms| {
        let before = control.cwnd() as f64;
        (0..10).for_each(|i| acknowledge(control, 60.0 * minute + f64::from(i), ms, false));
        (control.cwnd() as f64 - before) / MSS as f64 * control.cwnd() as f64 / MSS as f64 / 10.0
    };
    assert!((growth(&mut *control, 0.0, 40) - 1.0).abs() < 0.01);
    for minute in 1..10 {
        growth(&mut *control, f64::from(minute), 100);
    }
    assert!((growth(&mut *control, 9.5, 100) - 0.4).abs() < 0.01, "the first minute still counts");
    assert!((growth(&mut *control, 10.0, 100) - 1.0).abs() < 0.01, "it counts no more");
}

/// Section 2.4.2: a single late packet is noise, as the least of the last CURRENT_FILTER samples counts.
#[test]
fn ledbat_filters_noise() {
    let mut control = control("ledbat", &[], setup(100.0, Some(100.0)));
    (0..10).for_each(|_| acknowledge(&mut *control, 0.0, 20, false));
    let before = control.cwnd();
    (0..3).for_each(|_| acknowledge(&mut *control, 0.0, 500, false));
    assert!(control.cwnd() > before, "three of four samples are late");
    let before = control.cwnd();
    acknowledge(&mut *control, 0.0, 500, false);
    assert!(control.cwnd() < before, "all four are");
}

/// Section 2.4.2: half on a loss, one segment on a timeout, and never below MIN_CWND otherwise.
#[test]
fn ledbat_answers_losses_as_reno() {
    let mut flow = Flow::new(control("ledbat", &[], setup(100.0, Some(100.0))), wide(0.1));
    flow.lose();
    assert_eq!(flow.window(), 50.0);
    (0..8).for_each(|_| flow.lose());
    assert_eq!(flow.window(), 2.0, "MIN_CWND");
    flow.signal(Signal::Timeout);
    assert_eq!(flow.window(), 1.0);
}

/// A TCP-LP flow in congestion avoidance that has seen delays from 0 to 100 ms in slow start, all at once.
fn tcp_lp() -> Box<dyn CongestionControl> {
    let mut control = control("tcp-lp", &[], setup(2.0, Some(64.0)));
    for i in 0..500 {
        acknowledge(&mut *control, 0.0, if i == 250 { 100 } else { 0 }, false);
    }
    control
}

/// An acknowledgement `now` of a packet that waited `ms` milliseconds, with a round-trip time of 100 ms.
fn late(control: &mut dyn CongestionControl, now: f64, ms: i64) {
    let (srtt, flight) = (Duration::from_millis(100), control.cwnd());
    control.on_ack(&Ack {
        now: Time::from_nanos((now * 1e9) as u64),
        acked: MSS,
        delivered: MSS,
        flight,
        srtt,
        window_limited: true,
        one_way: Some(ms * 1_000_000),
        ..Ack::default()
    });
}

/// Kuzmanovic and Knightly, section III: early congestion is a smoothed delay above d_min + 0.15 (d_max - d_min). Sixty
/// samples leave (7/8)^60 of a step, 0.03 %.
#[test]
fn tcp_lp_yields_above_its_threshold() {
    for (ms, yields) in [(14, false), (16, true)] {
        let mut control = tcp_lp();
        let before = control.cwnd();
        (0..60).for_each(|_| late(&mut *control, 1.0, ms));
        assert_eq!(control.cwnd() < before, yields, "{ms} ms");
    }
}

/// Section III: half at the first indication, no growth for three round trips, one segment at an indication in
/// them, and growth again once they passed in silence.
#[test]
fn tcp_lp_infers_before_it_stops() {
    let mut control = tcp_lp();
    let before = control.cwnd();
    (0..20).for_each(|_| late(&mut *control, 1.0, 50));
    let half = control.cwnd();
    assert!(half.abs_diff(before / 2) <= MSS / 10, "from {before} to {half}");
    (0..200).for_each(|_| late(&mut *control, 1.09, 0));
    (0..200).for_each(|_| late(&mut *control, 1.29, 0));
    assert_eq!(control.cwnd(), half, "no growth in the inference phase");
    late(&mut *control, 1.31, 0);
    assert!(control.cwnd() > half, "it is over after three round trips");
    (0..20).for_each(|_| late(&mut *control, 2.0, 50));
    assert!(control.cwnd() > half / 3, "half again");
    (0..20).for_each(|_| late(&mut *control, 2.14, 50));
    assert!(control.cwnd() > half / 3, "what is seen within a round trip and a half is the old window's");
    late(&mut *control, 2.16, 50);
    assert_eq!(control.cwnd(), MSS, "others use the path");
}

/// A receiver that delays acknowledgements lets the last of an odd number of segments wait for its timer, 40 ms or more:
/// that is no queue.
#[test]
fn tcp_lp_knows_delayed_acknowledgements() {
    for (apart, yields) in [(0.041, false), (0.039, true)] {
        let mut control = tcp_lp();
        let before = control.cwnd();
        (1..60).for_each(|i| late(&mut *control, 1.0 + apart * f64::from(i), 40));
        assert_eq!(control.cwnd() < before, yields);
    }
}

/// The purpose of both: beside one Reno flow they take little, and alone nearly all. The queue of one bandwidth-delay
/// product is 50 ms, so that LEDBAT has a target of 10 ms here: above the length of the queue it would be Reno.
#[test]
fn scavengers_leave_the_path_to_others() {
    let target = [("target", Raw::Text("10 ms".into()))];
    for (name, changed, alone) in [("ledbat", &target[..], 0.98), ("tcp-lp", &[], 0.8)] {
        let path = Path { base_rtt: 0.05, rate: 2_000.0, buffer: 100.0 };
        let scavenger = || control(name, changed, setup(10.0, None));
        let mut network = Network::new(path, vec![scavenger()]);
        let share = network.shares(20.0, 100.0)[0];
        assert!(share >= alone, "{name} alone: {share}");
        let mut network = Network::new(path, vec![scavenger(), control("reno", &[], setup(10.0, None))]);
        let shares = network.shares(20.0, 100.0);
        assert!(shares[0] < 0.1 && shares[1] > 0.85, "{name} and Reno: {shares:?}");
    }
}
