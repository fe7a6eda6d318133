//! Time-based recovery: RACK and TLP (RFC 8985) with PRR (RFC 9937). Segments are numbered from 1; the round-trip time
//! is 100 ms, from the handshake; segments sent together are distinguished by their order.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_engine::Duration;
use vazao_transport::ByteStream;
use vazao_transport::tcp::Recovery::Rack;
use vazao_transport::tcp::{Config, Host};

const NOTHING: [u64; 0] = [];

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Sender that sent its first window of `window` segments a round trip ago and has `count` in all.
fn flying(window: u64, count: u64) -> Trace {
    let mut t = Trace::sender(Rack, window);
    assert_eq!(t.writes_segments(count), (1..=window.min(count)).collect::<Vec<_>>());
    assert!(t.wait(100).is_empty());
    t
}

/// Sender with a window of eight segments and a measured timeout of 300 ms.
fn established() -> Trace {
    let control = control("reno", 8, Some(8));
    let config = Config { recovery: Rack, sack: true, min_rto: Duration::from_millis(10), control, ..plain() };
    Trace::established(config)
}

/// RFC 8985 section 6.2 step 4: three segments have overtaken the first, so there is no wait.
#[test]
fn three_segments_that_overtake_prove_a_loss() {
    let mut t = flying(8, 30);
    assert_eq!(t.acks(1, &[(2, 2)]), [9]);
    assert_eq!(t.acks(1, &[(2, 3)]), [10]);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
    assert!(t.tcp.in_recovery());
    assert_eq!(t.ssthresh(), 4);
}

/// Fewer than three: the wait is a quarter of the minimum round-trip time.
#[test]
fn the_reordering_window_is_a_quarter_of_the_least_round_trip() {
    let mut t = flying(4, 4);
    assert_eq!(t.acks(1, &[(2, 2)]), NOTHING);
    assert!(t.wait(24).is_empty());
    assert_eq!(t.wait(1), ["1:1001 ack 1"]);
    assert_eq!((t.tcp.stats().recoveries, t.tcp.stats().timeouts), (1, 0));
}

/// Section 6.2 step 5: one timer for all overtaken segments, set to the longest wait. 1 and 2 left 5 ms before 3.
#[test]
fn overtaken_segments_are_lost_together() {
    let mut t = Trace::sender(Rack, 4);
    assert_eq!(t.writes_segments(2), [1, 2]);
    t.wait(5);
    assert_eq!(t.writes_segments(2), [3, 4]);
    t.wait(100);
    assert_eq!(t.acks(1, &[(4, 4)]), NOTHING);
    assert!(t.wait(24).is_empty());
    assert_eq!(t.wait(1).first().map(String::as_str), Some("1:1001 ack 1"));
}

/// Linux's tcp_rack_mark_lost adds 2 ms and counts in jiffies: at 100 Hz the 27 ms from 100 on are three ticks, plus
/// one so that the timer is not early.
#[test]
fn linux_waits_for_its_clock() {
    let clock = |tick| Config { recovery: Rack, sack: true, tick: Duration::from_millis(tick), ..plain() };
    let linux = |tick| Config { host: Host::Linux, control: control("reno", 4, Some(4)), ..clock(tick) };
    for (tick, wait) in [(0, 27), (1, 28), (10, 40)] {
        let mut t = Trace::established(linux(tick));
        assert_eq!(t.writes_segments(4), [1, 2, 3, 4]);
        t.wait(100);
        t.acks(1, &[(2, 2)]);
        assert!(t.wait(wait - 1).is_empty(), "{tick}");
        assert_eq!(t.wait(1).first().map(String::as_str), Some("1:1001 ack 1"), "{tick}");
    }
}

