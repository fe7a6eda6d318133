//! Receive window: RFC 9293 section 3.8.6 for senders (zero windows, probes, silly windows) and receivers.

use crate::config::{control, plain};
use crate::lab::{Application, Between, Lab, Laboratory};
use crate::trace::{IRS, Trace, numbers};
use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Failure, Host, Recovery, State};

const NOTHING: [&str; 0] = [];

/// Sender whose peer has just filled and closed its window of 2000 bytes, with 5000 bytes to go.
fn shut() -> Trace {
    let mut t = Trace::established_with(Config { min_rto: Duration::from_millis(10), retries: 4, ..plain() }, 2_000);
    assert_eq!(t.writes(7_000), ["1:1001 ack 1", "1001:2001 ack 1"]);
    t.wait(100);
    assert_eq!(t.gets("1:1 ack 2001 win 0"), NOTHING);
    assert_eq!(t.tcp.rtt().rto(), Duration::from_millis(250));
    t
}

/// Section 3.8.6.1: probes after a timeout, then with back-off. A probe is a segment without data below the window,
/// which must be answered.
#[test]
fn a_shut_window_is_probed() {
    let mut t = shut();
    let rto = t.tcp.rtt().rto();
    let mut last = t.now;
    for doubling in [1, 2, 4, 8] {
        t.now = t.tcp.next_timeout();
        assert_eq!(t.now, last + rto * doubling);
        last = t.now;
        t.tcp.handle_timeout(t.now);
        assert_eq!(t.sent(), ["2000:2000 ack 1"]);
        // A live peer may keep its window closed forever.
        assert_eq!(t.gets("1:1 ack 2001 win 0"), NOTHING);
    }
    for _ in 0..40 {
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        assert_eq!(t.sent(), ["2000:2000 ack 1"]);
        t.gets("1:1 ack 2001 win 0");
    }
    assert_eq!((t.tcp.state(), t.tcp.stats().timeouts, t.tcp.stats().probes), (State::Established, 0, 44));
}

/// The window opens: data leaves at once, with its own retransmission timer and a timeout without the probes' back-off.
#[test]
fn the_window_opens() {
    let mut t = shut();
    let rto = t.tcp.rtt().rto();
    for _ in 0..3 {
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        assert_eq!(t.sent(), ["2000:2000 ack 1"]);
        t.gets("1:1 ack 2001 win 0");
    }
    t.wait(1);
    assert_eq!(t.gets("1:1 ack 2001 win 2000"), ["2001:3001 ack 1", "3001:4001 ack 1"]);
    assert_eq!(t.tcp.next_timeout(), t.now + rto);
    // A loss now is a first timeout, not the fourth in a row that aborts the connection.
    t.now = t.tcp.next_timeout();
    t.tcp.handle_timeout(t.now);
    assert_eq!(t.sent(), ["2001:3001 ack 1"]);
    assert_eq!((t.tcp.state(), t.ssthresh()), (State::Established, 2));
}

/// The window update was lost: the answer to a probe brings it.
#[test]
fn a_lost_window_update_is_found_by_a_probe() {
    let mut t = shut();
    let probed = t.wait(250);
    assert_eq!(probed, ["2000:2000 ack 1"]);
    assert_eq!(t.gets("1:1 ack 2001 win 5000").len(), 5);
}

/// A peer that does not answer probes is given up.
#[test]
fn unanswered_probes_end() {
    let mut t = shut();
    while t.tcp.state() == State::Established && t.now < Time::from_nanos(1_000_000_000_000) {
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        t.sent();
    }
    assert_eq!((t.tcp.failure(), t.tcp.stats().probes), (Some(Failure::TimedOut), 4));
}

/// The sender's silly-window avoidance (section 3.8.6.2.1): a small opening is not used unless it is all there is when
/// the timer expires.
#[test]
fn a_small_opening_waits() {
    let mut t = shut();
    assert_eq!(t.gets("1:1 ack 2001 win 300"), NOTHING);
    assert_eq!(t.wait(250), ["2001:2301 ack 1"]);
    // Half the largest window is enough.
    let mut t = shut();
    assert_eq!(t.gets("1:1 ack 2001 win 1000"), ["2001:3001 ack 1"]);
    let mut t = Trace::established_with(plain(), 600);
    assert_eq!(t.writes(5_000), ["1:601 ack 1"]);
    assert_eq!(t.gets("1:1 ack 601 win 299"), NOTHING);
    assert_eq!(t.gets("1:1 ack 601 win 300"), ["601:901 ack 1"]);
}

