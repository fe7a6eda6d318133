//! Error reports (RFC 9260 sections 3.2 and 3.3.10), and answers to packets out of the blue (section 8.4).

use crate::lab::{at, text};
use crate::pair::{answer, chunk, connect, connect_with, listen, said, standing, standing_with};
use vazao_engine::registry::Raw;
use vazao_transport::ByteStream;
use vazao_transport::sctp::{
    Addresses, Association, Cause, Control, Data, DataFlags, Failure, Init, Packet, Sack, State, Unknown, stamp,
};

fn controls(packet: Option<Packet>) -> Vec<Control> {
    packet.map_or(Vec::new(), |packet| packet.control)
}

/// A whole message of 100 bytes to the server, with the TSN that it expects.
fn data() -> Data {
    Data { tsn: 100, length: 100, flags: DataFlags::WHOLE, stamp: stamp(0, 0, 0), ..Data::default() }
}

fn data_after(tsn: u32) -> Data {
    Data { tsn, ..data() }
}

fn to_server(data: Data) -> Packet {
    Packet { tag: 9, data: vec![data], ..Packet::default() }
}

/// The client requested one stream. Section 6.5: data for another is acknowledged, dropped, and reported.
#[test]
fn streams_that_do_not_exist() {
    let (_, mut server) = standing(&[]);
    let error = answer(&mut server, at(1), &to_server(Data { stream: 1, ..data() }));
    assert_eq!(error.as_ref().and_then(|packet| packet.sack).map(|sack| sack.cumulative), Some(100));
    assert_eq!(controls(error), [Control::Error(Cause::InvalidStream(1))]);
    assert_eq!((said(&mut server, at(1)), server.stats().messages_delivered), (None, 0));
    server.handle(at(2), 0, &to_server(Data { tsn: 101, ..data() }));
    assert_eq!(server.stats().messages_delivered, 1);
}

/// Section 5.1.1: a server that accepts two streams gets no more of a client that asks for five, and section 6.5: data for
/// the third is dropped, as is each chunk for others, and each is reported.
#[test]
fn streams_beyond_what_is_accepted() {
    let number = |number: u32| Raw::Number(f64::from(number));
    let given = [("streams", number(5))];
    let (mut client, mut server) = standing_with(&given, &[("max_inbound_streams", number(2))]);
    client.set_clock(at(1));
    client.write(4_000);
    let sent: Vec<_> = std::iter::from_fn(|| said(&mut client, at(1))).flat_map(|packet| packet.data).collect();
    assert_eq!(sent.iter().map(|data| data.stream).collect::<Vec<_>>(), [0, 1, 0, 1]);
    let beyond = |tsn, stream| Data { tsn, stream, ..data() };
    let packet = Packet { tag: 9, data: vec![beyond(100, 2), beyond(101, 4), data_after(102)], ..Packet::default() };
    let all = answer(&mut server, at(1), &packet);
    assert_eq!(all.as_ref().and_then(|packet| packet.sack).map(|sack| sack.cumulative), Some(102));
    let errors = [2, 4].map(|stream| Control::Error(Cause::InvalidStream(stream)));
    assert_eq!((controls(all), server.stats().messages_delivered), (errors.to_vec(), 1));
    // What comes again is no news.
    let again = answer(&mut server, at(2), &packet).expect("a SACK");
    assert_eq!((again.control.len(), again.duplicates.len()), (0, 3));
}

/// Section 6.2: DATA without user data ends the association.
#[test]
fn data_without_data() {
    let (mut client, mut server) = standing(&[]);
    let abort = answer(&mut server, at(1), &to_server(Data { length: 0, ..data() })).expect("ABORT");
    assert_eq!((abort.tag, &abort.control[..]), (5, &[Control::Abort(false, Some(Cause::NoUserData(100)))][..]));
    assert_eq!(server.failure(), Some(Failure::Refused(Cause::NoUserData(100))));
    client.handle(at(1), 0, &abort);
    assert_eq!(client.failure(), Some(Failure::Aborted));
}

#[test]
fn a_report_of_what_was_never_sent() {
    let (_, mut server) = standing(&[]);
    // The server's first TSN would be 200: 199 is the last before it.
    let report = |cumulative| {
        let sack = Some(Sack { cumulative, window: 9_000, ..Sack::default() });
        Packet { tag: 9, sack, ..Packet::default() }
    };
    assert_eq!(answer(&mut server, at(1), &report(199)), None);
    let abort = controls(answer(&mut server, at(1), &report(200)));
    assert_eq!(abort, [Control::Abort(false, Some(Cause::ProtocolViolation))]);
}

