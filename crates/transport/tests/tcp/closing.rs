//! Closing, resets, and late segments: RFC 9293 sections 3.6 and 3.10, RFC 5961.

use crate::config::plain;
use crate::trace::Trace;
use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;
use vazao_transport::tcp::{Config, Failure, Host, State};

/// Figure 12: this side closes first.
#[test]
fn closing_first() {
    let mut t = Trace::established(plain());
    assert_eq!(t.closes(), ["FIN 1:2 ack 1"]);
    assert_eq!(t.tcp.state(), State::FinWait1);
    assert!(t.gets("1:1 ack 2").is_empty());
    assert_eq!(t.tcp.state(), State::FinWait2);
    // The other direction is still open.
    assert!(t.gets("1:501 ack 2").is_empty());
    assert_eq!(t.tcp.read(), Some(0..500));
    assert_eq!(t.gets("FIN 501:502 ack 2"), ["2:2 ack 502"]);
    assert_eq!((t.tcp.state(), t.tcp.is_over(), t.tcp.peer_closed()), (State::TimeWait, true, true));
    // The acknowledgement was lost: the repeated FIN is acknowledged again and restarts TIME-WAIT.
    t.wait(50_000);
    assert_eq!(t.gets("FIN 501:502 ack 2"), ["2:2 ack 502"]);
    t.wait(59_000);
    assert_eq!(t.tcp.state(), State::TimeWait);
    t.wait(1_000);
    assert_eq!((t.tcp.state(), t.tcp.failure()), (State::Closed, None));
}

#[test]
fn closing_second() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("FIN 1:101 ack 1"), ["1:1 ack 101"]);
    assert_eq!(t.tcp.state(), State::CloseWait);
    assert!(!t.tcp.peer_closed(), "not before everything is read");
    assert_eq!(t.tcp.read(), Some(0..99));
    assert!(t.tcp.peer_closed());
    assert_eq!(t.writes(200), ["1:201 ack 101"]);
    assert_eq!(t.closes(), ["FIN 201:202 ack 101"]);
    assert_eq!(t.tcp.state(), State::LastAck);
    assert!(t.gets("101:101 ack 202").is_empty());
    assert_eq!((t.tcp.state(), t.tcp.next_timeout()), (State::Closed, Time::NEVER));
}

/// Figure 13: both sides close at once.
#[test]
fn closing_at_once() {
    let mut t = Trace::established(plain());
    assert_eq!(t.closes(), ["FIN 1:2 ack 1"]);
    assert_eq!(t.gets("FIN 1:2 ack 1"), ["2:2 ack 2"]);
    assert_eq!(t.tcp.state(), State::Closing);
    assert!(t.gets("2:2 ack 2").is_empty());
    assert_eq!(t.tcp.state(), State::TimeWait);
}

/// FIN and its acknowledgement in one segment.
#[test]
fn closing_in_three_segments() {
    let mut t = Trace::established(plain());
    t.closes();
    assert_eq!(t.gets("FIN 1:2 ack 2"), ["2:2 ack 2"]);
    assert_eq!(t.tcp.state(), State::TimeWait);
}

#[test]
fn a_lost_fin_goes_again() {
    let mut t = Trace::established(plain());
    assert_eq!(t.writes(1_000), ["1:1001 ack 1"]);
    assert_eq!(t.closes(), ["FIN 1001:1002 ack 1"]);
    assert!(t.gets("1:1 ack 1001").is_empty());
    assert_eq!(t.wait(1_000), ["FIN 1001:1002 ack 1"]);
    assert_eq!(t.tcp.stats().timeout_retransmissions, 1);
}

/// FIN ahead of missing data is remembered.
#[test]
fn fin_out_of_order() {
    let mut t = Trace::established(plain());
    assert_eq!(t.gets("FIN 101:201 ack 1"), ["1:1 ack 1"]);
    assert_eq!(t.tcp.state(), State::Established);
    assert_eq!(t.gets("1:101 ack 1"), ["1:1 ack 201"]);
    assert_eq!((t.tcp.state(), t.tcp.read()), (State::CloseWait, Some(0..199)));
}

