//! Coupled controls against the numbers of their sources.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::multipath::Multipath;
use bottleneck::packets::Network;
use bottleneck::{MSS, Path, control, setup};
use vazao_congestion::coupled::{Balia, Lia, Olia};
use vazao_congestion::window::Window;
use vazao_congestion::{Ack, Congestion, CongestionControl, Setup, Sibling, Signal, WindowState};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

const SEGMENT: f64 = MSS as f64;

fn path(segments: f64, threshold: f64, rtt_ms: u64) -> Sibling {
    telling(segments, threshold, rtt_ms, 0.0)
}

fn telling(segments: f64, threshold: f64, rtt_ms: u64, told: f64) -> Sibling {
    let (cwnd, ssthresh) = (segments * SEGMENT, threshold * SEGMENT);
    Sibling::new(cwnd, ssthresh, Duration::from_millis(rtt_ms), told)
}

/// A control that does not look at other paths would make these tests mean nothing.
fn show(control: &mut dyn CongestionControl, paths: &[Sibling], own: usize) {
    control.siblings().expect("it is coupled").see(paths, own);
}

/// A control in congestion avoidance at a window of `segments`, which halves to it from twice as many while it is alone.
fn avoiding(name: &str, segments: u64) -> Box<dyn CongestionControl> {
    let twice = 2.0 * segments as f64;
    let mut control = control(name, &[], setup(twice, Some(twice)));
    lose(control.as_mut(), 2 * segments, Signal::Loss);
    assert_eq!(control.cwnd(), segments * MSS, "{name}");
    control
}

fn lose(control: &mut dyn CongestionControl, flight: u64, signal: Signal) {
    let (srtt, min_rtt) = (Duration::from_millis(50), Duration::from_millis(50));
    control.on_congestion(&Congestion { now: Time::ZERO, signal, flight: flight * MSS, srtt, min_rtt });
}

fn acknowledge(control: &mut dyn CongestionControl, bytes: u64) -> f64 {
    let before = control.cwnd() as f64;
    control.on_ack(&Ack { acked: bytes, delivered: bytes, window_limited: true, ..Ack::default() });
    control.cwnd() as f64 - before
}

/// Growth, in segments, of the window at `own` among `paths` when a window's worth is acknowledged.
fn growth(name: &str, paths: &[Sibling], own: usize) -> f64 {
    let window = (paths[own].cwnd / SEGMENT) as u64;
    let mut control = avoiding(name, window);
    show(control.as_mut(), paths, own);
    acknowledge(control.as_mut(), window * MSS) / SEGMENT
}

/// Window that a loss leaves of it, in segments.
fn left(name: &str, paths: &[Sibling], own: usize) -> f64 {
    let window = (paths[own].cwnd / SEGMENT) as u64;
    let mut control = avoiding(name, window);
    show(control.as_mut(), paths, own);
    lose(control.as_mut(), window, Signal::Loss);
    control.cwnd() as f64 / SEGMENT
}

/// Windows are whole bytes of segments of a thousand.
fn assert_near(got: f64, want: f64, what: &str) {
    assert!((got - want).abs() <= 1.0 / SEGMENT, "{what}: {got}, not {want}");
}

/// One path is Reno, whichever control: a segment for a window's worth, half on loss.
#[test]
fn one_path_is_reno() {
    for name in ["lia", "olia", "balia", "rpv1", "rpv2"] {
        let alone = [path(20.0, 10.0, 50)];
        assert_near(growth(name, &alone, 0), 1.0, name);
        assert_near(left(name, &alone, 0), 10.0, name);
        let mut unseen = avoiding(name, 20);
        assert_near(acknowledge(unseen.as_mut(), 20 * MSS) / SEGMENT, 1.0, name);
    }
}