// ---- a window that is taken back (section 3.8.6: "the sending TCP peer MUST be robust against window shrinking") -------------

/// Sender whose peer has advertised 10 000 octets, of which 5000 are used: two segments have arrived, and the answer
/// has a window of `window` octets. 5000 more wait.
fn taken_back(config: Config, window: u16) -> Trace {
    let mut t = Trace::established_with(Config { min_rto: Duration::from_millis(10), retries: 4, ..config }, 10_000);
    assert_eq!(t.writes_segments(5), [1, 2, 3, 4, 5]);
    t.wait(100);
    assert_eq!(t.gets(&format!("1:1 ack 2001 win {window}")), NOTHING);
    assert_eq!(t.writes(5_000), NOTHING, "no new data leaves (SHLD-15)");
    t
}

/// Data in flight may still arrive; then the window is probed like any closed one (MUST-35), with back-off.
#[test]
fn a_shrunken_window_is_probed() {
    let mut t = taken_back(plain(), 0);
    assert_eq!(t.gets("1:1 ack 5001 win 0"), NOTHING);
    let rto = t.tcp.rtt().rto();
    for doubling in [1, 2, 4, 8, 16, 32] {
        let last = t.now;
        t.now = t.tcp.next_timeout();
        assert_eq!(t.now, last + rto * doubling);
        t.tcp.handle_timeout(t.now);
        assert_eq!(t.sent(), ["5000:5000 ack 1"]);
        assert_eq!(t.gets("1:1 ack 5001 win 0"), NOTHING);
    }
    assert_eq!(t.gets("1:1 ack 5001 win 2000"), ["5001:6001 ack 1", "6001:7001 ack 1"]);
    assert_eq!(t.tcp.stats().timeouts, 0);
}

/// Data in flight is lost: the first segment, retransmitted, probes the window as long as the peer answers (SHLD-17,
/// MUST-37). Its rejection is not reported as a loss each time.
#[test]
fn data_in_flight_probes_a_shrunken_window() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let config = Config { recovery, sack: recovery.is_selective(), ..plain() };
        let mut t = taken_back(config, 0);
        if recovery == Recovery::Rack {
            assert_eq!(t.times_out(), [5], "the tail is probed once, as it was in the window");
        }
        let rto = t.tcp.rtt().rto();
        for doubling in [1, 2, 4, 8, 16, 32] {
            let last = t.now;
            assert_eq!(t.times_out(), [3], "{recovery:?}");
            assert_eq!(t.now, last + rto * doubling);
            assert_eq!(t.gets("1:1 ack 2001 win 0"), NOTHING);
        }
        assert_eq!((t.tcp.state(), t.cwnd(), t.ssthresh()), (State::Established, 1, 2));
        // The window opens: the next segment is accepted, and the rest follows.
        t.gets("1:1 ack 2001 win 9000");
        assert_eq!(t.times_out(), [3]);
        assert_eq!(t.acks(4, &[]), [4, 5]);
    }
}

/// A peer that does not answer is given up.
#[test]
fn a_window_shrunken_by_a_dead_peer_ends() {
    let mut t = taken_back(plain(), 0);
    while t.tcp.state() == State::Established && t.now < Time::from_nanos(1_000_000_000_000) {
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        t.sent();
    }
    assert_eq!((t.tcp.failure(), t.tcp.stats().timeouts), (Some(Failure::TimedOut), 4));
}

/// The window shrinks to the end of segment 4: new data waits for it.
#[test]
fn a_smaller_window_lets_new_data_out_later() {
    let mut t = taken_back(plain(), 2_000);
    assert_eq!(t.gets("1:1 ack 4001 win 1000"), NOTHING);
    assert_eq!(t.gets("1:1 ack 5001 win 2000"), ["5001:6001 ack 1", "6001:7001 ack 1"]);
}

