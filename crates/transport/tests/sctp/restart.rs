//! INIT, INIT ACK and COOKIE ECHO with an existing association (RFC 9260 section 5.2): each row of the table of section
//! 5.2.4, and transfers whose sender restarts.

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use crate::pair::{answer, chunk, connect, converse, listen, said, standing};
use vazao_transport::ByteStream;
use vazao_transport::sctp::{Addresses, Association, Cause, Control, Failure, Init, Packet, State};

/// Control chunk and tag in the COOKIE ECHO or INIT ACK of an endpoint.
fn control(packet: Option<Packet>) -> (u32, Control) {
    let packet = packet.expect("a packet");
    (packet.tag, packet.control[0])
}

/// Row A (X X M M), with section 5.2.2: a client that has lost its state opens anew. The INIT ACK has a new tag and the
/// old ones as tie-tags, and changes nothing; the cookie replaces the association by a new one, with initial windows.
#[test]
fn a_peer_restarts() {
    let (mut old, mut server) = standing(&[]);
    server.set_clock(at(1));
    server.write(50_000);
    converse(&mut server, &mut old, at(1));
    assert!(server.paths()[0].cwnd() > 4404, "the window has grown");
    let mut new = connect(7, 700);
    let (tag, init_ack) = control(answer(&mut server, at(2), &said(&mut new, at(2)).expect("INIT")));
    let Control::InitAck(own, Some(cookie)) = init_ack else { panic!("{init_ack:?}") };
    assert_eq!((tag, cookie.ties), (7, [9, 5]));
    assert!(own.tag != 9 && own.tsn != 200);
    assert_eq!((server.state(), server.stats().restarts), (State::Established, 0));
    let echo = answer(&mut new, at(3), &chunk(7, init_ack)).expect("COOKIE ECHO");
    assert_eq!(echo.tag, own.tag);
    assert_eq!(control(answer(&mut server, at(3), &echo)), (7, Control::CookieAck));
    assert_eq!((server.state(), server.stats().restarts), (State::Established, 1));
    assert_eq!(server.paths()[0].cwnd(), 4404);
    // The cookie again: now it belongs to this association, row D.
    assert_eq!(control(answer(&mut server, at(4), &echo)), (7, Control::CookieAck));
    assert_eq!(server.stats().restarts, 1);
    new.handle(at(4), 0, &chunk(7, Control::CookieAck));
    new.write(10_000);
    server.write(10_000);
    converse(&mut new, &mut server, at(4));
    assert_eq!((server.read(), new.read()), (Some(0..10_000), Some(0..10_000)));
    assert_eq!([server.stats().misplaced, new.stats().misplaced], [0; 2]);
    // Packets of the first incarnation are out of the blue.
    old.abort();
    assert_eq!(answer(&mut server, at(5), &said(&mut old, at(5)).expect("ABORT")), None);
    assert_eq!(server.state(), State::Established);
}

/// Row B (M X): simultaneous setup, and the peer answers our INIT with another tag than that of its own. The cookie we
/// gave it has the right one.
#[test]
fn the_peer_answers_with_another_tag() {
    let (mut ours, mut theirs, mut other) = (connect(5, 100), connect(20, 300), listen(21, 400, &[]));
    let init = said(&mut ours, at(0)).expect("INIT");
    let our_answer = answer(&mut ours, at(0), &said(&mut theirs, at(0)).expect("INIT")).expect("INIT ACK");
    assert_eq!(ours.state(), State::CookieWait, "nothing has changed");
    let echo = answer(&mut ours, at(1), &answer(&mut other, at(1), &init).expect("INIT ACK")).expect("COOKIE ECHO");
    assert_eq!((ours.state(), echo.tag), (State::CookieEchoed, 21));
    let their_echo = answer(&mut theirs, at(1), &our_answer).expect("COOKIE ECHO");
    assert_eq!(control(answer(&mut ours, at(2), &their_echo)), (20, Control::CookieAck));
    assert_eq!(ours.state(), State::Established);
    theirs.handle(at(2), 0, &chunk(20, Control::CookieAck));
    theirs.write(3_000);
    converse(&mut theirs, &mut ours, at(2));
    assert_eq!(ours.read(), Some(0..3_000));
}

