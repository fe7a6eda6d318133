//! Losses: where they are scripted, what they cost, and that treatments meet the same ones.

use crate::lab::{captured, link, nanos, number, play};
use proptest::prelude::*;

const DELAY: u64 = 20_000_000;

/// A transfer over one link at 100 Mbit/s and 20 ms, with these losses.
fn transfer(losses: &str, size: u64, transport: &str) -> String {
    format!(
        r#"
        [network]
        topology = "point-to-point"
        [network.link]
        rate = "100 Mbps"
        delay = "20 ms"
        {losses}
        [[flow]]
        app = {{ kind = "upload", size = "{size} B" }}
        transport = {{ kind = "tcp", {transport} }}
        "#
    )
}

/// On an empty link, 60 B of SYN or SYN-ACK, then the delay.
const SYN: u64 = 60 * 80 + DELAY;

/// RFC 6298 section 2.1: the timer starts at one second and doubles. A lost SYN costs 1 s, two of them 1 + 2 s; with Linux,
/// which doubles after the fifth, 1 + 1 s. A lost SYN-ACK costs 1 s, of its own timer or of the SYN's, which expire together
/// at the server.
#[test]
fn a_lost_syn_costs_its_timer() {
    let second = 1_000_000_000;
    for (losses, rfc, linux) in [
        ("", 0, 0),
        ("forward.loss = { kind = \"list\", packets = [1] }", 1, 1),
        ("forward.loss = { kind = \"list\", packets = [1, 2] }", 3, 2),
        ("forward.loss = { kind = \"list\", packets = [1, 2, 3, 4, 5, 6] }", 63, 7),
        ("reverse.loss = { kind = \"list\", packets = [1] }", 1, 1),
    ] {
        for (host, cost) in [("rfc", rfc), ("linux", linux)] {
            let run = play(&transfer(losses, 1_448, &format!("cc = \"reno\", host = {host:?}")), 1);
            assert_eq!(nanos(&run.flows, "handshake_s", 0), cost * second + 2 * SYN, "{losses} {host}");
        }
    }
}

/// The only segment of a transfer is lost: the timer repairs it after the handshake's RTT R and its variation R/2, so
/// R + 4 R/2 (RFC 6298 section 2.2), from when it was sent.
#[test]
fn a_lost_tail_costs_the_measured_timeout() {
    let run = play(
        &transfer(
            "forward.loss = { kind = \"list\", packets = [2] }",
            1_448,
            "recovery = \"sack\", min_rto = \"1 ms\"",
        ),
        1,
    );
    let (rtt, data) = (2 * SYN, 1_500 * 80 + DELAY);
    assert_eq!(nanos(&run.flows, "completion_s", 0), rtt + 3 * rtt + data);
    assert_eq!(number(&run.flows, "timeout_retransmissions", 0), 1.0);
    assert_eq!(number(&run.flows, "slow_start_lost", 0), 1.0);
}

/// The last three of nine segments are lost at 75 ms each way. A probe of the tail leaves two round trips after the last
/// acknowledgement (RFC 8985 section 7.2), when little is left of the timeout, which begins anew (section 7.3): the probe's answer
/// shows the losses, not the timer, as it does Linux 6.12. Where the probe is lost too, the timer repairs them: it expires a round
/// trip and the timeout's margin after the probe, which an answer would have been a round trip after. That margin is still what the
/// handshake made it, two round trips: in Linux it falls once a round trip at most, and there was one. The kernel in a guest
/// takes 320 ms longer too, ticks of 4 ms included.
#[test]
fn a_probe_repairs_the_tail_of_a_long_path() {
    let flow = |packets: &str| {
        let losses = format!("forward.loss = {{ kind = \"list\", packets = {packets} }}");
        let scenario = transfer(&losses, 13_000, "min_rto = \"200 ms\"").replace("\"20 ms\"", "\"75 ms\"");
        play(&scenario, 1).flows
    };
    let (answered, lost) = (flow("[9, 10, 11]"), flow("[9, 10, 11, 12]"));
    let sent = |flows| ["timeouts", "retransmissions"].map(|column| number(flows, column, 0));
    assert_eq!((sent(&answered), sent(&lost)), ([0.0, 3.0], [1.0, 4.0]));
    let cost = nanos(&lost, "completion_s", 0) - nanos(&answered, "completion_s", 0);
    assert_eq!(cost / 1_000_000, 300);
}

