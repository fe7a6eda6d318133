//! Handshake: its round trips, and what must not be sent during it.

use crate::lab::{Lab, Laboratory, Weather, at, config, has, text};
use vazao_engine::registry::Raw;
use vazao_transport::quic::{Kind, Space};

/// RFC 9001 section 2, RFC 9000 section 8.1, and Google's *QUIC Crypto* and version negotiation: with a one-way delay
/// of 50 ms and no other delays, the client may send after 100, 0 and 200 ms, the server half a round trip later; and
/// both know the end of the handshake after another half. A client that keeps its data until SHLO is ready after its server.
#[test]
fn handshakes_take_their_round_trips() {
    for (handshake, client, server, established) in [
        ("1-rtt", 100, 150, 100),
        ("0-rtt", 0, 50, 100),
        ("retry", 200, 250, 200),
        ("gquic-1-rtt", 100, 150, 200),
        ("gquic-2-rtt", 200, 250, 300),
        ("gquic-3-rtt", 300, 250, 300),
        ("gquic-0-rtt", 0, 50, 100),
    ] {
        let mut lab = Lab::new(config(&[("handshake", text(handshake))]), [1000, 0], Weather::fair(50), 1);
        lab.run(10);
        lab.assert_delivered();
        assert_eq!(lab.client().stats().ready, Some(at(client)), "{handshake}");
        assert_eq!(lab.client().stats().established, Some(at(established)), "{handshake}");
        assert_eq!(lab.server().stats().ready, Some(at(server)), "{handshake}");
        assert_eq!(lab.client().stats().probes + lab.server().stats().probes, 0, "{handshake}");
    }
}

/// RFC 9000 section 8.1: a server whose flight exceeds three times the client's 1200 bytes waits for the client to
/// acknowledge the first part of it: a round trip more.
#[test]
fn long_certificates_take_a_round_trip_more() {
    for (certificate, ready) in [("2500 B", 100), ("4000 B", 200), ("8000 B", 200)] {
        let mut lab = Lab::new(config(&[("certificate", text(certificate))]), [1000, 0], Weather::fair(50), 1);
        lab.run(10);
        lab.assert_delivered();
        assert_eq!(lab.client().stats().ready, Some(at(ready)), "{certificate}");
    }
}

/// RFC 9002 section 6.2.2: without an RTT sample the first probe leaves after 333 + 4 * 166.5 = 999 ms.
#[test]
fn a_lost_first_datagram_is_probed_for_after_a_second() {
    let mut lab = Lab::new(config(&[]), [1000, 0], Weather::fair(50), 1);
    let mut sent = 0;
    lab.lose = Box::new(move |_, _| {
        sent += 1;
        sent == 1
    });
    lab.run(10);
    lab.assert_delivered();
    assert_eq!(lab.client().stats().ready, Some(at(999 + 100)));
}

/// RFC 9002 section 6.2.2.1: a server at its amplification limit has no timer; its client's probes unblock it. The
/// client's first flight arrives, the server's is lost once; the client must send although it has no data.
#[test]
fn a_blocked_server_is_unblocked_by_probes() {
    let mut lab = Lab::new(config(&[("certificate", text("8000 B"))]), [1000, 0], Weather::fair(50), 1);
    lab.lose = {
        let mut sent = 0;
        Box::new(move |from, _| {
            sent += u64::from(from == 1);
            from == 1 && sent <= 3
        })
    };
    lab.run(10);
    lab.assert_delivered();
    let ready = lab.client().stats().ready.expect("it stands").as_nanos() / 1_000_000;
    assert!((999 + 100..3_000).contains(&ready), "{ready} ms");
}

/// RFC 9001 section 4.9.2: no Initial or Handshake packets are sent once the handshake is confirmed, at the client
/// after a round trip and a half.
#[test]
fn keys_are_discarded() {
    let mut lab = Lab::new(config(&[]), [1 << 20, 0], Weather::fair(50), 1);
    lab.run_until(10, |lab| lab.paths.now > at(201));
    lab.lose = Box::new(|_, datagram| {
        assert!(!has(datagram, Space::Initial) && !has(datagram, Space::Handshake));
        false
    });
    lab.run(10);
    lab.assert_delivered();
}

/// RFC 9001 section 4.6, RFC 9000 section 17.2.3: the early data of a client with a ticket goes in 0-RTT packets, and
/// none of its data does after the handshake.
#[test]
fn early_data_goes_in_packets_of_its_own() {
    let mut lab = Lab::new(config(&[("handshake", text("0-rtt"))]), [100_000, 0], Weather::fair(50), 1);
    lab.lose = Box::new(|from, datagram| {
        assert!(from == 0 || datagram.packets.iter().all(|packet| packet.kind != Kind::ZeroRtt));
        false
    });
    lab.run_until(10, |lab| lab.paths.now >= at(50));
    // The initial window is ten datagrams; the server's flight in a resumption is one.
    assert_eq!(lab.client().stats().datagrams, 10);
    lab.lose = Box::new(|from, datagram| {
        assert!(from == 1 || datagram.packets.iter().all(|packet| packet.kind != Kind::ZeroRtt));
        false
    });
    lab.run(10);
    lab.assert_delivered();
}

/// RFC 9000 section 8.1.3: a token of an earlier connection validates the client's address, so the server's answer to
/// 0-RTT data is limited only by its initial window of ten datagrams; without one, by three times the 1200 bytes
/// received.
#[test]
fn a_token_of_an_earlier_connection_lifts_the_limit() {
    let answered = |given: &[(&str, Raw)]| {
        let mut lab = Lab::new(config(given), [100, 100_000], Weather::fair(50), 1);
        lab.run_to(140);
        lab.server().stats().datagrams
    };
    let token = |has| ("address_token", Raw::Flag(has));
    let early = || ("handshake", text("0-rtt"));
    assert!(answered(&[early()]) >= 10);
    assert_eq!(answered(&[early(), token(false)]), 3);
    let rejected = || [("handshake", text("0-rtt-rejected")), ("certificate", text("8 kB"))];
    assert_eq!(answered(&rejected()), 3);
    assert!(answered(&[&rejected()[..], &[token(true)]].concat()) >= 6);
}

/// If any of CHLO, REJ and SHLO is lost once, Google's handshake completes: it is retransmitted after 1.5 round-trip
/// times.
#[test]
fn any_datagram_of_google_s_handshake_may_be_lost() {
    for (handshake, ready) in [("gquic-1-rtt", 100), ("gquic-2-rtt", 200), ("gquic-3-rtt", 300)] {
        let given = [("handshake", text(handshake)), ("recovery", text("google")), ("initial_rtt", text("100 ms"))];
        for (lost, sends) in (0..8).flat_map(|lost| [[1000, 0], [0, 100_000]].map(|sends| (lost, sends))) {
            let mut lab = Lab::new(config(&given), sends, Weather::fair(50), 1);
            let mut sent = 0;
            lab.lose = Box::new(move |_, _| {
                sent += 1;
                sent == lost + 1
            });
            lab.run(10);
            lab.assert_delivered();
            if lost == 0 {
                assert_eq!(lab.client().stats().ready, Some(at(150 + ready)));
            }
        }
    }
}
