//! Every byte arrives once and in order, whatever the network does.

use crate::exchange::{Exchange, Fate};
use crate::lab::{Lab, Laboratory, Weather, config, text};
use proptest::prelude::*;
use vazao_engine::Duration;
use vazao_engine::registry::{Change, Raw};

#[test]
fn a_transfer_each_way() {
    let mut lab = Lab::new(config(&[]), [8 << 20, 1 << 20], Weather::fair(12), 1);
    lab.run(60);
    lab.assert_delivered();
    assert_eq!(lab.client().stats().retransmissions + lab.server().stats().retransmissions, 0);
}

pub fn weather() -> impl Strategy<Value = Weather> {
    let outages = prop::collection::vec((0_u64..4_000, 1_u64..3_000), 0..2);
    (1_u64..60, 0_u64..40, 0_u64..30, 0_u64..10, 0_u64..20, outages).prop_map(
        |(delay, jitter, loss, duplication, marking, outages)| {
            let outages = outages.into_iter().map(|(start, length)| start..start + length).collect();
            Weather { jitter, loss, duplication, marking, outages, ..Weather::fair(delay) }
        },
    )
}

fn choice(names: &'static [&'static str]) -> impl Strategy<Value = Raw> {
    prop::sample::select(names).prop_map(text)
}

prop_compose! {
    /// Any combination of settings of a connection.
    pub fn treatment()(
        handshake in choice(&["1-rtt", "0-rtt", "0-rtt-rejected", "retry", "gquic-1-rtt", "gquic-2-rtt", "gquic-3-rtt", "gquic-0-rtt"]),
        recovery in choice(&["rfc9002", "google"]),
        cc in choice(&["reno", "cubic", "bbr", "bbr3", "vegas", "copa", "dctcp"]),
        window in choice(&["3 kB", "20 kB", "1 MB"]),
        connection in choice(&["3 kB", "30 kB", "1 MB"]),
        buffer in choice(&["20 kB", "16 MB"]),
        certificate in 100_u32..12_000,
        datagram in 1200_u16..9_000,
        (pacing, ecn) in any::<(bool, bool)>(),
        (every, fec) in (1_u8..10, 0_u8..12),
    ) -> Vec<(&'static str, Raw)> {
        vec![
            ("handshake", handshake),
            ("recovery", recovery),
            ("fec", Raw::Number(f64::from(fec))),
            ("cc", cc),
            ("stream_window", window),
            ("connection_window", connection),
            ("receive_buffer", buffer),
            ("certificate", text(&format!("{certificate} B"))),
            ("datagram", Raw::Number(f64::from(datagram))),
            ("pacing", Raw::Flag(pacing)),
            ("ecn", Raw::Flag(ecn)),
            ("ack_every", Raw::Number(f64::from(every))),
            ("idle_timeout", text("1 h")),
        ]
    }
}

prop_compose! {
    /// Any rules for what is lost, and for when more may be sent. (Drawn last, so that saved cases stay what they are.)
    pub fn tolerance()(
        reordering in choice(&["fixed", "adaptive"]), undo: bool, packets in 1_u8..30, time in 1.0..3.0_f64, part in 0.0..=1.0_f64,
    ) -> Vec<(&'static str, Raw)> {
        vec![
            ("reordering", reordering),
            ("undo", Raw::Flag(undo)),
            ("packet_threshold", Raw::Number(f64::from(packets))),
            ("time_threshold", Raw::Number(time)),
            ("window_update", Raw::Number(part)),
        ]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 4))]
    #[test]
    fn every_byte_arrives_once_and_in_order(
        seed: u32, given in treatment(), weather in weather(), up in 0_u64..300_000, down in 0_u64..300_000,
        slow in prop::option::of(2_000_u64..20_000), tolerance in tolerance(),
    ) {
        let mut lab = Lab::new(config(&[given, tolerance].concat()), [up, down], weather, u64::from(seed));
        lab.ends[1].user.reads_slowly(slow);
        lab.paths.calm_after = 3_000;
        lab.run(20_000);
        lab.assert_delivered();
    }
}

prop_compose! {
    pub fn exchange()(
        both_ways: bool, bytes in 0_u64..30_000, answer in 0_u64..30_000, urgency in 0_u8..8,
        turn in prop::sample::select(&[None, Some(0), Some(2_000)]),
        fate in prop::sample::select(&[Fate::Whole, Fate::Whole, Fate::Whole, Fate::Reset, Fate::Stopped]),
    ) -> Exchange {
        Exchange { both_ways, bytes, answer, urgency, turn, fate }
    }
}

prop_compose! {
    /// Changes of the client's address: it migrates between three interfaces, or a NAT rebinds it.
    fn changes()(times in prop::collection::vec((0_u64..5_000, 0_usize..3, 1_u64..4), 0..6)) -> Vec<Change> {
        let mut changes: Vec<Change> = times
            .into_iter()
            .map(|(ms, what, which)| {
                Change { at: Duration::from_millis(ms), what: ["migrate", "rebind", "rebind_address"][what], which }
            })
            .collect();
        changes.sort_by_key(|change| change.at);
        changes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 4))]
    /// Every stream's bytes arrive once and in order, or up to its reset, in any weather, from any address.
    #[test]
    fn every_stream_arrives_wherever_the_client_is(
        seed: u32, given in treatment(), weather in weather(), changes in changes(), most in 1_u64..8,
        ours in prop::collection::vec(exchange(), 0..16), theirs in prop::collection::vec(exchange(), 0..16),
        tolerance in tolerance(),
    ) {
        let mut config = config(&[given, tolerance].concat());
        config.changes = changes;
        config.max_streams = most;
        config.keep_alive = Duration::from_secs(1);
        let mut lab = Lab::talking(config, [ours, theirs], weather, u64::from(seed));
        lab.paths.calm_after = 3_000;
        lab.run_until(20_000, Lab::is_said);
        prop_assert!(lab.is_said(), "{:?}", lab.ends.each_ref().map(|end| end.quic.failure()));
        prop_assert_eq!(lab.ends.each_ref().map(|end| end.quic.failure()), [None; 2]);
    }
}
