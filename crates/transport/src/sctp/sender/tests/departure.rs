//! Chunks that leave their path.

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
