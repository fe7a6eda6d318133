//! Explicit congestion notification: RFC 3168 section 6.1, and RFC 8257 section 3.2 for DCTCP. In a trace, flags
//! precede a segment, and `ect` and `ce` follow it.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_transport::tcp::{Config, Recovery};

fn ecn() -> Config {
    Config { ecn: Some(true), ..plain() }
}

/// Connection with ECN; eight segments in congestion avoidance.
fn agreed(config: Config) -> Trace {
    let mut t = Trace::client(Config { control: control("reno", 8, Some(8)), ..config });
    assert_eq!(t.sent(), ["SYN ECE CWR 0:1"]);
    t.wait(100);
    assert_eq!(t.gets("SYN ECE 0:1 ack 1 mss 1000 sackok"), ["1:1 ack 1"]);
    t
}

fn receiver(config: Config) -> Trace {
    let mut t = Trace::server(config);
    t.gets("SYN ECE CWR 0:1 mss 1000");
    t.gets("1:1 ack 1");
    t
}

// ---- section 6.1.1 --------------------------------------------------------------------------------------------------

#[test]
fn ecn_is_negotiated_in_the_syns() {
    for (syn, answer) in [
        ("SYN ECE CWR 0:1 mss 1000", "SYN ECE 0:1 ack 1"),
        ("SYN 0:1 mss 1000", "SYN 0:1 ack 1"),
        ("SYN ECE 0:1 mss 1000", "SYN 0:1 ack 1"),
    ] {
        assert_eq!(Trace::server(ecn()).gets(syn), [answer]);
    }
    assert_eq!(Trace::server(plain()).gets("SYN ECE CWR 0:1 mss 1000"), ["SYN 0:1 ack 1"]);

    let data = |answer: &str| {
        let mut t = Trace::client(ecn());
        assert_eq!(t.sent(), ["SYN ECE CWR 0:1"]);
        t.gets(answer);
        t.writes(1000)
    };
    assert_eq!(data("SYN ECE 0:1 ack 1 mss 1000"), ["1:1001 ack 1 ect"]);
    assert_eq!(data("SYN 0:1 ack 1 mss 1000"), ["1:1001 ack 1"]);
    assert_eq!(data("SYN ECE CWR 0:1 ack 1 mss 1000"), ["1:1001 ack 1"], "a host that reflects what it does not know");
}

/// Section 6.1.1.1: a SYN without an answer is retransmitted without ECN.
#[test]
fn a_repeated_syn_does_not_offer_ecn() {
    let mut t = Trace::client(ecn());
    t.sent();
    assert_eq!(t.wait(1000), ["SYN 0:1"]);
}

/// A congestion control that requires marks offers ECN by itself.
#[test]
fn dctcp_offers_it() {
    let mut t = Trace::client(Config { ecn: None, control: control("dctcp", 8, None), ..plain() });
    assert_eq!(t.sent(), ["SYN ECE CWR 0:1"]);
    let mut t = Trace::client(Config { ecn: None, ..plain() });
    assert_eq!(t.sent(), ["SYN 0:1"]);
}

// ---- section 6.1.2: the sender --------------------------------------------------------------------------------------

/// ECE halves the window, once a round trip; the next new data carries CWR. Nothing is retransmitted.
#[test]
fn an_echo_halves_once_a_round_trip() {
    for (recovery, sack) in [(Recovery::NewReno, false), (Recovery::Sack, true)] {
        let mut t = agreed(Config { recovery, sack, ..ecn() });
        assert_eq!(t.writes(40_000).len(), 8);
        t.wait(100);
        assert!(t.gets("ECE 1:1 ack 1001").is_empty());
        assert_eq!((t.cwnd(), t.ssthresh()), (4, 4), "{recovery:?}");
        for ack in [2001, 3001, 4001] {
            assert!(t.gets(&format!("ECE 1:1 ack {ack}")).is_empty());
        }
        assert_eq!(t.gets("ECE 1:1 ack 5001"), ["CWR 8001:9001 ack 1 ect"]);
        assert_eq!(t.gets("ECE 1:1 ack 6001"), ["9001:10001 ack 1 ect"]);
        t.gets("ECE 1:1 ack 8001");
        assert_eq!((t.cwnd(), t.tcp.stats().mark_reductions), (4, 1), "the receiver has not heard of it");
        t.gets("ECE 1:1 ack 9001");
        assert_eq!((t.cwnd(), t.tcp.stats().mark_reductions), (2, 2), "marked again since");
        assert_eq!((t.tcp.stats().retransmissions, t.tcp.in_recovery()), (0, false));
    }
}