/// Section 3.2: of the two highest bits of an unrecognized type, the first lets processing of the packet continue, the
/// second asks for a report.
#[test]
fn chunks_that_are_not_known() {
    for (kind, goes_on, reports) in [(0x3f, false, false), (0x7f, false, true), (0xbf, true, false), (0xff, true, true)]
    {
        let (_, mut server) = standing(&[]);
        // The first data would be acknowledged at once.
        assert!(answer(&mut server, at(1), &to_server(data())).is_some());
        let unknown = Unknown::new(kind, 21);
        assert_eq!(Cause::UnrecognisedChunk(unknown).length(), 4 + 21);
        let second = Data { tsn: 101, number: 1, stamp: stamp(0, 1, 0), ..data() };
        let packet = Packet { control: vec![Control::Unknown(unknown)], ..to_server(second) };
        let answer = answer(&mut server, at(1), &packet);
        // Headers of the packet, of the ERROR and of the cause, and the chunk with its padding.
        assert_eq!(answer.as_ref().map(Packet::bytes), reports.then_some(12 + 4 + 4 + 24), "{kind:#x}");
        let said = controls(answer);
        let report = Control::Error(Cause::UnrecognisedChunk(unknown));
        assert_eq!(said, if reports { vec![report] } else { vec![] }, "{kind:#x}");
        assert_eq!(server.stats().messages_delivered, 1 + u64::from(goes_on), "{kind:#x}");
    }
}

/// A cause does not count padding (section 3.2), but Linux counts that of a chunk that it returns (`sctp_sf_unk_chunk`).
#[test]
fn a_returned_chunk_s_padding() {
    for (semantics, length) in [("rfc9260", 4 + 21), ("linux", 4 + 24)] {
        let (_, mut server) = standing(&[("semantics", text(semantics))]);
        let packet = chunk(9, Control::Unknown(Unknown::new(0x7f, 21)));
        let [Control::Error(cause)] = controls(answer(&mut server, at(1), &packet))[..] else { panic!("{semantics}") };
        assert_eq!((cause.length(), cause.bytes()), (length, 28), "{semantics}");
    }
}

/// Section 3.3.2: no streams, or a buffer for less than a packet; and section 5.1: no resources for another
/// association.
#[test]
fn an_init_that_is_refused() {
    let refusal = |server: &mut Association, init: Init| {
        let packet = answer(server, at(1), &chunk(0, Control::Init(init)))?;
        Some((packet.tag, packet.control[0]))
    };
    let good =
        Init { tag: 7, window: 1500, streams: (1, 1), tsn: 1, addresses: Addresses::of_paths(1), ..Init::default() };
    let bad = Some((7, Control::Abort(false, Some(Cause::InvalidParameter))));
    let (_, mut server) = standing(&[]);
    assert_eq!(refusal(&mut server, Init { streams: (0, 1), ..good }), bad);
    assert_eq!(refusal(&mut server, Init { streams: (1, 0), ..good }), bad);
    assert_eq!(refusal(&mut server, Init { window: 1499, ..good }), bad);
    assert_eq!(refusal(&mut server, Init { tag: 0, ..good }), None);
    assert_eq!(server.state(), State::Established);
    server.abort();
    assert_eq!(controls(said(&mut server, at(1))), [Control::Abort(false, Some(Cause::UserInitiated))]);
    assert_eq!(refusal(&mut server, good), Some((7, Control::Abort(false, Some(Cause::OutOfResource)))));
    assert_eq!(refusal(&mut server, Init { host_name: NAME, ..good }), refused_name(7));
}

/// Host Name Address, a parameter of type 11.
const NAME: Option<Unknown> = Some(Unknown { kind: 11, count: 1, bytes: 16, number: Unknown::LOST });

fn refused_name(tag: u32) -> Option<(u32, Control)> {
    NAME.map(|name| (tag, Control::Abort(false, Some(Cause::UnresolvableAddress(name)))))
}