/// Both directions count their own packets, and say so in their own rows.
#[test]
fn each_direction_loses_its_own() {
    let losses = r#"
        forward.loss = { kind = "list", packets = [5, 6, 7, 60] }
        reverse.loss = { kind = "periodic", every = 10 }
        "#;
    let run = play(&transfer(losses, 200_000, "cc = \"cubic\""), 1);
    assert_eq!(link(&run, "link", true, "drops_loss"), 4.0);
    assert_eq!(link(&run, "link", false, "drops_loss"), (link(&run, "link", false, "packets") / 10.0).floor());
    assert_eq!(number(&run.flows, "packets_lost", 0), 4.0);
    // SACK tells lost segments from late ones: what was lost is sent again, and nothing else.
    assert_eq!(number(&run.flows, "retransmissions", 0), 4.0);
    assert_eq!(number(&run.flows, "fast_retransmissions", 0), 4.0);
}

/// The packets of a capture, in order; only those that left (`true`) or came.
pub fn packets(file: &[u8], outbound: bool) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4));
        if kind == 6 {
            let size = word(at + 20);
            // The flags option is the first behind the packet: its value is 1 for inbound, 2 for outbound.
            let flags = word(at + 28 + size.next_multiple_of(4) + 4);
            if (flags == 2) == outbound {
                found.push(file[at + 28..at + 28 + size].to_vec());
            }
        }
        at += length;
    }
    found
}

/// Which of the packets that left one host did not come to the other, counted from 1: links keep the order.
fn lost(from: &[u8], to: &[u8]) -> (Vec<usize>, usize) {
    let (sent, came) = (packets(from, true), packets(to, false));
    let mut came = came.into_iter().peekable();
    let lost = (1..).zip(&sent).filter(|(_, packet)| came.next_if(|c| c == *packet).is_none()).map(|(n, _)| n);
    (lost.collect(), sent.len())
}

#[test]
fn scripted_losses_are_where_they_were_put() {
    let losses = "forward.loss = { kind = \"list\", packets = [3, 17, 40, 41] }";
    let (_, files) = captured(&transfer(losses, 200_000, "cc = \"reno\""), 1);
    assert_eq!(lost(&files["a.1"], &files["b.1"]).0, [3, 17, 40, 41]);
}

/// Common random numbers: whatever the congestion control, and whoever else is there, the n-th packet of a link meets the
/// same fate under one seed; and another under another.
#[test]
fn treatments_meet_the_same_losses() {
    let lost_by = |flows: &[&str], seed: u64| {
        let flows: String = flows
            .iter()
            .map(|cc| {
                format!(
                    "[[flow]]\napp = {{ kind = \"upload\", size = \"3 MB\" }}\ntransport = {{ kind = \"tcp\", {cc} }}\n"
                )
            })
            .collect();
        let text = format!(
            r#"
            [network]
            topology = "dumbbell"
            pairs = 2
            access = [{{ rate = "100 Mbps", delay = "2 ms", forward.loss = 0.02 }}, {{ rate = "100 Mbps" }}]
            bottleneck = {{ rate = "1 Gbps", delay = "10 ms" }}
            {flows}
            "#
        );
        let (_, files) = captured(&text, seed);
        lost(&files["left1.1"], &files["right1.1"])
    };
    let (reference, count) = lost_by(&["cc = \"reno\""], 7);
    assert!(reference.len() > 20, "{reference:?}");
    for flows in [
        &["cc = \"cubic\""][..],
        &["cc = \"vegas\", recovery = \"newreno\""],
        &["cc = \"reno\", recovery = \"tahoe\", mss = 500"],
        &["cc = \"reno\"", "cc = \"scalable\""],
    ] {
        let (other, other_count) = lost_by(flows, 7);
        let both = count.min(other_count);
        let common = |lost: &[usize]| lost.iter().copied().take_while(|&n| n <= both).collect::<Vec<_>>();
        assert_eq!(common(&reference), common(&other), "{flows:?}");
    }
    assert_ne!(reference, lost_by(&["cc = \"reno\""], 8).0);
}