/// RFC 7323 section 2.4: a segment sent within the window is retransmitted once regardless of it, and then only within
/// the last advertised window. Linux omits all beyond it. 1, 5 and 6 are lost, and 4000 octets are advertised.
#[test]
fn retransmissions_beyond_the_window() {
    for (host, first, second) in [(Host::Rfc, vec![1, 5, 6], vec![5]), (Host::Linux, vec![1], vec![5])] {
        let control = control("reno", 10, Some(10));
        let mut t = Trace::established(Config { recovery: Recovery::Sack, sack: true, host, control, ..plain() });
        assert_eq!(t.writes_segments(10).len(), 10);
        t.wait(100);
        assert_eq!(numbers(&t.gets("1:1 ack 1 win 4000 sack 6001:10001 1001:4001")), first, "{host:?}");
        assert_eq!(t.times_out(), [1]);
        assert_eq!(numbers(&t.gets("1:1 ack 4001 win 1000 sack 6001:10001")), second, "{host:?}");
    }
}

/// Section 3.10.7.4: an older segment of the peer does not update the window (SND.WL1). Of segments that begin at the
/// same octet any does; in Linux only one that opens or closes it (tcp_may_update_window).
#[test]
fn old_segments_do_not_update_the_window() {
    for (host, admitted) in [(Host::Rfc, 1), (Host::Linux, 2)] {
        let mut t = Trace::established_with(Config { host, ..plain() }, 2_000);
        assert_eq!(t.writes_segments(1), [1]);
        t.receive("101:201 ack 1001 win 2000");
        t.receive("1:101 ack 1001 win 0");
        t.receive("0:0 ack 1001 win 0");
        assert_eq!(t.sent().len(), 1);
        t.receive("201:201 ack 1001 win 2000");
        t.receive("201:201 ack 1001 win 1000");
        assert_eq!(t.writes_segments(3).len(), admitted, "{host:?}");
        assert_eq!(t.gets(&format!("201:201 ack {} win 0", 1_001 + 1_000 * admitted)), NOTHING);
        assert_eq!(t.writes(1_000), NOTHING);
    }
}

/// Old data with a new acknowledgement: Linux accepts its window since it acknowledges more (tcp_may_update_window).
/// Otherwise a repetition of that window would be no update for Linux, and probes would never end.
#[test]
fn old_data_with_a_new_acknowledgement_leaves_a_window() {
    for host in [Host::Rfc, Host::Linux] {
        let mut t = Trace::established_with(Config { host, ..plain() }, 2_000);
        t.gets("1:101 ack 1 win 2000");
        assert_eq!(t.writes_segments(1), [1]);
        t.gets("101:101 ack 1001 win 2000");
        assert_eq!(t.writes_segments(1), [2]);
        t.gets("1:101 ack 2001 win 2000");
        t.writes(2_000);
        t.gets("101:101 ack 2001 win 2000");
        assert_eq!(t.tcp.sent_bytes(), 4_000, "{host:?}");
    }
}

/// A FIN needs no window.
#[test]
fn fin_passes_a_full_window() {
    let mut t = Trace::established_with(plain(), 1_000);
    assert_eq!(t.writes(1_000), ["1:1001 ack 1"]);
    assert_eq!(t.closes(), ["FIN 1001:1002 ack 1"]);
    let mut t = Trace::established(Config { receive_buffer: Some(500), ..plain() });
    assert_eq!(t.gets("FIN 1:502 ack 1"), ["1:1 ack 502"]);
    assert_eq!((t.tcp.state(), t.tcp.read()), (State::CloseWait, Some(0..500)));
}

// ---- as receiver ----------------------------------------------------------------------------------------------------

/// Data that fits is accepted, the rest is cut off (section 3.10.7.4).
#[test]
fn data_beyond_the_window_is_cut_off() {
    let mut t = Trace::established(Config { receive_buffer: Some(1_500), delayed_ack: 1, ..plain() });
    assert_eq!(t.gets("1:1001 ack 1"), ["1:1 ack 1001"]);
    assert_eq!(t.offered(), 500);
    assert_eq!(t.gets("1001:2001 ack 1"), ["1:1 ack 1501"]);
    assert_eq!(t.offered(), 0);
    assert_eq!(t.gets("1501:1502 ack 1"), ["1:1 ack 1501"], "a probe with data is answered, not taken");
    assert_eq!(t.tcp.read(), Some(0..1_500));
}