/// Sections 3.3.3 and 5.1: an invalid INIT ACK gets an ABORT with its tag, or, if it has none, with our own (bit T).
#[test]
fn an_init_ack_that_is_refused() {
    let good = Init { tag: 7, window: 1500, streams: (1, 1), tsn: 1, ..Init::default() };
    let cookie = Some(vazao_transport::sctp::Cookie::foreign(good));
    let abort = |tag, cause| Some((tag, Control::Abort(false, Some(cause))));
    for (init, cookie, refusal) in [
        (Init { streams: (0, 1), ..good }, cookie, abort(7, Cause::InvalidParameter)),
        (Init { streams: (1, 0), ..good }, cookie, abort(7, Cause::InvalidParameter)),
        (Init { tag: 0, ..good }, cookie, Some((5, Control::Abort(true, Some(Cause::InvalidParameter))))),
        (good, None, abort(7, Cause::MissingParameter(7))),
        (Init { host_name: NAME, ..good }, cookie, refused_name(7)),
    ] {
        let mut client = connect(5, 100);
        let _ = said(&mut client, at(0));
        let answer = answer(&mut client, at(1), &chunk(5, Control::InitAck(init, cookie)));
        assert_eq!(answer.map(|packet| (packet.tag, packet.control[0])), refusal, "{init:?}");
        let Some((_, Control::Abort(_, Some(cause)))) = refusal else { panic!("{refusal:?}") };
        assert_eq!((client.state(), client.failure()), (State::Closed, Some(Failure::Refused(cause))));
        assert_eq!((said(&mut client, at(1)), client.next_timeout()), (None, vazao_engine::Time::NEVER));
    }
}

/// Section 3.2.1: unrecognized parameters of an INIT are reported in the INIT ACK if they fit; those of an INIT ACK in
/// an ERROR after the COOKIE ECHO.
#[test]
fn parameters_that_are_not_known() {
    let init = Init { tag: 7, window: 9_000, streams: (1, 1), tsn: 1, ..Init::default() };
    for (bytes, fits) in [(40, true), (1_400, false)] {
        let unknown = Some(Unknown { count: 2, ..Unknown::new(0xc0ff, bytes) });
        let init_ack = answer(&mut listen(9, 200, &[]), at(0), &chunk(0, Control::Init(Init { unknown, ..init })));
        let init_ack = init_ack.expect("INIT ACK");
        let Control::InitAck(own, Some(cookie)) = init_ack.control[0] else { panic!("{init_ack:?}") };
        assert_eq!((own.unknown, cookie.peer.unknown), (unknown.filter(|_| fits), None));
        // An INIT ACK with a cookie, and both parameters in headers of their own.
        assert_eq!(init_ack.bytes(), 12 + 20 + 68 + if fits { 40 + 2 * 4 } else { 0 });
    }
    let mut client = connect(5, 100);
    let _ = said(&mut client, at(0));
    let unknown = Unknown::new(0xc0ff, 38);
    assert_eq!(Cause::UnrecognisedParameters(unknown).length(), 4 + 38);
    let init = Init { unknown: Some(unknown), ..init };
    client.handle(at(1), 0, &chunk(5, Control::InitAck(init, Some(vazao_transport::sctp::Cookie::foreign(init)))));
    let all: Vec<_> = std::iter::from_fn(|| said(&mut client, at(1))).flat_map(|packet| packet.control).collect();
    let error = Control::Error(Cause::UnrecognisedParameters(unknown));
    assert!(matches!(all[..], [Control::CookieEcho(_), last] if last == error), "{all:?}");
}

/// Section 8.4, without an association: rules 2, 5, 6, 7 and 8.
#[test]
fn out_of_the_blue() {
    let gone = || {
        let (_, mut server) = standing(&[]);
        server.abort();
        let _ = said(&mut server, at(1));
        server
    };
    let told = |control| controls(answer(&mut gone(), at(1), &chunk(77, control)));
    assert_eq!(told(Control::Abort(false, None)), []);
    assert_eq!(told(Control::ShutdownAck), [Control::ShutdownComplete(true)]);
    assert_eq!(told(Control::ShutdownComplete(false)), []);
    assert_eq!(told(Control::CookieAck), []);
    assert_eq!(told(Control::Error(Cause::StaleCookie(1))), []);
    assert_eq!(told(Control::Error(Cause::OutOfResource)), [Control::Abort(true, None)]);
    let bundled =
        Packet { control: vec![Control::CookieAck, Control::Abort(false, None)], ..chunk(77, Control::CookieAck) };
    assert_eq!(answer(&mut gone(), at(1), &bundled), None);
    let packet = answer(&mut gone(), at(1), &to_server(data())).expect("ABORT");
    assert_eq!((packet.tag, &packet.control[..]), (9, &[Control::Abort(true, None)][..]));
}

