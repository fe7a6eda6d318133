//! Google's QUIC before RFC 9002: draft-tsvwg-quic-loss-recovery-01, *QUIC FEC v1*.

use crate::congestion::losing;
use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use vazao_engine::registry::Raw;
use vazao_transport::quic::{Config, Frame};

/// Settings without pacing, so that times are round trips.
fn google(given: &[(&str, Raw)]) -> Config {
    let all = [("cc", text("reno")), ("pacing", Raw::Flag(false)), ("recovery", text("google"))];
    config(&[&all, given].concat())
}

/// Time in milliseconds when all of 10 000 bytes had arrived, and number of timer expiries.
fn ten_kilobytes(lost: &'static [u64]) -> (u64, u64) {
    let mut lab = Lab::new(google(&[]), [10_000, 0], Weather::fair(50), 1);
    lab.lose = losing(lost);
    lab.run_until(20, |lab| lab.ends[1].user.received == 10_000);
    let taken = lab.paths.now.as_nanos() / 1_000_000;
    lab.run(20);
    lab.assert_delivered();
    (taken, lab.client().stats().probes)
}

/// Section 4.2.3: the tail is retransmitted after two round-trip times; with a single packet in flight after 1.5 of
/// them and half the minimum timeout, here 250 ms, since its acknowledgement may be delayed. Data leaves after 100 ms.
/// Of two lost packets the first is probed, and the second retransmitted once the probe's acknowledgement has arrived,
/// which leaves at once because of the gap before the probe (RFC 9000 section 13.2.1).
#[test]
fn a_lost_tail_is_probed_for() {
    assert_eq!(ten_kilobytes(&[7]), (100 + 250 + 50, 1));
    assert_eq!(ten_kilobytes(&[6, 7]), (100 + 200 + 50 + 50 + 50, 1));
}

/// Section 4.2.4: losses that two probes do not repair cause a timeout, and only then the window collapses.
#[test]
fn a_timeout_closes_the_window() {
    let least = |outage| {
        let mut lab = Lab::new(google(&[]), [4 << 20, 0], Weather::fair(50), 1);
        lab.paths.weather[0].outages.push(outage);
        let mut least = u64::MAX;
        lab.run_until(60, |lab| {
            least = least.min(lab.client().cwnd());
            lab.ends.iter().all(|end| end.quic.is_over())
        });
        lab.assert_delivered();
        assert_eq!(lab.client().stats().persistent_congestions, 0);
        least
    };
    // Probes leave 200 and 400 ms after the last packet, the timeout 200 ms and more later.
    assert!(least(700..1_000) >= 10 * 1452);
    assert_eq!(least(700..2_000), 2 * 1452);
}

/// Section 4.1: a packet is lost when three later ones have arrived, but not before, however late it is.
#[test]
fn only_packets_count_while_there_are_later_ones() {
    let mut lab = Lab::new(google(&[]), [1 << 20, 0], Weather::fair(50), 1);
    lab.lose = losing(&[40]);
    lab.run(20);
    lab.assert_delivered();
    let stats = lab.client().stats();
    assert_eq!((stats.lost, stats.lost_by_time, stats.probes), (1, 0, 0));
}

/// One lost packet per group is recovered without retransmission; two are not. Eight packets with data and, in groups
/// of three, three parity packets.
#[test]
fn one_lost_packet_of_a_group_is_recovered() {
    let given = [("fec", Raw::Number(3.0)), ("initial_window", Raw::Number(20.0))];
    let run = |lost| {
        let mut lab = Lab::new(google(&given), [10_000, 0], Weather::fair(50), 1);
        lab.lose = losing(lost);
        lab.run_until(20, |lab| lab.ends[1].user.received == 10_000);
        let taken = lab.paths.now;
        lab.run(20);
        lab.assert_delivered();
        let (client, server) = (lab.client().stats(), lab.server().stats());
        (taken, client.parities, server.recovered, client.retransmissions)
    };
    assert_eq!(run(&[]), (at(150), 3, 0, 0));
    assert_eq!(run(&[1]), (at(150), 3, 1, 0));
    assert_eq!(run(&[2, 4, 7]), (at(150), 3, 3, 0));
    let (taken, _, recovered, again) = run(&[1, 2]);
    // A round trip later at the earliest.
    assert!(taken >= at(250) && recovered == 0 && again >= 2);
}

/// The overhead of parity is at most one packet per group; each is as long as the group's longest.
#[test]
fn parity_is_one_packet_per_group() {
    let mut lab = Lab::new(google(&[("fec", Raw::Number(10.0))]), [1 << 20, 0], Weather::fair(50), 1);
    let parity = std::sync::Arc::new(std::sync::Mutex::new((0_u64, 0_u64)));
    let seen = parity.clone();
    lab.lose = Box::new(move |from, datagram| {
        for frame in datagram.frames.iter().filter(|_| from == 0) {
            let mut seen = seen.lock().unwrap();
            match frame {
                Frame::Parity(_) => seen.0 += u64::from(datagram.bytes),
                Frame::Stream(_) => seen.1 += u64::from(datagram.bytes),
                _ => {}
            }
        }
        false
    });
    lab.run(20);
    lab.assert_delivered();
    let (parity, data) = *parity.lock().unwrap();
    assert!((parity as f64 / data as f64 - 0.1).abs() < 0.005, "{parity} of {data}");
}

/// A maximum window in datagrams, paced at twice the window per round trip in slow start: of 1 MB with a window of 20
/// datagrams, 20 are in flight from the second round trip on.
#[test]
fn the_window_has_its_limit() {
    let mut lab = Lab::new(google(&[("max_window", Raw::Number(20.0))]), [1 << 20, 0], Weather::fair(50), 1);
    let mut most = 0;
    lab.run_until(20, |lab| {
        most = most.max(lab.client().cwnd());
        lab.ends.iter().all(|end| end.quic.is_over())
    });
    lab.assert_delivered();
    assert_eq!(most, 20 * 1452);
}