/// The receiver's silly-window avoidance (section 3.8.6.2.2): a tiny reader moves the window by a segment at a time,
/// and the sender is told.
#[test]
fn a_tiny_reader_opens_no_silly_window() {
    let mut t = Trace::established(Config { receive_buffer: Some(4_000), delayed_ack: 1, ..plain() });
    for start in [1, 1_001, 2_001, 3_001] {
        t.gets(&format!("{start}:{} ack 1", start + 1_000));
    }
    assert_eq!(t.offered(), 0);
    for _ in 0..9 {
        assert!(t.tcp.read_at_most(100).is_some());
        assert_eq!(t.sent(), NOTHING);
        assert_eq!(t.offered(), 0);
    }
    t.tcp.read_at_most(100);
    assert_eq!(t.sent(), ["1:1 ack 4001"]);
    assert_eq!(t.offered(), 1_000);
}

/// A buffer that may grow to 64 MiB needs a window scale of 11, so less than 2048 bytes of window read as zero: the
/// sender is told when it opens, since it cannot know.
#[test]
fn a_scaled_window_that_reads_as_zero_is_reopened() {
    let mut t = Trace::established(Config { receive_buffer: None, ..plain() });
    // 128 KiB to begin with.
    assert_eq!(t.offered(), 64);
    for start in (1..130_000).step_by(1_000) {
        t.gets(&format!("{start}:{} ack 1", start + 1_000));
    }
    assert_eq!(t.offered(), 0, "1072 bytes are left: more than a segment");
    assert_eq!(t.tcp.read(), Some(0..130_000));
    assert_eq!(t.sent(), ["1:1 ack 130001"]);
    assert_eq!(t.offered(), 64);
}

/// Linux's receiver, in units of 2048 bytes: it starts with 64 KiB, a segment less and rounded up, advertises two more
/// segments for each that arrives, and announces that at once, up to what its memory holds with one segment in it: (131
/// 072 - 2 176) * 170 / 256. Short segments take the same memory, of which less is data then, and do not grow the
/// window; a guest does the same.
#[test]
fn the_offer_grows_with_what_arrives() {
    let linux = Config { mss: 1_448, receive_buffer: None, host: Host::Linux, ..plain() };
    let mut t = Trace::established(linux.clone());
    assert_eq!(t.offered(), 32);
    for number in 1..=8_u64 {
        let start = 1 + (number - 1) * 1_448;
        assert_eq!(t.gets(&format!("{start}:{} ack 1", start + 1_448)).len(), 1, "{number}");
        // At most two challenge ACKs a second.
        t.wait(500);
        assert_eq!(u64::from(t.offered()), (65_536 - 1_448 + number * 2_896).min(85_595).div_ceil(2_048));
        t.tcp.read();
    }
    let mut t = Trace::established(linux);
    assert_eq!(t.gets("1:1001 ack 1"), NOTHING, "delayed as ever");
    t.tcp.read();
    assert_eq!(t.gets("1001:2001 ack 1"), NOTHING, "there is no room for more before it is read");
    t.tcp.read();
    assert_eq!(t.sent(), ["1:1 ack 2001"]);
    assert_eq!(t.offered(), 32);
}

/// An immediate ACK of Linux advertises the space before its application reads. If that was none, and the application
/// reads everything before the ACK leaves, a window update follows: nothing else would announce the space.
#[test]
fn reading_a_full_buffer_sends_a_window_update() {
    let tcp_rmem = Some(6 << 20);
    let linux =
        || Trace::established(Config { mss: 1_448, receive_buffer: None, tcp_rmem, host: Host::Linux, ..plain() });
    // Delivers segments that nobody reads until the answer to one advertises zero; returns the octets that each begins
    // with. Each is acknowledged separately, and as the window is rounded up to 2048 bytes its edge moves until memory
    // is full.
    let mut t = linux();
    let mut taken = vec![1];
    while let Some(&start) = taken.last() {
        let windows = offered_after(&mut t, start);
        if windows.last().is_some_and(|&(_, window)| window == 0) {
            break;
        }
        taken.push(windows.last().map_or(start + 1_448, |&(octet, _)| octet));
        assert!(taken.len() < 6 << 10, "6 MiB of memory are full, 1536 bytes a segment");
    }
    let mut t = linux();
    let last = taken.pop().expect("there was one");
    taken.into_iter().for_each(|start| drop(offered_after(&mut t, start)));
    t.receive(&format!("{last}:{} ack 1", last + 1_448));
    t.tcp.read();
    assert!(t.segments().last().is_some_and(|segment| segment.window > 0));
}

