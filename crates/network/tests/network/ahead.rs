//! Looking ahead spares events; it changes nothing else, whenever one looks.

use crate::lab::{Lab, Line};
use proptest::prelude::*;
use vazao_engine::Time;

/// Links in a row, slow and fast, with short queues and long.
fn lines() -> impl Strategy<Value = Vec<Line>> {
    let limits = (prop_oneof![0u32..8, Just(u32::MAX)], prop_oneof![0u64..20_000, Just(u64::MAX)]);
    let rate = prop_oneof![1_000_000u64..3_000_000_000, Just(1_000_000_000), Just(10_000_000)];
    prop::collection::vec((rate, 0u64..3_000_000, 0u32..60, limits), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_known_ahead_comes_true(
        traffic in prop::collection::vec((prop_oneof![Just(0u64), 1u64..2_000, 1u64..3_000_000], 20u32..9_000), 1..200),
        lines in lines(), looks in prop::collection::vec(0u64..3_000_000, 0..20), end in 0u64..40_000_000,
    ) {
        let (mut stepwise, mut ahead) = (Lab::new(&lines), Lab::new(&lines));
        ahead.network.look_ahead();
        let mut now = 0;
        let mut looks = looks.into_iter();
        for (gap, size) in traffic {
            if let Some(look) = looks.next() {
                now += look;
                stepwise.run(now);
                ahead.run(now);
                for link in 0..lines.len() as u32 {
                    let at = Time::from_nanos(now);
                    prop_assert_eq!(stepwise.network.queue_bytes(link, at), ahead.network.queue_bytes(link, at));
                }
            }
            now += gap;
            stepwise.send(now, size);
            ahead.send(now, size);
        }
        now += end;
        stepwise.run(now);
        ahead.run(now);
        // What happened until then, to the nanosecond and in order, and what was counted.
        prop_assert_eq!(&stepwise.log, &ahead.log);
        let at = Time::from_nanos(now);
        ahead.network.stop(at);
        prop_assert_eq!(stepwise.network.hops(), ahead.network.hops());
        for link in 0..lines.len() as u32 {
            let (a, b) = (stepwise.network.report(link, at), ahead.network.report(link, at));
            prop_assert_eq!(format!("{a:?}"), format!("{b:?}"), "link {}", link);
        }
    }
}

/// One event a packet in the place of one a link.
#[test]
fn a_chain_costs_one_event() {
    let line = (1_000_000_000, 1_000_000, 0, (100, u64::MAX));
    let mut lab = Lab::new(&[line; 5]);
    lab.network.look_ahead();
    lab.send(0, 1500);
    assert_eq!(lab.network.hops(), 4, "the last one is still under way");
    assert_eq!(lab.finish().len(), 1);
    assert_eq!(lab.network.hops(), 5);
}
