//! Every message arrives once and in order within its stream, whatever the network does.

use crate::lab::{Lab, Laboratory, Weather, config, text};
use proptest::prelude::*;
use vazao_engine::registry::Raw;
use vazao_transport::sctp::State;

#[test]
fn a_transfer_over_one_path() {
    let mut lab = Lab::new(config(Some(1452), &[]), 8 << 20, vec![Weather::fair(12)], 1);
    lab.run(60);
    lab.assert_delivered(8 << 20);
    // 8 MiB in messages of 1452 bytes are 5778 chunks, one a packet.
    assert_eq!(lab.sender().sum(|path| path.chunks), 5778);
    assert_eq!(lab.sender().sum(|path| path.retransmissions), 0);
}

fn weather() -> impl Strategy<Value = Weather> {
    let outages = prop::collection::vec((0_u64..4_000, 1_u64..3_000), 0..2);
    (1_u64..60, 0_u64..40, 0_u64..30, 0_u64..10, outages).prop_map(|(delay, jitter, loss, duplication, outages)| {
        let outages = outages.into_iter().map(|(start, length)| start..start + length).collect();
        Weather { jitter, loss, duplication, outages, ..Weather::fair(delay) }
    })
}

/// Message sizes: a packet's worth, some bytes, or up to three times the smallest receive buffer.
fn message() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (1_u64..9_000).prop_map(Some), (9_000_u64..50_000).prop_map(Some)]
}

fn choice(names: &'static [&'static str]) -> impl Strategy<Value = Raw> {
    prop::sample::select(names).prop_map(text)
}

