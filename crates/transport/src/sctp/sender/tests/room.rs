//! Fast retransmissions, the peer's window and the timer.

use super::*;

/// Section 6.2.1 B and D: a lost chunk frees no room at a full peer, and Linux retransmits it only after a window
/// update. RFC 9260 requires room for new data only (section 6.1 rule A).
#[test]
fn losses_free_no_room_at_a_full_peer() {
    for (semantics, leaves) in [("rfc4960", true), ("linux", false)] {
        let mut sender = sender(1, &[("semantics", semantics)]);
        send(&mut sender, &[0; 20]);
        let mut arrived = Arrived::default();
        for tsn in [2, 4, 6] {
            arrived.0.insert(tsn);
            let mut sack = arrived.sack(0);
            sack.sack.as_mut().expect("it is one").window = 0;
            sender.on_sack(at(tsn), &sack);
        }
        assert_eq!(sender.paths[0].order.marked.len(), 2, "{semantics}");
        assert_eq!(sender.peer_window, 0, "{semantics}");
        assert_eq!(sender.next(at(7), 1468, &mut Packet::default()).is_some(), leaves, "{semantics}");
    }
}

/// A SACK that shows the loss of everything left in flight does not stop Linux's T3-rtx (`sctp_check_transmitted` runs
/// before `sctp_mark_missing`), and the retransmission then does not restart it.
#[test]
fn linux_keeps_its_timer_through_a_fast_retransmission() {
    for (semantics, due) in [("rfc4960", 3003), ("linux", 3000)] {
        let mut sender = sender(1, &[("semantics", semantics)]);
        send(&mut sender, &[0; 4]);
        let mut arrived = Arrived::default();
        for tsn in 1..=3 {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.paths[0].flight, 0, "{semantics}");
        assert!(sender.next(at(3), 1468, &mut Packet::default()).is_some(), "{semantics}");
        assert_eq!(sender.paths[0].timer, at(due), "{semantics}");
    }
}

/// After a timeout one packet is in flight on the path until data is acknowledged (RFC 9260 section 7.2.3), however small the
/// unit of windows makes a packet.
#[test]
fn one_packet_is_in_flight_after_a_timeout() {
    for (unit, semantics) in [("packet", "rfc4960"), ("chunk", "rfc9260"), ("data", "rfc2960")] {
        let mut sender = sender(1, &[("semantics", semantics), ("window_unit", unit), ("max_burst", "0")]);
        send(&mut sender, &[0; 4]);
        let expiry = sender.paths[0].timer;
        assert!(sender.handle_timeout(expiry));
        sender.refill();
        let next = |sender: &mut Sender| sender.next(expiry, 1468, &mut Packet::default());
        assert_eq!([next(&mut sender), next(&mut sender)], [Some(0), None], "{unit}");
        sender.on_sack(at(2_000), &Arrived([0].into()).sack(0));
        sender.refill();
        assert_eq!(next(&mut sender), Some(0), "{unit}: it is acknowledged");
    }
}

/// The window of a packet is counted whole, as its DATA chunk, or as the data in that: 20 + 12 and 16 bytes apart.
#[test]
fn windows_count_in_their_unit() {
    for (unit, bytes) in [("packet", 1500), ("chunk", 1468), ("data", 1452)] {
        let sender = sender(1, &[("semantics", "rfc4960"), ("window_unit", unit)]);
        assert_eq!(sender.config.segment(), bytes, "{unit}");
        assert_eq!(sender.config.min_ssthresh(), 4 * bytes, "{unit}");
    }
}
