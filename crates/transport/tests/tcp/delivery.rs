//! Every byte arrives once and in order, whatever the network does.

use crate::config::{control, plain};
use crate::lab::{Application, Between, Lab, Side, Weather};
use proptest::prelude::*;
use vazao_engine::Duration;
use vazao_transport::tcp::{Bursting, Config, Failure, Host, Pacing, Recovery, Validation};

const CONTROLS: [&str; 7] = ["dctcp", "reno", "cubic", "vegas", "westwood", "highspeed", "cdg"];

fn between() -> impl Strategy<Value = Between> {
    let outage = (0u64..4_000, 1u64..3_000).prop_map(|(start, length)| start..start + length);
    let fates = (0u64..35, 0u64..25, 0u64..60);
    (any::<u64>(), 0u64..150, 0u64..120, fates, prop::collection::vec(outage, 0..3), 0u64..1_500).prop_map(
        |(seed, delay, jitter, (loss, duplication, marks), outages, calm_after)| {
            let jitter = jitter * (seed % 2);
            let weather = Weather { jitter, loss, duplication, marking: marks, outages, ..Weather::fair(delay) };
            Between { weather, seed, calm_after }
        },
    )
}

fn settings() -> impl Strategy<Value = Config> {
    let recovery = prop::sample::select(Recovery::ALL).prop_map(|(_, recovery)| recovery);
    let window = (prop::sample::select(&CONTROLS[..]), 1u64..20);
    let buffer = || prop_oneof![Just(None), (256u64..20_000).prop_map(Some)];
    let host = prop::sample::select(vec![Host::Rfc, Host::Linux, Host::Ns2]);
    let pacing = prop::sample::select(&[Pacing::Auto, Pacing::On, Pacing::Off][..]);
    let switches = (
        any::<[bool; 5]>(),
        any::<Option<bool>>(),
        1u32..3,
        0u32..17,
        host,
        pacing,
        prop::sample::select(Validation::ALL),
    );
    (recovery, window, buffer(), buffer(), switches, 64u16..3_000).prop_map(
        |(recovery, (name, window), receive_buffer, send_buffer, switches, mss)| {
            let (
                [sack, timestamps, limited_transmit, undo, frto],
                ecn,
                delayed_ack,
                quick_acks,
                host,
                pacing,
                (_, cwv),
            ) = switches;
            Config {
                mss,
                recovery,
                control: control(name, window, None),
                receive_buffer,
                send_buffer,
                sack,
                timestamps,
                limited_transmit,
                undo,
                frto,
                ecn,
                cwv: Some(cwv),
                delayed_ack,
                quick_acks,
                host,
                bursts: match (host, delayed_ack, quick_acks % 2) {
                    (Host::Rfc | Host::Ns2, ..) | (_, _, 0) => Bursting::Off,
                    (Host::Linux, 1, _) => Bursting::Prompt,
                    (Host::Linux, ..) => Bursting::Deferred,
                },
                pacing,
                tick: Duration::ZERO,
                min_rto: Duration::from_millis(200),
                max_rto: Duration::from_secs(3),
                retries: 100,
                ..plain()
            }
        },
    )
}

fn application() -> impl Strategy<Value = Application> {
    let sends = prop_oneof![Just(0u64), 1u64..3_000, 1u64..120_000];
    let reads = prop_oneof![3 => Just((u64::MAX, 0)), 1 => (200u64..5_000, 1u64..200)];
    (sends, reads, any::<bool>()).prop_map(|(sends, (reads, every), closes_second)| Application {
        reads,
        every,
        closes_second,
        ..Application::sends(sends)
    })
}

/// Initial sequence number; often one that wraps soon.
fn initial() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), (0u32..100_000).prop_map(|below| u32::MAX - below)]
}

fn side() -> impl Strategy<Value = Side> {
    (settings(), initial(), application())
}

/// Runs to the end. A connection may only fail by giving up its handshake after seven attempts.
fn check(lab: &mut Lab) {
    lab.run();
    let failed = lab.ends.iter().any(|end| end.tcp.failure().is_some());
    if failed {
        let early = lab.ends.iter().any(|end| end.tcp.stats().established.is_none());
        assert!(early, "{:?}", lab.ends.each_ref().map(|end| end.tcp.failure()));
        assert!(lab.ends.iter().any(|end| end.tcp.failure() == Some(Failure::TimedOut)));
    } else {
        lab.assert_complete();
    }
}

/// Fast Open, the client without a cookie.
fn cold(client: Side, server: Side, between: Between) -> Lab {
    Lab::with_fast_open(client, server, between, false)
}

/// Fast Open, the client with a cookie.
fn warm(client: Side, server: Side, between: Between) -> Lab {
    Lab::with_fast_open(client, server, between, true)
}

type Opening = fn(Side, Side, Between) -> Lab;
const OPENINGS: [Opening; 5] = [Lab::new, Lab::new, Lab::simultaneous, cold, warm];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 12))]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        client in side(),
        mut server in side(),
        between in between(),
        opening in prop::sample::select(&OPENINGS[..]),
    ) {
        // If both waited for the other to close, neither would.
        server.2.closes_second &= !client.2.closes_second;
        let make = || opening(client.clone(), server.clone(), between.clone());
        let mut lab = make();
        check(&mut lab);
        // Again, and without the fast path: nothing that is sent differs.
        let mut again = make();
        again.ends.iter_mut().for_each(|end| end.tcp.disable_fast_path());
        again.run();
        prop_assert_eq!((lab.digest, lab.paths.events, lab.paths.now), (again.digest, again.paths.events, again.paths.now));
    }
}

/// More than 4 GiB in one direction: sequence numbers wrap, offsets do not.
#[test]
fn sequence_numbers_wrap_and_the_stream_goes_on() {
    let config = Config {
        mss: 60_000,
        recovery: Recovery::Sack,
        sack: true,
        timestamps: true,
        receive_buffer: Some(32 << 20),
        control: control("reno", 10, None),
        ..plain()
    };
    let bytes = (4 << 30) + 123_456_789;
    let client = (config.clone(), u32::MAX - 5, Application::sends(bytes));
    let mut lab = Lab::new(client, (config, 7, Application::sends(0)), Between::fair(5));
    lab.run();
    lab.assert_complete();
    assert_eq!(lab.ends[0].tcp.stats().retransmissions, 0);
}
