//! Packets that were declared lost and arrive after all (RFC 9002 section 6.1), delivered by hand.

use crate::lab::{at, config, text};
use std::sync::Arc;
use vazao_engine::registry::Raw;
use vazao_engine::{Ecn, Time};
use vazao_transport::quic::{Connection, Datagram, Frame};

/// Everything that an end sends at `now`.
fn said(end: &mut Connection, now: Time) -> Vec<Datagram> {
    let next = || {
        let mut datagram = Datagram::default();
        end.poll_transmit(now, &mut datagram).then_some(datagram)
    };
    std::iter::from_fn(next).collect()
}

/// Client and server after the handshake, 20 ms apart; it has taken less than a second.
fn standing(given: &[(&str, Raw)]) -> [Connection; 2] {
    let given = [&[("cc", text("reno")), ("pacing", Raw::Flag(false))], given].concat();
    let config = Arc::new(config(&given));
    let [mut client, mut server] = [Connection::connect(config.clone(), 1), Connection::listen(config, 2)];
    for ms in (0..800).step_by(40) {
        said(&mut client, at(ms)).iter().for_each(|datagram| server.handle(at(ms + 20), datagram, Ecn::NotEct));
        server.handle_timeout(at(ms + 20));
        said(&mut server, at(ms + 20)).iter().for_each(|datagram| client.handle(at(ms + 40), datagram, Ecn::NotEct));
    }
    assert!(client.stats().established.is_some() && client.flight() == 0);
    [client, server]
}

/// The client sends ten datagrams of new data at `ms`, of which the third is as late as 30 ms. Returns the windows before
/// its absence was noticed, after that, and after it was acknowledged.
fn third_comes_late([client, server]: &mut [Connection; 2], ms: u64) -> [u64; 3] {
    let id = client.open_stream(false).expect("there may be streams");
    client.write_stream(id, 12_000);
    let sent = said(client, at(ms));
    assert!(sent.len() >= 8, "{}", sent.len());
    let mut windows = [client.cwnd(); 3];
    for (number, datagram) in sent.iter().enumerate().filter(|(number, _)| *number != 2) {
        server.handle(at(ms + 20), datagram, Ecn::NotEct);
        for answer in said(server, at(ms + 20)) {
            client.handle(at(ms + 40), &answer, Ecn::NotEct);
        }
        if number < 5 {
            windows[0] = windows[0].max(client.cwnd());
        }
    }
    windows[1] = client.cwnd();
    server.handle(at(ms + 50), &sent[2], Ecn::NotEct);
    said(server, at(ms + 50)).iter().for_each(|answer| client.handle(at(ms + 70), answer, Ecn::NotEct));
    windows[2] = client.cwnd();
    windows
}

/// Once the only packet that a reduction answers has arrived, window and threshold are what they were, and what waited to
/// be sent again is not sent.
#[test]
fn a_reduction_for_losses_that_were_none_is_taken_back() {
    for undo in [true, false] {
        let mut ends = standing(&[("undo", Raw::Flag(undo)), ("reordering", text("fixed"))]);
        let [before, cut, after] = third_comes_late(&mut ends, 1_000);
        let [client, _] = &mut ends;
        let stats = client.stats();
        assert_eq!((stats.lost, stats.recoveries, stats.spurious_losses), (1, 1, 1));
        assert_eq!((cut < before, stats.spurious_recoveries), (true, u64::from(undo)));
        if undo {
            assert_eq!((after, client.control().ssthresh()), (before, u64::MAX));
        } else {
            assert_eq!((after, client.control().ssthresh()), (cut, cut));
        }
        assert_eq!(client.is_repairing(), !undo);
        let again = said(client, at(1_070));
        assert!(again.iter().flat_map(|datagram| &datagram.frames).all(|frame| !matches!(frame, Frame::Stream(_))));
    }
}

/// A reduction for two losses is not taken back for one of them.
#[test]
fn a_reduction_stays_while_one_of_its_losses_does() {
    let [mut client, mut server] = standing(&[("reordering", text("fixed"))]);
    let id = client.open_stream(false).expect("there may be streams");
    client.write_stream(id, 12_000);
    let sent = said(&mut client, at(1_000));
    for datagram in sent.iter().skip(2) {
        server.handle(at(1_020), datagram, Ecn::NotEct);
    }
    said(&mut server, at(1_020)).iter().for_each(|answer| client.handle(at(1_040), answer, Ecn::NotEct));
    let cut = client.cwnd();
    for (late, undone) in [(0, 0), (1, 1)] {
        server.handle(at(1_050), &sent[late], Ecn::NotEct);
        said(&mut server, at(1_050)).iter().for_each(|answer| client.handle(at(1_070), answer, Ecn::NotEct));
        assert_eq!((client.stats().lost, client.stats().spurious_recoveries), (2, undone));
        assert_eq!(client.cwnd() > cut, undone == 1);
    }
}

/// RFC 9002 sections 6.1.1 and 6.1.2: with thresholds that adapt, a packet as late as one that was taken for lost is not
/// taken for lost. With 20 as packet threshold and twice the round-trip time as time threshold, neither is the first.
#[test]
fn thresholds_adapt_to_what_was_late() {
    let wide = [("packet_threshold", Raw::Number(20.0)), ("time_threshold", Raw::Number(2.0))];
    for (given, lost) in [
        (&[("reordering", text("fixed"))][..], [1, 2]),
        (&[("reordering", text("adaptive"))], [1, 1]),
        (&[], [1, 1]),
        (&wide, [0, 0]),
    ] {
        let mut ends = standing(given);
        let count = |ms: u64| {
            let _ = third_comes_late(&mut ends, ms);
            let resent = said(&mut ends[0], at(ms + 100));
            assert!(resent.iter().all(|datagram| !datagram.frames.iter().any(|f| matches!(f, Frame::Stream(_)))));
            ends[0].stats().lost
        };
        assert_eq!([1_000, 2_000].map(count), lost, "{given:?}");
    }
}