/// RFC 9937's RecoverFS is the flight: with a window of 32, half of it in use, the segment that starts the recovery and
/// two more release ceil(3 * 8 / 16) = 2. Linux uses the window (tcp_cwnd_reduction's prior_cwnd): ceil(3 * 8 / 32) =
/// 1.
#[test]
fn linux_reduces_in_proportion_to_the_window() {
    for (host, sent) in [(Host::Rfc, vec![17]), (Host::Linux, vec![])] {
        let control = control("reno", 32, Some(32));
        let mut t = Trace::established(Config { recovery: Rack, sack: true, host, control, ..plain() });
        assert_eq!(t.writes_segments(16).len(), 16);
        t.wait(100);
        assert_eq!((2..=4).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [1]);
        assert_eq!((t.ssthresh(), t.writes_segments(20)), (8, vec![]), "{host:?}");
        assert_eq!((5..=6).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), sent, "{host:?}");
    }
}

/// A recovery started by the timer counts a segment as delivered in Linux (tcp_rack_reo_timeout): with two more, ceil(3
/// * 4 / 8) is 2, of which one was the retransmission; elsewhere ceil(2 * 4 / 8) is 1.
#[test]
fn linux_counts_a_segment_when_the_wait_is_over() {
    for (host, sent) in [(Host::Rfc, vec![]), (Host::Linux, vec![10])] {
        let control = control("reno", 8, Some(8));
        let mut t = Trace::established(Config { recovery: Rack, sack: true, host, control, ..plain() });
        assert_eq!(t.writes_segments(30).len(), 8);
        t.wait(100);
        assert_eq!(t.acks(1, &[(2, 2)]), [9]);
        assert_eq!(t.wait(27), ["1:1001 ack 1"]);
        assert_eq!((3..=4).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), sent, "{host:?}");
    }
}

/// RFC 8985 section 6.2 step 2: RACK.rtt is that of the segment that arrived last, which need not be the one sent last. The
/// acknowledgement SACKs 3, 90 ms under way, and moves over 1, 110 ms under way: 2 has 110 ms and a quarter of 100; in
/// Linux a quarter of 90, as the least round trip is that of any segment, and two more.
#[test]
fn the_round_trip_is_that_of_the_last_arrival() {
    for (host, wait) in [(Host::Rfc, us(25_000)), (Host::Linux, us(24_500))] {
        let control = control("reno", 8, Some(8));
        let mut t = Trace::established(Config { recovery: Rack, sack: true, host, control, ..plain() });
        assert_eq!(t.writes_segments(2), [1, 2]);
        t.wait(20);
        assert_eq!(t.writes_segments(1), [3]);
        t.wait(90);
        assert_eq!(t.acks(2, &[(3, 3)]), NOTHING);
        let arrival = t.now;
        assert_eq!((t.times_out(), t.now.since(arrival)), (vec![2], wait), "{host:?}");
    }
}

/// A retransmission and an original that was sent before it arrive in one acknowledgement, the original behind it: RACK.rtt
/// is the 113 ms of 9, not the 101 ms of the retransmission of 1. So 10, which left 111 ms ago, is not lost.
#[test]
fn a_quick_retransmission_does_not_make_originals_late() {
    let mut t = flying(8, 30);
    assert_eq!(t.acks(1, &[(2, 2)]), [9]);
    t.wait(2);
    assert_eq!(t.acks(1, &[(2, 3)]), [10]);
    t.wait(10);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
    assert_eq!((5..=8).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [11]);
    t.wait(101);
    t.acks(10, &[]);
    assert_eq!(t.tcp.stats().retransmissions, 1);
}

/// Section 6.2 step 2, condition 1: 1 was sent again 105 ms ago, longer than the least round trip, but the acknowledgement
/// echoes the timestamp of its original. Nothing is known to have overtaken 3 to 8, which left with that.
#[test]
fn an_old_echo_proves_that_the_original_arrived() {
    let control = control("reno", 8, Some(8));
    let config = Config { recovery: Rack, sack: true, timestamps: true, control, ..plain() };
    let mut t = Trace::client(config);
    t.sent();
    t.wait(100);
    t.gets("SYN 0:1 ack 1 mss 1012 sackok wscale 0 ts 500 1");
    assert_eq!(t.writes_segments(30).len(), 8);
    t.wait(100);
    t.gets("1:1 ack 1 ts 600 101 sack 1001:2001");
    assert_eq!(t.wait(25), ["1:1001 ack 1 ts 226 600"]);
    t.wait(105);
    t.gets("1:1 ack 2001 ts 731 101");
    assert_eq!(t.tcp.stats().retransmissions, 1);
}

