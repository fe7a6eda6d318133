//! Shutdown and abort of an association (RFC 9260 section 9).

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use crate::pair::{answer, converse, said, standing, standing_with};
use vazao_engine::registry::Raw;
use vazao_engine::{Duration, Time};
use vazao_transport::ByteStream;
use vazao_transport::sctp::{Association, Control, Data, DataFlags, Failure, Packet, State};

#[test]
fn three_messages_end_it() {
    let mut lab = Lab::new(config(Some(1000), &[]), 3_000, vec![Weather::fair(50)], 3);
    let mut seen = Vec::new();
    lab.run_until(10, |lab| {
        seen.push(lab.ends.each_ref().map(|end| end.sctp.state()));
        lab.ends.iter().all(|end| end.sctp.is_over())
    });
    seen.dedup();
    use State::{Closed, ShutdownAckSent, ShutdownPending, ShutdownSent};
    let open = State::Established;
    let tail = [
        [ShutdownPending, open],
        [ShutdownSent, open],
        [ShutdownSent, ShutdownAckSent],
        [Closed, ShutdownAckSent],
        [Closed; 2],
    ];
    assert_eq!(seen[seen.len() - 5..], tail);
    lab.assert_delivered(3_000);
}

/// SHUTDOWN, SHUTDOWN ACK or SHUTDOWN COMPLETE is lost; the other side gets the last one again although the first has
/// forgotten the association (section 8.4 rule 5).
#[test]
fn lost_packets_are_retransmitted() {
    for lost in 0..3 {
        let mut lab = Lab::new(config(Some(1000), &[]), 3_000, vec![Weather::fair(50)], 3);
        let mut number = 0;
        lab.lose = Box::new(move |_, _, packet| {
            let chunk = packet.control.first();
            let ending =
                matches!(chunk, Some(Control::Shutdown(_) | Control::ShutdownAck | Control::ShutdownComplete(_)));
            number += u32::from(ending);
            ending && number == lost + 1
        });
        lab.run(100);
        lab.assert_delivered(3_000);
    }
}

#[test]
fn an_abort_ends_both_sides() {
    let mut lab = Lab::new(config(Some(1000), &[]), 1 << 20, vec![Weather::fair(50)], 3);
    lab.run_until(10, |lab| lab.ends[1].user.received > 100_000);
    lab.ends[1].sctp.abort();
    lab.run(100);
    assert_eq!(lab.sender().failure(), Some(Failure::Aborted));
    assert!(lab.paths.now.as_secs() < 10.0);
}

/// Section 9.2: after receiving a SHUTDOWN, an endpoint sends data accepted earlier and accepts no more; nor does a
/// closed association.
#[test]
fn nothing_is_taken_after_the_peer_s_shutdown() {
    let (mut client, mut server) = standing(&[]);
    server.set_clock(at(1));
    assert_eq!(server.write(20_000), 20_000);
    client.set_clock(at(1));
    client.close();
    let shutdown = said(&mut client, at(1)).expect("SHUTDOWN");
    server.handle(at(1), 0, &shutdown);
    assert_eq!((server.state(), server.write(1_000)), (State::ShutdownReceived, 0));
    converse(&mut server, &mut client, at(1));
    // The acknowledgement of the last chunk may be delayed.
    converse(&mut server, &mut client, at(300));
    assert_eq!(client.read(), Some(0..20_000));
    assert_eq!([client.state(), server.state()], [State::Closed; 2]);
    assert_eq!((server.write(1_000), server.stats().messages_sent), (0, 20));
}

/// Data written while the SHUTDOWN ACK is in flight would be lost silently.
#[test]
fn nothing_is_taken_while_the_shutdown_ends() {
    let (mut client, mut server) = standing(&[]);
    client.close();
    let ack = answer(&mut server, at(1), &said(&mut client, at(1)).expect("SHUTDOWN")).expect("SHUTDOWN ACK");
    assert_eq!((&ack.control[..], server.write(1_000)), (&[Control::ShutdownAck][..], 0));
    assert_eq!((client.write(1_000), server.state()), (0, State::ShutdownAckSent));
}

