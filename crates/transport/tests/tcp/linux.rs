//! Deviations of Linux: behaviour of a Linux 6.12 guest on the same wire, from its captures.

use crate::config::plain;
use crate::trace::Trace;
use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Extra, Failure, Flags, Host, Recovery, State};

fn linux() -> Config {
    Config { host: Host::Linux, ..plain() }
}

/// tcp_syn_linear_timeouts: four retransmissions a second apart, and six more with back-off. A SYN-ACK backs off at
/// once.
#[test]
fn a_syn_goes_again_every_second_at_first() {
    let times = |mut t: Trace| {
        let mut times = Vec::new();
        while matches!(t.tcp.state(), State::SynSent | State::SynReceived) {
            t.now = t.tcp.next_timeout();
            t.tcp.handle_timeout(t.now);
            if t.segments().iter().any(|segment| segment.flags.has(Flags::SYN)) {
                times.push(t.now.as_nanos() / 1_000_000_000);
            }
        }
        (times, t.now.as_nanos() / 1_000_000_000)
    };
    let config = || Config { max_rto: Duration::from_secs(120), ..linux() };
    let mut client = Trace::client(config());
    client.sent();
    assert_eq!(times(client), (vec![1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131));
    let mut server = Trace::server(config());
    server.gets("SYN 0:1 mss 1000");
    assert_eq!(times(server).0, [1, 3, 7, 15, 31, 63]);
}

/// tcp_rcv_synsent_state_process: an acknowledgement that is not of its SYN lets it go again after TCP_TIMEOUT_MIN, two ticks,
/// but not a second time.
#[test]
fn a_refused_syn_goes_again_at_once() {
    for (host, next) in [(Host::Linux, [2, 1002]), (Host::Rfc, [1000, 3000])] {
        let mut t = Trace::client(Config { host, max_rto: Duration::from_secs(120), ..plain() });
        t.sent();
        let mut times = Vec::new();
        for _ in 0..2 {
            assert_eq!(t.gets("1:1 ack 300"), ["RST 300:300"]);
            t.now = t.tcp.next_timeout();
            t.tcp.handle_timeout(t.now);
            assert_eq!(t.sent(), ["SYN 0:1"]);
            times.push(t.now.as_nanos() / 1_000_000);
        }
        assert_eq!(times, next, "{host:?}");
    }
}

/// In a simultaneous open the peer's SYN-ACK repeats its SYN, which tcp_data_queue reports as a duplicate (RFC 2883).
#[test]
fn a_simultaneous_open_reports_the_syn_that_came_twice() {
    for (host, answer) in [(Host::Linux, "1:1 ack 1 sack 0:1"), (Host::Rfc, "1:1 ack 1")] {
        let mut t = Trace::client(Config { host, sack: true, ..plain() });
        t.sent();
        assert_eq!(t.gets("SYN 0:1 mss 1000 sackok"), ["SYN 0:1 ack 1"]);
        assert_eq!(t.gets("SYN 0:1 ack 1 mss 1000 sackok"), [answer], "{host:?}");
    }
}

/// A FIN without data carries no PSH, even when repeated; the end of the data does, with FIN or without.
#[test]
fn a_fin_by_itself_pushes_nothing() {
    for (host, pushes) in [(Host::Linux, [true, false, false]), (Host::Rfc, [true, true, true])] {
        let mut t = Trace::established_with(Config { host, ..plain() }, 60_000);
        t.tcp.write(500);
        let mut sent = t.segments();
        t.tcp.close();
        sent.extend(t.segments());
        t.receive("1:1 ack 501");
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        sent.extend(t.segments());
        assert_eq!(sent.iter().map(|segment| segment.flags.has(Flags::PSH)).collect::<Vec<_>>(), pushes, "{host:?}");
    }
    let mut t = Trace::established(linux());
    t.tcp.write(500);
    t.tcp.close();
    assert!(t.segments()[0].flags.has(Flags::FIN.with(Flags::PSH)));
}

/// RFC 7323 section 3.2: a reset of a connection with timestamps should carry them; Linux's do. A reset that answers a
/// segment without connection has none.
#[test]
fn a_reset_carries_timestamps() {
    for timestamps in [false, true] {
        let mut t = Trace::client(Config { timestamps, ..plain() });
        t.sent();
        t.gets("SYN 0:1 ack 1 mss 1000 ts 7 1");
        t.wait(20);
        t.tcp.abort();
        assert_eq!(t.sent(), [if timestamps { "RST 1:1 ack 1 ts 21 7" } else { "RST 1:1 ack 1" }]);
        // Data that arrives afterwards is answered by a reset of its own.
        assert_eq!(t.gets("1:501 ack 1 ts 9 1"), ["RST 1:1"]);
    }
    let mut t = Trace::client(Config { timestamps: true, ..plain() });
    t.sent();
    assert_eq!(t.gets("1:1 ack 300 ts 3 1"), ["RST 300:300"]);
}

/// The payload of a segment is the peer's MSS less the options in use: 12 bytes more without timestamps with Linux. The
/// advertised MSS is the same in every SYN, whatever the options (RFC 6691): the room of a packet.
#[test]
fn declined_timestamps_leave_room_for_data() {
    for (host, segment, offered) in [(Host::Linux, 1012, 1012), (Host::Rfc, 1000, 1012)] {
        let config = || Config { host, timestamps: true, ..plain() };
        let mut t = Trace::client(config());
        t.sent();
        t.gets("SYN 0:1 ack 1 mss 1460");
        assert_eq!(t.writes(5_000)[0], format!("1:{} ack 1", 1 + segment));
        let mut t = Trace::client(config());
        t.sent();
        t.gets("SYN 0:1 ack 1 mss 1460 ts 9 1");
        assert_eq!(t.writes(5_000)[0], "1:1001 ack 1 ts 1 9");
        let mut t = Trace::server(config());
        t.receive("SYN 0:1 mss 1460");
        let mut extra = Extra::default();
        t.tcp.poll_transmit(t.now, &mut extra);
        assert_eq!(extra.syn.map(|syn| syn.mss), Some(offered), "{host:?}");
    }
}

/// A repeated FIN is reported as a duplicate (RFC 2883), but not in TIME-WAIT, which keeps no SACK state
/// (tcp_timewait_state_process).
#[test]
fn a_fin_again_is_reported_until_time_wait() {
    for host in [Host::Linux, Host::Rfc] {
        let config = || Config { host, sack: true, ..plain() };
        let mut t = Trace::established(config());
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["1:1 ack 2"]);
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["1:1 ack 2 sack 1:2"], "CLOSE-WAIT");
        t.closes();
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2 sack 1:2"], "LAST-ACK");

        let mut t = Trace::established(config());
        t.closes();
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2"]);
        assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2 sack 1:2"], "CLOSING");
        t.gets("2:2 ack 2");
        assert_eq!(t.tcp.state(), State::TimeWait);
        let answer = if host == Host::Linux { "2:2 ack 2" } else { "2:2 ack 2 sack 1:2" };
        assert_eq!(t.gets("FIN 1:2 ack 2"), [answer], "TIME-WAIT {host:?}");
        assert_eq!(t.tcp.failure(), None::<Failure>);
    }
}