/// Section 8.5.1 A: a bundled INIT is dropped, wherever in the packet it is; and section 5.1.5: so is a COOKIE ECHO
/// whose tag is not its cookie's, or whose cookie is foreign.
#[test]
fn silently_dropped_packets() {
    use vazao_transport::sctp::Cookie;
    let fresh = || listen(9, 200, &[]);
    let init = Init { tag: 7, window: 9_000, streams: (1, 1), tsn: 1, ..Init::default() };
    let alone = chunk(0, Control::Init(init));
    let asked = answer(&mut fresh(), at(0), &alone).expect("INIT ACK");
    let Control::InitAck(_, Some(cookie)) = asked.control[0] else { panic!("{asked:?}") };
    let echo = Control::CookieEcho(cookie);
    let bundles = [
        Packet { control: vec![Control::Init(init), Control::CookieAck], ..alone.clone() },
        Packet { control: vec![Control::Init(init), Control::Init(init)], ..alone.clone() },
        Packet { data: vec![data()], ..alone.clone() },
        Packet { sack: Some(Sack::default()), ..alone },
        Packet { tag: 9, control: vec![Control::CookieAck, Control::Init(init)], ..Packet::default() },
        chunk(10, echo),
        chunk(9, Control::CookieEcho(Cookie::foreign(init))),
        Packet { data: vec![data()], ..chunk(0, Control::CookieEcho(Cookie::foreign(Init::default()))) },
    ];
    for packet in bundles {
        let mut server = fresh();
        assert_eq!(answer(&mut server, at(0), &packet), None, "{packet:?}");
        assert_eq!(server.state(), State::Closed);
    }
    assert_eq!(controls(answer(&mut fresh(), at(0), &chunk(9, echo))), [Control::CookieAck]);
}

/// Section 6.10: neither is an INIT ACK or a SHUTDOWN COMPLETE taken from a packet with other chunks. Linux takes that for a
/// violation where it waits for them (`sctp_sf_do_5_1C_ack`, `sctp_sf_do_4_C`).
#[test]
fn chunks_that_must_be_alone() {
    for (semantics, causes) in [("rfc9260", &[][..]), ("linux", &[Cause::ProtocolViolation])] {
        let aborts: Vec<_> = causes.iter().map(|cause| Control::Abort(false, Some(*cause))).collect();
        let given = [("semantics", text(semantics))];
        let mut client = connect_with(5, 100, &given);
        let init = said(&mut client, at(0)).expect("INIT");
        let init_ack = answer(&mut listen(9, 200, &[]), at(0), &init).expect("INIT ACK");
        let bundled = Packet { control: vec![init_ack.control[0], Control::CookieAck], ..init_ack.clone() };
        assert_eq!(controls(answer(&mut client, at(1), &bundled)), aborts, "{semantics}");
        let after = if causes.is_empty() { State::CookieWait } else { State::Closed };
        assert_eq!(client.state(), after, "{semantics}");

        let (mut client, mut server) = standing_with(&[], &given);
        client.close();
        let ack = answer(&mut server, at(1), &said(&mut client, at(1)).expect("SHUTDOWN")).expect("SHUTDOWN ACK");
        let complete = answer(&mut client, at(1), &ack).expect("SHUTDOWN COMPLETE");
        let bundled = Packet { data: vec![data()], ..complete.clone() };
        assert_eq!(controls(answer(&mut server, at(2), &bundled)), aborts, "{semantics}");
        assert_eq!(server.failure().is_some(), !causes.is_empty());
        if causes.is_empty() {
            assert_eq!(server.state(), State::ShutdownAckSent);
            assert_eq!(answer(&mut server, at(3), &complete), None);
        }
        assert_eq!(server.state(), State::Closed);
    }
}

/// Section 8.5.1 E: during setup, a SHUTDOWN ACK with any tag is answered as the end of an earlier association.
#[test]
fn a_shutdown_ack_while_setting_up() {
    for tag in [5, 77] {
        let mut client = connect(5, 100);
        let init = said(&mut client, at(0)).expect("INIT");
        for state in [State::CookieWait, State::CookieEchoed] {
            assert_eq!(client.state(), state);
            let complete = answer(&mut client, at(1), &chunk(tag, Control::ShutdownAck)).expect("SHUTDOWN COMPLETE");
            assert_eq!((complete.tag, &complete.control[..]), (tag, &[Control::ShutdownComplete(true)][..]));
            let init_ack = answer(&mut listen(9, 200, &[]), at(1), &init).expect("INIT ACK");
            let _ = answer(&mut client, at(1), &init_ack);
        }
    }
}
