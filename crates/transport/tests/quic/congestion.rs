//! Congestion control of a sender according to RFC 9002 section 7.

use crate::lab::{Lab, Laboratory, Losses, Weather, at, config, text};
use vazao_engine::registry::Raw;
use vazao_transport::quic::Frame;

/// Loses the client's data datagrams with these numbers, from 0.
pub fn losing(numbers: &'static [u64]) -> Box<Losses> {
    let mut count = 0;
    Box::new(move |from, datagram| {
        let data = from == 0 && datagram.frames.iter().any(|frame| matches!(frame, Frame::Stream(_)));
        count += u64::from(data);
        data && numbers.contains(&(count - 1))
    })
}

fn reno(given: &[(&str, Raw)]) -> vazao_transport::quic::Config {
    config(&[&[("cc", text("reno")), ("pacing", Raw::Flag(false))], given].concat())
}

/// Section 7.3.2: one reduction for all losses of a window, by half (kLossReductionFactor).
#[test]
fn losses_of_one_window_cut_it_once() {
    let mut lab = Lab::new(reno(&[]), [1 << 20, 0], Weather::fair(50), 1);
    lab.lose = losing(&[40, 42, 50, 55]);
    let mut windows = Vec::new();
    lab.run_until(20, |lab| {
        let now = (lab.client().cwnd(), lab.client().stats().recoveries);
        if windows.last() != Some(&now) {
            windows.push(now);
        }
        lab.ends.iter().all(|end| end.quic.is_over())
    });
    lab.assert_delivered();
    assert_eq!(lab.client().stats().recoveries, 1);
    assert_eq!(lab.client().stats().lost, 4);
    // If an ACK frame takes space, the rest goes in one more datagram.
    assert!((4..=5).contains(&lab.client().stats().retransmissions));
    let cut = windows.iter().position(|window| window.1 == 1).expect("it is cut");
    let (before, after) = (windows[cut - 1].0 as f64, windows[cut].0 as f64);
    // The flight may be up to a datagram less than the window.
    assert!((after / before - 0.5).abs() < 1452.0 / before, "{before} to {after}");
}

/// Section 7.3.1: in slow start the window grows by exactly what is acknowledged. Ten datagrams of 1452 bytes,
/// acknowledged in pairs; a round trip later it has doubled, plus what the handshake's packets added.
#[test]
fn slow_start_doubles_the_window() {
    let mut lab = Lab::new(reno(&[]), [1 << 20, 0], Weather::fair(50), 1);
    lab.run_until(20, |lab| lab.paths.now > at(101));
    assert!(lab.client().stats().ready == Some(at(100)));
    let first = lab.client().cwnd();
    lab.run_until(20, |lab| lab.paths.now > at(201));
    let second = lab.client().cwnd();
    assert!((second as f64 / first as f64 - 2.0).abs() < 0.15, "{first}, {second}");
}

/// Section 7.6: an outage of many probe timeouts reduces the window to two datagrams.
#[test]
fn persistent_congestion_takes_the_window_down() {
    let mut lab = Lab::new(reno(&[]), [4 << 20, 0], Weather::fair(50), 1);
    lab.paths.weather[0].outages.push(700..4_000);
    let mut least = u64::MAX;
    lab.run_until(60, |lab| {
        least = least.min(lab.client().cwnd());
        lab.ends.iter().all(|end| end.quic.is_over())
    });
    lab.assert_delivered();
    assert_eq!((least, lab.client().stats().persistent_congestions), (2 * 1452, 1));
    // Probes are sent after about 0.2 s, with back-off: 0.2, 0.4, 0.8, 1.6 and 3.2 s.
    assert!((3..=5).contains(&lab.client().stats().probes), "{}", lab.client().stats().probes);
}

/// Section 6.2: the last datagram is lost, and no later one reveals it. The probe repeats it after srtt + 4 rttvar + 25
/// ms: at least 100 + 25 ms, and not long after.
#[test]
fn a_lost_tail_is_probed_for() {
    let mut lab = Lab::new(reno(&[]), [10_000, 0], Weather::fair(50), 1);
    let mut ends = 0;
    lab.lose = Box::new(move |from, datagram| {
        let is_last = |frame: &Frame| matches!(frame, Frame::Stream(stream) if stream.fin);
        let last = from == 0 && datagram.frames.iter().any(is_last);
        ends += u64::from(last);
        last && ends == 1
    });
    lab.run_until(20, |lab| lab.ends[1].user.received == 10_000);
    let taken = lab.paths.now.as_nanos() / 1_000_000;
    assert!((100 + 50 + 125..100 + 50 + 400).contains(&taken), "{taken} ms");
    lab.run(20);
    lab.assert_delivered();
    assert_eq!(lab.client().stats().probes, 1);
}

/// Sections 7.7 and 7.8: a pacing sender sends no burst of more than ten datagrams, and one with little data does not
/// grow its window.
#[test]
fn bursts_are_spread_and_unused_windows_do_not_grow() {
    let paced = config(&[("cc", text("reno"))]);
    let mut lab = Lab::new(paced, [1 << 20, 0], Weather::fair(50), 1);
    let mut burst = (at(0), 0, 0);
    lab.run_until(20, |lab| {
        if burst.0 != lab.paths.now {
            burst = (lab.paths.now, lab.client().stats().datagrams, burst.2);
        }
        burst.2 = burst.2.max(lab.client().stats().datagrams - burst.1);
        lab.ends.iter().all(|end| end.quic.is_over())
    });
    lab.assert_delivered();
    assert!(burst.2 <= 10, "{} datagrams at once", burst.2);
}
