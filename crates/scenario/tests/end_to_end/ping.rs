//! Ping: round-trip times and losses of echoes.

use crate::lab::{captured, cell, number, play, samples};
use crate::losses::packets;
use vazao_wire::{icmp, ipv4};

fn scenario(keys: &str, more: &str, app: &str) -> String {
    format!(
        "{more}\n[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"1 Mbps\", delay = \"20 ms\"{keys} }}\n\
         [[flow]]\napp = {app}\n"
    )
}

/// 84 B at 1 Mbit/s and 20 ms each way: 41.344 ms a round trip, always, whichever way it is told, and no loss. The run is over
/// with the last reply.
#[test]
fn a_ping_over_an_empty_path_takes_the_same_time_each_time() {
    let outcome = play(&scenario("", "trace = [\"rtt\"]", "{ kind = \"ping\", interval = \"200 ms\", count = 10 }"), 1);
    let flow = |name| number(&outcome.flows, name, 0);
    let rtt = 2.0 * (0.020 + 84.0 * 8.0 / 1e6);
    for name in ["rtt_min_s", "rtt_mean_s", "rtt_max_s"] {
        assert!((flow(name) - rtt).abs() < 2e-9, "{name}: {}", flow(name));
    }
    assert!(flow("rtt_mdev_s") < 1e-8, "{}", flow("rtt_mdev_s"));
    let counts = ["packets_sent", "replies", "packets_lost", "app_bytes", "completed", "intact"].map(flow);
    assert_eq!(counts, [10.0, 10.0, 0.0, 560.0, 1.0, 1.0]);
    assert!((number(&outcome.runs, "sim_s", 0) - (1.8 + rtt)).abs() < 1e-8);
    let all = samples(&outcome, "rtt");
    // Each is the same, so that only the first and the last are told.
    assert!(!all.is_empty() && all.iter().all(|(_, value)| (value - rtt).abs() < 2e-9), "{all:?}");
    assert_eq!(cell(&outcome.flows, "slow_start_s", 0), None);
}

/// Of 300 requests the third is lost on its way and the replies to the fifth and the last are on theirs: 297 replies and one
/// lost request, of which the server has 299. With round-trip times of 20 ms and normal delays of 5 ms each way the deviation
/// is sqrt(2) times as large, within five standard errors (1 / sqrt(2 n) of it), and least, mean and longest are in order.
/// After the last request ping waits twice the longest round trip.
#[test]
fn a_ping_tells_losses_and_deviation() {
    let keys = ", jitter = { deviation = \"3 ms\", distribution = \"normal\", keeps_order = false }, \
                forward = { loss = { kind = \"list\", packets = [3] } }, \
                reverse = { loss = { kind = \"list\", packets = [4, 299] } }";
    let outcome = play(&scenario(keys, "", "{ kind = \"ping\", interval = \"100 ms\", count = 300 }"), 1);
    let flow = |name| number(&outcome.flows, name, 0);
    assert_eq!(["packets_sent", "replies", "packets_lost"].map(flow), [300.0, 297.0, 1.0]);
    assert_eq!((flow("messages_delivered"), flow("app_bytes")), (299.0, 299.0 * 56.0));
    let deviation = 0.003 * 2f64.sqrt();
    assert!((flow("rtt_mdev_s") / deviation - 1.0).abs() < 5.0 / (2.0 * 297.0f64).sqrt(), "{}", flow("rtt_mdev_s"));
    assert!(flow("rtt_min_s") < flow("rtt_mean_s") && flow("rtt_mean_s") < flow("rtt_max_s"));
    let end = number(&outcome.runs, "sim_s", 0);
    assert!((end - (29.9 + 2.0 * flow("rtt_max_s"))).abs() < 1e-6, "{end}");
}

/// Nobody answers: ping gives up its time after the last request, and nothing was measured.
#[test]
fn a_ping_without_an_answer_ends() {
    let text = scenario(
        ", reverse = { outages = [{ at = \"0 s\", for = \"1 h\", kind = \"loss\" }] }",
        "",
        "{ kind = \"ping\", count = 2 }",
    );
    let outcome = play(&text, 1);
    assert_eq!(number(&outcome.flows, "replies", 0), 0.0);
    assert_eq!(cell(&outcome.flows, "rtt_mean_s", 0), None);
    assert_eq!(cell(&outcome.flows, "rtt_mdev_s", 0), None);
    assert!((number(&outcome.runs, "sim_s", 0) - 11.0).abs() < 1e-3);
}

/// Behind a full queue a ping waits as the packets do that fill it (a bufferbloat of 100 packets of 1500 B at 1 Mbit/s).
#[test]
fn a_ping_tells_of_a_queue() {
    let text = scenario(", queue = \"100 packets\"", "until = \"20 s\"", "\"ping\"") + "[[flow]]\napp = \"upload\"\n";
    let outcome = play(&text, 1);
    let longest = number(&outcome.flows, "rtt_max_s", 0);
    assert!((1.0..1.26).contains(&longest), "{longest}");
    assert!(number(&outcome.flows, "rtt_min_s", 0) < 0.1);
}

/// What is captured are echo messages of RFC 792: each reply has its request's number and data.
#[test]
fn a_reply_has_the_data_of_its_request() {
    let (_, files) = captured(&scenario("", "", "{ kind = \"ping\", size = \"100 B\", count = 3 }"), 1);
    let [requests, replies] = [("a.1", false), ("b.1", true)].map(|(host, is_reply)| {
        let decode = |packet: &Vec<u8>| {
            let (header, inside) = ipv4::decode(packet).expect("an IP packet");
            assert_eq!((header.protocol, packet.len()), (icmp::PROTOCOL, 128));
            let (echo, data) = icmp::decode(&packet[inside.clone()]).expect("sound").expect("an echo");
            assert_eq!(echo.is_reply, is_reply);
            (echo.identifier, echo.sequence, packet[inside][data].to_vec())
        };
        packets(&files[host], true).iter().map(decode).collect::<Vec<_>>()
    });
    assert_eq!(requests, replies);
    assert_eq!(requests.iter().map(|(_, number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
}
