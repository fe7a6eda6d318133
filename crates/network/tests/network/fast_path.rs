//! The one-event path computes departures on arrival; the two-event path is told when the transmitter is free. On
//! drop-tail they are the same link.

use crate::lab::Lab;
use proptest::prelude::*;
use vazao_engine::{RandomStream, Time};
use vazao_network::loss::Bernoulli;

/// Arrivals as (gap to the one before in nanoseconds, size in bytes): bursts, trickles and ties.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0u64), 1u64..2_000, 1u64..3_000_000];
    let size = prop_oneof![Just(40u32), Just(1500), 20u32..9_000];
    prop::collection::vec((gap, size), 1..300)
}

/// Few packets, few bytes, or both.
fn limits() -> impl Strategy<Value = (u32, u64)> {
    (prop_oneof![0u32..20, Just(u32::MAX)], prop_oneof![0u64..40_000, Just(u64::MAX)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 2))]

    #[test]
    fn both_paths_agree(
        traffic in arrivals(), limits in limits(), rate in 1_000_000u64..3_000_000_000, delay in 0u64..10_000_000,
        overhead in 0u32..60, loss in 0.0f64..0.2,
    ) {
        let lines = [(rate, delay, overhead, limits)];
        let model = || Box::new(Bernoulli::new(loss, RandomStream::new(1, "loss")));
        let (mut fast, mut general) = (Lab::new(&lines).lossy(model()), Lab::served(&lines).lossy(model()));
        let mut now = 0;
        for (gap, size) in traffic {
            now += gap;
            fast.send(now, size);
            general.send(now, size);
            let at = Time::from_nanos(now);
            prop_assert_eq!(fast.network.queue_bytes(0, at), general.network.queue_bytes(0, at));
        }
        // Every arrival, drop and loss, at the same nanosecond and in the same order.
        prop_assert_eq!(fast.finish(), general.finish());
        let end = Time::from_nanos(now + 100_000_000_000);
        let (f, g) = (fast.network.report(0, end), general.network.report(0, end));
        prop_assert_eq!(format!("{f:?}"), format!("{g:?}"));
    }
}
