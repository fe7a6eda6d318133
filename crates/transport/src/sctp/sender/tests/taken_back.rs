//! Gap reports that later SACKs no longer make.

use super::*;

/// Section 6.2.1 (iv): a TSN that a SACK no longer reports is in flight again, missing once, and guarded by a timer
/// (section 6.3.2 R4) that retransmits it.
#[test]
fn withdrawn_reports_are_in_flight_again() {
    for semantics in ["rfc9260", "linux"] {
        let mut sender = sender(1, &[("semantics", semantics)]);
        send(&mut sender, &[0; 4]);
        let mut arrived = Arrived([1, 2, 3].into());
        sender.on_sack(at(1), &arrived.sack(0));
        assert_eq!(sender.flight, CHUNK, "{semantics}");
        arrived.0 = [0, 2].into();
        sender.on_sack(at(2), &arrived.sack(0));
        assert_eq!((sender.flight, sender.paths[0].flight), (2 * CHUNK, 2 * CHUNK), "{semantics}");
        arrived.0 = [0].into();
        sender.on_sack(at(3), &arrived.sack(0));
        assert_eq!((sender.flight, sender.paths[0].flight), (3 * CHUNK, 3 * CHUNK), "{semantics}");
        let timer = sender.paths[0].timer;
        assert!(timer < Time::NEVER, "{semantics}");
        sender.handle_timeout(timer);
        assert_eq!(sender.paths[0].order.marked, [1, 2, 3].into(), "{semantics}");
        arrived.0 = [0, 1, 2, 3].into();
        sender.on_sack(at(5000), &arrived.sack(0));
        assert_eq!((sender.flight, sender.is_drained()), (0, false), "{semantics}");
    }
}

/// A SACK is one report, even if it withdraws a TSN and acknowledges a later one (sections 6.2.1 iv and 7.2.4).
#[test]
fn one_sack_reports_once() {
    for (then, missing) in [(vec![2], 1), (vec![2, 4], 1)] {
        let mut sender = sender(1, &[]);
        send(&mut sender, &[0; 5]);
        sender.on_sack(at(1), &Arrived([1, 2].into()).sack(0));
        let reported = sender.records.get(1).missing;
        sender.on_sack(at(2), &Arrived(then.into_iter().collect()).sack(0));
        assert_eq!(sender.records.get(1).missing - reported, missing);
    }
}

/// With CMT a reordered SACK withdraws nothing; one that proves the next TSN gone does.
#[test]
fn reordered_sacks_of_cmt_withdraw_nothing() {
    let mut sender = sender(2, &[("cmt", "true")]);
    send(&mut sender, &[0, 1, 0, 1]);
    let early = Arrived([1].into());
    let mut late = Arrived([1, 2, 3].into());
    sender.on_sack(at(1), &late.sack(0));
    sender.on_sack(at(2), &early.sack(0));
    assert_eq!(sender.flight, CHUNK);
    late.0 = [0].into();
    sender.on_sack(at(3), &late.sack(0));
    assert_eq!(sender.flight, 3 * CHUNK);
}
