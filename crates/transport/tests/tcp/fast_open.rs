//! TCP Fast Open: RFC 7413. A cookie is written as a number, the wish for one as 0.

use crate::config::plain;
use crate::trace::Trace;
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_transport::Stream;
use vazao_transport::tcp::{Cookies, State};

fn cookies(warm: bool) -> Arc<Cookies> {
    Arc::new(Cookies::new(7, warm))
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

/// Section 3, performing Fast Open: as much as a packet holds goes with the SYN (4 bytes for the MSS, 4 for the window
/// scale, 12 for the cookie), the rest after it.
#[test]
fn data_goes_with_the_syn() {
    let mut t = client(&cookies(true));
    assert_eq!(t.writes(1500), ["SYN 0:981 cookie 7"]);
    assert_eq!(t.gets("SYN 0:1 ack 981 mss 1000"), ["981:1501 ack 1"]);
    assert_eq!((t.tcp.acknowledged_bytes(), t.tcp.stats().bytes), (980, 1500));
}

/// The server's application has the data at once and may answer before the handshake is over.
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

/// Section 4.2.2: a wrong cookie, or none, leaves the usual handshake; the right one comes with the answer.
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

/// Section 4.2.1: what the server did not take, or took in part, goes after the handshake.
#[test]
fn what_was_not_taken_goes_again() {
    for (answer, rest) in [("SYN 0:1 ack 1 mss 1000", "1:501 ack 1"), ("SYN 0:1 ack 201 mss 1000", "201:501 ack 1")] {
        let mut t = client(&cookies(true));
        assert_eq!(t.writes(500), ["SYN 0:501 cookie 7"]);
        assert_eq!(t.gets(answer), [rest]);
    }
    let mut t = client(&cookies(true));
    t.writes(500);
    assert_eq!(t.gets("SYN 0:1 ack 502 mss 1000"), ["RST 502:502"], "more than was sent");
}

/// Section 4.2.1: a SYN without an answer may have been dropped for what it carried, and goes again without.
#[test]
fn a_lost_syn_goes_again_without_data() {
    let mut t = client(&cookies(true));
    t.writes(500);
    assert_eq!(t.wait(1000), ["SYN 0:1"]);
    // The first one had arrived after all.
    assert!(t.gets("SYN 0:1 ack 501 mss 1000").contains(&"501:501 ack 1".into()));
    assert_eq!(t.tcp.acknowledged_bytes(), 500);
}

/// The application closed before the handshake was over.
#[test]
fn a_close_waits_for_the_handshake() {
    let mut t = client(&cookies(true));
    assert_eq!(t.tcp.write(500), 500);
    assert_eq!(t.closes(), ["SYN 0:501 cookie 7"]);
    assert_eq!(t.gets("SYN 0:1 ack 501 mss 1000"), ["FIN 501:502 ack 1"]);
    assert_eq!(t.tcp.state(), State::FinWait1);
}