/// A segment that arrives within that time was only late. From then on three overtaking segments prove nothing.
#[test]
fn reordering_is_waited_for() {
    let mut t = flying(8, 8);
    assert_eq!(t.acks(1, &[(2, 2)]), NOTHING);
    t.wait(20);
    assert_eq!(t.acks(3, &[]), NOTHING);
    assert!(t.wait(5).is_empty());
    assert_eq!(t.acks(3, &[(4, 7)]), NOTHING, "reordering has been seen");
    assert_eq!((t.tcp.stats().retransmissions, t.tcp.stats().recoveries), (0, 0));
}

/// Section 6.2 step 4: a D-SACK widens the window by another quarter, once a round trip.
#[test]
fn a_spurious_retransmission_widens_the_window() {
    let mut t = flying(8, 40);
    assert_eq!(t.acks(1, &[(2, 2)]), [9]);
    assert_eq!(t.wait(25).first().map(String::as_str), Some("1:1001 ack 1"));
    // The original of 1 was late, and the retransmission is reported.
    t.acks(10, &[]);
    assert!(!t.tcp.in_recovery());
    let next = t.acks(10, &[(1, 1)]).last().map_or(12, |last| last + 1);
    t.wait(100);
    let sent = t.acks(10, &[(11, 11)]);
    assert!(sent.iter().all(|&number| number >= next), "{sent:?}");
    // 10 left when 9 arrived, so a quarter is still 25 ms: two of them now.
    let before = t.tcp.stats().retransmissions;
    t.wait(49);
    assert_eq!(t.tcp.stats().retransmissions, before);
    t.wait(1);
    assert_eq!(t.tcp.stats().retransmissions, before + 1);
}

/// Section 3.1: a retransmission is lost when a segment sent after it arrives: no timeout.
#[test]
fn a_lost_retransmission_is_seen() {
    let mut t = flying(8, 30);
    assert_eq!((2..=3).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [9, 10]);
    t.wait(1);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
    t.wait(1);
    assert_eq!((5..=8).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [11]);
    t.wait(98);
    assert_eq!((9..=10).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>(), [12, 13]);
    // 11 was sent a millisecond after the retransmission of 1, and has arrived.
    t.wait(2);
    assert_eq!(t.acks(1, &[(2, 11)])[0], 1);
    assert_eq!((t.tcp.stats().timeouts, t.tcp.stats().recoveries), (0, 1));
}

/// Section 7: the tail is lost. After two round trips the last segment is sent again; its SACK reveals the rest.
#[test]
fn a_lost_tail_is_probed() {
    let mut t = flying(8, 8);
    assert_eq!(t.acks(5, &[]), NOTHING);
    assert!(t.wait(199).is_empty());
    assert_eq!(t.wait(1), ["7001:8001 ack 1"]);
    t.wait(100);
    // Four were in flight, so ssthresh is two: one for the first that arrived; two once SND.UNA moves.
    assert_eq!(t.acks(5, &[(8, 8)]), [5]);
    assert_eq!(t.ssthresh(), 2);
    t.wait(100);
    assert_eq!(t.acks(6, &[(8, 8)]), [6, 7]);
    t.wait(100);
    assert_eq!(t.acks(9, &[]), NOTHING);
    assert_eq!((t.tcp.stats().timeouts, t.tcp.flight(), t.tcp.in_recovery()), (0, 0, false));
}

