//! What each recovery sends after losses, segment by segment. Segments are numbered from 1; the window is constant
//! except for losses (congestion avoidance, with too few acknowledgements for a segment of growth).

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_transport::tcp::Recovery::{self, NewReno, Pipe, Reno, Sack, Tahoe, TahoeNoFastRetransmit};
use vazao_transport::tcp::{Config, SackProfile};

const NOTHING: [u64; 0] = [];

/// Sender that has just sent its first window of `window` segments and has `count` in all.
fn flying(recovery: Recovery, window: u64, count: u64) -> Trace {
    let mut t = Trace::sender(recovery, window);
    assert_eq!(t.writes_segments(count), (1..=window.min(count)).collect::<Vec<_>>());
    t
}

/// Delivers `count` duplicates of the acknowledgement for `next`; returns what each releases.
fn duplicates(t: &mut Trace, next: u64, count: usize) -> Vec<Vec<u64>> {
    (0..count).map(|_| t.acks(next, &[])).collect()
}

// ---- one loss -----------------------------------------------------------------------------------------------------

/// RFC 5681 section 3.2: the third duplicate retransmits and halves; each one beyond half a window releases a new
/// segment.
#[test]
fn one_loss_reno_and_newreno() {
    for recovery in [Reno, NewReno] {
        let mut t = flying(recovery, 8, 30);
        let sent = duplicates(&mut t, 1, 7);
        assert_eq!(sent, [vec![], vec![], vec![1], vec![], vec![9], vec![10], vec![11]]);
        assert!(t.tcp.in_recovery());
        // Everything up to 8 has arrived: the window deflates to ssthresh, of which 9, 10 and 11 take three.
        assert_eq!(t.acks(9, &[]), [12]);
        assert_eq!((t.cwnd(), t.ssthresh(), t.tcp.in_recovery()), (4, 4, false));
        let stats = t.tcp.stats();
        assert_eq!((stats.fast_retransmissions, stats.timeout_retransmissions, stats.recoveries), (1, 0, 1));
    }
}

/// Tahoe: one segment, then slow start up to half the old window.
#[test]
fn one_loss_tahoe() {
    let mut t = flying(Tahoe, 8, 30);
    assert_eq!(duplicates(&mut t, 1, 7), [vec![], vec![], vec![1], vec![], vec![], vec![], vec![]]);
    assert_eq!((t.cwnd(), t.ssthresh()), (1, 4));
    // RFC 3465's limit of two segments per acknowledgement.
    assert_eq!(t.acks(9, &[]), [9, 10, 11]);
    assert_eq!(t.cwnd(), 3);
}

#[test]
fn one_loss_without_fast_retransmit_waits_for_the_timer() {
    let mut t = flying(TahoeNoFastRetransmit, 8, 30);
    assert_eq!(duplicates(&mut t, 1, 7).concat(), NOTHING);
    assert_eq!(t.times_out(), [1]);
    assert_eq!((t.cwnd(), t.ssthresh()), (1, 4));
    assert_eq!(t.acks(9, &[]), [9, 10, 11]);
    let stats = t.tcp.stats();
    assert_eq!((stats.timeouts, stats.fast_retransmissions, stats.timeout_retransmissions), (1, 0, 1));
}

#[test]
fn one_loss_sack() {
    let mut t = flying(Sack, 8, 30);
    // Each SACK takes a segment off the network, so a new one may leave: RFC 3042 with RFC 6675's pipe.
    assert_eq!(t.acks(1, &[(2, 2)]), [9]);
    assert_eq!(t.acks(1, &[(2, 3)]), [10]);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
    assert_eq!((t.cwnd(), t.ssthresh()), (4, 4));
    // In the network: 5 to 10 and the retransmitted 1, so 7; then 6, 5, 4, and 3 of 4.
    assert_eq!([5, 6, 7].map(|last| t.acks(1, &[(2, last)])).concat(), NOTHING);
    assert_eq!(t.acks(1, &[(2, 8)]), [11]);
    assert_eq!(t.acks(9, &[]), [12]);
    assert!(t.tcp.in_recovery(), "9 and 10 left before the loss was seen");
    // 11 and 12 are left: the window is at most one more than that.
    assert_eq!(t.acks(11, &[]), [13]);
    assert!(!t.tcp.in_recovery());
}

// ---- two losses in a window ---------------------------------------------------------------------------------------

