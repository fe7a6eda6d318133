//! Association setup (RFC 9260 section 5).

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use crate::pair::{answer, chunk, connect, said};
use vazao_transport::sctp::{Control, Failure, State};

fn lab(given: &[(&str, vazao_engine::registry::Raw)], paths: usize) -> Lab {
    Lab::new(config(Some(1000), given), 10_000, vec![Weather::fair(50); paths], 3)
}

#[test]
fn four_messages_in_two_round_trips() {
    let mut lab = lab(&[], 1);
    lab.ends[0].user.application.stays = true;
    let mut seen = Vec::new();
    lab.run_until(10, |lab| {
        seen.push(lab.ends.each_ref().map(|end| end.sctp.state()));
        lab.sender().stats().established.is_some()
    });
    seen.dedup();
    let [closed, wait, echoed, open] = [State::Closed, State::CookieWait, State::CookieEchoed, State::Established];
    assert_eq!(seen, [[wait, closed], [echoed, closed], [echoed, open], [open, open]]);
    assert_eq!(lab.sender().stats().established, Some(at(200)));
    assert_eq!(lab.ends[1].sctp.stats().established, Some(at(150)));
}

/// Any one or two of the four packets may be lost: T1 retransmits after RTO.Initial, or after the RTO measured by the
/// INIT (1 s at least), and the answers come again.
#[test]
fn lost_packets_are_retransmitted() {
    for first in 0..4 {
        for second in first..5 {
            let mut lab = lab(&[], 1);
            let mut number = 0;
            lab.lose = Box::new(move |_, _, packet| {
                let setup = packet.data.is_empty() && packet.sack.is_none();
                number += u32::from(setup);
                setup && (number == first + 1 || number == second + 1)
            });
            lab.run(100);
            lab.assert_delivered(10_000);
        }
    }
}

#[test]
fn a_cookie_that_comes_back_too_late_is_not_taken() {
    // The first COOKIE ECHO is lost; the second arrives 1 s later, when the cookie is stale.
    let mut lab = lab(&[("cookie_life", text("500 ms"))], 1);
    let mut lost = false;
    lab.lose = Box::new(move |_, _, packet| {
        let echo = matches!(packet.control.first(), Some(Control::CookieEcho(_)));
        echo && !std::mem::replace(&mut lost, true)
    });
    lab.run(100);
    lab.assert_delivered(10_000);
    assert_eq!(lab.ends.each_ref().map(|end| end.sctp.stats().stale_cookies), [1, 1]);
}

#[test]
fn a_changed_cookie_sets_up_nothing() {
    use std::sync::Arc;
    use vazao_transport::sctp::{Association, Init, Packet};
    let config = Arc::new(config(None, &[]));
    let (mut client, mut server) =
        (Association::connect(config.clone(), 1, 5, 100), Association::listen(config, 1, 9, 200));
    let mut packet = Packet::default();
    let carry = |from: &mut Association, to: &mut Association, packet: &mut Packet, change: bool| {
        packet.clear();
        from.poll_transmit(at(0), packet).expect("a packet");
        if let (true, Some(Control::CookieEcho(cookie))) = (change, packet.control.first_mut()) {
            cookie.peer = Init { window: 1 << 30, ..cookie.peer };
        }
        to.handle(at(0), 0, packet);
    };
    carry(&mut client, &mut server, &mut packet, false);
    carry(&mut server, &mut client, &mut packet, false);
    carry(&mut client, &mut server, &mut packet, true);
    assert_eq!(server.state(), State::Closed);
}

#[test]
fn nobody_answers() {
    let mut lab = lab(&[], 2);
    lab.lose = Box::new(|_, _, _| true);
    lab.run(10_000);
    assert_eq!(lab.sender().failure(), Some(Failure::TimedOut));
    // Max.Init.Retransmits is 8: INIT is sent nine times, 1, 2, 4, ... 60 s apart; the ninth timeout ends it.
    assert_eq!(lab.paths.packets, 9);
    assert_eq!(lab.paths.now, at(1000 * (1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60)));
}

