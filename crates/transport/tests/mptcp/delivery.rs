//! Every byte arrives once and in order, whatever the network does, while subflows fail and join.

use crate::lab::{Application, Lab, Weather, at, mesh, paced, text, with};
use proptest::prelude::*;
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Raw};
use vazao_transport::common::SCHEDULERS;
use vazao_transport::mptcp::Config;

#[test]
fn a_transfer_over_two_paths() {
    let settings = with(&[], "reno", "round-robin", "single-mesh");
    let mut lab = Lab::new(settings, 4 << 20, vec![paced(10), paced(30)]);
    lab.run(60);
    lab.assert_complete();
    let sent: Vec<_> = lab.ends[0].mptcp.subflows().iter().map(|subflow| subflow.tcp().acknowledged_bytes()).collect();
    assert_eq!(sent.iter().sum::<u64>(), 4 << 20, "nothing goes twice: {sent:?}");
    assert!(sent.iter().all(|&bytes| bytes > 100_000), "both carry data: {sent:?}");
    assert_eq!(lab.ends[0].mptcp.stats().reinjected, 0);
}

fn weather() -> impl Strategy<Value = Weather> {
    let times = |most| prop::collection::vec((0_u64..4_000, 1_u64..most), 0..2);
    (1_u64..60, 0_u64..40, 0_u64..30, 0_u64..10, times(3_000), times(300)).prop_map(
        |(delay, jitter, loss, duplication, outages, resets)| {
            let ranges =
                |times: Vec<(u64, u64)>| times.into_iter().map(|(start, length)| start..start + length).collect();
            let (outages, resets) = (ranges(outages), ranges(resets));
            Weather { jitter, loss, duplication, outages, resets, ..Weather::fair(delay) }
        },
    )
}

fn application() -> impl Strategy<Value = Application> {
    let sends = prop_oneof![Just(0_u64), 1_u64..3_000, 1_u64..300_000];
    let reads = prop_oneof![3 => Just((u64::MAX, 0)), 1 => (2_000_u64..20_000, 1_u64..50)];
    let writes = prop_oneof![2 => Just(u64::MAX), 1 => 1_000_u64..5_000];
    (sends, writes, reads, any::<bool>()).prop_map(|(sends, writes, (reads, every), closes_second)| Application {
        sends,
        writes,
        reads,
        every,
        closes_second,
        stays: false,
    })
}

fn choice(names: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(names)
}

prop_compose! {
    fn settings()(
        recovery in choice(&["reno", "newreno", "sack", "rack"]),
        cc in choice(&["lia", "olia", "balia", "wvegas", "reno", "cubic"]),
        scheduler in 0..SCHEDULERS.len(),
        manager in choice(&["full-mesh", "full-mesh", "single-mesh", "ndiffports", "default"]),
        receive in choice(&["auto", "auto", "20 kB", "100 kB"]), send in choice(&["auto", "auto", "30 kB"]),
        (timestamps, checksum) in any::<(bool, bool)>(),
        backups in prop::collection::vec(1_u64..3, 0..2),
        absences in prop_oneof![
            3 => Just(Vec::new()), 1 => prop::collection::vec((0_u64..2_000, 1_u64..500, 1_u64..4), 1..3),
        ],
    ) -> (Config, String) {
        let given = [
            ("recovery", text(recovery)),
            ("receive_buffer", text(receive)),
            ("send_buffer", text(send)),
            ("timestamps", Raw::Flag(timestamps)),
            ("retries", Raw::Number(100.0)),
            ("max_rto", text("3 s")),
        ];
        let reestablish = Some(Duration::from_millis(200));
        let scheduler = SCHEDULERS[scheduler].name;
        let named = format!("{cc} {scheduler} {manager} {receive} {send} {backups:?} {absences:?}");
        let change = |ms, what, which| Change { at: Duration::from_millis(ms), what, which };
        let absence = |(from, ms, which)| [change(from, "remove", which), change(from + ms, "add", which)];
        let mut changes: Vec<_> = absences.into_iter().flat_map(absence).collect();
        changes.sort_by_key(|change| change.at);
        (Config { backups, changes, checksum, reestablish, ..with(&given, cc, scheduler, manager) }, named)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 40))]
    #[test]
    fn every_byte_arrives_once_and_in_order(
        seed: u64, client in settings(), server in settings(), sends in application(), mut answers in application(),
        (clients, servers) in (1_u8..4, 1_u8..4), weathers in prop::collection::vec(weather(), 9),
        calm_after in 500_u64..3_000,
    ) {
        answers.closes_second &= !sends.closes_second;
        let pairs = mesh(clients, servers);
        let paths = weathers[..pairs.len()].to_vec();
        let make = || {
            let mut lab = Lab::between(
                (client.0.clone(), sends.clone()), (server.0.clone(), answers.clone()), (pairs.clone(), paths.clone()), seed,
            );
            (lab.paths.calm_after, lab.paths.calm_from) = (calm_after, at(10_000));
            lab.run(100_000);
            lab
        };
        let lab = make();
        // A subflow that ends after one side has closed may be what the other waits for.
        let is_cut = paths.iter().any(|path| !path.resets.is_empty()) || !client.0.changes.is_empty();
        match (lab.is_confirmed(), is_cut) {
            (true, false) => lab.assert_complete(),
            (true, true) if lab.is_half_open() => {}
            (true, true) => lab.assert_delivered(),
            // Neither SYN nor later segments got through, or the first subflow was reset before there could be a
            // second.
            (false, _) => {}
        }
        let again = make();
        prop_assert_eq!((lab.digest, lab.paths.events, lab.paths.now), (again.digest, again.paths.events, again.paths.now));
    }
}

/// Both subflows wait for a retransmission timeout when the last data arrives: the subflow that delivered it must
/// acknowledge the end, or the peer receives nothing but resets.
#[test]
fn an_end_that_is_reached_after_timeouts_is_acknowledged() {
    let make = |recovery: &str, cc, backups: Vec<u64>, timestamps| {
        let given = [("recovery", text(recovery)), ("timestamps", Raw::Flag(timestamps)), ("max_rto", text("3 s"))];
        let reestablish = Some(Duration::from_millis(200));
        Config { backups, reestablish, ..with(&given, cc, "lowest-rtt", "full-mesh") }
    };
    let rough = |delay, jitter, loss, duplication, outage| Weather {
        jitter,
        loss,
        duplication,
        outages: vec![outage],
        ..Weather::fair(delay)
    };
    for (client, server) in [(true, true), (true, false), (false, true), (false, false)] {
        let client = (make("sack", "cubic", vec![1], client), Application::sends(170_413));
        let server = (make("newreno", "lia", vec![], server), Application::sends(171_825));
        let weathers = vec![rough(53, 6, 15, 9, 1..1058), rough(9, 25, 26, 4, 1936..3219)];
        let mut lab = Lab::between(client, server, (mesh(2, 1), weathers), 3_014_401_697_247_612_881);
        (lab.paths.calm_after, lab.paths.calm_from) = (607, at(10_000));
        lab.run(100_000);
        lab.assert_complete();
    }
}
