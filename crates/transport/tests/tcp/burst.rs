//! Sending in bursts, as Linux does (tcp_tso_should_defer, net/ipv4/tcp_output.c). The round-trip time is 100 ms.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_transport::tcp::{Bursting, Config, Host, Recovery};

const NOTHING: [u64; 0] = [];

/// Sender whose window of 40 segments left a round trip ago. At that rate the largest burst is the minimum: two
/// segments.
fn flying(bursts: Bursting) -> Trace {
    let control = control("reno", 40, Some(40));
    let linux = Config { recovery: Recovery::Rack, sack: true, host: Host::Linux, ..plain() };
    let mut t = Trace::established(Config { bursts, control, ..linux });
    assert_eq!(t.writes_segments(200).len(), 40);
    assert!(t.wait(100).is_empty());
    // The sender was idle for long, so this is not deferred.
    assert_eq!(t.acks(2, &[]), [41]);
    t
}

/// One segment is deferred for a second one, since the next acknowledgement is due.
#[test]
fn a_burst_waits_to_be_complete() {
    let mut t = flying(Bursting::Deferred);
    assert_eq!(t.acks(3, &[]), NOTHING);
    assert_eq!(t.acks(4, &[]), [42, 43]);
    assert_eq!(t.acks(5, &[]), NOTHING);
    assert_eq!(t.acks(8, &[]), [44, 45, 46, 47]);
}

/// It is not deferred if the last one was sent more than 1 ms ago.
#[test]
fn nothing_waits_for_long() {
    let mut t = flying(Bursting::Deferred);
    t.wait(2);
    assert_eq!(t.acks(3, &[]), [42]);
}

/// An acknowledgement due later than in 1 ms is not waited for: the segments in front left 50 ms ago.
#[test]
fn nothing_waits_for_a_late_acknowledgement() {
    let mut t = flying(Bursting::Deferred);
    assert_eq!(t.acks(41, &[]).len(), 39);
    t.wait(50);
    // A window's worth has been acknowledged, so the window has grown by one.
    assert_eq!(t.acks(42, &[]), [81, 82]);
    assert_eq!(t.acks(43, &[]), [83]);
    assert_eq!(t.acks(44, &[]), [84]);
}

/// Nothing is deferred if bursts are prompt.
#[test]
fn waiting_can_be_turned_off() {
    let mut t = flying(Bursting::Prompt);
    assert_eq!(t.acks(3, &[]), [42]);
    assert_eq!(t.acks(4, &[]), [43]);
}
