//! Faults of the network and the peer at the worst moments, one at a time.

use crate::lab::{Lab, Laboratory, Weather, at, config, text};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use vazao_engine::registry::{Change, Raw};
use vazao_engine::{Duration, Ecn};
use vazao_transport::quic::{Config, Datagram, Failure, Frame, Kind, Phase};

/// Changes of the client's interfaces: milliseconds after the handshake, what changes, and which interface.
fn changing(given: &[(&str, Raw)], changes: &[(u64, &'static str, u64)]) -> Config {
    let mut config = config(given);
    let change = |&(ms, what, which): &(u64, &'static str, u64)| Change { at: Duration::from_millis(ms), what, which };
    config.changes = changes.iter().map(change).collect();
    config
}

fn says(datagram: &Datagram, what: impl Fn(&Frame) -> bool) -> bool {
    datagram.frames.iter().any(what)
}

/// RFC 9000 section 13.4.2: ECN is tested anew on a new path, with the peer's counts continuing; so marks are in use
/// again a round trip after a migration.
#[test]
fn marks_are_in_use_again_after_a_migration() {
    let given = [("ecn", Raw::Flag(true)), ("cc", text("reno"))];
    let mut lab = Lab::new(changing(&given, &[(150, "migrate", 2)]), [32 << 20, 0], Weather::fair(20), 1);
    let marked = Arc::new(Mutex::new([[0_u64; 2]; 2]));
    let seen = marked.clone();
    lab.lose = Box::new(move |from, datagram| {
        if from == 0 {
            seen.lock().unwrap()[usize::from(datagram.address.interface)][usize::from(datagram.ecn == Ecn::Ect0)] += 1;
        }
        false
    });
    lab.run(60);
    lab.assert_delivered();
    for [not, with] in *marked.lock().unwrap() {
        assert!(with > 100 && not < with / 4, "{with} with, {not} without");
    }
}

/// RFC 9000 section 10.1: the idle timeout runs from the first ack-eliciting packet since the last one received, not
/// from that one: after 1.9 of 2 seconds of silence both sides send, and the first 0.5 s of that is lost.
#[test]
fn the_idle_timeout_restarts_with_the_first_packet_sent() {
    let given = [("idle_timeout", text("2 s")), ("keep_alive", text("1 h"))];
    let mut lab = Lab::quiet(config(&given), Weather::fair(50), 1);
    lab.paths.weather[0].outages.push(1_900..2_400);
    lab.run_to(400);
    assert_eq!(lab.run_to(1_900), 0, "nobody speaks");
    let ids = lab.ends.each_mut().map(|end| end.quic.open_stream(false).expect("there may be streams"));
    for (end, id) in lab.ends.iter_mut().zip(ids) {
        end.quic.write_stream(id, 1000);
    }
    lab.run_to(3_900);
    for (end, id) in lab.ends.iter_mut().zip([ids[1], ids[0]]) {
        assert_eq!((end.quic.failure(), end.quic.read_stream(id, 1000)), (None, Some(0..1000)));
    }
}

/// RFC 9001 section 5.7: 1-RTT packets of a client are not processed before its Finished, even by a server that has
/// processed its 0-RTT packets.
#[test]
fn a_server_waits_for_finished() {
    let mut lab = Lab::new(config(&[("handshake", text("0-rtt"))]), [1 << 20, 0], Weather::fair(50), 1);
    lab.lose =
        Box::new(|from, datagram| from == 0 && datagram.packets.iter().any(|packet| packet.kind == Kind::Handshake));
    lab.run_until(10, |lab| lab.paths.now > at(250));
    assert!(lab.client().stats().datagrams > 15, "the client goes on");
    assert_eq!(lab.server().stats().established, None);
    assert!(lab.ends[1].user.received <= 10 * 1452, "{} bytes read", lab.ends[1].user.received);
    lab.lose = Box::new(|_, _| false);
    lab.run(20);
    lab.assert_delivered();
}

/// RFC 9000 section 9.5: no connection ID is used from two addresses of a client, whichever NEW_CONNECTION_ID frames
/// are lost at first; and the IDs do not run out.
#[test]
fn each_migration_has_an_identifier_of_its_own() {
    let changes: Vec<_> = (0..20).map(|i| (300 + 400 * i, "migrate", 1 + (i + 1) % 3)).collect();
    let mut lab = Lab::quiet(changing(&[], &changes), Weather::fair(10), 1);
    let used = Arc::new(Mutex::new(BTreeMap::new()));
    let (seen, mut issued) = (used.clone(), 0);
    lab.lose = Box::new(move |from, datagram| {
        if from == 0 {
            let way = *seen.lock().unwrap().entry(datagram.identifier).or_insert(datagram.address.interface);
            assert_eq!(way, datagram.address.interface, "identifier {}", datagram.identifier);
        }
        let issues = from == 1 && says(datagram, |frame| matches!(frame, Frame::NewConnectionId(..)));
        issued += u32::from(issues);
        issues && issued % 2 == 1
    });
    lab.run_to(9_000);
    assert!(used.lock().unwrap().len() > 20);
}

/// RFC 9000 section 10.2.3: an endpoint that closes during the handshake does so in every space, since the peer's keys
/// are unknown; a client's datagram with an Initial packet still has 1200 bytes (section 14.1, checked by the lab).
#[test]
fn closing_in_the_handshake_reaches_the_peer() {
    // After the server's answer, whether lost or not; before the client has received it, and after.
    for (who, ms, lost) in [(1, 60, true), (1, 60, false), (0, 60, false), (0, 110, false)] {
        for handshake in ["1-rtt", "0-rtt", "0-rtt-rejected"] {
            let mut lab = Lab::new(config(&[("handshake", text(handshake))]), [100_000; 2], Weather::fair(50), 1);
            lab.lose = Box::new(move |from, _| lost && from == 1);
            lab.run_to(ms);
            lab.lose = Box::new(|_, _| false);
            lab.ends[who].quic.abort();
            lab.serve_both();
            lab.run(10);
            let heard = lab.ends[1 - who].quic.failure();
            assert_eq!(heard, Some(Failure::Closed), "{handshake}: {who} gives up after {ms} ms");
        }
    }
}

/// RFC 9000 section 9.3.3: an attacker copies a client's packet and sends it from another address, faster. The server
/// also probes the previous address, and the client's answer takes the connection back within a round trip: what the
/// server sends 100 ms later goes to the client at once.
#[test]
fn a_forwarded_packet_diverts_a_connection_for_a_round_trip_only() {
    let mut lab = Lab::quiet(config(&[]), Weather::fair(50), 1);
    let copied = Arc::new(Mutex::new(None));
    let copy = copied.clone();
    lab.lose = Box::new(move |from, datagram| {
        if from == 0 {
            *copy.lock().unwrap() = Some(datagram.clone());
        }
        false
    });
    lab.run_to(500);
    let id = lab.ends[0].quic.open_stream(true).expect("there may be streams");
    lab.ends[0].quic.write_stream(id, 1000);
    lab.serve_both();
    let mut copy = copied.lock().unwrap().take().expect("a datagram");
    copy.address.number = 9;
    lab.forge(1, copy, 40);
    lab.run_to(545);
    assert_eq!(lab.server().stats().migrations, 1);
    // The challenge reaches the client at 590, and its answer arrives at 640.
    lab.run_to(641);
    assert_eq!(lab.server().stats().migrations, 2);
    let before = lab.paths.packets;
    lab.ends[1].quic.write_stream(id, 100_000);
    lab.serve_both();
    assert!(lab.paths.packets - before >= 10, "no limit but the window's holds of the client");
    lab.run_to(1_200);
    assert_eq!(lab.ends[0].quic.read_stream(id, 100_000), Some(0..100_000));
}

const HANDSHAKES: [&str; 5] = ["1-rtt", "0-rtt", "0-rtt-rejected", "retry", "gquic-1-rtt"];

/// Loses the datagrams with these numbers, from 0, in both directions.
fn losing_any(numbers: Vec<u64>) -> Box<crate::lab::Losses> {
    let mut count = 0;
    Box::new(move |_, _| {
        count += 1;
        numbers.contains(&(count - 1))
    })
}

/// Whichever two datagrams of a connection are lost, it ends, and no later than if they had been the client's first,
/// which is sent again after 333 + 4 * 166.5 = 999 ms and twice as much (RFC 9002 section 6.2.2); each may cost an ACK
/// delay of 25 ms, too.
#[test]
fn any_two_datagrams_may_be_lost() {
    let given = |handshake| config(&[("handshake", text(handshake)), ("certificate", text("5 kB"))]);
    let taken = |handshake, lost| {
        let mut lab = Lab::new(given(handshake), [5_000, 5_000], Weather::fair(50), 1);
        lab.lose = losing_any(lost);
        lab.run(60);
        lab.assert_delivered();
        lab.paths.now
    };
    for handshake in HANDSHAKES {
        let most = taken(handshake, vec![]) + Duration::from_millis(3 * 999 + 2 * 25);
        for (i, j) in (0..20).flat_map(|i| (i + 1..20).map(move |j| (i, j))) {
            let taken = taken(handshake, vec![i, j]);
            assert!(taken <= most, "{handshake} without {i} and {j}: {taken:?} of {most:?}");
        }
    }
}

/// RFC 9001 section 4.1.2, RFC 9000 section 13.3: HANDSHAKE_DONE is retransmitted until acknowledged. The client's data
/// does not wait for it, but is not probed for (RFC 9002 section 6.2.1), so the last of it waits for the server's
/// probe.
#[test]
fn a_lost_handshake_done_is_repeated() {
    let mut lab = Lab::new(config(&[]), [20_000, 0], Weather::fair(50), 1);
    let (mut said, mut ended) = (0, 0);
    lab.lose = Box::new(move |from, datagram| {
        let confirms = says(datagram, |frame| matches!(frame, Frame::HandshakeDone));
        let ends = from == 0 && says(datagram, |frame| matches!(frame, Frame::Stream(stream) if stream.fin));
        (said, ended) = (said + u32::from(confirms), ended + u32::from(ends));
        confirms && said <= 2 || ends && ended == 1
    });
    lab.run(20);
    lab.assert_delivered();
    assert_eq!(lab.client().phase(), Phase::Closed);
    assert!(lab.paths.now < at(2_000), "{:?}", lab.paths.now);
}

/// RFC 9000 section 12.3: duplicate packets count once.
#[test]
fn duplicates_change_nothing() {
    let run = |duplication| {
        let weather = Weather { duplication, ..Weather::fair(20) };
        let mut lab = Lab::new(config(&[]), [1 << 20, 1 << 20], weather, 1);
        lab.run(20);
        lab.assert_delivered();
        let told = lab.ends.each_ref().map(|end| {
            let stats = end.quic.stats();
            (stats.lost, stats.retransmissions, stats.probes, stats.rtt.count())
        });
        (lab.paths.now, told, lab.client().stats().duplicates_received > 500)
    };
    let (alone, twice) = (run(0), run(100));
    assert_eq!((alone.0, alone.1), (twice.0, twice.1));
    assert_eq!((alone.2, twice.2), (false, true));
}

/// Reordering far beyond both thresholds (RFC 9002 section 6.1), without losses: packets declared lost arrive after
/// all, and of what was sent again, the later copy brings nothing new.
#[test]
fn late_packets_are_spurious_losses() {
    let mut lab = Lab::quiet(config(&[("reordering", text("fixed"))]), Weather::fair(5), 1);
    lab.run_to(100);
    lab.paths.weather[0].jitter = 30;
    let id = lab.ends[0].quic.open_stream(false).expect("there may be streams");
    lab.ends[0].quic.write_stream(id, 900_000);
    lab.run_to(20_000);
    assert_eq!(lab.ends[1].quic.read_stream(id, 900_000), Some(0..900_000));
    assert!(lab.client().stats().lost > 100);
    for end in &lab.ends {
        assert_eq!(end.quic.stats().lost, end.quic.stats().spurious_losses);
    }
    let (again, twice) = (lab.client().stats().retransmissions, lab.ends[1].quic.stats().duplicates_received);
    assert!(again > 0 && (again / 2..=again).contains(&twice), "{again} sent again, {twice} without anything new");
    assert_eq!(lab.client().stats().duplicates_received, 0);
}

/// RFC 9000 section 4.1: each side is blocked by the other's windows all the time, and every second frame with a new
/// limit is lost.
#[test]
fn lost_limits_are_repeated_in_both_directions() {
    let windows =
        [("stream_window", text("20 kB")), ("connection_window", text("20 kB")), ("receive_buffer", text("20 kB"))];
    let mut lab = Lab::new(config(&windows), [400_000; 2], Weather::fair(10), 1);
    let mut told = [0; 2];
    lab.lose = Box::new(move |from, datagram| {
        let tells = says(datagram, |frame| matches!(frame, Frame::MaxData(_) | Frame::MaxStreamData(..)));
        told[from] += u32::from(tells);
        tells && told[from] % 2 == 1
    });
    lab.run(60);
    lab.assert_delivered();
}

/// RFC 9000 section 10.1: without answers a sender gives up after the idle timeout, counted from the first packet it
/// sends after the last one received; until then it probes after about 0.2 s, with back-off: seven times in 30 s.
#[test]
fn silence_ends_a_connection_in_time() {
    let mut lab = Lab::new(config(&[]), [64 << 20, 0], Weather::fair(50), 1);
    lab.paths.weather[0].outages.push(500..u64::MAX);
    lab.run_until(100, |lab| lab.client().failure().is_some());
    assert_eq!(lab.client().failure(), Some(Failure::Idle));
    assert!((at(30_500)..at(30_700)).contains(&lab.paths.now), "{:?}", lab.paths.now);
    assert!((6..=8).contains(&lab.client().stats().probes), "{}", lab.client().stats().probes);
    lab.run(100);
    assert_eq!(lab.server().failure(), Some(Failure::Idle));
}

/// RFC 9000 section 10.2: CONNECTION_CLOSE is not repeated by itself, but in answer to any packet.
#[test]
fn a_lost_close_is_repeated() {
    for who in 0..2 {
        let mut lab = Lab::new(config(&[]), [10_000; 2], Weather::fair(50), 1);
        let mut said = 0;
        lab.lose = Box::new(move |from, datagram| {
            let closes = from == who && says(datagram, |frame| matches!(frame, Frame::Close { .. }));
            said += u32::from(closes);
            closes && said <= 3
        });
        lab.run(20);
        lab.assert_delivered();
        assert!(lab.paths.now < at(5_000), "{:?}", lab.paths.now);
    }
}

/// RFC 9000 section 9.3.2: a client that migrates to a dead interface returns after three challenges of 999 + 25 ms
/// each (RFC 9002 section 6.2.2, without an RTT sample), and everything arrives.
#[test]
fn a_failed_migration_is_reverted() {
    for sends in [[8 << 20, 0], [0, 8 << 20]] {
        let mut lab = Lab::new(changing(&[], &[(100, "migrate", 2)]), sends, Weather::fair(50), 1);
        lab.lose = Box::new(|_, datagram| datagram.address.interface == 1);
        lab.run_to(3_270);
        let received = lab.ends.each_ref().map(|end| end.user.received);
        lab.run(20);
        lab.assert_delivered();
        assert!(received[0] + received[1] < 4 << 20, "nothing came for three seconds");
        assert!(lab.paths.now < at(6_000), "{:?}", lab.paths.now);
    }
}

/// RFC 9002 section 5.2: after persistent congestion the minimum RTT is the newest sample, since the path may have
/// changed.
#[test]
fn persistent_congestion_resets_the_minimum_rtt() {
    let mut lab = Lab::new(config(&[("cc", text("reno"))]), [64 << 20, 0], Weather::fair(20), 1);
    lab.paths.weather[0].outages.push(400..4_000);
    lab.run_to(1_000);
    assert_eq!(lab.client().rtt().min(), Duration::from_millis(40));
    lab.paths.weather[0].delay = 60;
    lab.run_until(20, |lab| lab.client().stats().persistent_congestions == 1);
    assert!(lab.client().rtt().min() >= Duration::from_millis(120), "{:?}", lab.client().rtt().min());
}

/// draft-ietf-quic-ack-frequency: asked to acknowledge every tenth packet, a receiver sends a fifth of the ACKs that it
/// sends for every second one, and none later than max_ack_delay.
#[test]
fn acknowledgements_have_the_requested_frequency() {
    let acks = |frequency: Option<f64>| {
        let given: Vec<_> = frequency.map(|every| ("ack_frequency", Raw::Number(every))).into_iter().collect();
        let mut lab = Lab::new(config(&given), [4 << 20, 0], Weather::fair(50), 1);
        let told = Arc::new(Mutex::new((0_u32, 0)));
        let seen = told.clone();
        lab.lose = Box::new(move |from, datagram| {
            for frame in &datagram.frames {
                if let (1, Frame::Ack(ack)) = (from, frame) {
                    let mut seen = seen.lock().unwrap();
                    *seen = (seen.0 + 1, seen.1.max(ack.delay * 8));
                }
            }
            false
        });
        lab.run(20);
        lab.assert_delivered();
        let told = *told.lock().unwrap();
        assert!(told.1 <= 25_000, "{} us", told.1);
        f64::from(told.0)
    };
    let (usual, asked) = (acks(None), acks(Some(10.0)));
    let packets = f64::from(4 << 20) / 1415.0;
    assert!((usual / (packets / 2.0) - 1.0).abs() < 0.1, "{usual} for {packets}");
    assert!((asked / (packets / 10.0) - 1.0).abs() < 0.1, "{asked} for {packets}");
}

/// RFC 9000 section 8.1: a server at its amplification limit sends CONNECTION_CLOSE once it may send again.
#[test]
fn a_close_is_sent_once_permitted() {
    let mut lab = Lab::new(config(&[("certificate", text("8 kB"))]), [1000, 0], Weather::fair(50), 1);
    lab.run_to(60);
    lab.ends[1].quic.abort();
    lab.run(5);
    assert_eq!(lab.client().failure(), Some(Failure::Closed));
}

/// RFC 9000 section 3.5: data of a stopped stream takes nothing of the connection's window, nor of the stream limit,
/// even if it was all sent before STOP_SENDING arrived.
#[test]
fn stopped_streams_block_nobody() {
    let windows =
        [("stream_window", text("20 kB")), ("connection_window", text("20 kB")), ("max_streams", Raw::Number(1.0))];
    let mut lab = Lab::quiet(config(&windows), Weather::fair(50), 1);
    for round in 1..20 {
        lab.run_to(500 * round);
        let id = lab.ends[0].quic.open_stream(false).expect("the one before is over");
        assert_eq!(lab.ends[0].quic.write_stream(id, 8_000), 8_000);
        lab.ends[0].quic.finish_stream(id);
        // Before the data arrives, or after all of it.
        lab.run_to(500 * round + if round % 2 == 0 { 55 } else { 300 });
        let id = lab.ends[1].quic.accept_stream().expect("it has begun");
        lab.ends[1].quic.stop_stream(id, 7);
    }
}

/// An outage in one or both directions, starting at any moment. Probes back off exponentially (RFC 9002 section 6.2.1),
/// so the connection resumes after at most twice the outage plus the first probe timeout, 999 ms without an RTT sample;
/// the rest takes a second at most. Google's timers are shorter.
#[test]
fn an_outage_costs_as_long_again_at_most() {
    let ways = HANDSHAKES.iter().flat_map(|&handshake| ["rfc9002", "google"].map(|recovery| (handshake, recovery)));
    let cases = ways.flat_map(|(handshake, recovery)| {
        let sends = [[60_000, 0], [0, 60_000], [60_000, 60_000]];
        sends
            .into_iter()
            .flat_map(move |sends| [vec![0], vec![1], vec![0, 1]].map(|silent| ((handshake, recovery), sends, silent)))
    });
    for ((handshake, recovery), sends, silent) in cases {
        for (start, length) in (0..20).flat_map(|i| [100, 400, 1_500, 5_000].map(|length| (30 * i, length))) {
            let given = [("handshake", handshake), ("recovery", recovery), ("certificate", "4 kB")];
            let given = given.map(|(name, value)| (name, text(value)));
            let mut lab = Lab::new(config(&given), sends, Weather::fair(50), 1);
            let out = Arc::new(AtomicBool::new(false));
            let (now_out, silent) = (out.clone(), silent.clone());
            lab.lose = Box::new(move |from, _| silent.contains(&from) && now_out.load(Relaxed));
            lab.run_until(60, |lab| {
                out.store((at(start)..at(start + length)).contains(&lab.next_event().max(lab.paths.now)), Relaxed);
                lab.ends.iter().all(|end| end.quic.is_over())
            });
            lab.assert_delivered();
            let most = at(start + 2 * length + 999 + 1_000);
            assert!(
                lab.paths.now <= most,
                "{handshake}, {recovery}, {sends:?}, nothing from {start} ms for {length}: {:?}",
                lab.paths.now
            );
        }
    }
}

/// RFC 9002 section 6.2.2.1: a server at its amplification limit has no timer, and counts no probe: its certificate is
/// longer than it may send, and its client's answers are lost for ten seconds.
#[test]
fn a_blocked_server_does_not_probe() {
    let mut lab = Lab::new(config(&[("certificate", text("8 kB"))]), [1000, 0], Weather::fair(50), 1);
    lab.paths.weather[0].outages.push(50..10_000);
    lab.run_to(9_000);
    assert_eq!((lab.server().stats().probes, lab.server().pto_count()), (0, 0));
    lab.run(60);
    lab.assert_delivered();
}
