//! Packets that move ahead of time meet the same queues and come at the same time as those that have an event for each link.

use crate::lab::{Event, Lab, Line};
use proptest::prelude::*;
use vazao_engine::Time;

/// Links with few rates and delays, so that events coincide, and short queues.
fn lines() -> impl Strategy<Value = Vec<Line>> {
    let rate = prop_oneof![Just(1_000_000_u64), Just(8_000_000), Just(8_000_000), 1_000_000_u64..100_000_000];
    let delay = prop_oneof![Just(0_u64), Just(1_000_000), 0_u64..3_000_000];
    let limits = (prop_oneof![0_u32..8, Just(u32::MAX)], prop_oneof![0_u64..20_000, Just(u64::MAX)]);
    prop::collection::vec((rate, delay, 0_u32..40, limits), 1..5)
}

/// Gaps in nanoseconds and sizes in bytes.
fn traffic() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0_u64), Just(1_000_000), 0_u64..4_000_000];
    prop::collection::vec((gap, prop_oneof![Just(1000_u32), 40_u32..1500]), 1..200)
}

/// Fates of packets by number: two events at one time have no order.
fn fates(lab: &mut Lab) -> Vec<Event> {
    let mut fates = lab.finish().to_vec();
    fates.sort_by_key(|&event| match event {
        Event::Arrived(number, _) | Event::Refused(number, _) | Event::Lost(number, _) | Event::Corrupt(number, _) => {
            number
        }
    });
    fates
}

proptest! {
    #[test]
    fn a_packet_that_goes_ahead_comes_as_one_that_waits(
        lines in lines(), traffic in traffic(), horizon in 0_u64..400_000_000,
    ) {
        let (mut ahead, mut stepwise) = (Lab::new(&lines).ahead(horizon), Lab::new(&lines));
        let mut now = 0;
        for (gap, size) in traffic {
            now += gap;
            ahead.send(now, size);
            stepwise.send(now, size);
        }
        prop_assert_eq!(fates(&mut ahead), fates(&mut stepwise));
        prop_assert_eq!(ahead.network.hops(), stepwise.network.hops());
        let end = Time::from_nanos(100_000_000_000);
        for link in 0..lines.len() as u32 {
            let (a, b) = (ahead.network.report(link, end), stepwise.network.report(link, end));
            prop_assert_eq!(format!("{a:?}"), format!("{b:?}"), "link {}", link);
        }
    }

    /// What is counted at the horizon is what has happened by then.
    #[test]
    fn nothing_is_ahead_of_the_horizon(lines in lines(), traffic in traffic(), horizon in 0_u64..400_000_000) {
        let (mut ahead, mut stepwise) = (Lab::new(&lines).ahead(horizon), Lab::new(&lines));
        let mut now = 0;
        for (gap, size) in traffic {
            now += gap;
            if now <= horizon {
                ahead.send(now, size);
                stepwise.send(now, size);
            }
        }
        ahead.run(horizon);
        stepwise.run(horizon);
        prop_assert_eq!(ahead.network.hops(), stepwise.network.hops());
        for link in 0..lines.len() as u32 {
            let at = Time::from_nanos(horizon);
            let (a, b) = (ahead.network.report(link, at), stepwise.network.report(link, at));
            prop_assert_eq!(format!("{a:?}"), format!("{b:?}"), "link {}", link);
        }
    }
}

/// A packet on three links, of which two are known to be only the first one's: one event at most, for its arrival.
#[test]
fn hops_without_an_event_are_told() {
    let line = (8_000_000, 1_000_000, 0, (u32::MAX, u64::MAX));
    let mut lab = Lab::new(&[line; 3]).ahead(u64::MAX);
    lab.send(0, 1000);
    assert_eq!(lab.finish(), [Event::Arrived(0, 6_000_000)]);
    assert_eq!((lab.network.hops(), lab.network.passed()), (3, 2));
}