/// RFC 6356 section 3: alpha = total * max(w / rtt²) / (sum of w / rtt)² is 1 of one path, 1/2 of two equal ones and 1/n of
/// n. Each of two then grows by alpha over both windows, a quarter of a segment for a window's worth.
#[test]
fn lia_takes_one_flows_growth_for_all_paths() {
    let state = WindowState { cwnd: 10.0 * SEGMENT, ssthresh: SEGMENT, mss: SEGMENT };
    for count in 1..=4 {
        let mut lia = Lia::default();
        let paths = vec![path(10.0, 5.0, 50); count];
        lia.siblings().expect("it is coupled").see(&paths, 0);
        assert!((lia.alpha(&state) - 1.0 / count as f64).abs() < 1e-12, "{count} paths");
        assert_near(growth("lia", &paths, count - 1), 1.0 / (count * count) as f64, &format!("{count} paths"));
    }
}

/// RFC 6356 section 3's general formula by hand: windows of 10 and 20 segments at 50 and 200 ms. The best of w / rtt² is
/// 10 / 0.05² = 4000, the sum of w / rtt 200 + 100 = 300; alpha = 30 * 4000 / 300² = 4/3, of the 30 segments of both.
#[test]
fn lia_with_unequal_paths() {
    let mut lia = Lia::default();
    let paths = [path(10.0, 5.0, 50), path(20.0, 5.0, 200)];
    lia.siblings().expect("it is coupled").see(&paths, 0);
    let state = WindowState { cwnd: 10.0 * SEGMENT, ssthresh: SEGMENT, mss: SEGMENT };
    assert!((lia.alpha(&state) - 4.0 / 3.0).abs() < 1e-12);
    // A window's worth on the first path: 10 segments times 4/3 over 30, of a segment each.
    assert_near(growth("lia", &paths, 0), 4.0 / 9.0, "the first path");
}

/// OLIA's two terms by hand. Windows of 10 and 20 segments at 50 and 100 ms carry 200 a second each, which makes
/// (200 / 400)² = 1/4 of a segment for a window's worth. Where l / rtt² is 200 kB / 0.05² of the first path and 500 kB /
/// 0.1² of the second, 80 to 50 MB/s², the first is the best and not the widest: it gets half a segment more, 1 over two
/// paths and one collected, and the second as much less. With l = 100 kB the best is the widest, and nothing moves.
#[test]
fn olia_moves_windows_to_the_best_path() {
    for (l, moved) in [(200_000.0, 0.5), (100_000.0, 0.0)] {
        let paths = [telling(10.0, 5.0, 50, l), telling(20.0, 5.0, 100, 500_000.0)];
        assert_near(growth("olia", &paths, 0), 0.25 + moved, "the first path");
        assert_near(growth("olia", &paths, 1), 0.25 - moved, "the second path");
    }
    // Of three, two of them best and equally good, the widest one is the third: a sixth each, and a third less.
    let paths = [(10.0, 2e5), (12.0, 2e5), (20.0, 1e5)].map(|(w, l)| telling(w, 5.0, 50, l));
    let alphas = [0, 1, 2].map(|own| {
        let mut olia = Olia::default();
        olia.siblings().expect("it is coupled").see(&paths, own);
        olia.alpha()
    });
    assert_eq!(alphas, [1.0 / 3.0 / 2.0, 1.0 / 3.0 / 2.0, -1.0 / 3.0]);
}

/// l is the larger of what arrived since the last loss and between the last two; a loss that was none is forgotten.
#[test]
fn olia_tells_the_bytes_between_losses() {
    let mut olia = avoiding("olia", 10);
    let mut after = |segments: u64, what: &dyn Fn(&mut dyn CongestionControl)| {
        acknowledge(olia.as_mut(), segments * MSS);
        what(olia.as_mut());
        olia.siblings().expect("it is coupled").told() / SEGMENT
    };
    let loss = |control: &mut dyn CongestionControl| lose(control, 10, Signal::Loss);
    assert_eq!(after(30, &|_| ()), 30.0);
    assert_eq!(after(10, &loss), 40.0);
    assert_eq!(after(15, &|_| ()), 40.0);
    assert_eq!(after(5, &loss), 20.0);
    assert_eq!(after(7, &|control| control.on_spurious(Time::ZERO)), 40.0);
    assert_eq!(after(20, &|_| ()), 47.0);
}