/// Association.Max.Retrans is 10: after eleven consecutive expiries of T3-rtx the peer counts as dead (section 8.1).
#[test]
fn a_dead_peer_is_given_up() {
    // Lost heartbeats would count too.
    let mut lab = Lab::new(config(Some(1000), &[("heartbeat", text("0 s"))]), 1 << 20, vec![Weather::fair(50)], 3);
    lab.run_until(10, |lab| lab.ends[1].user.received > 100_000);
    lab.lose = Box::new(|from, _, _| from == 1);
    lab.run(10_000);
    assert_eq!(lab.sender().failure(), Some(Failure::TimedOut));
    assert_eq!(lab.sender().sum(|path| path.timeouts), 11);
}

/// A peer whose data never ends: it answers every packet with another chunk, and never with a SHUTDOWN ACK. Returns
/// when the association ended, and its last packet, within ten minutes.
fn shut_down_with_a_talker(end: &mut Association) -> Option<(Time, Packet)> {
    end.close();
    let mut now = at(0);
    for tsn in 200..1400 {
        while let Some(packet) = said(end, now) {
            if matches!(packet.control[..], [Control::Abort(..)]) {
                return Some((now, packet));
            }
        }
        let next = now + Duration::from_millis(500);
        while end.next_timeout() <= next {
            now = end.next_timeout();
            end.handle_timeout(now);
            if end.state() == State::Closed {
                break;
            }
        }
        if end.state() != State::Closed {
            now = next;
            let data = Data { tsn, number: tsn - 200, length: 100, flags: DataFlags::WHOLE, ..Data::default() };
            end.handle(now, 0, &Packet { tag: 5, data: vec![data], ..Packet::default() });
        }
    }
    None
}

/// Section 9.2: T2-shutdown restarts with each data packet, so T5-shutdown-guard alone ends the association, after five
/// times RTO.Max, with an ABORT. Linux gives no cause either (`sctp_sf_t5_timer_expire`).
#[test]
fn a_peer_that_goes_on_is_not_waited_for_without_end() {
    for semantics in ["rfc9260", "linux"] {
        for (rto, seconds) in [("60 s", 300), ("4 s", 20)] {
            let given = [("semantics", text(semantics)), ("max_rto", text(rto))];
            let (mut client, _) = standing_with(&given, &[]);
            let (when, last) = shut_down_with_a_talker(&mut client).expect("an end");
            assert_eq!((when, &last.control[..]), (at(1000 * seconds), &[Control::Abort(false, None)][..]));
            assert_eq!((client.state(), client.failure()), (State::Closed, Some(Failure::TimedOut)));
        }
    }
}

/// T2 toward a dead peer runs 1, 2, 4, … 60 s, and would end after 363 s, with its eleventh expiry.
#[test]
fn the_guard_ends_before_the_last_shutdown() {
    let (mut client, _) = standing(&[]);
    client.close();
    let mut now = at(0);
    while client.state() != State::Closed {
        while said(&mut client, now).is_some() {}
        now = client.next_timeout();
        client.handle_timeout(now);
    }
    assert_eq!((now, client.failure()), (at(300_000), Some(Failure::TimedOut)));
}

/// What is discarded is never waited for, and what is written afterwards follows the message under way, whole or in
/// fragments (of 528 bytes with an MTU of 576): DTLS ends so, with its close_notify.
#[test]
fn what_is_written_after_a_discard_arrives_and_the_shutdown_ends() {
    for (mtu, fragment) in [(1500.0, 1000), (576.0, 528)] {
        let (mut client, mut server) = standing_with(&[("mtu", Raw::Number(mtu))], &[]);
        client.set_clock(at(1));
        client.write((1 << 40) + 24);
        client.end_message();
        let first = said(&mut client, at(1)).expect("data");
        assert_eq!(first.data.iter().map(|data| data.length).collect::<Vec<_>>(), [fragment]);
        assert_eq!((client.discard_unsent(), client.unsent()), (1000, 1000 - u64::from(fragment)));
        assert_eq!(client.write(24), 24);
        client.end_message();
        client.close();
        server.handle(at(1), 0, &first);
        for ms in [1, 250, 500] {
            server.handle_timeout(at(ms));
            converse(&mut client, &mut server, at(ms));
        }
        assert_eq!(server.read(), Some(0..1024));
        assert_eq!([client.state(), server.state()], [State::Closed; 2]);
        assert_eq!([client.failure(), server.failure()], [None; 2]);
    }
}