/// Without SACK the window grows by what an acknowledgement newly reports: the third segment of three, if two
/// duplicates have stood for the others (tcp_remove_reno_sacks). A guest in slow start sends two segments after one per
/// duplicate, where RFC 3465 gives three.
#[test]
fn duplicates_count_once() {
    for (host, next, cwnd) in [(Host::Linux, vec![13, 14], 11), (Host::Rfc, vec![13, 14, 15], 12)] {
        let mut t = Trace::established(Config { host, limited_transmit: true, ..plain() });
        t.writes_segments(30);
        assert_eq!([t.acks(1, &[]), t.acks(1, &[])], [[11], [12]]);
        assert_eq!((t.acks(4, &[]), t.cwnd()), (next, cwnd), "{host:?}");
        // The segments that the duplicates stood for are used up.
        assert_eq!((t.acks(6, &[]).len(), t.cwnd()), (4, cwnd + 2));
    }
}

/// A recovery resets the count of duplicates (tcp_reset_reno_sack).
#[test]
fn duplicates_of_a_recovery_are_over_with_it() {
    let mut t = Trace::established(linux());
    t.writes_segments(10);
    (0..30).for_each(|_| _ = t.acks(1, &[]));
    t.acks(11, &[]);
    assert_eq!((t.cwnd(), t.ssthresh(), t.tcp.in_recovery()), (2, 5, false));
    assert_eq!(t.writes_segments(4), [11, 12]);
    t.acks(13, &[]);
    assert_eq!(t.cwnd(), 4, "as much as two segments let it grow");
}

/// The delayed-ACK timeout follows the gaps between arrivals in whole jiffies (tcp_event_data_recv): at 100 Hz, 24 ms
/// that begin just after a tick are two, at most half of the minimum, and the ACK leaves after four ticks plus one; 24
/// ms that begin just before a tick are three, which makes it one more.
#[test]
fn a_delayed_acknowledgement_waits_in_whole_ticks() {
    for (begin, expiry) in [(101, 170), (109, 190)] {
        let mut t = Trace::established(Config { tick: Duration::from_millis(10), ..linux() });
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        t.now = at(begin);
        t.gets("1:1001 ack 1");
        assert_eq!(t.writes(100), ["1:101 ack 1001"]);
        t.now = at(begin + 24);
        assert!(t.gets("1001:2001 ack 101").is_empty());
        assert_eq!(t.tcp.next_timeout(), at(expiry), "{begin}");
    }
}

/// The receiver reneges (RFC 2018 section 8): its acknowledgement ends where a SACKed segment begins. After half a
/// round trip, at least 10 ms, SACK information is discarded (tcp_check_sack_reneging, tcp_timeout_mark_lost).
#[test]
fn reneging_is_noticed_after_half_a_round_trip() {
    for (rtt, half) in [(100, 50), (10, 10)] {
        let config = Config { recovery: Recovery::Rack, sack: true, min_rto: Duration::from_millis(200), ..linux() };
        let mut t = Trace::client(config);
        t.sent();
        t.wait(rtt);
        t.gets("SYN 0:1 ack 1 mss 1000 sackok");
        assert_eq!(t.writes_segments(10).len(), 10);
        t.wait(rtt);
        t.acks(1, &[(3, 6)]);
        assert!(t.acks(3, &[]).iter().all(|&segment| segment > 10), "new data at most");
        assert_eq!(t.tcp.next_timeout(), t.now + Duration::from_millis(half));
        assert_eq!(t.times_out(), [3]);
        assert_eq!((t.cwnd(), t.tcp.stats().timeouts), (1, 1));
        assert_eq!(t.acks(4, &[]), [4, 5], "all is lost, also what was reported");
    }
}