/// BALIA by hand. Windows of 10 and 20 segments at 50 and 200 ms carry 200 and 100 a second: alpha is 1 and 2, the squared
/// parts of all are 4/9 and 1/9, so that a window's worth makes 4/9 * 2/2 * 5/5 and 1/9 * 3/2 * 6/5 of a segment. A loss takes
/// half of the first, and min(2, 1.5) / 2 of the second.
#[test]
fn balia_grows_and_falls_by_how_much_faster_the_best_is() {
    let paths = [path(10.0, 5.0, 50), path(20.0, 5.0, 200)];
    for (own, alpha, grows, keeps) in [(0, 1.0, 4.0 / 9.0, 5.0), (1, 2.0, 0.2, 5.0)] {
        let mut balia = Balia::default();
        balia.siblings().expect("it is coupled").see(&paths, own);
        assert!((balia.alpha() - alpha).abs() < 1e-12, "path {own}");
        assert_near(growth("balia", &paths, own), grows, &format!("path {own}"));
        assert_near(left("balia", &paths, own), keeps, &format!("path {own}"));
    }
}

/// A control by somebody's rules in congestion avoidance at `paths[own]`, shown `paths`.
fn by(profile: &str, name: &str, paths: &[Sibling], own: usize) -> Box<dyn CongestionControl> {
    let window = paths[own].cwnd / SEGMENT;
    let mut control = control(name, &[("profile", Raw::Text(profile.into()))], setup(window, Some(window)));
    show(control.as_mut(), paths, own);
    control
}

/// Control by Multipath TCP's Linux.
fn linux(name: &str, paths: &[Sibling], own: usize) -> Box<dyn CongestionControl> {
    by("linux", name, paths, own)
}

/// Which acknowledgement of two segments moves a window by Linux's count, and whereto.
fn first_step(mut control: Box<dyn CongestionControl>) -> (u32, i64) {
    let moved = (1..1000).find_map(|count| {
        let step = acknowledge(control.as_mut(), 2 * MSS) / SEGMENT;
        (step != 0.0).then_some((count, step as i64))
    });
    moved.expect("it moves")
}

/// By net/mptcp of v0.95. LIA, where all windows over alpha are 30 / (4/3), saves 22 acknowledgements up, and grows with the
/// next; BALIA's slower path of above 20 / 0.2 and one. OLIA adds 1024 * 0.75 / 10, which is 76, and needs 1023: the 14th; and
/// takes 1024 * 0.25 / 20, which is 12: the 86th. BALIA's alpha on loss is 1 up to 2, where it is 2 and counts as 1.5.
#[test]
fn linux_counts_acknowledgements_and_whole_segments() {
    let paths = [path(10.0, 5.0, 50), path(20.0, 5.0, 200)];
    assert_eq!(first_step(linux("lia", &paths, 0)), (23, 1));
    assert_eq!(first_step(linux("balia", &paths, 1)), (101, 1));
    let told = [telling(10.0, 5.0, 50, 200_000.0), telling(20.0, 5.0, 100, 500_000.0)];
    assert_eq!(first_step(linux("olia", &told, 0)), (14, 1));
    assert_eq!(first_step(linux("olia", &told, 1)), (86, -1));
    for (name, ms, kept) in [("balia", 200, 6), ("balia", 199, 11), ("lia", 200, 10), ("olia", 200, 10)] {
        let paths = [path(10.5, 5.0, 50), path(21.0, 5.0, ms)];
        let mut control = linux(name, &paths, 1);
        lose(control.as_mut(), 21, Signal::Loss);
        assert_eq!(control.cwnd(), kept * MSS, "{name} at {ms} ms");
    }
}

