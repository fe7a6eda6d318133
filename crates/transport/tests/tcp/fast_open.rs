//! TCP Fast Open: RFC 7413. A cookie is written as a number, a cookie request as 0.

use crate::config::plain;
use crate::trace::Trace;
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Cookies, Failure, Host, State};

fn cookies(warm: bool) -> Arc<Cookies> {
    Arc::new(Cookies::new(7.into(), warm))
}

fn client(cookies: &Arc<Cookies>) -> Trace {
    Trace::client(plain()).with_fast_open(cookies)
}

fn server() -> Trace {
    Trace::server(plain()).with_fast_open(&cookies(false))
}

/// Section 3, requesting a cookie: no data yet. The next connection has it.
#[test]
fn the_first_connection_asks_for_a_cookie() {
    let cache = cookies(false);
    let mut t = client(&cache);
    assert!(!t.tcp.is_connected());
    assert_eq!(t.writes(500), ["SYN 0:1 cookie 0"]);
    assert_eq!(t.gets("SYN 0:1 ack 1 mss 1000 cookie 9"), ["1:501 ack 1"]);
    let mut t = client(&cache);
    assert!(t.tcp.is_connected());
    assert_eq!(t.writes(500), ["SYN 0:501 cookie 9"]);

    let mut t = server();
    assert_eq!(t.gets("SYN 0:1 mss 1000 cookie 0"), ["SYN 0:1 ack 1 cookie 7"]);
    assert!(!t.tcp.is_connected());
}

/// Section 4.1.3: the MSS of the SYN-ACK is kept with its cookie, and bounds what goes with the next SYN: 500 bytes less the
/// options of that, 4 for the MSS, 4 for the window scale, 12 for the cookie. The last MSS counts.
#[test]
fn the_mss_comes_with_the_cookie() {
    let cache = cookies(false);
    let mut t = client(&cache);
    t.writes(10);
    t.gets("SYN 0:1 ack 1 mss 500 cookie 9");
    let mut t = client(&cache);
    assert_eq!(t.writes(3_000), ["SYN 0:481 cookie 9"]);
    t.gets("SYN 0:1 ack 481 mss 700");
    assert_eq!(client(&cache).writes(3_000), ["SYN 0:681 cookie 9"]);
}

/// Section 4.2.1: what the server did not accept has been sent before.
#[test]
fn data_that_is_refused_counts_as_sent_again() {
    for (answer, again) in
        [("SYN 0:1 ack 1 mss 1000", 1), ("SYN 0:1 ack 201 mss 1000", 1), ("SYN 0:1 ack 501 mss 1000", 0)]
    {
        let mut t = client(&cookies(true));
        t.writes(500);
        t.gets(answer);
        assert_eq!(t.tcp.stats().retransmissions, again, "{answer}");
    }
}

/// The SYN-ACK acknowledges the data of the SYN (tcp_fastopen_add_skb): the next segment is the first of two that delayed
/// acknowledgement waits for.
#[test]
fn data_of_a_syn_is_no_part_of_delayed_acknowledgement() {
    let mut t = server();
    t.gets("SYN 0:501 mss 1000 cookie 7");
    t.tcp.read();
    assert!(t.gets("501:1501 ack 1").is_empty());
    assert_eq!(t.gets("1501:2501 ack 1"), ["1:1 ack 2501"]);
}

/// Section 4.1.1: cookies may have 4 to 16 bytes.
#[test]
fn cookies_of_every_length_are_kept() {
    for (cookie, data) in [("9/4", 984), ("9/6", 984), ("9/16", 972)] {
        let cache = cookies(false);
        let mut t = client(&cache);
        t.writes(500);
        t.gets(&format!("SYN 0:1 ack 1 mss 1000 cookie {cookie}"));
        assert_eq!(client(&cache).writes(1_000), [format!("SYN 0:{} cookie {cookie}", 1 + data)]);
    }
}

/// Section 3, performing Fast Open: as much as fits in a packet goes with the SYN (4 bytes for the MSS, 4 for the
/// window scale, 12 for the cookie), the rest after it.
#[test]
fn data_goes_with_the_syn() {
    let mut t = client(&cookies(true));
    assert_eq!(t.writes(1500), ["SYN 0:981 cookie 7"]);
    assert_eq!(t.gets("SYN 0:1 ack 981 mss 1000"), ["981:1501 ack 1"]);
    assert_eq!((t.tcp.acknowledged_bytes(), t.tcp.stats().bytes), (980, 1500));
}

