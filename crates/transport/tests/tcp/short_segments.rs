//! Segments that are not full: what they take of a window, and whether they wait.

use crate::config::plain;
use crate::trace::Trace;
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Bursting, Config, Host, Recovery};

const NOTHING: [&str; 0] = [];

/// Linux's window counts segments (tcp_packets_in_flight): ten short ones fill one of ten, where RFC 5681's counts bytes. Each
/// that is acknowledged makes room for another, and in slow start lets the window grow by one.
#[test]
fn ten_short_segments_fill_a_window_of_ten() {
    for (host, bursts, at_once) in [(Host::Linux, Bursting::Prompt, 10), (Host::Rfc, Bursting::Off, 14)] {
        let mut t = Trace::established(Config { host, bursts, recovery: Recovery::Rack, sack: true, ..plain() });
        let sent: Vec<_> = (0..14).flat_map(|_| t.writes(100)).collect();
        assert_eq!(sent.len(), at_once, "{host:?}: {sent:?}");
        let more = t.gets("1:1 ack 101");
        if host == Host::Linux {
            assert_eq!((more, t.cwnd()), (vec!["1001:1401 ack 1".to_owned()], 11), "what waited leaves as one segment");
        } else {
            assert_eq!((more.len(), t.cwnd()), (0, 10), "most of the window is not used");
        }
    }
}

/// Nagle's algorithm (RFC 9293 section 3.7.4): a segment that is not full waits until everything before it is acknowledged; for
/// Linux until every short one is (tcp_minshall_check). A full one does not wait, nor does the end of the stream.
#[test]
fn a_short_segment_waits_for_what_is_unacknowledged() {
    let of = |host, nagle| Trace::established(Config { host, nagle, ..plain() });
    for host in [Host::Rfc, Host::Linux] {
        let mut t = of(host, false);
        assert_eq!([t.writes(1_100), t.writes(100)].concat().len(), 3, "{host:?} without delay");
    }
    let mut t = of(Host::Rfc, true);
    assert_eq!(t.writes(100), ["1:101 ack 1"]);
    assert_eq!(t.gets("1:1 ack 101"), NOTHING);
    assert_eq!(t.writes(1_100), ["101:1101 ack 1"]);
    assert_eq!(t.writes(1_000), ["1101:2101 ack 1"]);
    assert_eq!(t.gets("1:1 ack 1101"), NOTHING);
    assert_eq!(t.gets("1:1 ack 2101"), ["2101:2201 ack 1"]);

    let mut t = of(Host::Linux, true);
    assert_eq!(t.writes(1_100), ["1:1001 ack 1", "1001:1101 ack 1"]);
    assert_eq!(t.writes(100), NOTHING);
    assert_eq!(t.writes(900), ["1101:2101 ack 1"]);
    assert_eq!(t.writes(100), NOTHING);
    assert_eq!(t.gets("1:1 ack 1001"), NOTHING);
    assert_eq!(t.gets("1:1 ack 1101"), ["2101:2201 ack 1"]);
    assert_eq!(t.writes(100), NOTHING);
    t.tcp.close();
    assert_eq!(t.sent(), ["FIN 2201:2302 ack 1"]);
}
