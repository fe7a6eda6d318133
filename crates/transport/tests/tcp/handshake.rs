//! Opening: RFC 9293 sections 3.5 and 3.10.7, its figures 6 to 11, and option negotiation.

use crate::config::plain;
use crate::trace::Trace;
use vazao_engine::Duration;
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Failure, Host, State};

#[test]
fn figure_6_three_way_handshake() {
    let mut client = Trace::client(plain());
    assert_eq!(client.sent(), ["SYN 0:1"]);
    assert_eq!(client.gets("SYN 0:1 ack 1 mss 1000"), ["1:1 ack 1"]);
    assert_eq!(client.tcp.state(), State::Established);

    let mut server = Trace::server(plain());
    assert_eq!(server.gets("SYN 0:1 mss 1000"), ["SYN 0:1 ack 1"]);
    assert_eq!(server.tcp.state(), State::SynReceived);
    assert!(server.gets("1:1 ack 1").is_empty());
    assert_eq!(server.tcp.state(), State::Established);
    assert!(server.tcp.is_connected());
}

/// Data that waits for the handshake carries the ACK of the SYN-ACK; in Linux a pure ACK precedes it.
#[test]
fn the_syn_ack_is_acknowledged() {
    for (host, expected) in [(Host::Rfc, &["1:501 ack 1"][..]), (Host::Linux, &["1:1 ack 1", "1:501 ack 1"])] {
        let mut t = Trace::client(Config { host, ..plain() });
        assert_eq!(t.writes(500), ["SYN 0:1"]);
        assert_eq!(t.gets("SYN 0:1 ack 1 mss 1000"), expected);
    }
}

/// Each side answers the other's SYN with a SYN-ACK, and the SYN-ACK with an acknowledgement, no more.
#[test]
fn figure_7_simultaneous_open() {
    let mut t = Trace::client(plain());
    assert_eq!(t.sent(), ["SYN 0:1"]);
    assert_eq!(t.gets("SYN 0:1 mss 1000"), ["SYN 0:1 ack 1"]);
    assert_eq!(t.tcp.state(), State::SynReceived);
    assert_eq!(t.gets("SYN 0:1 ack 1 mss 1000"), ["1:1 ack 1"]);
    assert_eq!(t.tcp.state(), State::Established);
    assert_eq!(t.writes(500), ["1:501 ack 1"]);
}

/// An old SYN reaches the listener first: the peer resets the resulting connection, and the listener accepts the new
/// one.
#[test]
fn figure_8_recovery_from_an_old_duplicate_syn() {
    let mut t = Trace::server(plain());
    assert_eq!(t.gets("SYN 0:1 mss 1000"), ["SYN 0:1 ack 1"]);
    assert!(t.gets("RST 1:1").is_empty());
    assert_eq!((t.tcp.state(), t.tcp.failure()), (State::Listen, None));
    assert_eq!(t.gets("SYN 70000:70001 mss 1000"), ["SYN 0:1 ack 70001"]);
    assert!(t.gets("70001:70001 ack 1").is_empty());
    assert_eq!(t.tcp.state(), State::Established);
}

/// The other side crashed and opens anew: its SYN is challenged (RFC 5961 section 4), and its reset accepted.
#[test]
fn figure_9_half_open_discovered() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("SYN 400:401 mss 1000"), ["1:1 ack 1"]);
    assert_eq!(t.tcp.state(), State::Established);
    assert!(t.gets("RST 1:1").is_empty());
    assert_eq!((t.tcp.state(), t.tcp.failure()), (State::Closed, Some(Failure::Reset)));
}

/// An endpoint in SYN-SENT answers an unacceptable acknowledgement with a reset and keeps waiting (section 3.10.7.3).
#[test]
fn syn_sent_takes_only_an_answer_to_its_syn() {
    let mut t = Trace::client(plain());
    t.sent();
    assert_eq!(t.gets("1:1 ack 300"), ["RST 300:300"]);
    assert_eq!(t.gets("SYN 0:1 ack 2 mss 1000"), ["RST 2:2"]);
    assert!(t.gets("RST 0:0").is_empty(), "a reset that acknowledges nothing");
    assert!(t.gets("RST 0:0 ack 2").is_empty());
    assert_eq!(t.tcp.state(), State::SynSent);
    assert!(t.gets("RST 0:0 ack 1").is_empty());
    assert_eq!(t.tcp.failure(), Some(Failure::Reset));
}

#[test]
fn listen_resets_what_acknowledges_and_ignores_resets() {
    let mut t = Trace::server(plain());
    assert!(t.gets("RST 0:0").is_empty());
    assert_eq!(t.gets("0:10 ack 7"), ["RST 7:7"]);
    assert!(t.gets("0:10").is_empty());
    assert_eq!(t.tcp.state(), State::Listen);
}

/// A wrong acknowledgement in SYN-RECEIVED is reset, with or without data, and does not open.
#[test]
fn syn_received_needs_its_own_acknowledgement() {
    let mut t = Trace::server(plain());
    t.gets("SYN 0:1 mss 1000");
    assert_eq!(t.gets("1:1 ack 2"), ["RST 2:2"]);
    assert_eq!(t.gets("1:501 ack 900"), ["RST 900:900"]);
    assert_eq!(t.tcp.state(), State::SynReceived);
    assert!(t.gets("1:501 ack 1").is_empty());
    assert_eq!((t.tcp.state(), t.tcp.read()), (State::Established, Some(0..500)));
}

