//! BBR's states, driven acknowledgement by acknowledgement over a path that delivers a fixed bandwidth.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{MSS, control, setup};
use vazao_congestion::{Ack, Congestion, CongestionControl, RateSample, Sending, Signal};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

/// A path of 10 MB/s and 40 ms: 400 segments in flight, one delivered each 0.1 ms.
const BANDWIDTH: f64 = 1e7;
const RTT: Duration = Duration::from_millis(40);
const BDP: u64 = 400 * MSS;
const STEP: Duration = Duration::from_micros(100);

struct Driver {
    control: Box<dyn CongestionControl>,
    now: Time,
    delivered: u64,
    /// Bytes in flight, whatever the control wants.
    pipe: u64,
    bandwidth: f64,
    in_recovery: bool,
}

impl Driver {
    fn new(name: &str, profile: &str, seed: u64) -> Driver {
        let profile = [("profile", Raw::Text(profile.into()))];
        Driver::with(name, if name == "bbr" { &profile } else { &[] }, seed)
    }

    fn with(name: &str, changed: &[(&str, Raw)], seed: u64) -> Driver {
        let mut control = control(name, changed, vazao_congestion::Setup { seed, ..setup(10.0, None) });
        control.on_send(&Sending { now: Time::ZERO, flight: 0, app_limited: false, srtt: RTT, min_rtt: RTT });
        Driver { control, now: Time::ZERO, delivered: 0, pipe: BDP, bandwidth: BANDWIDTH, in_recovery: false }
    }

    /// One segment is delivered.
    fn ack(&mut self, lost: u64) {
        self.now += STEP;
        self.delivered += MSS;
        let delivered = ((self.bandwidth * RTT.as_secs()) as u64).min(self.delivered);
        self.control.on_ack(&Ack {
            now: self.now,
            acked: MSS,
            delivered: MSS,
            flight: self.pipe + MSS,
            pipe: self.pipe,
            rtt: Some(RTT + Duration::from_nanos(1)),
            srtt: RTT,
            min_rtt: RTT,
            window_limited: true,
            lost,
            in_recovery: self.in_recovery,
            rate: Some(RateSample {
                delivered,
                interval: RTT,
                prior_delivered: self.delivered.saturating_sub(BDP),
                total_delivered: self.delivered,
                lost,
                tx_in_flight: self.pipe,
                app_limited: false,
            }),
            ..Ack::default()
        });
    }

    /// For so many round trips; the pacing gains that were seen, each with how long.
    fn gains(&mut self, rounds: u64) -> Vec<(f64, Duration)> {
        let mut seen: Vec<(f64, Duration)> = Vec::new();
        for _ in 0..rounds * BDP / MSS {
            self.pipe = self.control.cwnd().min(2 * BDP);
            self.ack(0);
            let gain = self.gain();
            match seen.last_mut() {
                Some((last, time)) if (*last - gain).abs() < 1e-6 => *time += STEP,
                _ => seen.push((gain, STEP)),
            }
        }
        seen
    }

    fn gain(&self) -> f64 {
        self.control.pacing_rate().expect("BBR paces").as_bps() as f64 / 8.0 / BANDWIDTH
    }

    /// Acknowledgements until the pipe is known to be full and the queue gone.
    fn settle(&mut self) {
        self.pipe = 2 * BDP;
        while self.control.in_slow_start() {
            self.ack(0);
        }
        self.pipe = BDP;
        self.ack(0);
    }
}

/// 2 / ln 2 = 2.885 times the initial window a round trip at first, then of the bandwidth measured (ACM Queue 2016).
#[test]
fn startup_paces_at_two_over_ln_two() {
    let gain = 2.0 / libm::log(2.0);
    let mut path = Driver::new("bbr", "rfc", 1);
    assert!((path.gain() * BANDWIDTH / (gain * 10.0 * MSS as f64 / RTT.as_secs()) - 1.0).abs() < 1e-3);
    (0..400).for_each(|_| path.ack(0));
    assert!((path.gain() / gain - 1.0).abs() < 1e-3, "{}", path.gain());
}

/// The pipe is full after three round trips that did not find a quarter more; DRAIN's gain is ln 2 / 2.
#[test]
fn drain_follows_three_rounds_without_growth() {
    let mut path = Driver::new("bbr", "rfc", 1);
    path.pipe = 2 * BDP;
    let mut rounds = 0;
    while path.control.in_slow_start() {
        (0..BDP / MSS).for_each(|_| path.ack(0));
        rounds += 1;
        assert!(rounds < 10);
    }
    // The first full round finds the bandwidth, three more do not find more.
    assert!((4..=5).contains(&rounds), "{rounds}");
    assert!((path.gain() * 2.0 / libm::log(2.0) - 1.0).abs() < 1e-3, "{}", path.gain());
    path.pipe = BDP;
    path.ack(0);
    assert!(path.gain() > 0.7);
}

