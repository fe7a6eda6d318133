//! Data that guests send each other arrives, when it should.

use crate::lab::{GO_ON, Lab, PATIENCE, Wire, boot, kernel, last, pair, upload};
use vazao_engine::{Duration, Time};
use vazao_guest::Guest;
use vazao_guest_protocol::{Event, Report, Setup};

const UP: Report = Report::Flow { number: 1, event: Event::Up };

/// SYN and SYN/ACK are 60 bytes each, so that the handshake takes two transmissions at 10 Mbit/s (48 us each) and two
/// delays of 50 ms; a guest's clock has steps of 256 ns, of which each side takes a few.
#[test]
fn a_handshake_takes_one_round_trip() {
    let Some(kernel) = kernel() else { return };
    let wire = Wire::new(10_000_000, Duration::from_millis(50), 84, 0);
    let mut lab = pair(&kernel, &upload(1000), &wire, |_| {});
    lab.run(Time::NEVER).unwrap();
    let up = lab.when(0, &UP).as_nanos();
    assert!((100_096_000..100_099_000).contains(&up), "{up} ns");
    // Then the handshake's last packet (52 bytes, 41.6 us), 1000 bytes with 20 of IP's header, 20 of TCP's and 12 of its
    // timestamps (841.6 us), and a delay.
    let last = lab.when(1, &last(1_000)).as_nanos() - up;
    assert!((50_883_200..50_886_000).contains(&last), "{last} ns");
    assert!(lab.guests.iter().all(Guest::is_off));
}

/// The link is the limit: 10 MB are 6906 segments of 1448 bytes in packets of 1500, which take 8.287 s; slow start adds
/// a few round trips of 100 ms.
#[test]
fn an_upload_fills_the_link() {
    let Some(kernel) = kernel() else { return };
    let wire = Wire::new(10_000_000, Duration::from_millis(50), 84, 0);
    let mut lab = pair(&kernel, &upload(10_000_000), &wire, |_| {});
    lab.run(Time::NEVER).unwrap();
    let last = lab.when(1, &last(10_000_000)).as_secs();
    assert!((8.287..8.287 + 5.0 * 0.1).contains(&last), "{last} s");
}

#[test]
fn every_byte_arrives_despite_loss() {
    let Some(kernel) = kernel() else { return };
    let wire = Wire::new(10_000_000, Duration::from_millis(5), 84, 20);
    let mut lab = pair(&kernel, &upload(1_000_000), &wire, |_| {});
    lab.run(Time::NEVER).unwrap();
    lab.when(1, &last(1_000_000));
}

/// Of 2^32 draws netem loses those up to its limit: a tenth of the packets here, of which every byte arrives all the same.
/// The card's checksums are looked at by the receiver's kernel.
#[test]
fn every_byte_arrives_despite_a_guests_own_losses() {
    let Some(kernel) = kernel() else { return };
    let wire = Wire::new(10_000_000, Duration::from_millis(5), 84, 0);
    let packets = |loss, checksums| {
        let mut plans = upload(500_000);
        let queue = [Setup::Segments { interface: 0, most: 1 }, Setup::Netem { interface: 0, loss, seed: 7 }];
        plans[0].setup.splice(1..1, queue.into_iter().take(if loss == 0 { 1 } else { 2 }));
        let mut lab = pair(&kernel, &plans, &wire, |boot| boot.checksums = checksums);
        lab.run(Time::NEVER).unwrap();
        lab.when(1, &last(500_000));
        lab.hash
    };
    for checksums in [false, true] {
        let hash = packets(u32::MAX / 10, checksums);
        assert_eq!(hash, packets(u32::MAX / 10, checksums), "the seed's draws");
        assert_ne!(hash, packets(0, checksums));
    }
}

/// With moderation interrupts are rarer, but a lone packet is as fast as without.
#[test]
fn moderation_delays_no_handshake() {
    let Some(kernel) = kernel() else { return };
    let up = |moderation| {
        let wire = Wire::new(1_000_000_000, Duration::from_millis(1), 84, 0);
        let mut lab = pair(&kernel, &upload(100_000), &wire, |boot| boot.moderation = moderation);
        lab.run(Time::NEVER).unwrap();
        lab.when(1, &last(100_000));
        lab.when(0, &UP)
    };
    assert_eq!(up(Duration::from_micros(50)), up(Duration::ZERO));
}

/// At 100 Gbit/s a full packet takes 120 ns, half of what a guest's reading of its clock does: it is interrupted, often
/// more than once, while it reads. As many bits a link carries in the second that is allowed.
#[test]
fn packets_may_come_closer_together_than_a_clock_is_read() {
    let Some(kernel) = kernel() else { return };
    for (rate, run_ahead) in [(100_000_000_000, false), (10_000_000_000, false), (100_000_000_000, true)] {
        let wire = Wire::new(rate, Duration::from_millis(1), 10_000, 1);
        let hash = || {
            let mut lab = pair(&kernel, &upload(10_000_000), &wire, |boot| boot.run_ahead = run_ahead);
            lab.run(Time::NEVER).unwrap_or_else(|error| panic!("{rate} bit/s: {error}"));
            assert!(lab.when(1, &last(10_000_000)).as_secs() < 1.0);
            lab.hash
        };
        assert_eq!(hash(), hash(), "{rate} bit/s");
    }
}

/// Thirty guests, fifteen flows at once, each over its own link.
#[test]
fn thirty_guests_share_a_process() {
    let Some(kernel) = kernel() else { return };
    let plans = upload(200_000);
    let boot_one = |number: u32| {
        Guest::boot(&boot(&kernel, number, &plans[number as usize % 2]), PATIENCE, &GO_ON)
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let wire = Wire::new(10_000_000, Duration::from_millis(10), 84, 0);
    let mut lab = Lab::new((0..30).map(boot_one).collect());
    for first in (0..30).step_by(2) {
        lab = lab.join((first, 0), (first + 1, 0), &wire);
    }
    lab.run(Time::NEVER).unwrap();
    for receiver in (1..30).step_by(2) {
        lab.when(receiver, &last(200_000));
    }
}
