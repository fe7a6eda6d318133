//! What a network and a peer can do to a connection at the worst moment, one thing at a time.

use crate::lab::{Lab, Weather, at, config, text};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use vazao_engine::registry::{Change, Raw};
use vazao_engine::{Duration, Ecn};
use vazao_transport::quic::{Config, Datagram, Failure, Frame, Kind};

/// What becomes of the client's address: so many milliseconds after the handshake it does this with that interface.
fn changing(given: &[(&str, Raw)], changes: &[(u64, &'static str, u64)]) -> Config {
    let mut config = config(given);
    let change = |&(ms, what, which): &(u64, &'static str, u64)| Change { at: Duration::from_millis(ms), what, which };
    config.changes = changes.iter().map(change).collect();
    config
}

fn says(datagram: &Datagram, what: impl Fn(&Frame) -> bool) -> bool {
    datagram.frames.iter().any(what)
}

/// RFC 9000 section 13.4.2: marks are tested anew on a path that is new, where the peer's counts go on; so they are in use again a
/// round trip after a migration.
#[test]
fn marks_are_in_use_again_after_a_migration() {
    let given = [("ecn", Raw::Flag(true)), ("cc", text("reno"))];
    let mut lab = Lab::new(changing(&given, &[(150, "migrate", 2)]), [32 << 20, 0], Weather::fair(20), 1);
    let marked = Arc::new(Mutex::new([[0_u64; 2]; 2]));
    let seen = marked.clone();
    lab.lose = Box::new(move |from, datagram| {
        if from == 0 {
            seen.lock().unwrap()[usize::from(datagram.address.way)][usize::from(datagram.ecn == Ecn::Ect0)] += 1;
        }
        false
    });
    lab.run(60);
    lab.assert_delivered();
    for [not, with] in *marked.lock().unwrap() {
        assert!(with > 100 && not < with / 4, "{with} with, {not} without");
    }
}

/// RFC 9000 section 10.1: silence counts from the first packet that asks for an answer since there was one, not from what was
/// heard last: after 1.9 of 2 seconds of silence both sides speak, and the first 0.5 s of that is lost.
#[test]
fn who_speaks_after_a_silence_is_waited_for() {
    let given = [("idle_timeout", text("2 s")), ("keep_alive", text("1 h"))];
    let mut lab = Lab::quiet(config(&given), Weather::fair(50), 1);
    lab.weather.outages.push(1_900..2_400);
    lab.serve();
    lab.run_to(400);
    assert_eq!(lab.run_to(1_900), 0, "nobody speaks");
    let ids = lab.ends.each_mut().map(|end| end.quic.open_stream(false).expect("there may be streams"));
    for (end, id) in lab.ends.iter_mut().zip(ids) {
        end.quic.write_stream(id, 1000);
    }
    lab.serve();
    lab.run_to(3_900);
    for (end, id) in lab.ends.iter_mut().zip([ids[1], ids[0]]) {
        assert_eq!((end.quic.failure(), end.quic.read_stream(id, 1000)), (None, Some(0..1000)));
    }
}

/// RFC 9001 section 5.7: what a client says in 1-RTT packets is not read before its Finished has come, even by a server that has
/// read its 0-RTT packets.
#[test]
fn a_server_waits_for_finished() {
    let mut lab = Lab::new(config(&[("handshake", text("0-rtt"))]), [1 << 20, 0], Weather::fair(50), 1);
    lab.lose =
        Box::new(|from, datagram| from == 0 && datagram.packets.iter().any(|packet| packet.kind == Kind::Handshake));
    lab.run_until(10, |lab| lab.now > at(250));
    assert!(lab.client().stats().datagrams > 15, "the client goes on");
    assert_eq!(lab.server().stats().established, None);
    assert!(lab.ends[1].received <= 10 * 1452, "{} bytes read", lab.ends[1].received);
    lab.lose = Box::new(|_, _| false);
    lab.run(20);
    lab.assert_delivered();
}

/// RFC 9000 section 9.5: no identifier is used from two of a client's addresses of its own, whichever NEW_CONNECTION_ID frames
/// are lost at first; and they do not run out.
#[test]
fn each_migration_has_an_identifier_of_its_own() {
    let changes: Vec<_> = (0..20).map(|i| (300 + 400 * i, "migrate", 1 + (i + 1) % 3)).collect();
    let mut lab = Lab::quiet(changing(&[], &changes), Weather::fair(10), 1);
    let used = Arc::new(Mutex::new(BTreeMap::new()));
    let (seen, mut issued) = (used.clone(), 0);
    lab.lose = Box::new(move |from, datagram| {
        if from == 0 {
            let way = *seen.lock().unwrap().entry(datagram.identifier).or_insert(datagram.address.way);
            assert_eq!(way, datagram.address.way, "identifier {}", datagram.identifier);
        }
        let issues = from == 1 && says(datagram, |frame| matches!(frame, Frame::NewConnectionId(..)));
        issued += u32::from(issues);
        issues && issued % 2 == 1
    });
    lab.serve();
    lab.run_to(9_000);
    assert!(used.lock().unwrap().len() > 20);
}

/// RFC 9000 section 10.2.3: who gives up in the handshake says so in every space, as nobody knows which keys the peer has; a
/// client's datagram with an Initial packet has 1200 bytes all the same (section 14.1, the lab's to see).
#[test]
fn giving_up_in_the_handshake_is_heard_of() {
    // Once the server has answered, and its answer is lost or not; before the client has heard of it, and after.
    for (who, ms, lost) in [(1, 60, true), (1, 60, false), (0, 60, false), (0, 110, false)] {
        for handshake in ["1-rtt", "0-rtt", "0-rtt-rejected"] {
            let mut lab = Lab::new(config(&[("handshake", text(handshake))]), [100_000; 2], Weather::fair(50), 1);
            lab.lose = Box::new(move |from, _| lost && from == 1);
            lab.serve();
            lab.run_to(ms);
            lab.lose = Box::new(|_, _| false);
            lab.ends[who].quic.abort();
            lab.serve();
            lab.run(10);
            let heard = lab.ends[1 - who].quic.failure();
            assert_eq!(heard, Some(Failure::Closed), "{handshake}: {who} gives up after {ms} ms");
        }
    }
}

/// RFC 9000 section 9.3.3: somebody beside the path copies a client's packet and sends it from an address of his own, faster. The
/// server asks the client where it was before, too, whose answer takes the connection back, in a round trip: the rest of what the
/// server says, 100 ms later, goes to the client at once.
#[test]
fn a_copied_packet_takes_a_connection_away_for_a_round_trip_only() {
    let mut lab = Lab::quiet(config(&[]), Weather::fair(50), 1);
    let copied = Arc::new(Mutex::new(None));
    let copy = copied.clone();
    lab.lose = Box::new(move |from, datagram| {
        if from == 0 {
            *copy.lock().unwrap() = Some(datagram.clone());
        }
        false
    });
    lab.serve();
    lab.run_to(500);
    let id = lab.ends[0].quic.open_stream(true).expect("there may be streams");
    lab.ends[0].quic.write_stream(id, 1000);
    lab.serve();
    let mut copy = copied.lock().unwrap().take().expect("a datagram");
    copy.address.number = 9;
    lab.forge(1, copy, 40);
    lab.run_to(545);
    assert_eq!(lab.server().stats().migrations, 1);
    // The client hears of the question at 590, and its answer comes at 640.
    lab.run_to(641);
    assert_eq!(lab.server().stats().migrations, 2);
    let before = lab.datagrams;
    lab.ends[1].quic.write_stream(id, 100_000);
    lab.serve();
    assert!(lab.datagrams - before >= 10, "no limit but the window's holds of the client");
    lab.run_to(1_200);
    assert_eq!(lab.ends[0].quic.read_stream(id, 100_000), Some(0..100_000));
}
