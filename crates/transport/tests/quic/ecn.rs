//! ECN end to end (RFC 9000 section 13.4, RFC 9002 section 7.1).

use crate::lab::{Lab, Weather, config, text};
use vazao_engine::Ecn;
use vazao_engine::registry::Raw;

/// Marks reduce the window like losses, and nothing is lost or retransmitted.
#[test]
fn marks_cut_the_window() {
    let mut lab =
        Lab::new(config(&[("cc", text("reno")), ("ecn", Raw::Flag(true))]), [1 << 20, 0], Weather::fair(20), 1);
    lab.paths.weather[0].marking = 3;
    lab.run(60);
    lab.assert_delivered();
    let stats = lab.client().stats();
    assert!(stats.mark_reductions >= 3, "{}", stats.mark_reductions);
    assert_eq!((stats.lost, stats.retransmissions, stats.recoveries), (0, 0, 0));
}

/// ECN is off unless requested.
#[test]
fn nothing_is_marked_by_default() {
    let mut lab = Lab::new(config(&[]), [1 << 20, 0], Weather::fair(20), 1);
    lab.lose = Box::new(|_, datagram| {
        assert_eq!(datagram.ecn, Ecn::NotEct);
        false
    });
    lab.run(60);
    lab.assert_delivered();
}

/// DCTCP requires marks and requests them.
#[test]
fn dctcp_enables_ecn() {
    let mut lab = Lab::new(config(&[("cc", text("dctcp"))]), [1 << 20, 0], Weather::fair(20), 1);
    lab.paths.weather[0].marking = 100;
    lab.run(60);
    lab.assert_delivered();
    assert!(lab.client().stats().mark_reductions >= 3);
}