prop_compose! {
    /// Any combination of settings of CMT and the schedulers.
    fn treatment()(
        cmt: bool, sfr: bool, dac: bool, unordered in prop::bool::weighted(0.2), streams in 1_u16..6,
        growth in choice(&["rfc4960", "rfc8540", "gap-acked", "cuc", "cuc-v2"]),
        scope in choice(&["per-association", "per-path"]),
        policy in choice(&["same", "asap", "cwnd", "ssthresh", "loss-rate", "alternate", "retran-path"]),
        path_choice in choice(&["largest-free-cwnd", "round-robin", "lowest-rtt"]),
        (buffer, point) in (choice(&["16 kB", "64 kB", "8 MB"]), 1_u32..20_000),
        (scheduler, interleaving) in (
            choice(&[
                "fcfs", "round-robin", "round-robin-per-packet", "priority", "fair-bandwidth", "weighted-fair-queueing",
            ]),
            any::<bool>(),
        ),
        (nr_sack, cacc) in any::<(bool, bool)>(),
        split in choice(&["none", "sender", "receiver", "both"]),
        semantics in choice(&["rfc9260", "rfc9260", "rfc4960", "linux"]),
    ) -> Vec<(&'static str, Raw)> {
        vec![
            ("cmt", Raw::Flag(cmt)),
            ("sfr", Raw::Flag(sfr)),
            ("dac", Raw::Flag(dac)),
            ("unordered", Raw::Flag(unordered)),
            ("streams", Raw::Number(f64::from(streams))),
            ("cwnd_growth", growth),
            ("fast_recovery", scope),
            ("retransmission", policy),
            ("path_choice", path_choice),
            ("receive_buffer", buffer),
            ("partial_delivery_point", text(&format!("{point} B"))),
            ("scheduler", scheduler),
            ("interleaving", Raw::Flag(interleaving)),
            ("nr_sack", Raw::Flag(nr_sack)),
            ("cacc", Raw::Flag(cacc)),
            ("buffer_split", split),
            ("semantics", semantics),
            ("retries", Raw::Number(100.0)),
            ("init_retries", Raw::Number(100.0)),
            ("path_retries", Raw::Number(6.0)),
        ]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 8))]
    /// Partially reliable messages: delivered once and in order, or reported abandoned.
    #[test]
    fn every_message_is_accounted_for(
        seed: u64, mut given in treatment(), paths in prop::collection::vec(weather(), 1..4), bytes in 0_u64..400_000,
        message in message(), slow in prop::option::of(2_000_u64..20_000),
        policy in choice(&["timed", "retransmissions", "priority"]), lifetime in 1_u32..2_000, most in 0_u8..4,
        buffer in choice(&["auto", "20 kB", "200 kB"]),
    ) {
        let bytes = bytes.min(message.unwrap_or(1452) * 2_000);
        given.extend([
            ("partial_reliability", policy),
            ("lifetime", text(&format!("{lifetime} ms"))),
            ("max_retransmissions", Raw::Number(f64::from(most))),
            ("send_buffer", buffer),
        ]);
        let mut lab = Lab::new(config(message, &given), bytes, paths, seed);
        lab.ends[1].user.reads_slowly(slow);
        lab.paths.calm_after = 3_000;
        lab.run(200_000);
        lab.assert_accounted();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 8))]
    /// The client restarts in any weather: everything that arrives afterwards is complete, once and in order.
    #[test]
    fn a_restart_in_any_weather(
        seed: u64, given in treatment(), paths in prop::collection::vec(weather(), 1..4), bytes in 1_u64..200_000,
        message in message(), slow in prop::option::of(2_000_u64..20_000), after in 0_u64..3_000,
    ) {
        let mut lab = Lab::new(config(message, &given), bytes, paths, seed);
        lab.ends[1].user.reads_slowly(slow);
        lab.paths.calm_after = 3_000;
        lab.ends[0].user.application.stays = true;
        lab.run_until(200_000, |lab| lab.sender().stats().established.is_some_and(|at| lab.paths.now.since(at).as_nanos() / 1_000_000 >= after));
        let stood = lab.ends[1].sctp.stats().established.is_some();
        lab.restart_client();
        lab.run_until(200_000, |lab| lab.ends[1].sctp.stats().restarts == 1);
        prop_assert!(stood);
        let (read, waits) = (lab.ends[1].user.received, lab.ends[1].sctp.unread());
        lab.run(200_000);
        prop_assert_eq!(lab.ends[1].user.received, read + waits + bytes);
        // The server may still receive an ABORT, the answer to late packets if the client is gone (section 8.4 rule 8).
        prop_assert_eq!(lab.sender().failure(), None);
        prop_assert_eq!(lab.ends.each_ref().map(|end| end.sctp.state()), [State::Closed; 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 8))]
    /// The client loses its state, its application does not: every message is delivered, or was in flight and
    /// abandoned.
    #[test]
    fn a_lost_state_in_any_weather(
        seed: u64, mut given in treatment(), paths in prop::collection::vec(weather(), 1..4), bytes in 1_u64..200_000,
        message in message(), slow in prop::option::of(2_000_u64..20_000), after in 1_u64..3_000,
    ) {
        let bytes = bytes.min(message.unwrap_or(1452) * 2_000);
        given.push(("restart", text(&format!("{after} ms"))));
        let mut lab = Lab::new(config(message, &given), bytes, paths, seed);
        lab.ends[1].user.reads_slowly(slow);
        lab.paths.calm_after = 3_000;
        lab.run(200_000);
        prop_assert_eq!(lab.sender().failure(), None);
        prop_assert_eq!(lab.ends.each_ref().map(|end| end.sctp.state()), [State::Closed; 2]);
        let [client, server] = lab.ends.each_ref().map(|end| end.sctp.stats());
        let all = client.messages_sent + client.abandoned_unsent;
        prop_assert!(server.messages_delivered + client.messages_abandoned >= all && server.messages_delivered <= all);
        prop_assert!(lab.ends[1].user.received <= bytes && server.restarts <= client.reopened);
        if client.reopened == 0 {
            lab.assert_delivered(bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 8))]
    #[test]
    fn every_message_arrives_once_and_in_order(
        seed: u64, given in treatment(), paths in prop::collection::vec(weather(), 1..4), bytes in 0_u64..400_000,
        message in message(), slow in prop::option::of(2_000_u64..20_000),
    ) {
        // Fewer bytes if messages are tiny and hence many.
        let bytes = bytes.min(message.unwrap_or(1452) * 2_000);
        let mut lab = Lab::new(config(message, &given), bytes, paths, seed);
        lab.ends[1].user.reads_slowly(slow);
        lab.paths.calm_after = 3_000;
        lab.run(200_000);
        lab.assert_delivered(bytes);
    }
}