/// Data that a broken peer sends beyond its FIN is not part of the stream.
#[test]
fn nothing_lies_beyond_fin() {
    let mut t = Trace::established(plain());
    t.gets("FIN 101:201 ack 1");
    t.gets("201:301 ack 1");
    t.gets("151:301 ack 1");
    assert_eq!(t.gets("1:101 ack 1"), ["1:1 ack 201"]);
    t.gets("201:301 ack 1");
    assert_eq!((t.tcp.read(), t.tcp.read(), t.tcp.peer_closed()), (Some(0..199), None, true));
}

/// Endpoint in `state`, reached the shortest way. Nothing is in flight except FIN if it has closed.
fn in_state(state: State) -> Trace {
    let mut t = match state {
        State::Listen => return Trace::server(plain()),
        State::SynReceived => {
            let mut t = Trace::server(plain());
            t.gets("SYN 0:1 mss 1000");
            return t;
        }
        State::SynSent => {
            let mut t = Trace::client(plain());
            t.sent();
            return t;
        }
        _ => Trace::established(plain()),
    };
    let steps: &[&str] = match state {
        State::FinWait1 => &["close"],
        State::FinWait2 => &["close", "1:1 ack 2"],
        State::CloseWait => &["FIN 1:2 ack 1"],
        State::Closing => &["close", "FIN 1:2 ack 1"],
        State::LastAck => &["FIN 1:2 ack 1", "close"],
        State::TimeWait => &["close", "FIN 1:2 ack 2"],
        _ => &[],
    };
    for step in steps {
        if *step == "close" {
            t.closes()
        } else {
            t.gets(step)
        };
    }
    assert_eq!(t.tcp.state(), state);
    t
}

/// Section 3.10.5: ABORT resets the peer if it still has a connection.
#[test]
fn abort_in_every_state() {
    use State::{CloseWait, Closing, Established, FinWait1, FinWait2, LastAck, Listen, SynReceived, SynSent, TimeWait};
    for (state, reset) in [
        (Listen, ""),
        (SynSent, ""),
        (SynReceived, "RST 1:1 ack 1"),
        (Established, "RST 1:1 ack 1"),
        (FinWait1, "RST 2:2 ack 1"),
        (FinWait2, "RST 2:2 ack 1"),
        (CloseWait, "RST 1:1 ack 2"),
        (Closing, ""),
        (LastAck, ""),
        (TimeWait, ""),
    ] {
        let mut t = in_state(state);
        t.tcp.abort();
        assert_eq!(t.sent().concat(), reset, "{state:?}");
        assert_eq!((t.tcp.state(), t.tcp.next_timeout()), (State::Closed, Time::NEVER));
    }
}

/// RFC 5961 section 3: a reset is accepted at exactly the next octet; elsewhere in the window it is challenged; outside
/// it is ignored. If both sides have closed it ends the connection, but is no failure.
#[test]
fn resets_in_every_state() {
    use State::{CloseWait, Closing, Established, FinWait1, FinWait2, LastAck, TimeWait};
    for state in [Established, FinWait1, FinWait2, CloseWait, Closing, LastAck, TimeWait] {
        let next = if matches!(state, Established | FinWait1 | FinWait2) { 1 } else { 2 };
        let mut t = in_state(state);
        assert!(t.gets("RST 0:0").is_empty(), "{state:?}: below the window");
        assert!(t.gets("RST 300000:300000").is_empty(), "{state:?}: above it");
        assert_eq!(t.gets("RST 100:100").len(), 1, "{state:?}: in it, a challenge");
        assert_eq!(t.tcp.state(), state);
        assert!(t.gets(&format!("RST {next}:{next}")).is_empty());
        assert_eq!(t.tcp.state(), State::Closed);
        let failed = !matches!(state, Closing | LastAck | TimeWait);
        assert_eq!(t.tcp.failure(), failed.then_some(Failure::Reset), "{state:?}");
    }
}