/// 1.25, 0.75 and six times 1, a round-trip time each (draft section 4.3.4.1); Linux paces 1 % below.
#[test]
fn the_cycle_is_five_quarters_three_quarters_and_six_ones() {
    for (profile, margin) in [("rfc", 1.0), ("linux", 0.99)] {
        let mut path = Driver::new("bbr", profile, 1);
        path.settle();
        let seen = path.gains(40);
        // The first and the last are cut off by the look at them.
        let whole = &seen[1..seen.len() - 1];
        assert!(whole.len() >= 12, "{seen:?}");
        let mut expected = [1.25, 0.75, 1.0].iter().cycle().skip_while(|&&g| (g * margin - whole[0].0).abs() > 1e-3);
        for (gain, time) in whole {
            let want = expected.next().expect("a cycle");
            assert!((gain - want * margin).abs() < 1e-3, "{seen:?}");
            let phases = if *want == 1.0 { 6 } else { 1 };
            // A phase ends with the first acknowledgement after a round-trip time.
            let least = RTT * phases;
            assert!(*time >= least && *time <= least + STEP * (2 * phases), "{gain}: {time}");
        }
    }
}

/// Flows that start together do not probe together: any phase but that of the lower gain may be the first.
#[test]
fn the_cycle_starts_by_chance() {
    let mut first = Vec::new();
    for seed in 0..100 {
        let mut path = Driver::new("bbr", "rfc", seed);
        path.settle();
        let seen = path.gains(9);
        let until_probe: u64 = seen.iter().take_while(|s| s.0 < 1.2).map(|s| s.1.as_nanos()).sum();
        first.push(until_probe / RTT.as_nanos());
    }
    first.sort_unstable();
    first.dedup();
    assert!(first.len() >= 6, "{first:?}");
}

/// Two bandwidth-delay products, and three bursts of what a millisecond carries: 7 segments at the least rate of the
/// cycle, 12 at the highest.
#[test]
fn the_window_is_two_bandwidth_delay_products() {
    let mut path = Driver::new("bbr", "rfc", 1);
    path.settle();
    path.gains(40);
    let (least, most) = (2 * BDP + 3 * 7 * MSS, 2 * BDP + 3 * 12 * MSS);
    assert!((least..=most).contains(&path.control.cwnd()), "{}", path.control.cwnd());
}

/// Ten seconds without a round-trip time as short (Linux: a shorter one): four segments for 200 ms and a round trip, then
/// the window as before.
#[test]
fn the_least_round_trip_is_looked_for_every_ten_seconds() {
    let mut path = Driver::new("bbr", "linux", 1);
    path.settle();
    let mut low: Vec<(Time, Time)> = Vec::new();
    while path.now < Time::ZERO + Duration::from_secs(35) {
        let before = path.control.cwnd();
        path.pipe = before.min(BDP);
        path.ack(0);
        match (before > 4 * MSS, path.control.cwnd() > 4 * MSS) {
            (true, false) => low.push((path.now, path.now)),
            (false, true) => low.last_mut().expect("it was low").1 = path.now,
            _ => {}
        }
    }
    assert_eq!(low.len(), 3, "{low:?}");
    let mut last = Time::ZERO;
    for (start, end) in low {
        let (since, length) = (start.since(last).as_secs(), end.since(start).as_secs());
        assert!((9.9..10.1).contains(&since), "{since}");
        assert!((0.2..=0.2 + 2.0 * RTT.as_secs()).contains(&length), "{length}");
        last = end;
    }
}

/// Losses do not lower the rate; a recovery sends what is delivered for its first round trip, then the window is as before.
#[test]
fn a_recovery_conserves_packets_and_ends_where_it_began() {
    let mut path = Driver::new("bbr", "rfc", 1);
    path.settle();
    path.gains(40);
    let (window, now) = (path.control.cwnd(), path.now);
    let congestion = Congestion { now, signal: Signal::Loss, flight: BDP, srtt: RTT, min_rtt: RTT };
    path.control.on_congestion(&congestion);
    (path.in_recovery, path.pipe) = (true, BDP - 10 * MSS);
    path.ack(10 * MSS);
    assert_eq!(path.control.cwnd(), path.pipe + MSS);
    (0..200).for_each(|_| path.ack(0));
    assert_eq!(path.control.cwnd(), path.pipe + MSS);
    assert!(path.gain() >= 0.75);
    path.in_recovery = false;
    path.ack(0);
    assert!(path.control.cwnd().abs_diff(window) <= MSS, "{} {window}", path.control.cwnd());
}