/// Slow start before Linux 4.3 goes through the threshold: each control of v0.90 that stands on it takes the next segment at
/// once. In avoidance it is due after an acknowledgement for each of w / alpha segments, 41² / 40, by LIA, and by BALIA, for
/// a window of one beside one 40 times as fast, after 1 / (x² (1 + alpha) / 2 (4 + alpha) / 5): x is 1/41, alpha 40.
#[test]
fn slow_start_of_linux_3_18_goes_through_the_threshold() {
    let paths = [path(1.0, 1.0, 100), path(40.0, 20.0, 100)];
    for (name, later) in [("lia", 43), ("balia", 10)] {
        assert_eq!(first_step(by("linux-3.18", name, &paths, 0)), (1, 1), "{name}");
        assert_eq!(first_step(linux(name, &paths, 0)), (later, 1), "{name} by v0.95");
    }
    for name in ["lia", "olia", "balia", "wvegas"] {
        let mut control = by("linux-3.18", name, &paths, 0);
        assert!(control.in_slow_start(), "{name}");
        acknowledge(control.as_mut(), 10 * MSS);
        assert_eq!(control.cwnd(), 2 * MSS, "{name}: no acknowledgement goes further");
        assert!(!control.in_slow_start(), "{name}");
    }
}

/// What OLIA's alpha takes below the threshold Linux's slow start gives back; the paper's stays there.
#[test]
fn linux_olia_returns_to_its_threshold() {
    let paths = [telling(10.0, 5.0, 50, 200_000.0), telling(20.0, 20.0, 100, 500_000.0)];
    for profile in ["linux", "linux-3.18"] {
        let mut olia = by(profile, "olia", &paths, 1);
        let threshold = olia.ssthresh();
        let mut least = u64::MAX;
        for _ in 0..1000 {
            acknowledge(olia.as_mut(), 2 * MSS);
            least = least.min(olia.cwnd());
        }
        let within = if profile == "linux" { threshold - MSS } else { threshold };
        assert_eq!((least, olia.ssthresh()), (within, threshold), "{profile}");
    }
    let mut paper = by("rfc", "olia", &paths, 1);
    for _ in 0..1000 {
        acknowledge(paper.as_mut(), 2 * MSS);
    }
    assert!(paper.cwnd() < 19 * MSS && paper.ssthresh() == paper.cwnd());
}

/// CMT/RPv1 by its formulae: thresholds of 10 and 30 segments make shares of 1/4 and 3/4. A loss at a window of 20 beside
/// one of 12 leaves max(20 - 32/2, 4/4, 1) = 4; one at 20 beside 60 leaves a share of four segments: 1.
#[test]
fn rpv1_shares_by_thresholds() {
    let paths = [path(10.0, 10.0, 50), path(10.0, 30.0, 50)];
    assert_near(growth("rpv1", &paths, 0), 0.25, "the first path");
    assert_near(growth("rpv1", &paths, 1), 0.75, "the second path");
    for (beside, left) in [(12.0, 4), (60.0, 1)] {
        let mut control = avoiding("rpv1", 20);
        show(control.as_mut(), &[path(20.0, 10.0, 50), path(beside, 30.0, 50)], 0);
        lose(control.as_mut(), 20, Signal::Loss);
        assert_eq!((control.cwnd(), control.ssthresh()), (left * MSS, left * MSS), "beside {beside}");
    }
}

/// CMT/RPv2 by its formulae: windows of 20 and 10 segments at 50 and 100 ms carry 400 and 100 a second, shares of 4/5 and
/// 1/5. A loss on the first takes half of all, 250 of its 400 a second, 12.5 of its 20 segments; on the second more than it
/// has, of which a segment is left. Small windows are not spared: three segments alone become one and a half.
#[test]
fn rpv2_shares_by_rates() {
    let paths = [path(20.0, 10.0, 50), path(10.0, 30.0, 100)];
    for (own, share, kept) in [(0, 0.8, 7.5), (1, 0.2, 1.0)] {
        assert_near(growth("rpv2", &paths, own), share, &format!("path {own}"));
        assert_near(left("rpv2", &paths, own), kept, &format!("path {own}"));
    }
    assert_near(left("rpv2", &[path(3.0, 30.0, 100)], 0), 1.5, "alone");
}