/// Fall and Floyd 1996: Reno leaves recovery at the first partial acknowledgement, and needs three more duplicates for
/// the second loss, for which it halves again. NewReno retransmits it at once, and halves once.
#[test]
fn two_losses_halve_reno_twice_and_newreno_once() {
    // Lost: 1 and 4 of 16; fourteen duplicates, of which the ninth is the first beyond half the window.
    let first_window = |t: &mut Trace| {
        let sent = duplicates(t, 1, 14);
        assert_eq!(sent[..8].concat(), [1]);
        assert_eq!(sent[8..].concat(), [17, 18, 19, 20, 21, 22]);
        assert_eq!(t.ssthresh(), 8);
    };
    let mut reno = flying(Reno, 16, 60);
    first_window(&mut reno);
    assert_eq!(reno.acks(4, &[]), NOTHING);
    assert!(!reno.tcp.in_recovery());
    assert_eq!(duplicates(&mut reno, 4, 6).concat(), [4]);
    assert_eq!((reno.ssthresh(), reno.tcp.stats().recoveries), (4, 2));

    let mut newreno = flying(NewReno, 16, 60);
    first_window(&mut newreno);
    // RFC 6582 section 3.2 step 3: deflated by three, inflated by one, 19 in flight of 8 + 12.
    assert_eq!(newreno.acks(4, &[]), [4, 23]);
    assert!(newreno.tcp.in_recovery());
    assert_eq!(duplicates(&mut newreno, 4, 6).concat(), [24, 25, 26, 27, 28, 29]);
    // Full acknowledgement: 23 to 29 are in flight, ssthresh is 8.
    assert_eq!(newreno.acks(23, &[]), [30]);
    assert_eq!((newreno.ssthresh(), newreno.tcp.stats().recoveries), (8, 1));
}

/// With a small window Reno gets too few duplicates for the second loss and waits for the timer.
#[test]
fn two_losses_in_a_small_window_cost_reno_a_timeout() {
    let mut t = flying(Reno, 8, 30);
    assert_eq!(duplicates(&mut t, 1, 6).concat(), [1, 9, 10]);
    assert_eq!(t.acks(4, &[]), NOTHING);
    assert_eq!(duplicates(&mut t, 4, 2).concat(), NOTHING);
    assert_eq!(t.times_out(), [4]);
    assert_eq!(t.tcp.stats().timeouts, 1);
}

/// Tahoe goes back: data that had arrived beyond the first loss is sent again too.
#[test]
fn two_losses_tahoe() {
    let mut t = flying(Tahoe, 8, 30);
    assert_eq!(duplicates(&mut t, 1, 6).concat(), [1]);
    assert_eq!(t.acks(3, &[]), [3, 4, 5]);
    assert_eq!(t.acks(9, &[]).first(), Some(&9));
    assert_eq!((t.ssthresh(), t.tcp.stats().fast_retransmissions), (4, 4));
}

#[test]
fn two_losses_sack() {
    let mut t = flying(Sack, 8, 30);
    // Lost: 1 and 4.
    assert_eq!(t.acks(1, &[(2, 2)]), [9]);
    assert_eq!(t.acks(1, &[(2, 3)]), [10]);
    assert_eq!(t.acks(1, &[(5, 5), (2, 3)]), [1]);
    assert_eq!(t.acks(1, &[(5, 6), (2, 3)]), NOTHING);
    // Three segments above 4: it is lost too. In the network: 8, 9, 10 and the retransmitted 1.
    assert_eq!(t.acks(1, &[(5, 7), (2, 3)]), NOTHING);
    assert_eq!(t.acks(1, &[(5, 8), (2, 3)]), [4]);
    assert_eq!(t.acks(1, &[(5, 9), (2, 3)]), [11]);
    assert_eq!(t.acks(1, &[(5, 10), (2, 3)]), [12]);
    assert_eq!(t.acks(4, &[(5, 10)]), [13]);
    assert_eq!(t.acks(11, &[]), [14]);
    assert_eq!((t.ssthresh(), t.tcp.stats().recoveries, t.tcp.stats().retransmissions), (4, 1, 2));
}

// ---- a burst ------------------------------------------------------------------------------------------------------