/// Linux alone: at a policer that lets half through, two stretches of heavy losses with the same throughput set the rate to
/// it; without losses as heavy it stays the maximum.
#[test]
fn a_policer_is_found() {
    for (profile, lost, found) in [("linux", MSS / 2, true), ("linux", MSS / 20, false), ("rfc", MSS / 2, false)] {
        let mut path = Driver::new("bbr", profile, 1);
        path.settle();
        // The bucket still lets bursts through at twice the rate that it fills at: the maximum is too high.
        path.bandwidth = 2.0 * BANDWIDTH;
        for _ in 0..16 * BDP / MSS {
            path.ack(lost);
        }
        let rate = path.gain();
        assert_eq!((0.98..1.01).contains(&rate), found, "{profile} {lost}: {rate}");
    }
}

/// Version 3: 4 ln 2 = 2.773 in STARTUP (draft-ietf-ccwg-bbr's StartupPacingGain), 1 % below in the mean; then half.
#[test]
fn version_3_starts_at_four_ln_two() {
    let gain = 0.99 * 4.0 * libm::log(2.0);
    let mut path = Driver::new("bbr3", "", 1);
    (0..400).for_each(|_| path.ack(0));
    assert!((path.gain() / gain - 1.0).abs() < 1e-3, "{}", path.gain());
    path.pipe = 2 * BDP;
    while path.control.in_slow_start() {
        path.ack(0);
    }
    assert!((path.gain() - 0.99 * 0.5).abs() < 1e-3, "{}", path.gain());
}

/// 0.9, 1 and 1.25, of which the last comes every two to three seconds (BBRPickProbeWait), or sooner where Reno would have
/// lost something: 63 round trips at most.
#[test]
fn version_3_probes_every_two_to_three_seconds() {
    for seed in 0..5 {
        // PROBE_RTT would begin another cycle.
        let mut path = Driver::with("bbr3", &[("probe_rtt_interval", Raw::Text("600 s".into()))], seed);
        path.settle();
        let seen = path.gains(240);
        for (gain, _) in &seen {
            let gain = gain / 0.99;
            assert!([0.5, 0.9, 1.0, 1.25].iter().any(|g| (gain - g).abs() < 1e-3), "{gain}");
        }
        let mut at = Duration::ZERO;
        let mut probes = Vec::new();
        for (gain, time) in &seen {
            if *gain > 1.1 {
                probes.push(at.as_secs());
            }
            at += *time;
        }
        assert!(probes.len() >= 2, "{seen:?}");
        for pair in probes.windows(2) {
            // A cycle begins with DOWN, after UP's three or more round trips without growth; REFILL is one.
            assert!((2.0..3.4).contains(&(pair[1] - pair[0])), "{probes:?}");
        }
    }
}

/// ProbeRTTInterval and ProbeRTTCwndGain: every five seconds, half a bandwidth-delay product.
#[test]
fn version_3_halves_its_flight_every_five_seconds() {
    let mut path = Driver::new("bbr3", "", 1);
    path.settle();
    let mut low: Vec<f64> = Vec::new();
    let mut least = u64::MAX;
    while path.now < Time::ZERO + Duration::from_secs(21) {
        let before = path.control.cwnd();
        path.pipe = before.min(BDP);
        path.ack(0);
        if before > BDP && path.control.cwnd() < BDP {
            low.push(path.now.as_secs());
        }
        if !path.control.in_slow_start() {
            least = least.min(path.control.cwnd());
        }
    }
    assert!(least.abs_diff(BDP / 2) <= MSS, "{least}");
    assert!((3..=4).contains(&low.len()), "{low:?}");
    assert!(low.windows(2).all(|pair| (5.2..5.4).contains(&(pair[1] - pair[0]))), "{low:?}");
}

/// Losses of more than 2 % in a round trip of CRUISE or DOWN: the window falls to beta = 0.7 of what it was, or to what
/// was delivered in the round trip, whichever is more; version 1 does not care.
#[test]
fn version_3_answers_losses() {
    for (name, answers) in [("bbr3", true), ("bbr", false)] {
        let mut path = Driver::new(name, "rfc", 1);
        path.settle();
        // DOWN or CRUISE: a second after the end of STARTUP at most.
        (0..400).for_each(|_| path.ack(0));
        let window = path.control.cwnd();
        // Half of what is sent is lost, so half a round trip's worth is delivered.
        path.bandwidth = BANDWIDTH / 4.0;
        for _ in 0..3 * BDP / MSS {
            path.ack(MSS);
        }
        let kept = path.control.cwnd() as f64 / window as f64;
        assert_eq!(kept < 0.75, answers, "{name}: {kept}");
    }
}
