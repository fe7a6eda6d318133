//! Chunks that are sent again: by another path, or by the timer.

use super::*;

/// With CUC a chunk that is sent again by another path is no longer expected on its own, whose window goes on growing
/// as the later ones are acknowledged, though a hole on the other path holds the cumulative TSN.
#[test]
fn a_chunk_that_moves_to_another_path_is_not_waited_for() {
    for growth in ["cuc", "cuc-v2"] {
        for (policy, grows) in [("same", false), ("ssthresh", true)] {
            let given = [("cmt", "true"), ("dac", "false"), ("cwnd_growth", growth), ("retransmission", policy)];
            let mut sender = sender(2, &[&given[..], &[("fast_recovery", "none")]].concat());
            // TSN 0 of path 2 and TSN 1 of path 1 are lost; path 2 has the larger threshold.
            send(&mut sender, &[1]);
            send(&mut sender, &[0; 40]);
            let mut arrived = Arrived::default();
            for tsn in 2..=4 {
                arrived.0.insert(tsn);
                sender.on_sack(at(tsn), &arrived.sack(0));
            }
            assert_eq!(sender.paths[0].order.marked.first(), Some(&1));
            let mut packet = Packet::default();
            let path = sender.next(at(5), 1468, &mut packet);
            assert_eq!((path, packet.data[0].tsn), (Some(usize::from(grows)), 2), "{policy}");
            let before = sender.paths[0].cwnd();
            for tsn in 5..=8 {
                arrived.0.insert(tsn);
                sender.on_sack(at(tsn), &arrived.sack(0));
            }
            assert_eq!(sender.paths[0].cwnd() > before, grows, "{growth}, {policy}");
        }
    }
}

/// RFC 9260 section 7.2.4 lets what a timeout has sent again be fast retransmitted when it is lost once more; ns-2 and
/// FreeBSD's stack with CMT leave that to the next timeout.
#[test]
fn what_a_timeout_sent_again_may_be_fast_retransmitted() {
    for (eligible, place) in [("true", Place::Marked), ("false", Place::FastRetransmitted)] {
        let mut sender = sender(1, &[("fast_after_timeout", eligible), ("max_burst", "0")]);
        send(&mut sender, &[0; 4]);
        let expiry = sender.paths[0].timer;
        assert!(sender.handle_timeout(expiry));
        let mut packet = Packet::default();
        assert!(sender.next(expiry, 1468, &mut packet).is_some() && packet.data[0].tsn == 1);
        send(&mut sender, &[0; 4]);
        let mut arrived = Arrived::default();
        for tsn in 4..7 {
            arrived.0.insert(tsn);
            sender.on_sack(expiry + Duration::from_millis(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.records.get(0).place, place, "{eligible}");
    }
}