/// A lost SYN is retransmitted after 1, 2, 4, ... s, six times; then the connection is given up.
#[test]
fn syn_backs_off_and_is_given_up() {
    let mut t = Trace::client(plain());
    assert_eq!(t.sent(), ["SYN 0:1"]);
    let mut times = Vec::new();
    while t.tcp.state() == State::SynSent {
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        if !t.sent().is_empty() {
            times.push(t.now.as_nanos() / 1_000_000_000);
        }
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63]);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
    assert_eq!(t.now.as_nanos() / 1_000_000_000, 63 + 60, "the last wait is the largest timeout");
    assert!(t.sent().is_empty(), "nobody to reset");
}

/// RFC 5681 section 3.1: a lost SYN leaves a window of one segment. RFC 6298 section 5.7: and a timeout of 3 s. Karn:
/// it gives no RTT sample.
#[test]
fn after_a_lost_syn_the_sender_starts_carefully() {
    let mut t = Trace::client(plain());
    t.sent();
    assert_eq!(t.wait(1_000), ["SYN 0:1"]);
    t.gets("SYN 0:1 ack 1 mss 1000");
    assert_eq!(t.tcp.rtt().srtt(), Duration::ZERO);
    assert_eq!(t.writes(5_000), ["1:1001 ack 1"]);
    assert_eq!(t.tcp.next_timeout(), t.now + Duration::from_secs(3));
}

/// The SYN-ACK was lost, so the SYN is repeated: it is answered again, and its round-trip time is ambiguous.
#[test]
fn a_repeated_syn_is_answered_again() {
    let mut t = Trace::server(plain());
    assert_eq!(t.gets("SYN 0:1 mss 1000"), ["SYN 0:1 ack 1"]);
    t.wait(900);
    assert_eq!(t.gets("SYN 0:1 mss 1000"), ["SYN 0:1 ack 1"]);
    t.wait(10);
    t.gets("1:1 ack 1");
    assert_eq!((t.tcp.state(), t.tcp.rtt().srtt()), (State::Established, Duration::ZERO));
}

/// The last acknowledgement of the handshake was lost: the repeated SYN-ACK is acknowledged.
#[test]
fn a_repeated_syn_ack_is_acknowledged() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("SYN 0:1 ack 1 mss 1000"), ["1:1 ack 1"]);
    assert_eq!(t.tcp.state(), State::Established);
}

/// Options are used only if both sides offer them; the segment size is the smaller of both, less 12 bytes for
/// timestamps.
#[test]
fn options_are_agreed_on() {
    let everything = || Config { sack: true, timestamps: true, ..plain() };
    let mut t = Trace::client(everything());
    assert_eq!(t.sent(), ["SYN 0:1 ts 1 0"]);
    // The peer has none: 536 bytes a segment (RFC 9293 section 3.7.1), no timestamps, no SACK, no scale.
    assert_eq!(t.gets("SYN 0:1 ack 1 win 700"), ["1:1 ack 1"]);
    assert_eq!(t.writes(5_000), ["1:537 ack 1"]);
    assert_eq!(t.gets("1:1 ack 1 win 1200"), ["537:1073 ack 1"], "the window is not scaled");

    let mut t = Trace::client(everything());
    t.sent();
    assert_eq!(t.gets("SYN 0:1 ack 1 mss 512 sackok ts 9 1"), ["1:1 ack 1 ts 1 9"]);
    assert_eq!(t.writes(600), ["1:501 ack 1 ts 1 9", "501:601 ack 1 ts 1 9"]);

    // Options that were not offered are not offered back.
    let mut t = Trace::server(everything());
    assert_eq!(t.gets("SYN 0:1"), ["SYN 0:1 ack 1"]);
    let mut t = Trace::server(plain());
    assert_eq!(t.gets("SYN 0:1 mss 1000 sackok ts 5 0"), ["SYN 0:1 ack 1"]);
}

/// An absurd MSS gives segments of 64 bytes and never panics.
#[test]
fn an_absurd_mss_is_survived() {
    for mss in [0, 5, 12, 63] {
        let mut t = Trace::client(Config { timestamps: true, ..plain() });
        t.sent();
        t.gets(&format!("SYN 0:1 ack 1 mss {mss} ts 1 1"));
        assert_eq!(t.writes(100), ["1:65 ack 1 ts 1 1", "65:101 ack 1 ts 1 1"], "mss {mss}");
    }
}

/// Data written, and a close, before the connection is established take effect then.
#[test]
fn data_written_early_waits_for_the_handshake() {
    let mut t = Trace::server(plain());
    t.gets("SYN 0:1 mss 1000");
    assert!(t.writes(300).is_empty());
    assert!(t.closes().is_empty());
    assert_eq!(t.gets("1:1 ack 1"), ["FIN 1:302 ack 1"]);
    assert_eq!(t.tcp.state(), State::FinWait1);
}
