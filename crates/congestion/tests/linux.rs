//! Windows as Linux computes them (`profile = "linux"`), in whole segments.

#[allow(dead_code)]
mod bottleneck;

use bottleneck::{Flow, MSS, Path, assert_close, avoiding, control, setup, wide};
use vazao_congestion::slow_start::Standard;
use vazao_congestion::{Ack, Setup};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};

/// Linux counts whole segments: from ten, ten acknowledgements make eleven, however the division comes out; half of eleven
/// is five; and what was acknowledged towards a segment is forgotten at a loss.
#[test]
fn linux_counts_whole_segments() {
    let linux = [("profile", Raw::Text("linux".into()))];
    let mut flow = avoiding("reno", &linux, 10.0, wide(0.1));
    (0..9).for_each(|_| flow.ack());
    assert_eq!(flow.control.cwnd(), 10 * MSS);
    flow.ack();
    assert_eq!(flow.control.cwnd(), 11 * MSS);
    (0..10).for_each(|_| flow.ack());
    flow.lose();
    assert_eq!(flow.control.cwnd(), 5 * MSS);
    (0..4).for_each(|_| flow.ack());
    assert_eq!(flow.control.cwnd(), 5 * MSS);
}

/// Linux's slow start stops at the threshold (`tcp_slow_start`), and Reno counts what the acknowledgement covers beyond: of
/// two segments that one acknowledges at a window of one and a threshold of two, the second counts towards the third.
/// HighSpeed forgets it. Counting two segments at most (RFC 3465 section 2.3), the window passes the threshold.
#[test]
fn linux_stops_at_the_threshold() {
    let windows = |name: &str, limit: f64| {
        let setup = Setup { slow_start: Box::new(Standard { limit }), ..setup(1.0, Some(2.0)) };
        let mut control = control(name, &[("profile", Raw::Text("linux".into()))], setup);
        [2, 1].map(|segments| {
            control.on_ack(&Ack { acked: segments * MSS, window_limited: true, ..Ack::default() });
            control.cwnd() / MSS
        })
    };
    assert_eq!(windows("reno", 1000.0), [2, 3]);
    assert_eq!(windows("highspeed", 1000.0), [2, 2]);
    assert_eq!(windows("reno", 2.0), [3, 3]);
}

/// Windows that Linux keeps: cwnd/2; beta 717/1024 and 819/1024; cwnd - cwnd/8 with the division rounded down; each
/// rounded down to whole segments.
#[test]
fn linux_keeps_whole_segments() {
    let all = [
        ("reno", 101.0, 50.0),
        ("vegas", 101.0, 50.0),
        ("westwood", 101.0, 50.0),
        ("cubic", 101.0, 70.0),
        ("bic", 101.0, 80.0),
        ("bic", 14.0, 7.0),
        ("scalable", 101.0, 89.0),
        ("scalable", 10.0, 9.0),
        ("highspeed", 38.0, 19.0),
    ];
    for (name, w, kept) in all {
        let mut flow = avoiding(name, &[("profile", Raw::Text("linux".into()))], w, wide(0.1));
        flow.lose();
        assert_eq!(flow.window(), kept, "{name} at {w}");
    }
}

/// 1 - b by the row of Appendix B, where b(118) = 0.441 is 112 256ths; but a window that never grew by a row, as when slow
/// start ends with a loss, is halved: 39 - 19.
#[test]
fn linux_highspeed_halves_until_it_has_grown() {
    let linux = [("profile", Raw::Text("linux".into()))];
    for (acks, kept) in [(0, 20.0), (1, 22.0)] {
        let mut flow = avoiding("highspeed", &linux, 39.0, wide(0.1));
        (0..acks).for_each(|_| flow.ack());
        flow.lose();
        assert_eq!(flow.window(), kept, "after {acks} acknowledgements");
    }
}

/// A segment for a hundred acknowledged, or for a window of fewer: 1 % a round trip, and Reno below.
#[test]
fn linux_scalable_has_no_legacy_window() {
    for (w, grown) in [(8.0, 9.0), (1_000.0, 1_010.0)] {
        let mut flow = avoiding("scalable", &[("profile", Raw::Text("linux".into()))], w, wide(0.1));
        flow.round();
        assert_eq!(flow.window(), grown, "from {w}");
    }
}

/// Appendix B's third row, windows of 119 to 221 segments, grows by three for each window of acknowledgements, less what
/// the last segment lacks since the window grew meanwhile.
#[test]
fn linux_highspeed_goes_by_rows() {
    for (w, grown) in [(38.0, 1.0), (100.0, 2.0), (150.0, 3.0), (200.0, 3.0)] {
        let mut flow = avoiding("highspeed", &[("profile", Raw::Text("linux".into()))], w, wide(0.1));
        flow.round();
        let got = flow.window() - w;
        assert!((grown - 1.0..=grown).contains(&got), "{got} from {w}");
    }
}