/// Row C (X M 0 0): the peer echoes a cookie from before we opened ourselves. Section 5.2.1: we still wait for the INIT
/// ACK.
#[test]
fn a_cookie_of_an_earlier_attempt() {
    // One host, which signs with one key.
    let (mut before, mut ours, mut theirs) = (listen(4, 100, &[]), connect(5, 100), connect(20, 300));
    let late = answer(&mut before, at(0), &said(&mut theirs, at(0)).expect("INIT")).expect("INIT ACK");
    let init_ack = answer(&mut theirs, at(0), &said(&mut ours, at(0)).expect("INIT")).expect("INIT ACK");
    let ours_echo = answer(&mut ours, at(1), &init_ack).expect("COOKIE ECHO");
    let timer = ours.next_timeout();
    let echo = answer(&mut theirs, at(1), &late).expect("COOKIE ECHO");
    assert_eq!(answer(&mut ours, at(2), &echo), None);
    assert_eq!((ours.state(), ours.next_timeout()), (State::CookieEchoed, timer));
    assert_eq!(control(answer(&mut theirs, at(2), &ours_echo)), (5, Control::CookieAck));
}

/// Row D (M M), and section 5.2.4 rule 3: a cookie of the association itself is answered however late it is.
#[test]
fn the_cookie_comes_again() {
    let (mut client, mut server) = (connect(5, 100), listen(9, 200, &[("cookie_life", text("1 s"))]));
    let init_ack = answer(&mut server, at(0), &said(&mut client, at(0)).expect("INIT")).expect("INIT ACK");
    let echo = answer(&mut client, at(0), &init_ack).expect("COOKIE ECHO");
    for ms in [0, 500, 5_000] {
        assert_eq!(control(answer(&mut server, at(ms), &echo)), (5, Control::CookieAck));
        assert_eq!((server.state(), server.stats().restarts), (State::Established, 0));
    }
    // Sections 5.2.3 and 5.2.5: repeated INIT ACK and COOKIE ACK.
    client.handle(at(0), 0, &chunk(5, Control::CookieAck));
    assert_eq!(answer(&mut client, at(1), &init_ack), None);
    assert_eq!(answer(&mut client, at(1), &chunk(5, Control::CookieAck)), None);
    assert_eq!(client.state(), State::Established);
}

/// No row: the tie-tags are those of an association that has since been replaced.
#[test]
fn a_cookie_with_ties_of_long_ago() {
    let (_, mut server) = standing(&[]);
    let (mut second, mut third) = (connect(7, 700), connect(8, 800));
    let answers = [&mut second, &mut third].map(|end| {
        let init = said(end, at(1)).expect("INIT");
        answer(&mut server, at(1), &init).expect("INIT ACK")
    });
    let echo = answer(&mut third, at(2), &answers[1]).expect("COOKIE ECHO");
    assert_eq!(control(answer(&mut server, at(2), &echo)), (8, Control::CookieAck));
    let echo = answer(&mut second, at(3), &answers[0]).expect("COOKIE ECHO");
    assert_eq!(answer(&mut server, at(3), &echo), None);
    assert_eq!((server.state(), server.stats().restarts), (State::Established, 1));
}

