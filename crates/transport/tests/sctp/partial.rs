//! Partial reliability (RFC 3758, RFC 7496) end to end.

use crate::lab::{Lab, Laboratory, Weather, config, text};
use vazao_engine::Duration;
use vazao_engine::registry::Raw;

/// Two paths that lose a fifth of the packets.
fn lossy() -> Vec<Weather> {
    vec![Weather { loss: 20, ..Weather::fair(20) }; 2]
}

/// RFC 7496 section 3.1: with no retransmissions nothing is sent again, with n nothing more often than that.
#[test]
fn retransmissions_are_limited() {
    for (most, expected) in [(0, 100.0), (1, 20.0), (3, 0.8)] {
        let given =
            [("partial_reliability", text("retransmissions")), ("max_retransmissions", Raw::Number(f64::from(most)))];
        let mut lab = Lab::new(config(Some(1000), &given), 500_000, lossy(), 5);
        let mut sent = std::collections::BTreeMap::new();
        lab.lose = Box::new(move |from, _, packet| {
            for data in packet.data.iter().filter(|_| from == 0) {
                let times = sent.entry(data.tsn).or_insert(0);
                *times += 1;
                assert!(*times <= 1 + most, "TSN {} was sent {times} times", data.tsn);
            }
            false
        });
        lab.run(1_000);
        lab.assert_accounted();
        let lost = lab.sender().stats().messages_abandoned;
        // A chunk is lost 1 + n times with probability 0.2^(1+n), of 500: within four standard errors.
        assert!((lost as f64 - expected).abs() < 4.0 * f64::sqrt(expected), "{lost}, not {expected}");
    }
}

/// RFC 3758 section 4.1: everything is written at establishment, with a lifetime of 300 ms: later only FORWARD TSNs are
/// sent.
#[test]
fn old_messages_are_not_sent() {
    for interleaving in [false, true] {
        let given = [
            ("partial_reliability", text("timed")),
            ("lifetime", text("300 ms")),
            ("interleaving", Raw::Flag(interleaving)),
            ("streams", Raw::Number(3.0)),
        ];
        let mut lab =
            Lab::new(config(Some(4000), &given), 4_000_000, vec![Weather { loss: 3, ..Weather::fair(20) }; 2], 5);
        lab.run_until(1_000, |lab| lab.sender().stats().established.is_some());
        let written = lab.paths.now;
        lab.run_until(1_000, |lab| lab.paths.now >= written + Duration::from_millis(300));
        let sum = |lab: &Lab| lab.sender().sum(|path| path.chunks);
        let before = sum(&lab);
        assert!(before > 10);
        lab.run(1_000);
        lab.assert_accounted();
        assert_eq!(sum(&lab), before);
        let stats = lab.sender().stats();
        assert!(stats.abandoned_unsent > 0 && lab.ends[1].sctp.stats().messages_delivered > 0);
    }
}

/// A peer without partial reliability gets every message.
#[test]
fn both_sides_must_have_it() {
    let plain = config(Some(1000), &[]);
    let partial = config(Some(1000), &[("partial_reliability", text("retransmissions"))]);
    let mut lab = Lab::between(partial, plain, 100_000, lossy(), 5);
    lab.run(1_000);
    lab.assert_delivered(100_000);
    assert!(lab.sender().abandoned_messages().is_none());
}
