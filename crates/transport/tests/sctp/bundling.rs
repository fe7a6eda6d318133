//! Bundling (RFC 9260 sections 6.1 and 6.10), and Linux's version of it.

use crate::lab::{at, config, text};
use crate::pair::{chunk, connect, converse, listen, said, standing_with};
use std::sync::Arc;
use vazao_engine::Time;
use vazao_transport::ByteStream;
use vazao_transport::sctp::{
    Association, Cause, Control, Cookie, Data, DataFlags, Init, Packet, Probe, State, Unknown, stamp,
};

/// A message that fills a packet, so that Linux does not wait for another one.
const FULL: u64 = 1452;

/// A packet's chunks in short: `C` for each control chunk, `S`, and the bytes of data.
fn shape(packet: &Packet) -> String {
    let control = packet.control.iter().map(|_| "C".to_owned());
    let sack = packet.sack.map(|_| "S".to_owned());
    let data = packet.data.iter().map(|data| data.length.to_string());
    control.chain(sack).chain(data).collect::<Vec<_>>().join("+")
}

/// Shapes of all packets that an endpoint sends at `now`.
fn shapes(end: &mut Association, now: Time) -> Vec<String> {
    std::iter::from_fn(|| said(end, now)).map(|packet| shape(&packet)).collect()
}

/// Client and server with these semantics and messages of any length, after the client's first message was
/// acknowledged.
fn talking(semantics: &str) -> (Association, Association) {
    let given = [("semantics", text(semantics))];
    let (mut client, mut server) = standing_with(&given, &given);
    send(&mut client, at(1), 100);
    converse(&mut client, &mut server, at(1));
    assert_eq!(client.stats().sacks, 1);
    server.read();
    (client, server)
}

/// Writes a message.
fn send(end: &mut Association, now: Time, bytes: u64) {
    end.set_clock(now);
    end.begin_message(bytes);
    end.write(bytes);
    end.end_message();
}

/// Delivers everything that `from` sends at `now`, and lets the application read it.
fn hand_over(from: &mut Association, to: &mut Association, now: Time) {
    while let Some(packet) = said(from, now) {
        to.handle(now, 0, &packet);
    }
    to.read();
}

/// Section 6.1: a pending SACK leaves before data, and then no longer by itself.
#[test]
fn a_waiting_sack_leaves_with_data() {
    for semantics in ["rfc9260", "rfc4960", "linux"] {
        let (mut client, mut server) = talking(semantics);
        send(&mut client, at(10), 100);
        hand_over(&mut client, &mut server, at(10));
        assert_eq!(shapes(&mut server, at(10)), [""; 0], "{semantics}: it waits");
        send(&mut server, at(20), 300);
        assert_eq!(shapes(&mut server, at(20)), ["S+300"], "{semantics}");
        server.handle_timeout(at(300));
        assert_eq!(shapes(&mut server, at(300)), [""; 0], "{semantics}");
    }
}

/// The pending SACK goes with data if both fit. If not, Linux sends it alone before the data (`sctp_packet_bundle_sack`
/// has put it into the packet that the data does not fit in).
#[test]
fn a_waiting_sack_needs_room_beside_data() {
    for (bytes, semantics, expected) in [
        (968, "rfc9260", &["S+968"][..]),
        (972, "rfc9260", &["972"][..]),
        (968, "linux", &["S+968"][..]),
        (972, "linux", &["S", "972"][..]),
    ] {
        let given = [("semantics", text(semantics)), ("mtu", vazao_engine::registry::Raw::Number(1032.0))];
        let (mut client, mut server) = standing_with(&given, &given);
        for ms in [1, 10] {
            send(&mut client, at(ms), 100);
            hand_over(&mut client, &mut server, at(ms));
            hand_over(&mut server, &mut client, at(ms));
        }
        send(&mut server, at(20), bytes);
        assert_eq!(shapes(&mut server, at(20)), expected, "{semantics}, {bytes} bytes");
        let late: &[&str] = if expected == ["972"] { &["S"] } else { &[] };
        server.handle_timeout(at(210));
        assert_eq!(shapes(&mut server, at(210)), late, "{semantics}, {bytes} bytes");
    }
}

/// A SACK that is due is bundled with the application's response. In Linux it has left by the time the application
/// learns of the data, and goes with data that waited for a window.
#[test]
fn a_sack_that_is_due_leaves_with_data() {
    for (semantics, expected) in [("rfc9260", &["S+300"][..]), ("linux", &["S", "300"][..])] {
        let (mut client, mut server) = talking(semantics);
        for _ in 0..2 {
            send(&mut client, at(10), FULL);
        }
        hand_over(&mut client, &mut server, at(10));
        send(&mut server, at(10), 300);
        assert_eq!(shapes(&mut server, at(10)), expected, "{semantics}");
    }
    for semantics in ["rfc9260", "linux"] {
        let (mut client, mut server) = talking(semantics);
        // More than the first window.
        (0..8).for_each(|_| send(&mut server, at(5), 900));
        let under_way: Vec<_> = std::iter::from_fn(|| said(&mut server, at(5))).collect();
        under_way.iter().for_each(|packet| client.handle(at(8), 0, packet));
        let acknowledgement = said(&mut client, at(8)).expect("a SACK");
        send(&mut client, at(10), 100);
        let mut both = said(&mut client, at(10)).expect("data");
        assert_eq!(shape(&acknowledgement), "S");
        both.sack = acknowledgement.sack;
        // A gap calls for an immediate SACK.
        both.data[0].tsn += 1;
        server.handle(at(10), 0, &both);
        let said = shapes(&mut server, at(10));
        assert_eq!(said[0], "S+900", "{semantics}");
    }
}