/// By usrsctp's sctp_cc_functions.c the first of these paths keeps its window less half of both, 20 - 15, and the second its
/// fifth of four segments, which is less than one; at windows of 8 and 10, shares of 8/13 and 5/13, the first keeps 32/13.
/// A timeout leaves all windows less half of all rates: of 18 segments, 260 / 2 a second for 50 ms.
#[test]
fn rpv2_by_usrsctp_keeps_a_part_of_four_segments() {
    let after = |first: f64, own: usize, signal| {
        let paths = [path(first, 10.0, 50), path(10.0, 30.0, 100)];
        let mut control = by("usrsctp", "rpv2", &paths, own);
        lose(control.as_mut(), 20, signal);
        control.ssthresh() as f64 / SEGMENT
    };
    for (first, own, kept) in [(20.0, 0, 5.0), (20.0, 1, 1.0), (8.0, 0, 32.0 / 13.0)] {
        assert_near(after(first, own, Signal::Loss), kept, &format!("path {own} beside {first}"));
    }
    assert_near(after(8.0, 0, Signal::Timeout), 18.0 - 6.5, "a timeout");
}

/// The windows in segments towards which two paths of 50 ms tend in the fluid limit: each moves by what a packet adds on
/// average, growth less the part of packets that are lost times what a loss takes. Segments are large, as windows are whole
/// bytes; steps are a fifth of a round trip, of which the slowest here takes 40 to settle by e.
fn fluid(name: &str, losses: [f64; 2]) -> [f64; 2] {
    const LARGE: f64 = 1e6;
    let rtt = Duration::from_millis(50);
    let mut windows = [30.0, 20.0];
    for _ in 0..30_000 {
        let see = |i: usize| {
            let (cwnd, told) = (windows[i] * LARGE, LARGE / losses[i]);
            Sibling::new(cwnd, cwnd, rtt, told)
        };
        let paths = [see(0), see(1)];
        let after = |own: usize, event: &dyn Fn(&mut dyn CongestionControl, u64)| {
            let window = paths[own].cwnd as u64;
            let (initial_window, initial_ssthresh) = (window, Some(window));
            let start = Setup { mss: LARGE as u64, initial_window, initial_ssthresh, ..setup(1.0, None) };
            let mut control = control(name, &[], start);
            show(control.as_mut(), &paths, own);
            event(control.as_mut(), window);
            control.cwnd() as f64 / LARGE - windows[own]
        };
        let grown = |own| {
            after(own, &|control, acked| {
                control.on_ack(&Ack { acked, delivered: acked, window_limited: true, ..Ack::default() });
            })
        };
        let fallen = |own| {
            after(own, &|control, flight| {
                let now = Time::ZERO;
                control.on_congestion(&Congestion { now, signal: Signal::Loss, flight, srtt: rtt, min_rtt: rtt });
            })
        };
        let moves = [0, 1].map(|i| grown(i) + losses[i] * windows[i] * fallen(i));
        windows = [0, 1].map(|i| f64::max(windows[i] + 0.2 * moves[i], 1.0));
    }
    windows
}

/// The part of the second path, which loses k times as many packets as the first, where growth is what losses take. The
/// total is always Reno's on the best path: W² = 2 / p.
///
/// - LIA: alpha / W = p w / 2 on each path, so windows go with 1/p, and the second has 1 / (1 + k) of all.
/// - BALIA: (1 + a) (4 + a) / (5 W²) = p min(a, 1.5), so (1 + a) (4 + a) = 15 k with a = w₁ / w₂ above 1.5: a is 3 for
///   k = 28/15 and 5 for k = 3.6, and the second path has 1 / (1 + a).
/// - OLIA (theorem 1 of its paper): only best paths carry anything but the least window, one segment.
const EQUILIBRIA: [(&str, f64, f64); 6] = [
    ("lia", 1.0, 0.5),
    ("lia", 2.0, 1.0 / 3.0),
    ("lia", 4.0, 0.2),
    ("balia", 28.0 / 15.0, 0.25),
    ("balia", 3.6, 1.0 / 6.0),
    ("olia", 4.0, 0.0),
];

