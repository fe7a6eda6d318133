//! Spurious reductions and their detection: F-RTO (RFC 5682), D-SACK (RFC 3708), Eifel (RFC 3522, RFC 4015). Segments
//! are numbered from 1; the window is eight segments, in congestion avoidance.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_transport::tcp::Config;
use vazao_transport::tcp::Recovery::{self, NewReno, Rack, Reno, Sack};

const NOTHING: [u64; 0] = [];

fn config(recovery: Recovery) -> Config {
    let control = control("reno", 8, Some(8));
    Config { recovery, sack: recovery.is_selective(), undo: true, frto: true, control, ..plain() }
}

/// Sender that has just sent its first window and has `count` segments in all.
fn flying(config: Config, count: u64) -> Trace {
    let mut t = Trace::established(config);
    assert_eq!(t.writes_segments(count), (1..=count.min(8)).collect::<Vec<_>>());
    t
}

/// Sender with timestamps; the first window leaves at 101 on the endpoint's clock.
fn stamped(recovery: Recovery) -> Trace {
    let mut t = Trace::client(Config { timestamps: true, ..config(recovery) });
    t.sent();
    t.wait(100);
    t.gets("SYN 0:1 ack 1 mss 1012 sackok wscale 0 ts 500 1");
    assert_eq!(t.writes_segments(20), [1, 2, 3, 4, 5, 6, 7, 8]);
    t
}

fn windows(t: &Trace) -> (u64, u64) {
    (t.cwnd(), t.ssthresh())
}

// ---- F-RTO ----------------------------------------------------------------------------------------------------------

/// Sections 2.1 and 3.1: the answer to the retransmission releases two new segments; the next one covers original
/// transmissions, so the timeout was spurious. The window is restored, and nothing else is retransmitted.
#[test]
fn a_spurious_timeout_is_undone() {
    for recovery in [Reno, NewReno, Sack] {
        let mut t = flying(config(recovery), 40);
        assert_eq!(t.times_out(), [1]);
        assert_eq!(windows(&t), (1, 4));
        assert_eq!(t.acks(2, &[]), [9, 10]);
        // 3 to 10 are in flight.
        assert_eq!(t.acks(3, &[]), NOTHING, "{recovery:?}");
        assert_eq!(windows(&t), (8, 8));
        assert_eq!(t.acks(4, &[]), [11]);
        let stats = t.tcp.stats();
        assert_eq!((stats.retransmissions, stats.timeouts, stats.spurious_timeouts), (1, 1, 1));
    }
}

/// Step 3a: the new segments arrive and nothing before them does. Everything is retransmitted.
#[test]
fn a_true_timeout_is_repaired() {
    let mut t = flying(config(NewReno), 40);
    t.times_out();
    assert_eq!(t.acks(2, &[]), [9, 10]);
    // As far as is known, the new two are in flight: a window of three releases one more.
    assert_eq!(t.acks(2, &[]), [2]);
    assert_eq!((windows(&t), t.tcp.stats().spurious_timeouts), ((2, 4), 0));

    let mut t = flying(config(Sack), 40);
    t.times_out();
    assert_eq!(t.acks(2, &[]), [9, 10]);
    // 10 is in flight, and one more may be.
    assert_eq!(t.acks(2, &[(9, 9)]), [2]);
    assert_eq!((windows(&t), t.tcp.stats().spurious_timeouts), ((2, 4), 0));
}

/// Section 3.1 step 2: SACKs before the answer say nothing; section 3 step 3b: one for an original is decisive.
#[test]
fn with_sack_out_of_order_arrivals_decide_too() {
    let mut t = flying(config(Sack), 40);
    t.times_out();
    assert_eq!(t.acks(1, &[(3, 3)]), NOTHING);
    assert_eq!(t.tcp.stats().spurious_timeouts, 0);
    assert_eq!(t.acks(2, &[(3, 3)]), [9, 10]);
    t.acks(2, &[(3, 4)]);
    assert_eq!((windows(&t), t.tcp.stats().spurious_timeouts), ((8, 8), 1));
}

/// Step 2a: the first answer covers everything, so much may have arrived before. Step 2b: there is nothing new to send.
#[test]
fn an_ambiguous_answer_is_a_loss() {
    let mut t = flying(config(NewReno), 40);
    t.times_out();
    assert_eq!(t.acks(9, &[]), [9, 10, 11]);
    assert_eq!((windows(&t), t.tcp.stats().spurious_timeouts), ((3, 4), 0));

    let mut t = flying(config(NewReno), 8);
    t.times_out();
    assert_eq!(t.acks(2, &[]), [2, 3]);
    assert_eq!(t.acks(3, &[]).len(), 2);
    assert_eq!(t.tcp.stats().spurious_timeouts, 0);
}

/// Linux: with SACK the first answer decides, if it covers an original.
#[test]
fn linux_believes_the_first_answer() {
    let mut t = flying(config(Rack), 8);
    assert_eq!(t.times_out(), [8], "the tail is probed first");
    assert_eq!(t.times_out(), [1]);
    t.acks(4, &[]);
    assert_eq!((windows(&t), t.tcp.stats().spurious_timeouts), ((8, 8), 1));
    assert_eq!(t.acks(9, &[]), NOTHING);
    assert_eq!(t.tcp.stats().retransmissions, 2);
}

