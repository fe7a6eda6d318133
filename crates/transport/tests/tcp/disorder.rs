//! Segments and acknowledgements out of order, where Linux (net/ipv4/tcp_input.c, tcp_recovery.c of 6.12) goes its own way.
//! Segments are numbered from 1; the round-trip time is 100 ms; the first window leaves at 101 on the endpoint's clock.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_transport::tcp::Recovery::Rack;
use vazao_transport::tcp::{Config, Host};

const NOTHING: [u64; 0] = [];

/// Sender with timestamps whose window left a round trip ago, of 30 segments in all; the peer's clock is at 600.
fn stamped(host: Host, window: u64, ssthresh: Option<u64>) -> Trace {
    let control = control("reno", window, ssthresh);
    let mut t =
        Trace::client(Config { recovery: Rack, sack: true, undo: true, timestamps: true, host, control, ..plain() });
    t.sent();
    t.wait(100);
    t.gets("SYN 0:1 ack 1 mss 1012 sackok wscale 0 ts 500 1");
    assert_eq!(t.writes_segments(30).len() as u64, window);
    t.wait(100);
    t
}

/// First octets of the segments that answer a line.
fn starts(t: &mut Trace, line: &str) -> Vec<u64> {
    let start = |line: &String| line.split(':').next().and_then(|start| start.parse::<u64>().ok()).expect("data");
    t.gets(line).iter().map(start).collect()
}

/// RFC 7323 section 5.3 drops what has an older timestamp than the last. Linux lets a duplicate acknowledgement pass that
/// another one has overtaken, for its SACK blocks (tcp_disordered_ack), and whatever is a tick late (TCP_PAWS_WINDOW).
#[test]
fn linux_forgives_an_overtaken_acknowledgement() {
    for (host, sacked) in [(Host::Rfc, 1), (Host::Linux, 2)] {
        let mut t = stamped(host, 8, Some(8));
        t.gets("1:1 ack 1 ts 610 101 sack 3001:4001");
        t.gets("1:1 ack 1 ts 600 101 sack 1001:2001");
        assert_eq!(t.tcp.sacked_segments(), sacked, "{host:?}");
    }
    let mut t = stamped(Host::Linux, 8, Some(8));
    t.gets("1:1 ack 1001 ts 610 101");
    t.gets("1:1 ack 2001 ts 608 101");
    assert_eq!(t.tcp.acknowledged_bytes(), 1_000, "it acknowledges more: no duplicate");
    t.gets("1:1 ack 2001 ts 609 101");
    assert_eq!(t.tcp.acknowledged_bytes(), 2_000);
}

/// Data that was SACKed first grows the window in Linux once segments were out of order by more than three
/// (tcp_may_raise_cwnd): 1 arrives behind 6, and then 7 and 8 before 2.
#[test]
fn linux_grows_by_what_is_sacked_in_disorder() {
    for (host, grown) in [(Host::Rfc, 0), (Host::Linux, 2)] {
        let mut t = stamped(host, 8, None);
        t.gets("1:1 ack 1 ts 600 101 sack 5001:6001");
        t.gets("1:1 ack 1001 ts 601 101 sack 5001:6001");
        let before = t.cwnd();
        t.gets("1:1 ack 1001 ts 602 101 sack 5001:8001");
        assert_eq!(t.cwnd() - before, grown, "{host:?}");
    }
}

/// The timer calls 1 and 2 lost, and 1 is sent again. Its original arrives, so nothing was lost. Linux's RACK has taken 2 off
/// its list then, and leaves it to the retransmission timer (tcp_rack_detect_loss); RFC 8985 finds it lost once more.
#[test]
fn linux_judges_a_segment_once() {
    for (host, resent) in [(Host::Rfc, 2), (Host::Linux, 1)] {
        let mut t = stamped(host, 8, Some(8));
        t.gets("1:1 ack 1 ts 600 101 sack 2001:3001");
        t.wait(27);
        assert_eq!(t.tcp.stats().retransmissions, 1);
        t.wait(103);
        t.gets("1:1 ack 1001 ts 730 101 sack 2001:3001");
        t.wait(50);
        assert_eq!((t.tcp.stats().spurious_recoveries, t.tcp.stats().retransmissions), (1, resent), "{host:?}");
    }
}

/// The wait for 1 is over after 25 ms, and two more until Linux's timer expires. An acknowledgement of nothing new in these
/// has RACK look for no losses there (tcp_rack_mark_lost).
#[test]
fn linux_looks_for_losses_when_something_arrives() {
    let mut t = stamped(Host::Linux, 8, Some(8));
    t.gets("1:1 ack 1 ts 600 101 sack 1001:2001");
    assert!(t.wait(26).is_empty());
    assert_eq!(starts(&mut t, "1:1 ack 1 ts 601 101 sack 1001:2001"), NOTHING);
    assert_eq!(t.wait(1).len(), 1);
}

/// 1 to 6 count as lost and three are sent again. The original of 1 arrives: while retransmissions are in flight Linux sends
/// new data rather than 4 (tcp_try_undo_partial).
#[test]
fn linux_repairs_nothing_when_a_loss_was_none() {
    for (host, first) in [(Host::Rfc, 3_001), (Host::Linux, 12_001)] {
        let mut t = stamped(host, 12, Some(12));
        assert_eq!(starts(&mut t, "1:1 ack 1 ts 600 101 sack 6001:9001"), [1, 1_001, 2_001]);
        assert_eq!(starts(&mut t, "1:1 ack 1001 ts 601 101 sack 6001:10001")[0], first, "{host:?}");
    }
}