/// Delivers a segment that begins with an octet; returns the acknowledgements sent now or a little later, and their
/// windows.
fn offered_after(t: &mut Trace, start: u32) -> Vec<(u32, u16)> {
    t.receive(&format!("{start}:{} ack 1", start + 1_448));
    let mut answers = t.segments();
    t.now += Duration::from_millis(500);
    t.tcp.handle_timeout(t.now);
    answers.extend(t.segments());
    answers.into_iter().map(|one| (one.acknowledgment.wrapping_sub(IRS), one.window)).collect()
}

/// A reader slower than the path limits the sender by the window alone: no probes unless it is closed, no losses.
#[test]
fn a_slow_reader_is_obeyed() {
    for buffer in [Some(3_000), Some(40_000), None] {
        let config = Config { receive_buffer: buffer, ..plain() };
        let reader = Application { reads: 1_000, every: 10, ..Application::sends(0) };
        let sender = (plain(), 5, Application::sends(500_000));
        let mut lab = Lab::new(sender, (config, 6, reader), Between::fair(10));
        lab.run();
        lab.assert_complete();
        assert_eq!(lab.ends[0].tcp.stats().retransmissions, 0);
        assert_eq!(lab.ends[0].tcp.stats().probes, 0, "updates come before the timer does");
        // 500 reads of a kilobyte, 10 ms apart.
        let seconds = (lab.paths.now.as_nanos() as f64 / 1e9 * 10.0).round() / 10.0;
        assert!((5.0..5.6).contains(&seconds), "{buffer:?}: {seconds} s");
    }
}

/// An auto-tuned buffer follows what the application reads, not what arrives: without reads it stays as it was.
#[test]
fn the_buffer_grows_with_the_reader() {
    let sender = || (Config { control: control("reno", 10, None), ..plain() }, 5, Application::sends(4 << 20));
    let receiver = |reads, every| {
        (Config { receive_buffer: None, ..plain() }, 6, Application { reads, every, ..Application::sends(0) })
    };
    let mut slow = Lab::new(sender(), receiver(1_000, 1), Between::fair(50));
    let mut fast = Lab::new(sender(), receiver(u64::MAX, 0), Between::fair(50));
    let peak = |lab: &mut Lab| {
        let mut peak = 0;
        lab.run_until(3_600, |lab| {
            peak = peak.max(lab.ends[0].tcp.flight());
            lab.is_over()
        });
        lab.assert_complete();
        peak
    };
    // A megabyte a second at 100 ms: 100 kB a round trip, so at most four times that.
    let peak_slow = peak(&mut slow);
    assert!(peak_slow <= 400_000 + 2_048, "{peak_slow}");
    assert!(peak(&mut fast) > 1 << 20);
}

/// Two peers with full windows and holes answer each other's acknowledgements once, not forever.
#[test]
fn full_windows_cause_no_ack_loop() {
    let mut t = Trace::established(Config { receive_buffer: Some(3_000), ..plain() });
    t.gets("1001:2001 ack 1");
    t.gets("2001:3001 ack 1");
    // The peer has sent all it may, 1:1001 was lost, and now it only acknowledges, from the edge of the window.
    assert_eq!(t.gets("3001:3001 ack 1"), NOTHING);
}

/// An unused window does not grow: a receive window of six segments leaves one of ten at ten (RFC 7661). Linux lets
/// slow start double what is in use: twelve.
#[test]
fn a_window_that_is_not_in_use_does_not_grow() {
    for (host, cwnd) in [(Host::Rfc, 10), (Host::Linux, 12)] {
        let mut t = Trace::established_with(Config { host, ..plain() }, 6_000);
        assert_eq!(t.writes(100_000).len(), 6);
        for n in 1..=10 {
            t.wait(10);
            assert_eq!(t.gets(&format!("1:1 ack {} win 6000", 1 + 1_000 * n)).len(), 1);
        }
        assert_eq!(t.cwnd(), cwnd, "{host:?}");
    }
}