/// OLIA's least window w, which a loss only lowers to one segment, is where (w / W)² = k p w (w - 1): 1 / (1 - 1 / (2 k)).
#[test]
fn equilibria_are_those_of_the_sources() {
    let p = 4e-4;
    for (name, k, share) in EQUILIBRIA {
        let [first, second] = fluid(name, [p, k * p]);
        let total = first + second;
        let least = if share == 0.0 { 1.0 / (1.0 - 0.5 / k) } else { 0.0 };
        assert_near(second, share * total + least, &format!("{name} at {k}"));
        assert!((total * f64::sqrt(p / 2.0) - 1.0).abs() < 1e-3, "{name} at {k}: {total} segments");
    }
    // OLIA on two equal paths: neither starves (its paper's non-flappiness).
    let [first, second] = fluid("olia", [p, p]);
    assert!((first / second - 1.0).abs() < 0.05, "{first} and {second}");
}

/// One connection over paths of 50 ms that never queue, with these parts of their packets lost: packets a second on each.
fn rates_under_loss(name: &str, losses: &[f64]) -> Vec<f64> {
    let open = Path { base_rtt: 0.05, rate: 1e6, buffer: 1e6 };
    let new = |(i, &loss): (usize, &f64)| {
        Network::new(open, vec![control(name, &[], setup(10.0, Some(20.0)))]).losing(loss, i as u64)
    };
    let networks: Vec<_> = losses.iter().enumerate().map(new).collect();
    let connections = vec![(0..losses.len()).map(|i| (i, 0)).collect()];
    Multipath { networks, connections }.rates(100.0, 2100.0).concat()
}

/// Packet by packet, windows vary by half and more about the equilibrium. That alone puts Reno's mean at 1.22 to 1.31 instead
/// of 1.41 over sqrt(p), 7 to 13 % below: shares and totals are met as well as that. OLIA's second path does not starve, for
/// it is the better one whenever chance has it; it carries two thirds of LIA's at most.
#[test]
fn random_losses_come_near_the_equilibria() {
    let p = 4e-4;
    let reno = rates_under_loss("reno", &[p])[0];
    for (name, k, share) in EQUILIBRIA {
        let rates = rates_under_loss(name, &[p, k * p]);
        let total = rates[0] + rates[1];
        let got = rates[1] / total;
        let near = if share == 0.0 { 0.0..2.0 / 3.0 / (1.0 + k) } else { 0.87 * share..1.13 * share };
        assert!(near.contains(&got), "{name} at {k}: a share of {got}");
        assert!((total / reno - 1.0).abs() < 0.13, "{name} at {k}: {} of Reno's rate", total / reno);
    }
}

fn starting(name: &str) -> Box<dyn CongestionControl> {
    control(name, &[], setup(10.0, None))
}

/// Rate times queueing delay is alpha, which is ten segments times the rate's part of all: a queueing delay of 10 / 3000 s on
/// paths of 2000 and 1000 segments a second, so 20/3 and 10/3 segments. A window goes up or down by one each round trip.
#[test]
fn weighted_vegas_congests_all_paths_alike() {
    let link = |rate: f64| Path { base_rtt: 0.05, rate, buffer: 200.0 };
    let networks = [2000.0, 1000.0].map(|rate| Network::new(link(rate), vec![starting("wvegas")])).into();
    let mut two = Multipath { networks, connections: vec![vec![(0, 0), (1, 0)]] };
    let rates = two.rates(100.0, 200.0).concat();
    for (network, queued) in two.networks.iter().zip([20.0 / 3.0, 10.0 / 3.0]) {
        assert!((network.mean_queue() - queued).abs() < 1.0, "{} segments, not {queued}", network.mean_queue());
    }
    assert!(rates[0] > 1990.0 && rates[1] > 995.0, "{rates:?}");
}

/// One flow keeps ten segments queued, and so do two subflows of one connection on one bottleneck together.
#[test]
fn weighted_vegas_is_one_flow() {
    let link = Path { base_rtt: 0.05, rate: 2000.0, buffer: 200.0 };
    for flows in 1..=2 {
        let networks = vec![Network::new(link, (0..flows).map(|_| starting("wvegas")).collect())];
        let mut shared = Multipath { networks, connections: vec![(0..flows).map(|i| (0, i)).collect()] };
        shared.rates(100.0, 300.0);
        let queued = shared.networks[0].mean_queue();
        assert!((queued - 10.0).abs() < 1.0, "{queued} segments of {flows} subflows");
    }
}