/// NewReno repairs one loss per round trip; the impatient variant's timer starts with the first partial acknowledgement
/// (RFC 6582 section 4).
#[test]
fn a_burst_costs_newreno_a_round_trip_each() {
    let mut t = flying(NewReno, 10, 60);
    // Lost: 1 to 5.
    assert_eq!(duplicates(&mut t, 1, 5).concat(), [1]);
    t.wait(100);
    assert_eq!(t.acks(2, &[]), [2, 11]);
    let timer = t.tcp.next_timeout();
    t.wait(100);
    assert_eq!(t.acks(3, &[]), [3, 12]);
    t.wait(100);
    assert_eq!(t.acks(4, &[]), [4, 13]);
    assert_eq!(t.tcp.next_timeout(), timer, "only the first partial acknowledgement restarts the timer");
    assert_eq!(t.tcp.stats().recoveries, 1);
}

/// SACK repairs them in one: each arrival releases one segment, lost ones first.
#[test]
fn a_burst_costs_sack_one_round_trip() {
    let mut t = flying(Sack, 10, 60);
    // Lost: 1 to 5.
    assert_eq!(t.acks(1, &[(6, 6)]), [11]);
    assert_eq!(t.acks(1, &[(6, 7)]), [12]);
    assert_eq!(t.acks(1, &[(6, 8)]), [1]);
    assert_eq!([9, 10, 11, 12].map(|last| t.acks(1, &[(6, last)])).concat(), [2, 3, 4, 5]);
    assert_eq!([2, 3, 4, 5].map(|next| t.acks(next, &[(6, 12)])).concat(), [13, 14, 15, 16]);
    assert_eq!(t.acks(13, &[]), [17]);
    assert_eq!((t.cwnd(), t.ssthresh(), t.tcp.in_recovery()), (5, 5, false));
}

/// The pipe of Fall and Floyd 1996 (section 4) takes no losses off: of ten in flight seven are counted at the third
/// duplicate, so the holes wait until fewer are than half a window. A partial acknowledgement takes two off.
#[test]
fn a_burst_is_still_in_the_pipe() {
    let mut t = flying(Pipe, 10, 60);
    // Lost: 1 to 5.
    assert_eq!(t.acks(1, &[(6, 6)]), [11]);
    assert_eq!(t.acks(1, &[(6, 7)]), [12]);
    assert_eq!(t.acks(1, &[(6, 8)]), [1]);
    // Nine are counted: twelve less three. Five may be.
    assert_eq!([9, 10, 11, 12].map(|last| t.acks(1, &[(6, last)])).concat(), NOTHING);
    assert_eq!(t.acks(2, &[(6, 12)]), [2, 3]);
    assert_eq!(t.acks(3, &[(6, 12)]), [4, 5]);
    assert_eq!(t.acks(4, &[(6, 12)]), [13, 14]);
    assert_eq!(t.acks(13, &[]), [15, 16, 17]);
    assert_eq!((t.cwnd(), t.ssthresh(), t.tcp.in_recovery()), (5, 5, false));
}

/// RFC 2018 section 5.1: after a timeout the pipe's sender takes nothing for SACKed.
#[test]
fn a_timeout_forgets_the_pipes_scoreboard() {
    let mut t = flying(Pipe, 8, 12);
    let sent: Vec<u64> = (2..=8).flat_map(|last| t.acks(1, &[(2, last)])).collect();
    assert_eq!(sent, [9, 10, 1, 11]);
    assert_eq!(t.times_out(), [1]);
    assert_eq!(t.acks(2, &[]), [2, 3]);
}

/// RFC 6582 deflates by all that a partial acknowledgement covers, even if lost duplicates had inflated less.
#[test]
fn a_partial_acknowledgement_deflates_below_ssthresh() {
    let mut t = flying(NewReno, 20, 60);
    // Lost: 1 and 20, and all duplicates but three.
    assert_eq!(duplicates(&mut t, 1, 3).concat(), [1]);
    // 10 + 3 - 19 + 1 is below one segment: the hole is retransmitted, nothing new is sent.
    assert_eq!(t.acks(20, &[]), [20]);
    assert_eq!(t.acks(21, &[]), [21, 22]);
    assert_eq!(t.cwnd(), 2, "one more than max(FlightSize, 1) (RFC 6582 section 3.2 step 3 option 1)");
}

// ---- loss of a retransmission, of the last segment ------------------------------------------------------------------

