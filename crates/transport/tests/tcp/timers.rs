//! Retransmission timer: RFC 6298 section 5, and RTT samples (Karn; RFC 7323 section 4).

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_engine::{Duration, Time};
use vazao_transport::tcp::{Config, Host, Recovery, RttSource};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Connection after a handshake of 100 ms: SRTT 100 ms, RTTVAR 50 ms, so an RTO of 300 ms.
fn established() -> Trace {
    let t = Trace::established(Config { min_rto: ms(10), ..plain() });
    assert_eq!(t.tcp.rtt().rto(), ms(300));
    t
}

#[test]
fn it_starts_with_data_and_restarts_with_acknowledgements() {
    let mut t = established();
    assert_eq!(t.tcp.next_timeout(), Time::NEVER);
    // 5.1: started when data is sent, if it is not running.
    t.writes(1_000);
    let started = t.now;
    assert_eq!(t.tcp.next_timeout(), started + ms(300));
    t.wait(50);
    t.writes(2_000);
    assert_eq!(t.tcp.next_timeout(), started + ms(300));
    // 5.3: restarted when new data is acknowledged. The sample was 100 ms: RTTVAR 3/4 of 50, so 250 ms.
    t.wait(50);
    t.gets("1:1 ack 1001");
    assert_eq!(t.tcp.next_timeout(), t.now + ms(250));
    t.wait(30);
    t.gets("1:1 ack 1001");
    assert_eq!(t.tcp.next_timeout(), t.now + ms(220), "a duplicate restarts nothing");
    // 5.2: off when all is acknowledged.
    t.gets("1:1 ack 3001");
    assert_eq!(t.tcp.next_timeout(), Time::NEVER);
}

/// 5.4 to 5.6: the earliest segment only, a doubled timeout, and a restarted timer.
#[test]
fn it_expires() {
    let mut t = established();
    assert_eq!(t.writes_segments(3), [1, 2, 3]);
    assert_eq!(t.times_out(), [1]);
    assert_eq!(t.tcp.next_timeout(), t.now + ms(600));
    assert_eq!(t.times_out(), [1]);
    assert_eq!(t.tcp.next_timeout(), t.now + ms(1_200));
    let stats = t.tcp.stats();
    assert_eq!((stats.timeouts, stats.timeout_retransmissions), (2, 2));
    // RFC 5681 section 3.1: the second expiry leaves ssthresh alone.
    assert_eq!(t.ssthresh(), 2);
}

/// Karn: retransmitted data gives no sample, and keeps the back-off until data sent once is acknowledged.
#[test]
fn karn() {
    let mut t = established();
    t.writes_segments(1);
    assert_eq!(t.times_out(), [1]);
    t.wait(100);
    t.acks(2, &[]);
    assert_eq!((t.tcp.rtt().srtt(), t.tcp.rtt().rto()), (ms(100), ms(600)));
    t.writes_segments(1);
    t.wait(100);
    t.acks(3, &[]);
    assert_eq!(t.tcp.rtt().rto(), ms(250));
}

/// Data sent once that waited at the receiver for retransmitted data gives no sample either.
#[test]
fn data_held_up_by_a_retransmission_gives_no_sample() {
    let mut t = established();
    assert_eq!(t.writes_segments(6), [1, 2, 3, 4, 5, 6]);
    t.wait(100);
    for _ in 0..3 {
        t.acks(1, &[]);
    }
    t.wait(100);
    t.acks(7, &[]);
    assert_eq!((t.tcp.rtt().srtt(), t.tcp.stats().rtt.count()), (ms(100), 0));
}