/// A second timeout that proves spurious undoes the first one's reduction too: there was only one (RFC 5681).
#[test]
fn a_repeated_timeout_is_undone() {
    let mut t = flying(config(Sack), 40);
    assert_eq!([t.times_out(), t.times_out()], [[1], [1]]);
    assert_eq!(t.acks(2, &[]), [9, 10]);
    t.acks(3, &[]);
    assert_eq!((windows(&t), t.tcp.stats().timeouts), ((8, 8), 2));
}

// ---- Eifel ----------------------------------------------------------------------------------------------------------

/// RFC 3522 section 3.2: the answer echoes a timestamp from before the retransmission.
#[test]
fn an_old_echo_undoes_a_timeout() {
    for recovery in [NewReno, Sack] {
        let mut t = stamped(recovery);
        assert_eq!(t.times_out(), [1]);
        t.gets("1:1 ack 1001 ts 501 101");
        assert_eq!((windows(&t), t.tcp.stats().spurious_timeouts), ((8, 8), 1), "{recovery:?}");

        let mut t = stamped(recovery);
        t.times_out();
        let sent = t.now.as_nanos() / 1_000_000 + 1;
        t.gets(&format!("1:1 ack 1001 ts 501 {sent}"));
        assert_eq!((t.ssthresh(), t.tcp.stats().spurious_timeouts), (4, 0), "{recovery:?}");
    }
}

/// Eifel after a fast recovery has ended: the first segment was overtaken by three.
#[test]
fn an_old_echo_undoes_a_recovery() {
    for (recovery, echo, expected) in
        [(NewReno, 101, 8), (Sack, 101, 8), (Rack, 101, 8), (NewReno, 201, 4), (Rack, 201, 4)]
    {
        let mut t = stamped(recovery);
        t.wait(100);
        for last in [2001, 3001, 4001] {
            let sack = if recovery == NewReno { String::new() } else { format!(" sack 1001:{last}") };
            t.gets(&format!("1:1 ack 1 ts 501 101{sack}"));
        }
        assert!(t.tcp.in_recovery());
        let all = t.tcp.flight() + 1;
        t.gets(&format!("1:1 ack {all} ts 502 {echo}"));
        assert!(!t.tcp.in_recovery());
        assert_eq!(t.ssthresh(), expected, "{recovery:?} {echo}");
        assert_eq!(t.tcp.stats().spurious_recoveries, u64::from(expected == 8));
    }
}

/// One recovery ends while its retransmission is in flight, so that the next begins at once with nothing to retransmit.
/// The acknowledgement is due to the earlier retransmission: the loss was real (as in Linux's
/// tcp_retrans_stamp_cleanup).
#[test]
fn a_recovery_that_takes_over_resends_stands() {
    let mut t = stamped(Rack);
    t.wait(100);
    for last in 2..=10 {
        t.gets(&format!("1:1 ack 1 ts 501 101 sack 1001:{last}001"));
    }
    // 1 is in flight again; of the segments released meanwhile, 11 was lost.
    t.wait(100);
    assert_eq!(t.gets("1:1 ack 1 ts 501 201 sack 11001:13001 1001:10001")[0], "10001:11001 ack 1 ts 301 501");
    t.gets("1:1 ack 10001 ts 502 201 sack 11001:13001");
    assert_eq!((t.tcp.stats().recoveries, t.ssthresh()), (2, 2));
    t.gets("1:1 ack 13001 ts 502 301");
    assert_eq!((t.tcp.stats().spurious_recoveries, t.ssthresh()), (0, 2));
}

// ---- D-SACK ---------------------------------------------------------------------------------------------------------

/// RFC 3708 section 2: everything retransmitted had arrived.
#[test]
fn a_reported_duplicate_undoes_a_recovery() {
    let mut t = flying(config(Sack), 40);
    assert_eq!((2..=4).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [9, 10, 1]);
    t.acks(11, &[]);
    assert_eq!((t.tcp.in_recovery(), t.ssthresh()), (false, 4));
    t.acks(11, &[(1, 1)]);
    assert_eq!(windows(&t), (8, 8));
    let stats = t.tcp.stats();
    assert_eq!((stats.spurious_recoveries, stats.spurious_retransmissions), (1, 1));
    // Duplicates made by the network are not due to retransmissions.
    t.acks(11, &[(5, 5)]);
    assert_eq!((t.tcp.stats().spurious_retransmissions, t.tcp.stats().duplicate_reports), (1, 2));
}

/// One of two was needed: the reduction stands.
#[test]
fn a_loss_among_duplicates_stands() {
    let mut t = flying(config(Sack), 40);
    assert_eq!((3..=5).flat_map(|last| t.acks(1, &[(3, last)])).collect::<Vec<_>>(), [9, 10, 1]);
    let again: Vec<u64> = (6..=10).flat_map(|last| t.acks(1, &[(3, last)])).collect();
    assert_eq!(again[0], 2);
    let next = again[again.len() - 1] + 1;
    t.acks(next, &[]);
    assert!(!t.tcp.in_recovery());
    t.acks(next, &[(2, 2)]);
    assert_eq!((t.ssthresh(), t.tcp.stats().spurious_recoveries), (4, 0));
}

/// Off by default for the older recoveries.
#[test]
fn nothing_is_undone_unless_enabled() {
    let mut t = flying(Config { undo: false, frto: false, ..config(Sack) }, 40);
    t.times_out();
    assert_eq!(t.acks(2, &[]), [2, 3]);
    t.acks(9, &[]);
    t.acks(9, &[(1, 1)]);
    assert_eq!((t.ssthresh(), t.tcp.stats().spurious_timeouts), (4, 0));
    assert_eq!(t.tcp.stats().spurious_retransmissions, 1);
}