#[test]
fn a_lost_retransmission_needs_the_timer() {
    for recovery in [Reno, NewReno, Tahoe] {
        let mut t = flying(recovery, 8, 12);
        duplicates(&mut t, 1, 7);
        assert_eq!(t.times_out(), [1], "{recovery:?}");
        assert_eq!((t.cwnd(), t.tcp.in_recovery()), (1, false));
        assert_eq!(t.tcp.stats().timeouts, 1);
    }
    let mut t = flying(Sack, 8, 12);
    let sent: Vec<u64> = (2..=8).flat_map(|last| t.acks(1, &[(2, last)])).collect();
    assert_eq!(sent, [9, 10, 1, 11]);
    assert_eq!(t.times_out(), [1]);
    // SACKed data is not retransmitted, everything else is.
    assert_eq!(t.acks(9, &[]), [9, 10, 11]);
    assert_eq!(t.tcp.stats().timeout_retransmissions, 4);
}

#[test]
fn the_last_segment_lost_needs_the_timer() {
    for (_, recovery) in Recovery::ALL {
        let mut t = flying(*recovery, 8, 4);
        assert_eq!(t.acks(4, &[]), NOTHING);
        assert_eq!(t.times_out(), [4], "{recovery:?}");
        assert_eq!(t.acks(5, &[]), NOTHING);
        assert_eq!(t.tcp.flight(), 0);
    }
}

/// RFC 2018 section 8: a receiver may renege; after a timeout everything is retransmitted.
#[test]
fn a_receiver_that_reneges_is_served() {
    let mut t = flying(Sack, 8, 8);
    assert_eq!((2..=4).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [1]);
    // 1 arrives, and 2 to 4 are gone.
    t.acks(2, &[]);
    assert_eq!(t.times_out(), [2]);
    assert_eq!(t.acks(3, &[]), [3, 4]);
}

// ---- RFC 6675 in detail ---------------------------------------------------------------------------------------------

/// IsLost by octets: more than (DupThresh - 1) segments' worth above, in one acknowledgement.
#[test]
fn is_lost_by_octets() {
    let mut t = flying(Sack, 8, 8);
    assert_eq!(t.acks(1, &[(2, 3)]), NOTHING, "two segments' worth is not more than two");
    let mut t = flying(Sack, 8, 8);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
}

/// IsLost by three separate ranges, however few octets.
#[test]
fn is_lost_by_ranges() {
    let mut t = Trace::established(Config { sack: true, recovery: Sack, ..plain() });
    (0..8).for_each(|_| assert_eq!(t.writes(100).len(), 1));
    assert!(t.gets("1:1 ack 1 sack 501:601 301:401").is_empty());
    // Three ranges lie above the first three segments. Then, as the window has room, possibly lost segments; nothing
    // twice.
    let sent = ["1:101 ack 1", "101:201 ack 1", "201:301 ack 1", "401:501 ack 1", "601:701 ack 1"];
    assert_eq!(t.gets("1:1 ack 1 sack 701:801 501:601 301:401"), sent);
    assert_eq!(t.tcp.stats().recoveries, 1);
}

/// NextSeg rule 3: with nothing known lost and nothing new, possibly lost segments.
#[test]
fn without_new_data_possible_losses_are_retransmitted() {
    let mut t = flying(Sack, 6, 6);
    // Lost: 1 and 4. Only two segments above 4, so it is not known to be lost.
    assert_eq!(t.acks(1, &[(2, 2)]), NOTHING);
    assert_eq!(t.acks(1, &[(2, 3)]), NOTHING);
    assert_eq!(t.acks(1, &[(5, 5), (2, 3)]), [1]);
    assert_eq!(t.acks(1, &[(5, 6), (2, 3)]), [4]);
    assert_eq!(t.acks(7, &[]), NOTHING);
    assert_eq!(t.tcp.stats().timeouts, 0);
}

/// NextSeg rule 4, the rescue retransmission: the last segment, once.
#[test]
fn the_last_segment_is_rescued_once() {
    let mut t = flying(Sack, 6, 6);
    // Lost: 1 and 6.
    assert_eq!([(2, 2), (2, 3)].map(|block| t.acks(1, &[block])).concat(), NOTHING);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
    // In the network: the retransmitted 1 and 6; three are allowed.
    assert_eq!(t.acks(1, &[(2, 5)]), [6]);
    assert_eq!(t.acks(6, &[]), NOTHING, "once an episode");
    assert_eq!(t.acks(7, &[]), NOTHING);
}