/// A timestamp echo tells which copy was acknowledged.
#[test]
fn timestamps_measure_retransmissions() {
    let mut t = Trace::client(Config { timestamps: true, min_rto: ms(10), ..plain() });
    t.sent();
    t.wait(100);
    t.gets("SYN 0:1 ack 1 mss 1012 ts 7 1");
    assert_eq!(t.writes(1_000), ["1:1001 ack 1 ts 101 7"]);
    assert_eq!(t.wait(300), ["1:1001 ack 1 ts 401 7"]);
    t.wait(60);
    t.gets("1:1 ack 1001 ts 8 401");
    // 7/8 of 100 ms and 1/8 of 60 ms. A millisecond clock is too coarse for the latest and the minimum, which stay.
    assert_eq!(t.tcp.rtt().srtt(), ms(95));
    assert_eq!((t.tcp.rtt().latest(), t.tcp.rtt().min()), (ms(100), ms(100)));
}

/// The delay of an ACK is part of what the timer must allow for; statistics use the last segment.
#[test]
fn the_first_segment_of_an_acknowledgement_is_measured() {
    let mut t = established();
    t.writes(1_000);
    t.wait(40);
    t.writes(1_000);
    t.wait(60);
    t.acks(3, &[]);
    assert_eq!(t.tcp.rtt().latest(), ms(100));
    assert_eq!(t.tcp.stats().rtt.count(), 1);
}

/// Everything outstanding counts as lost: slow start from one segment retransmits it, except SACKed segments.
#[test]
fn slow_start_after_a_timeout() {
    let mut t = Trace::sender(Recovery::Sack, 6);
    assert_eq!(t.writes_segments(6), [1, 2, 3, 4, 5, 6]);
    assert_eq!(t.acks(1, &[(4, 4)]), []);
    assert_eq!(t.times_out(), [1]);
    assert_eq!((t.cwnd(), t.ssthresh()), (1, 3));
    assert_eq!(t.acks(2, &[(4, 4)]), [2, 3]);
    assert_eq!(t.acks(3, &[(4, 4)]), [5, 6]);
}

/// A first timeout halves the flight, whatever the window.
#[test]
fn ssthresh_goes_by_flight() {
    let config = Config { control: control("reno", 40, Some(40)), ..plain() };
    let mut t = Trace::established(config);
    t.writes_segments(10);
    t.times_out();
    assert_eq!((t.cwnd(), t.ssthresh()), (1, 5));
}

/// RFC 7323 section 4: with timestamp-based RTT the echo counts, whenever the segment left: here it says 40 ms, of the
/// 100 ms since then. The handshake took 100 ms, so SRTT is 7/8 of that and 1/8 of the sample.
#[test]
fn the_echo_of_a_timestamp_may_measure() {
    for (rtt, srtt) in [(RttSource::Segments, 100_000), (RttSource::Timestamps, 92_500)] {
        let mut t = Trace::client(Config { timestamps: true, rtt, ..plain() });
        t.sent();
        t.wait(100);
        t.gets("SYN 0:1 ack 1 mss 1012 sackok wscale 0 ts 500 1");
        t.writes_segments(2);
        t.wait(100);
        t.gets("1:1 ack 2001 ts 600 161");
        assert_eq!(t.tcp.rtt().srtt(), Duration::from_micros(srtt), "{rtt:?}");
    }
}

/// RFC 6298 section 5.3 restarts the timer with new acknowledged data alone: the retransmission of 1, 200 ms after the flight,
/// gets what is left of the second. ns-2 (2.35, dupack_action: reset_rtx_timer) and BSD give it a whole one.
#[test]
fn ns2_restarts_the_timer_with_a_fast_retransmission() {
    for (host, wait) in [(Host::Rfc, 800), (Host::Ns2, 1000)] {
        for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Pipe] {
            let control = control("reno", 8, Some(8));
            let mut t =
                Trace::established(Config { recovery, host, sack: recovery.is_selective(), control, ..plain() });
            assert_eq!(t.writes_segments(8).len(), 8);
            t.wait(200);
            let sent = (2..=4).flat_map(|last| t.acks(1, &[(2, last)])).collect::<Vec<_>>();
            assert_eq!(sent.first(), Some(&1), "{recovery:?}");
            assert!(t.wait(wait - 1).is_empty(), "{host:?} {recovery:?}");
            assert_eq!(t.wait(1).first().map(String::as_str), Some("1:1001 ack 1"), "{host:?} {recovery:?}");
        }
    }
}