/// Section 7.3: new data makes the better probe, regardless of the congestion window.
#[test]
fn new_data_probes_the_tail() {
    let mut t = flying(4, 20);
    assert_eq!(t.wait(100), ["4001:5001 ack 1"]);
    assert!(t.wait(200).is_empty(), "one probe at a time");
    assert_eq!(t.tcp.stats().retransmissions, 0);
}

/// Section 7.3: the retransmission timer restarts after a probe. SRTT is 100 ms, the RTO 300 ms: the probe leaves after
/// 200, and as it is lost too, the first segment 300 later, and 600 later again.
#[test]
fn the_timer_restarts_with_the_probe() {
    let mut t = established();
    assert_eq!(t.writes_segments(4), [1, 2, 3, 4]);
    for (wait, sent) in [(200, [4]), (300, [1]), (600, [1])] {
        let last = t.now;
        assert_eq!(t.times_out(), sent);
        assert_eq!(t.now, last + Duration::from_millis(wait));
    }
    assert_eq!((t.tcp.stats().timeouts, t.ssthresh()), (2, 2));
}

/// RFC 6298 section 5.4: the earliest segment is sent when the timer expires, although 3 left 50 ms before, which
/// section 6.3 does not count as lost and which fills the window of one segment. The timeout is 250 ms after another
/// sample of 100.
#[test]
fn the_earliest_segment_leaves_whatever_is_in_flight() {
    let mut t = established();
    t.writes_segments(1);
    t.wait(100);
    assert_eq!(t.acks(2, &[]), NOTHING);
    assert_eq!(t.writes_segments(1), [2]);
    assert_eq!(t.wait(250), ["1001:2001 ack 1"], "the probe");
    t.wait(200);
    assert_eq!(t.writes_segments(1), [3]);
    assert_eq!(t.wait(50), ["1001:2001 ack 1"], "the timer");
    assert_eq!(t.acks(3, &[]), NOTHING);
    assert_eq!(t.acks(4, &[]), NOTHING);
    assert_eq!(t.tcp.stats().retransmissions, 2);
}

/// Section 7.2: a probe scheduled before a recovery began is not sent in it. The round-trip time is 100 ms, so it would
/// be due at 200; the timer restarts with the retransmission of the first segment.
#[test]
fn a_recovery_is_not_probed() {
    let mut t = flying(8, 40);
    t.wait(50);
    assert_eq!(t.acks(1, &[(2, 4)]), [1]);
    assert!(t.wait(200).is_empty());
}

/// Section 7.2: the acknowledgement of a single segment may be delayed by 200 ms. Section 7.4: a probe reported by
/// D-SACK was no loss, so the window stays.
#[test]
fn a_spurious_probe_costs_nothing() {
    let mut t = flying(8, 1);
    assert!(t.wait(299).is_empty());
    assert_eq!(t.wait(1), ["1:1001 ack 1"]);
    assert_eq!(t.acks(2, &[]), NOTHING);
    assert_eq!(t.acks(2, &[(1, 1)]), NOTHING);
    t.writes_segments(1);
    t.acks(3, &[]);
    assert_eq!((t.cwnd(), t.ssthresh()), (8, 8));
}

/// FIN is not a segment of its own.
#[test]
fn a_lone_segment_may_end_the_stream() {
    let mut t = Trace::sender(Rack, 8);
    t.tcp.write(1_000);
    assert_eq!(t.closes(), ["FIN 1:1002 ack 1"]);
    assert!(t.wait(399).is_empty());
    assert_eq!(t.wait(1), ["FIN 1:1002 ack 1"]);
}

/// Section 7.4: the probe itself was the repair: an acknowledgement beyond it and no D-SACK. The window is reduced as
/// for any loss.
#[test]
fn a_loss_that_the_probe_repairs_counts() {
    let mut t = flying(8, 4);
    assert_eq!(t.acks(4, &[]), NOTHING);
    assert_eq!(t.wait(400), ["3001:4001 ack 1"]);
    t.wait(100);
    assert_eq!(t.acks(5, &[]), NOTHING);
    assert_eq!(t.ssthresh(), 8);
    assert_eq!(t.writes_segments(1), [5]);
    t.acks(6, &[]);
    assert!(t.ssthresh() < 8);
    assert_eq!(t.tcp.stats().timeouts, 0);
}

