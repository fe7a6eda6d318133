//! Linux's deviations, as kernel 6.12 shows them in a guest before a scripted peer (docs/linux-guests.md).

use crate::lab::{at, text};
use crate::pair::{answer, chunk, listen, said, standing, standing_with};
use vazao_engine::Time;
use vazao_engine::registry::Raw;
use vazao_transport::ByteStream;
use vazao_transport::sctp::{Association, Cause, Control, Cookie, Data, DataFlags, Init, Packet, Sack, State, stamp};

fn semantics(whose: &str) -> [(&'static str, Raw); 1] {
    [("semantics", text(whose))]
}

fn control(packet: Option<Packet>) -> Option<(u32, Control)> {
    packet.map(|packet| (packet.tag, packet.control[0]))
}

fn init(tag: u32, streams: (u16, u16)) -> Packet {
    chunk(0, Control::Init(Init { tag, window: 9_000, streams, tsn: 1, ..Init::default() }))
}

/// Messages in the server's TSNs from 100 on.
fn data(tsn: u32, length: u16) -> Packet {
    let number = tsn - 100;
    let data = Data {
        tsn,
        number,
        message: number,
        length,
        flags: DataFlags::WHOLE,
        stamp: stamp(0, u64::from(number), 0),
        ..Data::default()
    };
    Packet { tag: 9, data: vec![data], ..Packet::default() }
}

/// SACK for the server, whose first TSN is 200.
fn sack(cumulative: u32, window: u32) -> Packet {
    Packet { tag: 9, sack: Some(Sack { cumulative, window, ..Sack::default() }), ..Packet::default() }
}

fn sizes(end: &mut Association, now: Time) -> Vec<usize> {
    std::iter::from_fn(|| said(end, now)).map(|packet| packet.data.len()).collect()
}

/// Ten streams are requested, and an INIT ACK has no more in either direction than the INIT (`sctp_process_init`).
#[test]
fn linux_asks_for_ten_streams() {
    for (whose, asked, answered) in [("rfc9260", (1, 65_535), (1, 65_535)), ("linux", (10, 65_535), (3, 2))] {
        let mut client =
            Association::connect(std::sync::Arc::new(crate::lab::config(Some(1000), &semantics(whose))), 1, 5, 100);
        let Some((_, Control::Init(own))) = control(said(&mut client, at(0))) else { panic!("{whose}") };
        assert_eq!(own.streams, asked, "{whose}");
        let mut server = listen(9, 200, &semantics(whose));
        let Some((_, Control::InitAck(own, _))) = control(answer(&mut server, at(0), &init(7, (2, 3)))) else {
            panic!("{whose}")
        };
        assert_eq!(own.streams, answered, "{whose}");
    }
}

/// RFC 9260 section 3.3.2 discards an INIT without a tag; RFC 4960 section 3.3.2, and so Linux, answers with an ABORT.
#[test]
fn an_init_without_a_tag() {
    let abort = Some((0, Control::Abort(false, Some(Cause::InvalidParameter))));
    for (whose, expected) in [("rfc9260", None), ("rfc4960", abort), ("linux", abort)] {
        let mut server = listen(9, 200, &semantics(whose));
        assert_eq!(control(answer(&mut server, at(0), &init(0, (1, 1)))), expected, "{whose}");
    }
}

/// RFC 9260 section 5.2.2 answers every INIT; Linux ignores that of the established association.
#[test]
fn linux_ignores_the_same_init() {
    for (whose, answers) in [("rfc9260", true), ("linux", false)] {
        let (_, mut server) = standing(&semantics(whose));
        assert_eq!(answer(&mut server, at(1), &init(5, (1, 1))).is_some(), answers, "{whose}");
        assert!(answer(&mut server, at(1), &init(7, (1, 1))).is_some(), "{whose}");
    }
}

/// After the peer's SHUTDOWN Linux does not send a delayed SACK (`sctp_sf_timer_ignore`).
#[test]
fn linux_forgets_its_sack_at_the_shutdown() {
    for (whose, waits) in [("rfc9260", true), ("linux", false)] {
        let (_, mut server) = standing(&semantics(whose));
        // The first packet is acknowledged at once.
        assert!(answer(&mut server, at(1), &data(100, 10)).is_some(), "{whose}");
        assert_eq!(answer(&mut server, at(2), &data(101, 10)), None, "{whose}");
        let answer = control(answer(&mut server, at(3), &chunk(9, Control::Shutdown(199))));
        assert_eq!(answer, Some((5, Control::ShutdownAck)));
        server.handle_timeout(at(202));
        assert_eq!(said(&mut server, at(202)).is_some(), waits, "{whose}");
    }
}

/// T2-shutdown uses the RTO of the SHUTDOWN's path (RFC 9260 section 6.3), which data has measured, not that of the
/// handshake.
#[test]
fn a_shutdown_waits_as_long_as_its_path() {
    let given = [("min_rto", text("200 ms"))];
    let (_, mut server) = standing_with(&[], &given);
    server.set_clock(at(10));
    server.write(1000);
    assert_eq!(sizes(&mut server, at(10)), [1]);
    server.close();
    // A round trip of 400 ms: the RTO is 400 ms plus four times 200 ms.
    let shutdown = control(answer(&mut server, at(410), &sack(200, 9_000)));
    assert_eq!(shutdown, Some((5, Control::Shutdown(99))));
    assert_eq!(server.next_timeout(), at(410 + 1200));
    server.handle_timeout(at(1610));
    assert!(matches!(control(said(&mut server, at(1610))), Some((5, Control::Shutdown(_)))));
    assert_eq!(server.next_timeout(), at(1610 + 2400));
}

/// The COOKIE ACK precedes the SHUTDOWN of an application that has closed, in one packet: a peer waiting for the first
/// would discard the other (section 9.2 has SHUTDOWN from ESTABLISHED on).
#[test]
fn a_restart_is_confirmed_before_its_shutdown() {
    let (_, mut server) = standing(&[]);
    server.set_clock(at(1));
    server.write(1000);
    server.close();
    assert_eq!(sizes(&mut server, at(1)), [1]);
    let Some((_, Control::InitAck(_, Some(cookie)))) = control(answer(&mut server, at(2), &init(7, (1, 1)))) else {
        panic!("INIT ACK")
    };
    let first = answer(&mut server, at(3), &chunk(cookie.own.tag, Control::CookieEcho(cookie)));
    let first = first.expect("an answer");
    assert_eq!(first.tag, 7);
    assert!(matches!(first.control[..], [Control::CookieAck, Control::Shutdown(_)]), "{:?}", first.control);
    assert_eq!(server.state(), State::ShutdownSent);
}

/// `sctp_eat_data` accepts up to a packet beyond the window, once; RFC 9260 section 6.2 permits dropping it.
#[test]
fn linux_takes_a_chunk_beyond_its_window() {
    for (whose, last, window) in [("rfc9260", 3, 200), ("linux", 4, 0)] {
        let given = [semantics(whose)[0].clone(), ("receive_buffer", text("3000 B"))];
        let (_, mut server) = standing(&given);
        let mut answers = |tsn| answer(&mut server, at(1), &data(tsn, 1400)).expect("it is out of order");
        let answer = (101..=104).map(&mut answers).last().expect("one of four");
        assert_eq!(answer.gaps, [(2, last)], "{whose}");
        assert_eq!(answer.sack.map(|sack| sack.window), Some(window), "{whose}");
    }
}

/// A chunk too far ahead for a gap ack block (section 3.3.4, 16 bits; SCTP_TSN_MAP_SIZE in Linux) is not accepted.
#[test]
fn chunks_too_far_ahead_are_dropped() {
    for (whose, reach) in [("rfc9260", 65_535), ("linux", 4096)] {
        let (_, mut server) = standing(&semantics(whose));
        server.handle(at(1), 0, &data(100 + reach, 10));
        assert_eq!(server.stats().chunks_received, 0, "{whose}");
        server.handle(at(1), 0, &data(100 + reach - 1, 10));
        assert_eq!(server.stats().chunks_received, 1, "{whose}");
    }
}

/// Nagle's algorithm (`sctp_packet_can_append_data`): while data is in flight, single-chunk messages wait for a
/// packet's worth of them, or for the end.
#[test]
fn linux_collects_small_messages() {
    for (whose, second, last) in [("rfc9260", vec![1], vec![]), ("linux", vec![], vec![1])] {
        let given = [semantics(whose)[0].clone(), ("mtu", Raw::Number(3000.0))];
        let (_, mut server) = standing(&given);
        let mut write = |now, bytes| {
            server.set_clock(at(now));
            server.write(bytes);
            sizes(&mut server, at(now))
        };
        assert_eq!(write(1, 1000), [1], "{whose}");
        assert_eq!(write(2, 1000), second, "{whose}");
        server.close();
        assert_eq!(sizes(&mut server, at(3)), last, "{whose}");
    }
}

/// Every arriving packet lets Linux send another burst (`sctp_cmd_interpreter`), whatever its contents.
#[test]
fn any_packet_makes_linux_send() {
    for (whose, more) in [("rfc4960", 0), ("linux", 2)] {
        let given = [
            semantics(whose)[0].clone(),
            ("max_burst", Raw::Number(1.0)),
            ("mtu", Raw::Number(1000.0)),
            ("initial_window", text("20 kB")),
        ];
        let config = std::sync::Arc::new(crate::lab::config(Some(8000), &given));
        let (mut client, mut server) = (crate::pair::connect(5, 100), Association::listen(config, 1, 9, 200));
        crate::pair::converse(&mut client, &mut server, at(0));
        server.set_clock(at(1));
        server.write(8000);
        // One message, one burst, though the association has just been established.
        assert_eq!(sizes(&mut server, at(1)).len(), 2, "{whose}");
        server.handle(at(2), 0, &chunk(9, Control::CookieAck));
        assert_eq!(sizes(&mut server, at(2)).len(), more, "{whose}");
    }
}

/// An INIT ACK without a tag: Linux's ABORT has none either. An INIT ACK bounds the streams of the next INIT after a
/// stale cookie (`sctp_process_init`).
#[test]
fn linux_takes_the_first_init_ack_at_its_word() {
    let config = || std::sync::Arc::new(crate::lab::config(Some(1000), &semantics("linux")));
    let good = Init { tag: 7, window: 1500, streams: (3, 2), tsn: 1, ..Init::default() };
    let cookie = Some(Cookie::foreign(good));
    let mut client = Association::connect(config(), 1, 5, 100);
    let _ = said(&mut client, at(0));
    let abort = answer(&mut client, at(1), &chunk(5, Control::InitAck(Init { tag: 0, ..good }, cookie)));
    assert_eq!(control(abort), Some((0, Control::Abort(false, Some(Cause::InvalidParameter)))));

    let mut client = Association::connect(config(), 1, 5, 100);
    let _ = said(&mut client, at(0));
    let echo = answer(&mut client, at(1), &chunk(5, Control::InitAck(good, cookie)));
    assert!(matches!(control(echo), Some((7, Control::CookieEcho(_)))));
    let again = control(answer(&mut client, at(2), &chunk(5, Control::Error(Cause::StaleCookie(9)))));
    let Some((0, Control::Init(init))) = again else { panic!("{again:?}") };
    assert_eq!(init.streams, (2, 3));
}

/// `sctp_peer_needs_update`: 1500 bytes more than advertised trigger a SACK, checked after each whole message read,
/// whatever the size of the last.
#[test]
fn linux_announces_a_packet_s_worth_of_window() {
    let given = [semantics("linux")[0].clone(), ("receive_buffer", text("4000 B"))];
    let (_, mut server) = standing(&given);
    let first = answer(&mut server, at(1), &data(100, 10)).and_then(|packet| packet.sack).expect("at once");
    assert_eq!(first.window, 3990);
    server.read();
    server.handle(at(2), 0, &data(101, 100));
    server.handle(at(2), 0, &data(102, 1452));
    server.set_clock(at(2));
    server.read();
    let windows: Vec<_> =
        std::iter::from_fn(|| said(&mut server, at(2))).map(|packet| packet.sack.expect("one").window).collect();
    assert_eq!(windows, [2448, 4000]);
}
