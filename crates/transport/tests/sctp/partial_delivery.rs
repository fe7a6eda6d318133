//! Partial delivery of messages (RFC 9260 section 6.9, RFC 6458 sections 6.1.7 and 8.1.21).

use crate::lab::{Lab, Weather, at, config, text};
use crate::pair::{answer, standing_with};
use vazao_engine::registry::Raw;
use vazao_transport::ByteStream;
use vazao_transport::sctp::{Association, Data, DataFlags, Notification, Packet, Skip, stamp};

/// Messages of 300 kB through a receive buffer of 64 kB, in DATA chunks, or in I-DATA chunks on four streams at once,
/// whose messages together are 1.2 MB. While the first half of the buffer fills, at least that half is in flight; so it
/// takes at most twice as long as packet-sized messages, and no timer expires.
#[test]
fn messages_larger_than_the_buffer() {
    for (interleaving, streams) in [(false, 1), (true, 4)] {
        let given = [
            ("receive_buffer", text("64 kB")),
            ("streams", Raw::Number(f64::from(streams))),
            ("interleaving", Raw::Flag(interleaving)),
            ("scheduler", text("round-robin")),
        ];
        let times = [(1_440, 0), (300_000, 4)].map(|(message, given_in_part)| {
            let mut lab = Lab::new(config(Some(message), &given), 1_200_000, vec![Weather::fair(20)], 3);
            lab.run(1_000);
            lab.assert_delivered(1_200_000);
            assert_eq!(lab.sender().sum(|path| path.timeouts), 0);
            assert_eq!(lab.ends[1].sctp.stats().partial_deliveries, given_in_part);
            lab.paths.now.as_secs()
        });
        assert!(times[1] < 2.0 * times[0], "interleaved: {interleaving}: {times:?}");
    }
}

/// Fragment of 100 bytes to the server: position in its message, number of fragments, and stream.
fn fragment(tsn: u32, stream: u16, place: u32, of: u32) -> Data {
    let mut flags = DataFlags::default();
    if place == 0 {
        flags = flags.with(DataFlags::BEGIN);
    }
    if place + 1 == of {
        flags = flags.with(DataFlags::END);
    }
    let (message, stamp) = (u32::from(stream), stamp(stream, 0, u64::from(100 * place)));
    Data { tsn: 100 + tsn, stream, fsn: place, length: 100, flags, message, stamp, ..Data::default() }
}

/// Delivers data to the server; returns the bytes that its application has then.
fn hears(server: &mut Association, interleaved: bool, data: Data) -> u64 {
    let _ = answer(server, at(1), &Packet { tag: 9, data: vec![data], interleaved, ..Packet::default() });
    server.unread()
}

fn receiver(interleaving: bool, partial: bool) -> Association {
    let given = [
        ("partial_delivery_point", text("200 B")),
        ("streams", Raw::Number(2.0)),
        ("interleaving", Raw::Flag(interleaving)),
        ("partial_reliability", text(if partial { "retransmissions" } else { "none" })),
    ];
    let (_, mut server) = standing_with(&given, &given);
    server.watch_notifications();
    server.watch_messages();
    server
}

/// Beyond the partial delivery point everything is delivered at once; the message counts when it is complete.
#[test]
fn data_beyond_the_point_is_delivered_at_once() {
    for interleaved in [false, true] {
        let mut server = receiver(interleaved, false);
        let seen = [0, 1, 2, 4, 3].map(|i| hears(&mut server, interleaved, fragment(i, 0, i, 5)));
        // The fifth waits for the fourth.
        assert_eq!(seen, [0, 200, 300, 300, 500], "interleaved: {interleaved}");
        assert_eq!(server.read_at_most(499), Some(0..499));
        assert_eq!(server.next_read(), None);
        assert_eq!(server.read(), Some(499..500));
        assert_eq!((server.next_read(), server.next_read()), (Some(0), None));
        let stats = server.stats();
        assert_eq!((stats.messages_delivered, stats.partial_deliveries, stats.misplaced), (1, 1, 0));
    }
}

/// Without I-DATA nothing else is delivered until the message is complete (RFC 6458 section 8.1.20, level 0); with it
/// other streams go on.
#[test]
fn other_streams_wait_without_interleaving() {
    for (interleaved, then) in [(false, 200), (true, 300)] {
        let mut server = receiver(interleaved, false);
        let begun = [0, 1].map(|i| hears(&mut server, interleaved, fragment(i, 0, i, 3)));
        assert_eq!(begun, [0, 200]);
        assert_eq!(hears(&mut server, interleaved, fragment(3, 1, 0, 1)), then);
        assert_eq!(hears(&mut server, interleaved, fragment(2, 0, 2, 3)), 400);
        let order = std::iter::from_fn(|| {
            let _ = server.read();
            server.next_read()
        });
        assert_eq!(order.collect::<Vec<_>>(), if interleaved { [1, 0] } else { [0, 1] });
    }
}

/// The sender abandons the message: the application learns that the rest will not come, and blocked messages are
/// delivered.
#[test]
fn the_rest_may_never_come() {
    for interleaved in [false, true] {
        let mut server = receiver(interleaved, true);
        let begun = [0, 1].map(|i| hears(&mut server, interleaved, fragment(i, 0, i, 4)));
        assert_eq!(begun, [0, 200]);
        hears(&mut server, interleaved, fragment(4, 1, 0, 1));
        let skips = vec![Skip { stream: 0, unordered: false, number: 0 }];
        let forward = Packet { tag: 9, forward: Some(103), skips, interleaved, ..Packet::default() };
        let _ = answer(&mut server, at(1), &forward);
        assert_eq!(server.notifications(), [Notification::PartialDeliveryAborted(0)]);
        assert_eq!((server.unread(), server.stats().messages_delivered), (300, 1));
        // The next message of the stream is delivered normally.
        let next = Data { number: 1, message: 2, stamp: stamp(0, 1, 0), ..fragment(5, 0, 0, 1) };
        assert_eq!(hears(&mut server, interleaved, next), 400);
        assert_eq!(server.stats().misplaced, 0);
    }
}