/// Section 5.2.2: a restart must not bring new addresses; and section 9.2, and action A in SHUTDOWN-ACK-SENT: the
/// shutdown is completed first.
#[test]
fn restarts_that_are_refused() {
    let (mut client, mut server) = standing(&[]);
    let init = |addresses| Init { tag: 7, window: 9_000, streams: (1, 1), tsn: 1, addresses, ..Init::default() };
    // One more, a different one, and one that no path leads to.
    let none = Addresses::default();
    for addresses in [Addresses::of_paths(2), none.with_path(1), none.with_other(&[10, 0, 0, 9])] {
        let refused = answer(&mut server, at(1), &chunk(0, Control::Init(init(addresses))));
        assert_eq!(control(refused), (7, Control::Abort(false, Some(Cause::NewAddresses))), "{addresses:?}");
    }
    assert_eq!(server.state(), State::Established);

    let mut new = connect(7, 700);
    let init = said(&mut new, at(1)).expect("INIT");
    let echo = answer(&mut new, at(1), &answer(&mut server, at(1), &init).expect("INIT ACK")).expect("COOKIE ECHO");
    client.close();
    let shutdown = said(&mut client, at(1)).expect("SHUTDOWN");
    assert_eq!(control(answer(&mut server, at(1), &shutdown)), (5, Control::ShutdownAck));
    assert_eq!(control(answer(&mut server, at(2), &init)), (5, Control::ShutdownAck));
    assert_eq!(control(answer(&mut server, at(2), &echo)), (5, Control::ShutdownAck));
    assert_eq!(control(said(&mut server, at(2))), (7, Control::Error(Cause::CookieWhileShuttingDown)));
    assert_eq!((server.state(), server.stats().restarts), (State::ShutdownAckSent, 0));
}

/// Section 5.2.6: a cookie with a lifetime of 150 ms never survives a round trip of 200 ms. The next INIT requests a
/// longer lifetime: by the measured round trip plus a second.
#[test]
fn a_cookie_is_asked_to_last_longer() {
    let mut lab = Lab::new(config(Some(1000), &[("cookie_life", text("150 ms"))]), 10_000, vec![Weather::fair(100)], 3);
    let (asked, seen) = std::sync::mpsc::channel();
    lab.lose = Box::new(move |_, _, packet| {
        if let Some(Control::Init(init)) = packet.control.first() {
            asked.send(init.preservative).expect("someone listens");
        }
        false
    });
    lab.run(100);
    lab.assert_delivered(10_000);
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [0, 1_200]);
    assert_eq!(lab.ends.each_ref().map(|end| end.sctp.stats().stale_cookies), [1, 1]);
}

/// Sections 5.2.1 and 5.2.4: simultaneous setup results in one association, by a cookie of either.
#[test]
fn both_open_at_once() {
    let (mut a, mut b): (Association, Association) = (connect(5, 100), connect(20, 300));
    let mut under_way = [said(&mut a, at(0)), said(&mut b, at(0))];
    for ms in 1..5 {
        // The packets of both sides cross.
        let [from_a, from_b] = under_way.map(|packet| packet.expect("each says something"));
        under_way = [answer(&mut a, at(ms), &from_b), answer(&mut b, at(ms), &from_a)];
        if under_way.iter().all(Option::is_none) {
            break;
        }
    }
    assert_eq!([a.state(), b.state()], [State::Established; 2]);
    a.write(5_000);
    b.write(4_000);
    converse(&mut a, &mut b, at(9));
    assert_eq!((a.read(), b.read()), (Some(0..4_000), Some(0..5_000)));
    assert_eq!([a.stats().restarts, b.stats().restarts], [0; 2]);
}

/// The client restarts in mid-transfer and sends everything again, which arrives after what had arrived before.
#[test]
fn a_transfer_begins_anew() {
    let given = [("streams", vazao_engine::registry::Raw::Number(3.0))];
    let mut lab = Lab::new(config(Some(3_000), &given), 600_000, vec![Weather::fair(20), Weather::fair(30)], 3);
    lab.run_until(10, |lab| lab.ends[1].user.received > 100_000);
    lab.restart_client();
    lab.run_until(10, |lab| lab.ends[1].sctp.stats().restarts == 1);
    let before = lab.ends[1].user.received;
    lab.run(100);
    assert_eq!(lab.ends[1].user.received, before + 600_000);
    assert_eq!(lab.ends.each_ref().map(|end| end.sctp.failure()), [None; 2]);
    assert_eq!(lab.ends.each_ref().map(|end| end.sctp.state()), [State::Closed; 2]);
}

