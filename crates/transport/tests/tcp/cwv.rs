//! Unused windows: RFC 5681 section 4.1, RFC 2861 as in Linux, RFC 7661. Segments are numbered from 1; the RTO is its
//! minimum, one second.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_transport::tcp::{Config, Counting, Validation};

/// Sender that began with two segments, has sent thirty in slow start, and has nothing more to send.
fn paused(cwv: Validation) -> Trace {
    let mut t = Trace::established(Config { cwv: Some(cwv), control: control("reno", 2, None), ..plain() });
    t.writes_segments(30);
    for next in (3..=31).step_by(2) {
        t.acks(next, &[]);
    }
    assert_eq!((t.tcp.flight(), t.tcp.acknowledged_bytes()), (0, 30_000));
    t
}

/// A receive window of ten segments limits the flight: in ns-3 (3.37) the window still grows by a segment per
/// acknowledged segment, since TcpNewReno::IncreaseWindow has no other condition.
#[test]
fn a_window_that_is_not_used_may_grow() {
    for (cwv, grown) in [(Validation::None, 20), (Validation::Grow, 35)] {
        let config = Config { cwv: Some(cwv), control: control("reno", 20, None), ..plain() };
        let mut t = Trace::established_with(config, 10_000);
        t.writes_segments(30);
        for segments in 1..=15 {
            t.gets(&format!("1:1 ack {} win 10000", 1 + segments * 1_000));
        }
        assert_eq!(t.cwnd(), grown, "{cwv:?}");
    }
}

/// In congestion avoidance with a window of twenty, ten acknowledgements of two segments each add one segment with RFC
/// 3465's byte counting, and half of one by equation 3 of RFC 5681.
#[test]
fn acknowledgements_may_count_once_each() {
    for (counting, grown) in [(Counting::Bytes, 21), (Counting::Acknowledgements, 20)] {
        let config = Config { counting, control: control("reno", 20, Some(20)), ..plain() };
        let mut t = Trace::established(config);
        t.writes_segments(80);
        for next in (3..=23).step_by(2) {
            t.acks(next, &[]);
        }
        assert_eq!(t.cwnd(), grown, "{counting:?}");
    }
}

/// After an idle period of 2.5 RTOs: the initial window; or a quarter of the window, halved once per RTO.
#[test]
fn a_pause_takes_the_window_away() {
    let grown = paused(Validation::None).cwnd();
    assert!(grown >= 16);
    for (cwv, left) in [(Validation::None, grown), (Validation::Restart, 2), (Validation::Decay, grown / 4)] {
        let mut t = paused(cwv);
        t.wait(1_000);
        assert_eq!(t.writes_segments(1), [31]);
        assert_eq!(t.cwnd(), grown, "{cwv:?}: a timeout is no pause");
        t.acks(32, &[]);
        t.wait(2_500);
        assert_eq!(t.writes_segments(40).len() as u64, left.max(2), "{cwv:?}");
    }
}

/// RFC 2861: ssthresh is three quarters of the window, so that slow start regains it.
#[test]
fn decay_keeps_the_threshold() {
    let config = Config { cwv: Some(Validation::Decay), control: control("reno", 16, Some(4)), ..plain() };
    let mut t = Trace::established(config);
    assert_eq!(t.writes_segments(1), [1]);
    t.acks(2, &[]);
    t.wait(9_000);
    t.writes_segments(1);
    assert_eq!((t.cwnd(), t.ssthresh()), (16, 12), "not below the initial window");
}

/// Uses this many segments of a window of sixteen each second.
fn used(t: &mut Trace, segments: u64, seconds: u64) {
    for _ in 0..seconds {
        let sent = t.writes_segments(segments);
        assert_eq!(sent.len() as u64, segments);
        t.wait(100);
        t.acks(sent[sent.len() - 1] + 1, &[]);
        t.wait(900);
    }
}

fn sparing() -> Trace {
    let config = Config { cwv: Some(Validation::PipeAck), control: control("reno", 16, Some(16)), ..plain() };
    let mut t = Trace::established(config);
    t.wait(1_000);
    t
}

/// RFC 7661 section 4.4.3: five minutes after the last validation the window is halved. Four segments are half of
/// eight, so it is halved once.
#[test]
fn a_window_unused_for_five_minutes_is_halved() {
    // The initial window, the lower limit, is two segments here.
    let config = Config { cwv: Some(Validation::PipeAck), control: control("reno", 2, None), ..plain() };
    let mut t = Trace::established(config);
    t.writes_segments(30);
    for next in (3..=31).step_by(2) {
        t.acks(next, &[]);
    }
    let grown = t.cwnd();
    used(&mut t, grown / 3, 290);
    assert_eq!(t.cwnd(), grown);
    used(&mut t, grown / 3, 20);
    assert_eq!(t.cwnd(), grown / 2);
    used(&mut t, grown / 3, 600);
    assert_eq!(t.cwnd(), grown / 2, "two thirds of it are used");
}

/// Section 4.4.1: a loss is judged by the maximum recent usage, not by the window, nor by the flight alone.
#[test]
fn a_loss_is_judged_by_the_usage() {
    let mut t = sparing();
    for segments in [6, 6] {
        used(&mut t, segments, 1);
    }
    let sent = t.writes_segments(4);
    let resent: Vec<u64> = (0..3).flat_map(|_| t.acks(sent[0], &[])).collect();
    assert_eq!((resent, t.ssthresh()), (vec![sent[0]], 3));
}

/// A sender that uses its window all the time grows as without validation.
#[test]
fn a_window_in_use_grows() {
    let windows = [Validation::None, Validation::PipeAck].map(|cwv| {
        let mut t = Trace::established_with(
            Config { cwv: Some(cwv), control: control("reno", 2, Some(40)), ..plain() },
            60_000,
        );
        let mut sent = t.writes_segments(400);
        (0..8)
            .map(|_| {
                t.wait(100);
                sent = sent.clone().into_iter().flat_map(|number| t.acks(number + 1, &[])).collect();
                t.cwnd()
            })
            .collect::<Vec<_>>()
    });
    assert_eq!(windows[0], windows[1]);
    assert!(windows[0][7] > 40);
}