/// Linux's tcp_send_syn_data: a sender with data in the SYN is busy although there is no connection yet, whether the
/// server accepts the data or not.
#[test]
fn data_with_the_syn_is_work() {
    for (taken, busy) in [(501, 100), (1, 150)] {
        let mut t = client(&cookies(true));
        t.writes(500);
        t.wait(100);
        t.gets(&format!("SYN 0:1 ack {taken} mss 1000"));
        t.wait(50);
        t.gets("1:1 ack 501");
        t.wait(50);
        assert_eq!(t.tcp.busy_time(t.now), Duration::from_millis(busy), "up to {taken}");
    }
}

/// The SYN-ACK acknowledges the data of the SYN: the timestamp of the segment after it is the one to echo
/// (Last.ACK.sent, RFC 7323 section 4.3).
#[test]
fn the_syn_ack_moves_what_was_acknowledged() {
    for host in [Host::Rfc, Host::Linux] {
        let config = Config { host, timestamps: true, ..plain() };
        let mut t = Trace::server(config).with_fast_open(&cookies(false));
        assert_eq!(t.gets("SYN 0:501 mss 1000 ts 50 0 cookie 7"), ["SYN 0:1 ack 501 ts 1 50"], "{host:?}");
        t.wait(10);
        let answers = t.gets("PSH 501:1501 ack 1 ts 60 1");
        t.tcp.read();
        let all = [answers, t.sent(), t.wait(50)].concat();
        assert_eq!(all.first().map(|one| one.ends_with(" 60")), Some(true), "{host:?}: {all:?}");
    }
}

/// The server's application has the data at once and may answer before the handshake completes.
#[test]
fn the_server_answers_at_once() {
    let mut t = server();
    t.receive("SYN 0:501 mss 1000 cookie 7");
    assert_eq!((t.tcp.state(), t.tcp.is_connected(), t.tcp.read()), (State::SynReceived, true, Some(0..500)));
    assert_eq!(t.writes(1500), ["SYN 0:1 ack 501", "1:1001 ack 501", "1001:1501 ack 501"]);
    assert!(t.closes().is_empty(), "FIN waits for the handshake");
    t.wait(100);
    assert_eq!(t.gets("501:501 ack 1001"), ["FIN 1501:1502 ack 501"]);
    assert_eq!(t.tcp.state(), State::FinWait1);
    assert_eq!(t.tcp.next_timeout(), t.now + Duration::from_secs(1), "what is in flight has a timer");
}

/// Section 4.2.2: a wrong cookie, or none, leaves the usual handshake; the right one is in the SYN-ACK.
#[test]
fn a_wrong_cookie_opens_nothing() {
    for (syn, answer) in
        [("SYN 0:501 mss 1000 cookie 8", "SYN 0:1 ack 1 cookie 7"), ("SYN 0:501 mss 1000", "SYN 0:1 ack 1")]
    {
        let mut t = server();
        assert_eq!(t.gets(syn), [answer]);
        assert_eq!((t.tcp.is_connected(), t.tcp.read()), (false, None));
    }
}

/// Section 4.2.1: data that the server did not accept, or not entirely, is sent after the handshake.
#[test]
fn data_not_accepted_is_sent_again() {
    for (answer, rest) in [("SYN 0:1 ack 1 mss 1000", "1:501 ack 1"), ("SYN 0:1 ack 201 mss 1000", "201:501 ack 1")] {
        let mut t = client(&cookies(true));
        assert_eq!(t.writes(500), ["SYN 0:501 cookie 7"]);
        assert_eq!(t.gets(answer), [rest]);
    }
    let mut t = client(&cookies(true));
    t.writes(500);
    assert_eq!(t.gets("SYN 0:1 ack 502 mss 1000"), ["RST 502:502"], "more than was sent");
}