/// The registry's names, so that a new one is tested when it is added.
fn controls() -> Vec<&'static str> {
    vazao_congestion::CONGESTION_CONTROLS.iter().map(|e| e.name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3 / 4))]

    /// Whatever is lost, in either direction, by chance or for want of room, and however slowly it is read, every byte arrives once and in order, and
    /// the books balance: what was sent was lost or arrived.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        size in 1u64..300_000, forward in 0.0f64..0.3, reverse in 0.0f64..0.3, queue in 0u32..50, mss in 64u32..9_000,
        cc in prop::sample::select(controls()),
        recovery in prop::sample::select(&["tahoe-no-fast-retransmit", "tahoe", "reno", "newreno", "pipe", "sack", "rack"][..]),
        options in prop::array::uniform3(any::<bool>()), buffer in 256u64..200_000, seed in 0u64..1_000_000,
        kind in prop::sample::select(&["upload", "download"][..]),
        reader in prop::sample::select(&["", ", read_rate = \"300 kbps\"", ", read_rate = \"5 Mbps\""][..]),
    ) {
        let [sack, timestamps, limited] = options;
        let text = format!(
            r#"
            [network]
            topology = "path"
            link = [
                {{ rate = "100 Mbps", delay = "1 ms" }},
                {{ rate = "7 Mbps", delay = "9 ms", queue = "{queue} packets", forward.loss = {forward:?}, reverse.loss = {reverse:?} }},
            ]
            [[flow]]
            app = {{ kind = "{kind}", size = "{size} B"{reader} }}
            [flow.transport]
            kind = "tcp"
            cc = "{cc}"
            recovery = "{recovery}"
            mss = {mss}
            sack = {sack}
            timestamps = {timestamps}
            limited_transmit = {limited}
            receive_buffer = "{buffer} B"
            retries = 100
            max_rto = "2 s"
            "#
        );
        let run = play(&text, seed);
        let flow = |name: &str| number(&run.flows, name, 0);
        if flow("app_bytes") > 0.0 {
            prop_assert_eq!(flow("intact"), 1.0);
            prop_assert_eq!(flow("app_bytes"), size as f64);
            prop_assert_eq!(flow("completed"), 1.0);
        } else {
            // A side gave up its SYN, sent seven times: timers of 1 s and six of the 2 s that are the most here.
            prop_assert!(number(&run.runs, "sim_s", 0) >= 13.0);
        }
        let hops: f64 = [("link1", true), ("link1", false), ("link2", true), ("link2", false)]
            .iter().map(|(name, way)| link(&run, name, *way, "packets")).sum();
        // A run ends when its flows do: packets still on their way have crossed fewer links than have sent them.
        prop_assert!(number(&run.runs, "packet_hops", 0) <= hops);
        prop_assert!(flow("retransmissions") == flow("fast_retransmissions") + flow("timeout_retransmissions"));
        let sender = kind == "upload";
        let drops: f64 = ["link1", "link2"].iter()
            .map(|name| link(&run, name, sender, "drops_loss") + link(&run, name, sender, "drops_queue")).sum();
        prop_assert_eq!(flow("packets_lost"), drops);
    }
}