/// RFC 6937 section 3.1, first case: one of 20 is lost. Every other acknowledgement of the round trip releases one
/// segment, the first the retransmission; at the end the flight equals ssthresh.
#[test]
fn the_flight_is_halved_in_proportion() {
    let mut t = flying(20, 60);
    let sent: Vec<Vec<u64>> = (2..=20).map(|last| t.acks(1, &[(2, last)])).collect();
    assert_eq!(sent[..6], [vec![21], vec![22], vec![1], vec![], vec![23], vec![]]);
    assert!(sent[2..].iter().all(|each| each.len() <= 1), "{sent:?}");
    // 22 less one lost and 19 arrived are in flight, and new segments make ten of them.
    assert_eq!(sent[2..].concat().len(), 8);
    assert_eq!(t.ssthresh(), 10);
    assert_eq!(t.acks(21, &[]).len() + t.acks(22, &[]).len(), 2);
    t.acks(23, &[]);
    assert_eq!((t.cwnd(), t.tcp.in_recovery()), (10, false));
}

/// RFC 6937 section 3.1, second case: 15 of 20 are lost. Each arrival releases as much, and once SND.UNA moves a
/// segment more, until the flight equals ssthresh; not if the acknowledgement shows a further loss (RFC 9937's SafeACK): 22,
/// where it left no earlier than 2 and 3 did again, has overtaken these.
#[test]
fn heavy_losses_are_repaired_as_slow_start_does() {
    for (apart, sent) in [(1, 4), (0, 3)] {
        let mut t = flying(20, 60);
        assert_eq!(t.acks(1, &[(16, 16)]), [21]);
        assert_eq!(t.acks(1, &[(16, 17)]), [22]);
        t.wait(apart);
        assert_eq!((18..=20).map(|last| t.acks(1, &[(16, last)])).collect::<Vec<_>>(), [[1], [2], [3]]);
        t.wait(100);
        assert_eq!(t.acks(2, &[(16, 22)]).len(), sent, "three have arrived, and SND.UNA has moved");
        if apart > 0 {
            assert_eq!(t.acks(3, &[(16, 22)]).len(), 2);
        }
        assert_eq!(t.tcp.stats().timeouts, 0);
    }
}

/// While a probe is unanswered there is no second one, but Linux lets its timer expire and recomputes the rest of the
/// retransmission timeout (tcp_send_loss_probe, tcp_rearm_rto): with 223 ms, 23 ticks plus one so as not to be early,
/// it expires in a guest at 410 ms for what left at 164 ms, not at 400.
#[test]
fn linux_restarts_the_timer_instead_of_a_second_probe() {
    let tick = Duration::from_millis(10);
    let config = Config { recovery: Rack, sack: true, host: Host::Linux, min_rto: tick * 20, tick, ..plain() };
    let mut t = Trace::client(config);
    t.sent();
    t.wait(23);
    t.gets("SYN 0:1 ack 1 mss 1000 sackok");
    assert_eq!(t.writes_segments(3), [1, 2, 3]);
    t.wait(23);
    assert_eq!(t.acks(2, &[]), NOTHING);
    assert_eq!(t.times_out(), [3], "the probe");
    t.wait(164 - t.now.as_nanos() / 1_000_000);
    assert_eq!(t.acks(4, &[]), NOTHING, "not the answer: it may be the first copy's");
    assert_eq!(t.writes_segments(2), [4, 5]);
    assert_eq!(t.times_out(), NOTHING);
    assert_eq!(t.times_out(), [4]);
    assert_eq!(t.now.as_nanos() / 1_000_000, 410);
}