/// Section 6.4: a SACK goes to a path on which data that it acknowledges arrived.
#[test]
fn a_waiting_sack_goes_by_a_path_that_data_came_by() {
    for (path, expected) in [(0, "S+300"), (1, "300")] {
        let mut client = Association::connect(Arc::new(config(Some(1000), &[])), 2, 5, 100);
        let mut server = Association::listen(Arc::new(config(Some(1000), &[])), 2, 9, 200);
        converse(&mut client, &mut server, at(0));
        send(&mut client, at(1), 100);
        converse(&mut client, &mut server, at(1));
        send(&mut client, at(10), 100);
        let packet = said(&mut client, at(10)).expect("data");
        server.handle(at(10), path, &packet);
        send(&mut server, at(10), 300);
        assert_eq!(shapes(&mut server, at(10)), [expected], "path {path}");
    }
}

/// Linux counts a path only if the next TSN arrived on it and nothing was missing (`sctp_tsnmap_mark`).
#[test]
fn what_fills_a_gap_is_acknowledged_later_by_linux() {
    for (semantics, expected) in [("rfc9260", "S+300"), ("linux", "300")] {
        let (mut client, mut server) = talking(semantics);
        send(&mut client, at(10), FULL);
        let late = said(&mut client, at(10)).expect("data");
        send(&mut client, at(11), FULL);
        hand_over(&mut client, &mut server, at(11));
        hand_over(&mut server, &mut client, at(11));
        server.handle(at(12), 0, &late);
        server.read();
        send(&mut server, at(12), 300);
        assert_eq!(shapes(&mut server, at(12)), [expected], "{semantics}");
    }
}

/// Section 3.2.2: the ERROR about an INIT ACK goes with the COOKIE ECHO, which comes first.
#[test]
fn an_error_about_an_init_ack_goes_with_the_cookie() {
    let mut client = connect(5, 100);
    let _ = said(&mut client, at(0));
    let unknown = Unknown::new(0xc0ff, 40);
    let init = Init { tag: 9, window: 9_000, streams: (1, 1), tsn: 200, unknown: Some(unknown), ..Init::default() };
    let cookie = Cookie::foreign(init);
    client.handle(at(1), 0, &chunk(5, Control::InitAck(init, Some(cookie))));
    let both = said(&mut client, at(1)).expect("COOKIE ECHO");
    assert_eq!(both.control, [Control::CookieEcho(cookie), Control::Error(Cause::UnrecognisedParameters(unknown))]);
    assert_eq!(said(&mut client, at(1)), None);
}

/// Section 12.4.1: one packet is answered by one: COOKIE ACK, HEARTBEAT ACK, SACK and, from a server that sends at
/// once, data. Linux's server sends it later.
#[test]
fn one_packet_answers_one_packet() {
    for (semantics, expected) in [("rfc9260", &["C+C+S+300"][..]), ("linux", &["C+C+S", "300"][..])] {
        let (mut client, mut server) = (connect(5, 100), listen(9, 200, &[("semantics", text(semantics))]));
        let init = said(&mut client, at(0)).expect("INIT");
        server.handle(at(0), 0, &init);
        let init_ack = said(&mut server, at(0)).expect("INIT ACK");
        client.handle(at(0), 0, &init_ack);
        let mut echo = said(&mut client, at(0)).expect("COOKIE ECHO");
        echo.control.push(Control::Heartbeat(Probe { path: 0, sent: at(0), nonce: 1 }));
        let length = 100;
        echo.data.push(Data { tsn: 100, length, flags: DataFlags::WHOLE, stamp: stamp(0, 0, 0), ..Data::default() });
        server.handle(at(0), 0, &echo);
        assert_eq!((server.state(), server.read()), (State::Established, Some(0..100)), "{semantics}");
        send(&mut server, at(0), 300);
        assert_eq!(shapes(&mut server, at(0)), expected, "{semantics}");
    }
}

/// Section 6.10: INIT, INIT ACK and SHUTDOWN COMPLETE are never bundled; and section 9.1: no data is bundled with an
/// ABORT.
#[test]
fn some_chunks_are_never_bundled() {
    let (mut client, mut server) = talking("rfc9260");
    let init = Init { tag: 7, window: 9_000, streams: (1, 1), tsn: 1, ..Init::default() };
    server.handle(at(2), 0, &chunk(9, Control::Heartbeat(Probe { path: 0, sent: at(0), nonce: 1 })));
    server.handle(at(2), 0, &chunk(0, Control::Init(init)));
    send(&mut server, at(2), 300);
    assert_eq!(shapes(&mut server, at(2)), ["C+300", "C"]);
    send(&mut client, at(3), 700);
    send(&mut client, at(3), 700);
    hand_over(&mut client, &mut server, at(3));
    send(&mut server, at(3), 300);
    server.abort();
    assert_eq!(shapes(&mut server, at(3)), ["C"]);
}

/// Section 9.2: a SACK that is due goes with the SHUTDOWN; Linux has sent it before.
#[test]
fn a_sack_goes_with_a_shutdown() {
    for (semantics, expected) in [("rfc9260", &["C+S"][..]), ("linux", &["S", "C"][..])] {
        let (mut client, mut server) = talking(semantics);
        for _ in 0..2 {
            send(&mut client, at(10), FULL);
        }
        hand_over(&mut client, &mut server, at(10));
        server.close();
        assert_eq!(server.state(), State::ShutdownSent);
        assert_eq!(shapes(&mut server, at(10)), expected, "{semantics}");
    }
}
