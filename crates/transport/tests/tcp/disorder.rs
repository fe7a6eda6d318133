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

/// Sender without timestamps whose window of eight left a round trip ago, with more to send.
fn flying(host: Host) -> Trace {
    let control = control("reno", 8, Some(8));
    let mut t = Trace::client(Config { recovery: Rack, sack: true, undo: true, host, control, ..plain() });
    t.sent();
    t.wait(100);
    t.gets("SYN 0:1 ack 1 mss 1000 sackok wscale 0");
    assert_eq!(t.writes_segments(60).len(), 8);
    t.wait(100);
    t
}

/// One acknowledgement covers 1 and 2 and shows 3 to be lost. Linux looks for losses first (tcp_ack): the window does not grow
/// before it comes down, and when the loss proves none, what was restored grows by two.
#[test]
fn linux_does_not_grow_the_window_that_it_reduces() {
    for (host, cwnd) in [(Host::Rfc, 12), (Host::Linux, 10)] {
        let mut t = stamped(host, 8, None);
        t.gets("1:1 ack 2001 ts 600 101 sack 3001:6001");
        assert!(t.tcp.in_recovery(), "{host:?}");
        t.gets("1:1 ack 8001 ts 601 101");
        assert_eq!((t.tcp.stats().spurious_recoveries, t.cwnd()), (1, cwnd), "{host:?}");
    }
}

/// An acknowledgement that another one has overtaken tells of 4 to 7, so that 3 is lost. It never comes to tcp_cong_control:
/// the window is still eight, of which three are in flight.
#[test]
fn an_overtaken_acknowledgement_leaves_linuxs_window() {
    for (host, sent) in [(Host::Rfc, vec![3]), (Host::Linux, vec![3, 11, 12, 13, 14])] {
        let mut t = flying(host);
        assert_eq!(t.acks(3, &[]), [9, 10]);
        assert_eq!(t.acks(1, &[(4, 7)]), sent, "{host:?}");
        assert!(t.tcp.in_recovery());
    }
}

/// The only retransmission is reported as a duplicate. Linux ends the recovery then (tcp_try_undo_dsack), whatever else is in
/// flight.
#[test]
fn linux_undoes_a_recovery_under_way_by_duplicates() {
    for (host, undone) in [(Host::Rfc, 0), (Host::Linux, 1)] {
        let mut t = flying(host);
        assert_eq!(t.acks(1, &[(2, 4)]), [1]);
        t.acks(1, &[(1, 1), (1, 4)]);
        assert_eq!((t.tcp.stats().spurious_recoveries, t.tcp.in_recovery()), (undone, undone == 0), "{host:?}");
    }
}

/// More reports than retransmissions: the network repeats segments, and none of them undoes anything (tcp_dsack_seen).
#[test]
fn linux_believes_no_more_reports_than_it_sent_again() {
    let mut t = flying(Host::Linux);
    t.acks(2, &[]);
    assert_eq!(t.acks(2, &[(1, 1)]), NOTHING);
    assert_eq!(t.acks(2, &[(3, 5)])[0], 2);
    t.acks(2, &[(2, 2), (2, 5)]);
    assert_eq!((t.tcp.stats().spurious_recoveries, t.tcp.in_recovery()), (0, true));
}

/// 1 was sent again when a quarter of the round trip had passed, and was late. RFC 8985 widens its window by a quarter for the
/// D-SACK; Linux, which has seen no reordering, does not (tcp_dsack_seen). Its timers are two milliseconds longer.
#[test]
fn linux_widens_its_wait_only_where_it_saw_reordering() {
    for (host, first, second) in [(Host::Rfc, 25, 50), (Host::Linux, 27, 27)] {
        let mut t = flying(host);
        assert_eq!(t.acks(1, &[(2, 2)]), [9]);
        assert_eq!(t.wait(first).len(), 1, "{host:?}");
        let next = t.acks(10, &[]).last().map_or(10, |last| last + 1);
        t.acks(10, &[(1, 1)]);
        t.wait(100);
        let resent = t.tcp.stats().retransmissions;
        t.acks(10, &[(11, 11)]);
        t.wait(second - 1);
        assert_eq!(t.tcp.stats().retransmissions, resent, "{host:?} {next}");
        t.wait(1);
        assert_eq!(t.tcp.stats().retransmissions, resent + 1, "{host:?}");
    }
}

/// 1 to 6 count as lost, and 1 to 3 are sent again; the original of 1 is late. Linux has seen reordering then
/// (tcp_check_sack_reordering): what overtakes the copies of 2 and 3 does not show them to be lost at once.
#[test]
fn linux_waits_once_a_loss_was_none() {
    let mut t = stamped(Host::Linux, 12, Some(12));
    assert_eq!(starts(&mut t, "1:1 ack 1 ts 600 101 sack 6001:9001"), [1, 1_001, 2_001]);
    assert_eq!(starts(&mut t, "1:1 ack 1001 ts 601 101 sack 6001:10001")[0], 12_001);
    t.wait(100);
    let sent = starts(&mut t, "1:1 ack 1001 ts 701 201 sack 12001:13001 6001:10001");
    assert!(sent.iter().all(|&start| start > 2_001), "{sent:?}");
}

/// 1 is sent again, and 5 to 7, which left before that, take their time: the copy of 1 cannot have been answered yet. Linux,
/// whose timeout is 300 ms, starts the timer anew with each of them (tcp_clean_rtx_queue); by RFC 6298 it is 1 s, and expires.
#[test]
fn linux_waits_while_what_left_before_the_retransmission_arrives() {
    for (host, apart, timeouts) in [(Host::Rfc, 400, 1), (Host::Linux, 150, 0)] {
        let mut t = stamped(host, 8, Some(8));
        assert_eq!(starts(&mut t, "1:1 ack 1 ts 600 101 sack 1001:5001")[0], 1);
        for last in 5..8 {
            t.wait(apart);
            t.gets(&format!("1:1 ack 1 ts 600 101 sack 1001:{last}001"));
        }
        assert_eq!(t.tcp.stats().timeouts, timeouts, "{host:?}");
        t.wait(2_000);
        assert!(t.tcp.stats().timeouts > 0, "nothing restarts it any more: {host:?}");
    }
}