/// At 100 segments and 20 ms of queueing beyond 80 ms, 20 segments wait, more than ten: one less, and so still at just below
/// twice that. Beyond, it falls to half of what the path carries, w base / (2 rtt); and only once, for what is seen then is new.
#[test]
fn weighted_vegas_lets_queues_drain() {
    let mut wvegas = avoiding("wvegas", 100);
    let drained = 97.0 * 80.0 / 121.0 / 2.0;
    for (ms, window) in [(100, 99.0), (119, 98.0), (121, drained), (121, drained - 1.0)] {
        let (rtt, min_rtt) = (Duration::from_millis(ms), Duration::from_millis(80));
        let ack = Ack { acked: MSS, delivered: MSS, srtt: rtt, min_rtt, window_limited: true, ..Ack::default() };
        wvegas.on_ack(&Ack { rtt: Some(rtt), ..ack });
        wvegas.on_ack(&Ack { round: true, ..ack });
        assert_near(wvegas.cwnd() as f64 / SEGMENT, window, &format!("after {ms} ms"));
    }
}

/// Linux's lets queues drain at twice the queueing delay, counts what waits in whole segments, and so has windows that
/// stay: of 50 at 80 and 100 ms 10 wait, at 101 ms 10.4, at 103 ms 11.2, which leaves 49 with 10.9.
#[test]
fn linux_weighted_vegas_counts_whole_segments() {
    let drained = (97.0 * 80.0 / 120.0 / 2.0_f64).floor();
    for (start, steps) in [
        (100.0, vec![(100, 99.0), (119, 98.0), (120, drained)]),
        (50.0, vec![(100, 50.0), (101, 50.0), (103, 49.0), (103, 49.0)]),
    ] {
        let mut wvegas = linux("wvegas", &[path(start, 5.0, 100)], 0);
        for (ms, window) in steps {
            let (rtt, min_rtt) = (Duration::from_millis(ms), Duration::from_millis(80));
            let ack = Ack { acked: MSS, delivered: MSS, srtt: rtt, min_rtt, window_limited: true, ..Ack::default() };
            wvegas.on_ack(&Ack { rtt: Some(rtt), ..ack });
            wvegas.on_ack(&Ack { round: true, ..ack });
            assert_near(wvegas.cwnd() as f64 / SEGMENT, window, &format!("from {start} after {ms} ms"));
        }
    }
}

/// The part of a bottleneck that two subflows take beside one Reno flow.
fn share_beside_reno(name: &str, early: f64) -> f64 {
    let link = Path { base_rtt: 0.05, rate: 2000.0, buffer: 100.0 };
    let flows = vec![starting(name), starting(name), starting("reno")];
    let networks = vec![Network::new(link, flows).dropping_early(early, 1)];
    let mut shared = Multipath { networks, connections: vec![vec![(0, 0), (0, 1)]] };
    let rates = shared.rates(50.0, 1050.0).concat();
    (rates[0] + rates[1]) / rates.iter().sum::<f64>()
}

/// Where each packet is as likely to be lost as any other, two uncoupled subflows take two flows' share, and coupled ones
/// one's; a drop-tail queue takes from whom it meets, but no more often from a large window than from a small one, so that
/// two get something between. Weighted Vegas leaves a bottleneck to who fills its queue.
#[test]
fn two_subflows_are_one_flow_beside_reno() {
    for (name, random, tail) in [
        ("reno", 0.62..0.71, 0.62..0.71),
        ("lia", 0.45..0.55, 0.45..0.62),
        ("olia", 0.45..0.55, 0.45..0.62),
        ("balia", 0.45..0.55, 0.45..0.62),
        ("wvegas", 0.0..1.0, 0.05..0.25),
    ] {
        for (early, likely) in [(0.02, random), (0.0, tail)] {
            let share = share_beside_reno(name, early);
            assert!(likely.contains(&share), "{name} has {share}, dropping {early} early");
        }
    }
}