/// If fast recovery uses PRR, so does a reduction for a mark, as in Linux: RFC 9937 halves eight segments by sending
/// one for every other that arrives, and none beyond the ssthresh of four. The acknowledgement of data beyond the
/// flight ends it.
#[test]
fn an_echo_lowers_the_window_over_a_round_trip() {
    for (recovery, prr) in [(Recovery::Rack, false), (Recovery::Sack, true)] {
        let mut t = agreed(Config { recovery, prr, sack: true, ..ecn() });
        assert_eq!(t.writes(40_000).len(), 8);
        t.wait(100);
        assert_eq!(t.gets("ECE 1:1 ack 1001"), ["CWR 8001:9001 ack 1 ect"]);
        for (ack, sent) in [(2001, 0), (3001, 1), (4001, 0), (5001, 1), (6001, 0), (7001, 0), (8001, 1)] {
            assert_eq!(t.gets(&format!("1:1 ack {ack}")).len(), sent, "{recovery:?} {ack}");
        }
        assert_eq!((t.cwnd(), t.ssthresh(), t.tcp.stats().mark_reductions), (4, 4, 1));
        assert_eq!(t.gets("1:1 ack 9001").len(), 1);
        assert_eq!((t.cwnd(), t.tcp.in_recovery(), t.tcp.stats().retransmissions), (4, false, 0));
    }
}

/// One episode is one reduction (RFC 3168 section 6.1.2): a loss in the same round trip is repaired during the
/// reduction and causes no further one; nor does the timeout of other segments lost with it.
#[test]
fn a_mark_counts_for_losses() {
    for (recovery, prr) in [(Recovery::Rack, false), (Recovery::Sack, true), (Recovery::Sack, false)] {
        let mut t = agreed(Config { recovery, prr, sack: true, ..ecn() });
        assert_eq!(t.writes(40_000).len(), 8);
        t.wait(100);
        t.gets("ECE 1:1 ack 1001");
        for end in [3001, 4001, 5001, 6001, 7001] {
            t.gets(&format!("1:1 ack 1001 sack 2001:{end}"));
        }
        t.wait(30);
        assert!(t.tcp.in_recovery(), "{recovery:?}");
        assert_eq!((t.ssthresh(), t.tcp.stats().retransmissions, t.tcp.stats().mark_reductions), (4, 1, 1));
        t.wait(5_000);
        assert!(t.tcp.stats().timeouts > 0);
        assert_eq!(t.ssthresh(), 4, "{recovery:?}");
    }
}

/// A loss covers the marks of the same round trip, and is signalled by CWR too; retransmissions must not be marked
/// (6.1.5).
#[test]
fn a_loss_counts_for_marks() {
    let mut t = agreed(Config { recovery: Recovery::NewReno, ..ecn() });
    t.writes(40_000);
    t.wait(100);
    for _ in 0..2 {
        assert!(t.gets("1:1 ack 1").is_empty());
    }
    assert_eq!(t.gets("1:1 ack 1"), ["1:1001 ack 1"]);
    assert_eq!(t.gets("ECE 1:1 ack 8001").first().map(String::as_str), Some("CWR 8001:9001 ack 1 ect"));
    assert_eq!((t.ssthresh(), t.tcp.stats().mark_reductions), (4, 0));
}

/// Without negotiation, the flag means nothing.
#[test]
fn ece_without_negotiation_is_ignored() {
    let mut t = Trace::sender(Recovery::NewReno, 8);
    t.writes(40_000);
    t.gets("ECE 1:1 ack 1001");
    assert_eq!((t.cwnd(), t.tcp.stats().mark_reductions), (8, 0));
}

// ---- section 6.1.3: the receiver ------------------------------------------------------------------------------------

/// After a mark every acknowledgement carries ECE, until the sender has signalled CWR.
#[test]
fn a_mark_is_echoed_until_cwr() {
    let mut t = receiver(Config { delayed_ack: 1, ..ecn() });
    assert_eq!(t.gets("1:1001 ack 1"), ["1:1 ack 1001"]);
    assert_eq!(t.gets("1001:2001 ack 1 ce"), ["ECE 1:1 ack 2001"]);
    assert_eq!(t.gets("2001:3001 ack 1"), ["ECE 1:1 ack 3001"]);
    assert_eq!(t.writes(10), ["ECE 1:11 ack 3001 ect"], "data echoes too");
    assert_eq!(t.gets("CWR 3001:4001 ack 11"), ["1:1 ack 4001"].map(|_| "11:11 ack 4001"));
    assert_eq!(t.gets("CWR 4001:5001 ack 11 ce"), ["ECE 11:11 ack 5001"], "heard, and marked anew");
}

// ---- RFC 8257 section 3.2 -------------------------------------------------------------------------------------------

/// Figure 1: an acknowledgement reports the marks of what it acknowledges. When the mark changes, earlier data is
/// acknowledged at once with the old state.
#[test]
fn dctcp_echoes_each_mark() {
    let mut t = receiver(Config { ecn: None, control: control("dctcp", 8, None), ..plain() });
    assert!(t.gets("1:1001 ack 1").is_empty());
    assert_eq!(t.gets("1001:2001 ack 1 ce"), ["1:1 ack 1001"], "the first one was not marked");
    assert_eq!(t.gets("2001:3001 ack 1 ce"), ["ECE 1:1 ack 3001"]);
    assert!(t.gets("3001:4001 ack 1 ce").is_empty());
    assert_eq!(t.gets("4001:5001 ack 1"), ["ECE 1:1 ack 4001"]);
    assert_eq!(t.wait(40), ["1:1 ack 5001"], "the delayed one tells of itself");
    assert!(t.gets("CWR 5001:6001 ack 1").is_empty());
    assert_eq!(t.gets("6001:7001 ack 1"), ["1:1 ack 7001"], "nothing waits where nothing changes");
}
