//! UDP endpoints: when datagrams leave, and what a receiver counts.

use vazao_engine::{Duration, Rate, Time};
use vazao_transport::ByteStream;
use vazao_transport::udp::{Config, Datagram, Endpoint};

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

fn endpoint(payload: u16, rate: Option<u64>) -> Endpoint {
    Endpoint::new(Config { payload, rate: rate.map(Rate::from_bps) })
}

/// Everything sent up to a time, driven by the endpoint's own timeouts.
fn sent(sender: &mut Endpoint, until: Time) -> Vec<Datagram> {
    let (mut all, mut now) = (Vec::new(), Time::ZERO);
    loop {
        while let Some(datagram) = sender.poll_transmit(now) {
            all.push(datagram);
        }
        match sender.next_timeout() {
            due if due <= until && due != Time::NEVER => now = due,
            _ => return all,
        }
    }
}

/// Datagram that is a whole message.
fn single(sequence: u32) -> Datagram {
    Datagram { sent: Time::ZERO, sequence, message: sequence, parts: 1, payload: 100 }
}

#[test]
fn an_upload_leaves_at_its_rate_and_ends_with_what_is_left() {
    let mut sender = endpoint(1000, Some(8_000_000));
    assert_eq!(sender.write(2500), 2500);
    sender.close();
    assert!(!sender.is_over());
    let all = sent(&mut sender, Time::NEVER);
    // 1000 bytes at 1 MB/s: one a millisecond.
    let seen: Vec<_> = all.iter().map(|d| (d.sent, d.sequence, d.payload, d.parts)).collect();
    assert_eq!(seen, [(at(0), 0, 1000, 1), (at(1000), 1, 1000, 1), (at(2000), 2, 500, 1)]);
    assert!(sender.is_over());
    assert_eq!(sender.sent(), 3);
}

/// A rate whose interval is not a whole number of nanoseconds is still exact after a million datagrams.
#[test]
fn rounding_does_not_add_up() {
    let mut sender = endpoint(1472, Some(6_000_000_007));
    sender.write(1472 * 1_000_000);
    let all = sent(&mut sender, Time::NEVER);
    let exact = 1472.0 * 8.0 * 999_999.0 / 6_000_000_007.0;
    assert!((all.last().expect("a million").sent.as_secs() - exact).abs() < 2e-9);
}

#[test]
fn a_message_leaves_at_once_in_as_many_datagrams_as_it_needs() {
    let mut sender = endpoint(1000, None);
    sender.write(2001);
    sender.write(10);
    let all = sent(&mut sender, at(0));
    let seen: Vec<_> = all.iter().map(|d| (d.message, d.parts, d.payload)).collect();
    assert_eq!(seen, [(0, 3, 1000), (0, 3, 1000), (0, 3, 1), (1, 1, 10)]);
    assert_eq!(sender.next_timeout(), Time::NEVER);
}

#[test]
fn unsent_data_can_be_discarded() {
    let mut sender = endpoint(1000, Some(8_000_000));
    sender.write(1 << 50);
    let all = sent(&mut sender, at(4500));
    assert_eq!((all.len(), sender.discard_unsent()), (5, 5000));
    sender.close();
    assert!(sender.is_over());
}

/// RFC 4737 section 3.3 and an example like that of section 4.1.1: of 1, 2, 3, 7, 8, 9, 10, 4, 5, 6 the last three
/// arrived after higher numbers; a duplicate counts neither as reordered nor as data.
#[test]
fn late_and_repeated_datagrams_are_counted_as_rfc_4737_and_5560_say() {
    let mut receiver = endpoint(1000, None);
    for sequence in [0, 1, 2, 6, 7, 8, 9, 3, 4, 5, 5, 9] {
        receiver.handle(at(1), &single(sequence));
    }
    let stats = receiver.stats();
    assert_eq!((stats.datagrams, stats.reordered, stats.duplicates), (10, 3, 2));
    assert_eq!(receiver.read(), Some(0..1000));
}

#[test]
fn a_receiver_is_done_when_each_datagram_has_come_or_is_known_to_be_lost() {
    let mut receiver = endpoint(1000, None);
    for sequence in [0, 2] {
        receiver.handle(at(1), &single(sequence));
    }
    receiver.lose(&single(1));
    receiver.read();
    assert!(!receiver.peer_closed());
    receiver.expect(4);
    assert!(!receiver.peer_closed());
    // One copy of the last is lost, and another arrives.
    receiver.lose(&single(3));
    assert!(receiver.peer_closed());
    receiver.handle(at(2), &single(3));
    receiver.read();
    assert!(receiver.peer_closed());
    assert_eq!((receiver.lost(), receiver.stats().datagrams), (1, 3));
}

#[test]
fn a_message_has_arrived_with_its_last_part() {
    let mut receiver = endpoint(1000, None);
    for (us, sequence, sent) in [(900, 2, 102), (1000, 0, 100), (5100, 1, 101)] {
        let part = Datagram { sent: at(sent), sequence, message: 7, parts: 3, payload: 1000 };
        assert_eq!(receiver.stats().latency.count(), 0);
        receiver.handle(at(us), &part);
    }
    assert_eq!(receiver.stats().latency.count(), 1);
    assert!((receiver.stats().latency.mean().expect("one") - 5e-3).abs() < 1e-9);
}