/// ns-3's NextSeg (tcp-tx-buffer.cc in 3.37) applies rule 3 to the first segment neither SACKed nor retransmitted,
/// without comparing it with the highest SACKed octet as criterion 1.b requires: while only 1 is lost, 7 and 8 are sent
/// again.
#[test]
fn ns3_retransmits_the_end_in_flight() {
    for (sack_profile, again) in [(SackProfile::Rfc, vec![8]), (SackProfile::Ns3, vec![7, 8])] {
        let reno = control("reno", 8, Some(8));
        let config = Config { recovery: Sack, sack: true, control: reno, sack_profile, ..plain() };
        let mut t = Trace::established(config);
        t.writes_segments(8);
        assert_eq!([2, 3, 4].map(|end| t.acks(1, &[(2, end)])), [vec![], vec![], vec![1]]);
        // Four may be in the network: the retransmitted 1, and what is left of 5 to 8.
        assert_eq!([5, 6, 7].map(|end| t.acks(1, &[(2, end)])).concat(), again);
        assert_eq!(t.acks(9, &[]), NOTHING);
    }
}

/// An acknowledgement of old data, or without new information, is no duplicate (section 2).
#[test]
fn only_new_information_is_a_duplicate() {
    let mut t = flying(Sack, 8, 30);
    assert_eq!(t.acks(1, &[(2, 2)]), [9]);
    assert_eq!([(); 5].map(|()| t.acks(1, &[(2, 2)])).concat(), NOTHING);
    assert_eq!((t.tcp.stats().duplicate_acks, t.tcp.in_recovery()), (1, false));
}

/// Data sent during an episode is repaired in it too (NextSeg rule 1 knows no RecoveryPoint). If such a repair is lost,
/// three more duplicates after the episode repair it without the timer.
#[test]
fn three_more_duplicates_repair_a_lost_repair() {
    let mut t = flying(Sack, 8, 40);
    // Lost: 1, then 10 and 11, then 11 again.
    assert_eq!((2..=8).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [9, 10, 1, 11]);
    assert_eq!(t.acks(9, &[]), [12]);
    assert_eq!(t.acks(10, &[]), [13]);
    assert_eq!(t.acks(10, &[(12, 12)]), [14]);
    assert_eq!(t.acks(10, &[(12, 13)]), [15]);
    assert_eq!(t.acks(10, &[(12, 14)]), [10, 11, 16]);
    assert_eq!(t.acks(10, &[(12, 15)]), [17]);
    assert!(t.tcp.in_recovery());
    assert_eq!(t.acks(11, &[(12, 15)]), [18]);
    assert!(!t.tcp.in_recovery());
    assert_eq!(t.acks(11, &[(12, 16)]), [19]);
    assert_eq!(t.acks(11, &[(12, 17)]), [20]);
    assert_eq!(t.acks(11, &[(12, 18)]), [11]);
    assert_eq!(t.tcp.stats().recoveries, 2);
}

// ---- duplicates, limited transmit, early retransmit -------------------------------------------------------------------

/// RFC 3042: one new segment for each of the first two duplicates.
#[test]
fn limited_transmit() {
    let config = Config { limited_transmit: true, control: control("reno", 4, Some(4)), ..plain() };
    let mut t = Trace::established(config);
    assert_eq!(t.writes_segments(20), [1, 2, 3, 4]);
    assert_eq!(t.acks(1, &[]), [5]);
    assert_eq!(t.acks(1, &[]), [6]);
    assert_eq!(t.acks(1, &[]), [1]);
    // FlightSize does not count what limited transmit sent (RFC 5681 section 3.2 step 2).
    assert_eq!(t.ssthresh(), 2);
}

/// RFC 5681 section 2: a duplicate has no data, no FIN, and the same window.
#[test]
fn what_is_not_a_duplicate() {
    let mut t = flying(NewReno, 8, 30);
    for line in ["1:1 ack 1 win 59000", "1:1 ack 1 win 58000", "1:501 ack 1 win 58000", "501:1001 ack 1 win 58000"] {
        t.gets(line);
    }
    assert_eq!(t.tcp.stats().duplicate_acks, 0);
}

/// RFC 6582 section 3.2 step 2: after a timeout, duplicates caused by its retransmissions start nothing.
#[test]
fn duplicates_after_a_timeout_prove_nothing() {
    let mut t = flying(NewReno, 8, 30);
    assert_eq!(t.times_out(), [1]);
    assert_eq!(t.acks(2, &[]), [2, 3]);
    assert_eq!(duplicates(&mut t, 2, 5).concat(), NOTHING);
    assert_eq!(t.tcp.stats().recoveries, 0);
}

