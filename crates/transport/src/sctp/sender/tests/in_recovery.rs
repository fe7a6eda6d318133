//! Missing reports in a fast recovery.

use super::*;

/// Section 7.2.4: in a fast recovery a SACK that advances the cumulative TSN is a report for everything that it says to be
/// missing. TSNs 0 and 4 are lost. TSN 0, sent again by its own path, arrives when TSN 4 has been missing twice: what
/// that SACK newly acknowledges lies below TSN 4, so only this rule makes a third report. With split fast retransmit it
/// takes an arrival on TSN 4's own path.
#[test]
fn a_partial_acknowledgement_reports_everything_missing() {
    let on = ("missing_in_recovery", "true");
    let off = ("missing_in_recovery", "false");
    let (whole, linux) = (("sfr", "false"), ("semantics", "linux"));
    for (given, later, reported) in [
        (&[][..], 0, false),
        (&[on], 0, true),
        (&[on], 1, false),
        (&[linux], 0, true),
        (&[linux], 1, false),
        (&[linux, off], 0, false),
        (&[whole], 0, true),
        (&[whole], 1, true),
        (&[whole, off], 0, false),
    ] {
        let mut sender = sender(2, &[&[("cmt", "true"), ("dac", "false"), ("retransmission", "same")], given].concat());
        send(&mut sender, &[0, 0, 0, 0, later, later, later, 0, 0, 0]);
        let mut arrived = Arrived::default();
        for tsn in [1, 2, 3, 5, 6] {
            arrived.0.insert(tsn);
            sender.on_sack(at(tsn), &arrived.sack(0));
        }
        assert_eq!(sender.records.get(4).missing, 2, "{given:?}");
        let mut packet = Packet::default();
        assert!(sender.next(at(7), 1468, &mut packet).is_some() && packet.data[0].tsn == 1, "{given:?}");
        arrived.0.insert(0);
        sender.on_sack(at(8), &arrived.sack(0));
        assert!(sender.is_recovering(0), "{given:?}");
        assert_eq!(sender.records.get(4).place == Place::Marked, reported, "{given:?}, TSN 4 on path {later}");
    }
}

/// Once per window of data: what left after the cut may cut again, though the first loss is not repaired.
#[test]
fn a_window_of_data_is_cut_for_once() {
    for (scope, recoveries, recovering) in [("per-path", 1, true), ("per-window", 2, false)] {
        let mut sender = sender(2, &[("cmt", "true"), ("dac", "false"), ("fast_recovery", scope)]);
        send(&mut sender, &[0; 6]);
        let mut arrived = Arrived::default();
        // TSN 0 is lost, and TSN 7 of those that leave after the cut.
        let mut arrives = |sender: &mut Sender, tsns: &[u64]| {
            for &tsn in tsns {
                arrived.0.insert(tsn);
                sender.on_sack(at(tsn), &arrived.sack(0));
            }
        };
        arrives(&mut sender, &[1, 2, 3]);
        send(&mut sender, &[0; 5]);
        arrives(&mut sender, &[4, 5, 6]);
        arrives(&mut sender, &[8, 9, 10]);
        assert_eq!(sender.paths[0].stats.recoveries, recoveries, "{scope}");
        assert_eq!(sender.paths[0].stats.losses, 2, "{scope}");
        assert_eq!(sender.is_recovering(0), recovering, "{scope}");
    }
}