/// A reset with unacknowledged data is a failure even after both sides closed.
#[test]
fn a_reset_that_loses_data_is_a_failure() {
    let mut t = Trace::established(plain());
    t.gets("FIN 1:2 ack 1");
    t.writes(500);
    t.closes();
    t.gets("RST 2:2");
    assert_eq!(t.tcp.failure(), Some(Failure::Reset));
}

/// Section 3.10.7.1: segments to a closed connection are reset, except resets.
#[test]
fn closed_answers_with_resets() {
    for reset_before in [false, true] {
        let mut t = Trace::established(plain());
        if reset_before {
            t.gets("RST 1:1");
        } else {
            t.tcp.abort();
            t.sent();
        }
        assert!(t.gets("RST 1:1").is_empty());
        assert_eq!(t.gets("1:501 ack 77"), ["RST 77:77"]);
        t.receive("1:501");
        let reset = t.tcp.poll_transmit(t.now, &mut Default::default()).expect("a reset");
        assert_eq!(reset.sequence, 0, "with nothing acknowledged it cannot know better");
        assert!(reset.flags.has(vazao_transport::tcp::Flags::ACK));
    }
}

/// A connection that ends while an acknowledgement is delayed has no timer left.
#[test]
fn no_timer_outlives_the_connection() {
    let mut t = Trace::established(plain());
    assert!(t.gets("1:501 ack 1").is_empty());
    assert_ne!(t.tcp.next_timeout(), Time::NEVER);
    t.gets("RST 501:501");
    assert_eq!((t.tcp.state(), t.tcp.next_timeout()), (State::Closed, Time::NEVER));
}

/// Data is retransmitted `retries` times with back-off; then the connection is aborted and the peer reset.
#[test]
fn giving_up() {
    let mut t = Trace::established(Config { retries: 3, max_rto: Duration::from_secs(4), ..plain() });
    assert_eq!(t.writes(1_000), ["1:1001 ack 1"]);
    let sent: Vec<_> = std::iter::from_fn(|| (!t.tcp.is_over()).then(|| t.wait(500))).flatten().collect();
    assert_eq!(sent, ["1:1001 ack 1", "1:1001 ack 1", "1:1001 ack 1", "RST 1001:1001 ack 1"]);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
    // 100 ms of handshake, then 1 + 2 + 4 + 4 s.
    assert_eq!(t.now.as_nanos() / 100_000_000, 111);
}

/// An acknowledgement of data never sent is answered, and its data dropped (section 3.10.7.4; RFC 5961 section 5.2). Linux 6.12
/// is silent in ESTABLISHED (tcp_ack), as a guest shows, and answers in the states after it.
#[test]
fn an_acknowledgement_of_unsent_data_is_answered() {
    for (host, answer) in [(Host::Rfc, vec!["1:1 ack 1"]), (Host::Linux, vec![])] {
        let mut t = Trace::established(Config { host, ..plain() });
        assert_eq!(t.gets("1:501 ack 900"), answer, "{host:?}");
        assert_eq!(t.tcp.read(), None);
        t.closes();
        assert_eq!(t.gets("1:501 ack 900"), ["2:2 ack 1"], "{host:?} in FIN-WAIT-1");
    }
}

/// RFC 5961 section 3.2: the window ends before its right edge (RCV.NXT + RCV.WND), so that a reset there is dropped silently.
/// Linux takes the edge for a part of the window (tcp_sequence).
#[test]
fn a_reset_at_the_right_edge_is_outside_the_window() {
    for (host, answers) in [(Host::Rfc, [1, 0, 0]), (Host::Linux, [1, 1, 0])] {
        for (place, answers) in [60_000, 60_001, 60_002].into_iter().zip(answers) {
            let mut t = Trace::established(Config { host, ..plain() });
            assert_eq!(t.gets(&format!("RST {place}:{place}")).len(), answers, "{host:?} {place}");
        }
    }
}