/// Section 5.4: an address is confirmed by a heartbeat, one round trip after establishment.
#[test]
fn other_paths_are_probed_first() {
    let mut lab = lab(&[("cmt", vazao_engine::registry::Raw::Flag(true))], 3);
    lab.run_until(10, |lab| lab.sender().paths().iter().all(|path| path.is_usable()));
    assert_eq!(lab.paths.now, at(300));
    assert_eq!(lab.sender().sum(|path| path.heartbeats), 2);
}

/// Section 8.5: a packet with another tag is dropped silently, whatever its contents; section 8.4: without an
/// association, its sender gets an ABORT with its own tag.
#[test]
fn other_tags_are_not_answered() {
    use vazao_transport::sctp::Packet;
    let mut lab = lab(&[], 1);
    lab.ends[0].user.application.stays = true;
    lab.run_until(10, |lab| lab.sender().stats().established.is_some());
    let packet = Packet { tag: 77, control: vec![Control::Abort(false, None)], ..Packet::default() };
    let strange = Packet { tag: 77, control: vec![Control::CookieAck, Control::Shutdown(0)], ..Packet::default() };
    let mut out = Packet::default();
    let mut server = |lab: &mut Lab, packet: &Packet| {
        while lab.ends[1].sctp.poll_transmit(at(1_000), &mut out).is_some() {
            out.clear();
        }
        lab.ends[1].sctp.handle(at(1_000), 0, packet);
        out.clear();
        lab.ends[1].sctp.poll_transmit(at(1_000), &mut out).map(|_| (out.tag, out.control.clone()))
    };
    for packet in [&packet, &strange] {
        assert_eq!(server(&mut lab, packet), None);
        assert_eq!(lab.ends[1].sctp.state(), State::Established);
    }
    lab.ends[1].sctp.abort();
    let shutdown = Packet { tag: 77, control: vec![Control::Shutdown(0)], ..Packet::default() };
    assert_eq!(server(&mut lab, &shutdown), Some((77, vec![Control::Abort(true, None)])));
    assert_eq!(server(&mut lab, &packet), None, "an ABORT is not answered");
}

/// Section 3.3.3: an INIT ACK requests no more streams than its INIT accepts, and data uses no more.
#[test]
fn no_more_streams_than_the_peer_takes() {
    use crate::pair::{answer, chunk, listen, said};
    use vazao_transport::ByteStream;
    use vazao_transport::sctp::{Addresses, Init};
    let mut server = listen(9, 200, &[("streams", vazao_engine::registry::Raw::Number(10.0))]);
    let init =
        Init { tag: 7, window: 9_000, streams: (1, 3), tsn: 1, addresses: Addresses::of_paths(1), ..Init::default() };
    let init_ack = answer(&mut server, at(0), &chunk(0, Control::Init(init))).expect("INIT ACK");
    let Control::InitAck(own, Some(cookie)) = init_ack.control[0] else { panic!("{init_ack:?}") };
    assert_eq!((own.streams.0, cookie.own.streams.0), (3, 3));
    let _ = answer(&mut server, at(0), &chunk(9, Control::CookieEcho(cookie)));
    server.write(20_000);
    let sent: Vec<_> = std::iter::from_fn(|| said(&mut server, at(0))).flat_map(|packet| packet.data).collect();
    assert!(sent.len() > 3 && sent.iter().all(|data| data.stream < 3), "{sent:?}");
}

/// Before the INIT ACK there is no peer tag to answer a HEARTBEAT with (RFC 9260 section 8.3).
#[test]
fn a_heartbeat_before_the_init_ack_is_not_answered() {
    let mut client = connect(5, 100);
    let _ = said(&mut client, at(0));
    let probe = vazao_transport::sctp::Probe { path: 0, sent: at(0), nonce: 1 };
    assert_eq!(answer(&mut client, at(1), &chunk(5, Control::Heartbeat(probe))), None);
}