/// Brakmo and Peterson 1995: one duplicate suffices once the segment is older than the fine-grained timeout; the window
/// is inflated by the one segment that has left the network.
#[test]
fn vegas_retransmits_early() {
    let mut t = Trace::established(Config { control: control("vegas", 4, Some(4)), ..plain() });
    assert_eq!(t.writes_segments(2), [1, 2]);
    t.wait(100);
    assert_eq!(t.acks(3, &[]), NOTHING);
    assert_eq!(t.writes_segments(4), [3, 4, 5, 6]);
    t.wait(100);
    assert_eq!(t.acks(3, &[]), NOTHING, "it is not older than a round trip");
    t.wait(250);
    assert_eq!(t.acks(3, &[]), [3], "srtt + 4 rttvar is at most 300 ms");
    assert_eq!(t.tcp.stats().fast_retransmissions, 1);
}

/// RFC 9937 section 6.2: while the flight is above ssthresh, n arriving segments release ceil(n ssthresh / RecoverFS).
/// Ten are in flight, two more leave by limited transmit; two of the twelve had been SACKed before the recovery, so
/// RecoverFS is ten, and ssthresh five: the flight is at the threshold when the ten have arrived. Without PRR (RFC 6675)
/// nothing leaves until the flight is below ssthresh, and then one segment for each.
#[test]
fn prr_leaves_out_what_was_sacked_before_the_recovery() {
    let sent_after = |prr| {
        let control = control("reno", 10, Some(10));
        let mut t = Trace::established(Config { recovery: Sack, sack: true, prr, control, ..plain() });
        t.writes_segments(60);
        assert_eq!((t.acks(1, &[(2, 2)]), t.acks(1, &[(2, 3)])), (vec![11], vec![12]));
        let mut sent = 0;
        let mut sums = Vec::new();
        for last in 4..=9 {
            sent += t.acks(1, &[(2, last)]).len();
            sums.push(sent);
        }
        sums
    };
    assert_eq!(sent_after(true), (1..=6).map(|n: usize| (5 * n).div_ceil(10)).collect::<Vec<_>>());
    assert_eq!(sent_after(false), [1, 1, 1, 1, 1, 2]);
}

/// RFC 6675 section 5 updates the scoreboard on any acknowledgement, even a reordered one: with 4, 6 and 8 arrived,
/// three ranges lie above 2. RACK (RFC 8985 section 6.2) has no wait after three segments either.
#[test]
fn a_late_acknowledgement_updates_the_scoreboard() {
    for recovery in [Sack, Recovery::Rack] {
        let mut t = flying(recovery, 8, 8);
        t.wait(100);
        assert_eq!(t.acks(2, &[(4, 4)]), NOTHING, "{recovery:?}");
        let sent = t.acks(1, &[(8, 8), (6, 6)]);
        assert_eq!(sent.first(), Some(&2), "{recovery:?}");
        assert!(t.tcp.in_recovery());
        // It says nothing about acknowledged data, nor about round-trip times.
        assert_eq!((t.tcp.acknowledged_bytes(), t.tcp.rtt().latest().as_nanos() / 1_000_000), (1_000, 100));
    }
}

/// Data that it reports is not retransmitted: 3, for which the acknowledgement that 1 released had no room.
#[test]
fn data_sacked_late_is_not_retransmitted() {
    let mut t = flying(Sack, 16, 16);
    assert_eq!(t.acks(2, &[(11, 11), (9, 9), (7, 7), (5, 5)]), [2]);
    assert_eq!(t.acks(1, &[(9, 9), (7, 7), (5, 5), (3, 3)]), NOTHING);
    assert_eq!(t.acks(2, &[(13, 16)])[..2], [4, 6]);
}

/// RFC 2883 section 4: a report below the acknowledgement itself is a duplicate, late or not; a report of data
/// acknowledged since by others is not new.
#[test]
fn a_late_acknowledgement_may_report_a_duplicate() {
    let mut t = flying(Sack, 8, 8);
    assert_eq!(t.acks(6, &[]), NOTHING);
    assert_eq!(t.acks(4, &[(2, 2)]), NOTHING);
    assert_eq!(t.acks(2, &[(4, 5)]), NOTHING);
    assert_eq!((t.tcp.stats().duplicate_reports, t.tcp.stats().duplicate_acks), (1, 0));
}