/// Linux moves a quarter of what is left to search, at most 16 segments a round trip, times the segments for each
/// acknowledgement. That ratio begins with 32 sixteenths and stays at 31 where each segment is acknowledged, for
/// 31/16 is cut to 1. After a loss at 1000 segments, far away: one more for 799/16, cut to 49, times 16/31, cut to 25, so 32.
#[test]
fn linux_bic_moves_by_sixteen_segments_at_most() {
    let mut flow = avoiding("bic", &[("profile", Raw::Text("linux".into()))], 1_000.0, wide(0.1));
    (0..100).for_each(|_| flow.ack());
    flow.lose();
    let before = flow.window();
    flow.round();
    assert!((31.0..=33.0).contains(&(flow.window() - before)), "{} from {before}", flow.window());
}

/// Up to its low window of 14 segments Linux's BIC is Reno, whatever the ratio: a segment for a window of them.
#[test]
fn linux_bic_is_reno_in_small_windows() {
    let mut flow = avoiding("bic", &[("profile", Raw::Text("linux".into()))], 10.0, wide(0.1));
    (0..9).for_each(|_| flow.ack());
    assert_eq!(flow.window(), 10.0);
    flow.ack();
    assert_eq!(flow.window(), 11.0);
}

/// Linux doubles every round trip until more than a segment is queued at the round trip's least, then falls to what the
/// least RTT of that round trip says the path carries: as that was measured when the window was half as large, at most
/// twice the BDP and a segment. It settles between its alpha of 2 and beta of 4.
#[test]
fn linux_vegas_keeps_two_to_four_segments_queued() {
    let path = Path { base_rtt: 0.05, rate: 2_000.0, buffer: 1_000.0 };
    let linux = [("profile", Raw::Text("linux".into()))];
    let mut flow = Flow::new(control("vegas", &linux, setup(10.0, None)), path);
    while flow.control.in_slow_start() {
        flow.ack();
    }
    assert!(flow.now < 7.0 * 0.05, "slow start took {} s", flow.now);
    assert!((100.0..=201.0).contains(&flow.window()), "{}", flow.window());
    flow.until(flow.now + 20.0);
    for _ in 0..50 {
        flow.round();
        assert!((102.0..=105.0).contains(&flow.window()), "{}", flow.window());
    }
}

/// Half on a loss; once it is repaired, rate times least RTT: 1000 segments a second and an RTT of exactly ten ticks make
/// 100. Two filters that keep 7/8 are within 1 % after 60 round trips.
#[test]
fn linux_westwood_sets_the_window_when_the_loss_is_repaired() {
    let path = Path { base_rtt: 0.1, rate: 1_000.0, buffer: 1_000.0 };
    let linux = [("profile", Raw::Text("linux".into()))];
    let mut flow = avoiding("westwood", &linux, 90.0, path);
    flow.until(8.0);
    let before = flow.window();
    flow.lose();
    assert_eq!(flow.window(), (before / 2.0).floor());
    flow.control.on_recovered(u64::MAX);
    assert_close(flow.window(), 100.0, 0.03, "window after the repair");
    assert_eq!(flow.control.ssthresh(), flow.control.cwnd());
}

/// Linux's Westwood counts a duplicate as a segment, whatever it reports: one that reports two segments every 2 ms (1000 a
/// second) counts half the rate. Over 40 samples what was before is forgotten.
#[test]
fn linux_westwood_counts_duplicates() {
    let mut control = control("westwood", &[("profile", Raw::Text("linux".into()))], setup(90.0, Some(90.0)));
    let rtt = Duration::from_millis(100);
    for i in 0..2_500 {
        control.on_ack(&Ack {
            now: Time::from_nanos(200_000_000 + i * 2_000_000),
            delivered: 2 * MSS,
            blocks: true,
            flight: 90 * MSS,
            rtt: Some(rtt),
            in_recovery: true,
            ..Ack::default()
        });
    }
    control.on_recovered(u64::MAX);
    // 50 segments in 100 ms; each filter and the sample are cut to whole bytes a tick.
    assert_close(control.cwnd() as f64 / MSS as f64, 50.0, 0.05, "window after the repair");
}

/// By a time stamp's echo a round trip is cut to milliseconds: 100.2 ms are eleven ticks, but ten once it was measured so.
#[test]
fn linux_westwood_cuts_what_is_echoed() {
    for (echo, expected) in [(None, 55.0), (Some(Duration::from_millis(100)), 50.0)] {
        let mut control = control("westwood", &[("profile", Raw::Text("linux".into()))], setup(90.0, Some(90.0)));
        for i in 0..5_000 {
            let (rtt, echo_rtt) = if i == 4_000 { (None, echo) } else { (Some(Duration::from_micros(100_200)), None) };
            let now = Time::from_nanos(200_000_000 + i * 2_000_000);
            let flight = 90 * MSS;
            control.on_ack(&Ack { now, advance: MSS, flight, rtt, echo_rtt, in_recovery: true, ..Ack::default() });
        }
        control.on_recovered(u64::MAX);
        // Each filter and the sample are cut to whole bytes a tick.
        assert_close(control.cwnd() as f64 / MSS as f64, expected, 0.03, "window after the repair");
    }
}