/// The receiver restarts by opening anew: data in flight is abandoned, unsent data is sent then.
#[test]
fn the_sender_hears_of_a_restart() {
    let (mut old, mut server) = standing(&[]);
    server.set_clock(at(1));
    assert_eq!(server.write(100_000), 100_000);
    let first: usize = std::iter::from_fn(|| said(&mut server, at(1))).map(|packet| packet.data.len()).sum();
    assert!(first >= 4, "an initial window of data has left");
    let mut new = connect(7, 700);
    converse(&mut new, &mut server, at(2));
    assert_eq!(server.stats().messages_abandoned, first as u64);
    assert_eq!(new.read(), Some(0..100_000 - 1_000 * first as u64));
    assert_eq!(new.stats().misplaced, 0);
    server.close();
    converse(&mut server, &mut new, at(3));
    assert_eq!([server.state(), new.state()], [State::Closed; 2]);
    old.abort();
    assert_eq!(old.failure(), None::<Failure>);
}

/// The client loses its state half a second after the handshake and opens anew: both applications go on with the unsent
/// data, whichever of them sends and whether it has closed already.
#[test]
fn a_client_that_loses_its_state_goes_on() {
    use vazao_engine::registry::Raw;
    let given = [("restart", Raw::Text("500 ms".into()))];
    // At most a window of 64 kB is in flight.
    let small = ("receive_buffer", Raw::Text("64 kB".into()));
    for bytes in [10_000, 1_000_000] {
        let config = config(Some(1_000), &[given[0].clone(), small.clone()]);
        let mut lab = Lab::new(config, bytes, vec![Weather::fair(20), Weather::fair(30)], 3);
        lab.run(100);
        let [client, server] = lab.ends.each_ref().map(|end| end.sctp.stats().clone());
        let restarts = u64::from(bytes > 10_000);
        assert_eq!((client.reopened, server.restarts), (restarts, restarts), "{bytes} bytes");
        assert_eq!(lab.ends.each_ref().map(|end| end.sctp.failure()), [None; 2]);
        assert_eq!(lab.ends.each_ref().map(|end| end.sctp.state()), [State::Closed; 2]);
        let lost = client.messages_abandoned;
        assert!(lost <= 64 && (lost > 0) == (restarts > 0), "{lost} messages were under way");
        let (delivered, sent) = (server.messages_delivered, bytes / 1_000);
        assert!(delivered <= sent && delivered + lost >= sent, "{delivered} of {sent}");
        assert_eq!(lab.ends[1].user.received, 1_000 * delivered);
    }
}

/// Section 5.1.1: a peer that accepts fewer streams after its restart than messages were assigned to gets an ABORT.
#[test]
fn a_restart_with_too_few_streams() {
    use vazao_engine::registry::Raw;
    let (_, mut server) = standing(&[("streams", Raw::Number(10.0))]);
    let init =
        Init { tag: 7, window: 9_000, streams: (1, 3), tsn: 1, addresses: Addresses::of_paths(1), ..Init::default() };
    let (_, init_ack) = control(answer(&mut server, at(1), &chunk(0, Control::Init(init))));
    let Control::InitAck(own, Some(cookie)) = init_ack else { panic!("{init_ack:?}") };
    server.handle(at(1), 0, &chunk(own.tag, Control::CookieEcho(cookie)));
    let said: Vec<_> = std::iter::from_fn(|| said(&mut server, at(1))).flat_map(|packet| packet.control).collect();
    assert_eq!(said, [Control::Abort(false, Some(Cause::UserInitiated))]);
    assert_eq!(server.failure(), Some(Failure::Refused(Cause::UserInitiated)));
}