/// RFC 9293 section 3.10.7.4: a listener silently returns to LISTEN; here the application has the client's data
/// already.
#[test]
fn a_reset_after_early_data_is_reported() {
    for (syn, state, failure) in [
        ("SYN 0:501 mss 1000 cookie 7", State::Closed, Some(Failure::Reset)),
        ("SYN 0:501 mss 1000 cookie 8", State::Listen, None),
    ] {
        let mut t = server();
        let taken = t.gets(syn);
        let next = if failure.is_some() { 501 } else { 1 };
        assert_eq!(taken.first().map(|line| line.contains(&format!("ack {next}"))), Some(true));
        t.receive(&format!("RST {next}:{next}"));
        assert_eq!((t.tcp.state(), t.tcp.failure()), (state, failure));
    }
}

/// Simultaneous open, and the peer's SYN-ACK acknowledges the data of our SYN, or part of it.
#[test]
fn a_simultaneous_open_acknowledges_the_data_of_the_syn() {
    for (answer, then) in [
        ("SYN 0:1 ack 501 mss 1000", "501:501 ack 1"),
        ("SYN 0:1 ack 201 mss 1000", "201:501 ack 1"),
        ("1:1 ack 501", "501:601 ack 1"),
    ] {
        let mut t = client(&cookies(true));
        t.writes(500);
        assert_eq!(t.gets("SYN 0:1 mss 1000"), ["SYN 0:1 ack 1"]);
        if then.contains(":601") {
            t.receive(answer);
            assert_eq!(t.writes(100), [then]);
        } else {
            assert_eq!(t.gets(answer), [then]);
        }
        assert_eq!(t.tcp.state(), State::Established);
    }
    let mut t = client(&cookies(true));
    t.writes(500);
    t.gets("SYN 0:1 mss 1000");
    assert_eq!(t.gets("1:1 ack 502"), ["RST 502:502"], "more than was sent");
}

/// RFC 9293 section 3.10.7.3: data in the SYN-ACK is handled like later data; RFC 7413 section 3 shows it.
#[test]
fn data_in_a_syn_ack_is_taken() {
    let mut t = client(&cookies(true));
    t.writes(500);
    t.receive("SYN 0:301 ack 501 mss 1000");
    assert_eq!((t.tcp.read(), t.sent()), (Some(0..300), vec!["501:501 ack 301".to_owned()]));
    let mut t = Trace::client(plain());
    t.sent();
    t.receive("SYN FIN 0:302 ack 1 mss 1000");
    assert_eq!((t.tcp.read(), t.sent()), (Some(0..301), vec!["1:1 ack 303".to_owned()]));
    assert_eq!((t.tcp.state(), t.tcp.peer_closed()), (State::CloseWait, true));
}

/// tcp_send_syn_data in Linux reserves the maximum option space: 1420 bytes of 1460, as a guest shows. A packet of 1500
/// bytes with 20 of IP, 20 of TCP and 32 of options holds 1428.
#[test]
fn how_much_a_syn_holds() {
    for (host, expected) in [(Host::Rfc, "SYN 0:1429 cookie 7 ts 1 0"), (Host::Linux, "SYN 0:1421 cookie 7 ts 1 0")] {
        let config = Config { host, mss: 1448, timestamps: true, sack: true, ..plain() };
        let mut t = Trace::client(config).with_fast_open(&cookies(true));
        assert_eq!(t.writes(3000), [expected]);
    }
}

/// Section 4.2.1: a SYN without an answer may have been dropped because of its data or option, and is repeated without.
#[test]
fn a_lost_syn_goes_again_without_data() {
    let mut t = client(&cookies(true));
    t.writes(500);
    assert_eq!(t.wait(1000), ["SYN 0:1"]);
    // The first one had arrived after all.
    assert!(t.gets("SYN 0:1 ack 501 mss 1000").contains(&"501:501 ack 1".into()));
    assert_eq!(t.tcp.acknowledged_bytes(), 500);
}

/// The application closes before the handshake completes.
#[test]
fn a_close_waits_for_the_handshake() {
    let mut t = client(&cookies(true));
    assert_eq!(t.tcp.write(500), 500);
    assert_eq!(t.closes(), ["SYN 0:501 cookie 7"]);
    assert_eq!(t.gets("SYN 0:1 ack 501 mss 1000"), ["FIN 501:502 ack 1"]);
    assert_eq!(t.tcp.state(), State::FinWait1);
}
