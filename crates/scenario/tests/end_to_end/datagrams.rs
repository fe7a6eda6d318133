//! UDP over the whole way: rates, losses, ends, and what a receiver measures.

use crate::lab::{assert_close, captured, cell, link, nanos, number, play};
use vazao_wire::{ipv4, pcapng, udp};

/// IP and UDP headers.
const HEADERS: f64 = 28.0;

fn scenario(link: &str, app: &str, transport: &str) -> String {
    format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ delay = \"10 ms\", {link} }}\n\
         [[flow]]\napp = {app}\ntransport = {{ kind = \"udp\", {transport} }}\n"
    )
}

#[test]
fn an_upload_takes_the_time_that_its_rate_says() {
    let text =
        scenario("rate = \"10 Mbps\"", "{ kind = \"upload\", size = \"1 MB\" }", "rate = \"4 Mbps\", payload = 1000");
    let outcome = play(&text, 1);
    let value = |column| number(&outcome.flows, column, 0);
    assert_eq!((value("completed"), value("intact"), value("app_bytes")), (1.0, 1.0, 1e6));
    assert_eq!((value("packets_sent"), value("packets_lost")), (1000.0, 0.0));
    assert_eq!((value("duplicates"), value("reordered"), value("jitter_s")), (0.0, 0.0, 0.0));
    // 999 intervals of 2 ms; the last datagram's 1028 bytes at 10 Mbit/s; 10 ms.
    assert_eq!(nanos(&outcome.flows, "last_byte_s", 0), 999 * 2_000_000 + 822_400 + 10_000_000);
    assert_close(value("throughput_bps"), 8.0 * 1028e3 / value("completion_s"), 1e-12, "IP bytes");
    assert_eq!(cell(&outcome.flows, "timeouts", 0), None);
}

/// Offered 12 Mbit/s over a link of 5 Mbit/s: what passes is the link's rate, the rest is dropped by its queue.
#[test]
fn what_a_link_cannot_carry_is_lost() {
    let text = scenario(
        "rate = \"5 Mbps\", queue = \"50 packets\"",
        "{ kind = \"upload\", duration = \"20 s\" }",
        "rate = \"12 Mbps\", payload = 1472",
    );
    let outcome = play(&text, 1);
    let value = |column| number(&outcome.flows, column, 0);
    let offered = 12e6 * 20.0 / 8.0 / 1472.0;
    assert_close(value("packets_sent"), offered, 1e-3, "packets sent");
    // 51 more than the link carries in 20 s fit into it and its queue: 0.6 % of 8333.
    let carried = 5e6 * 20.0 / 8.0 / 1500.0;
    let passed = value("packets_sent") - value("packets_lost");
    assert!((carried..=carried + 52.0).contains(&passed), "{passed} against {carried}");
    assert_eq!(link(&outcome, "link", true, "drops_queue"), value("packets_lost"));
    assert_eq!((value("completed"), value("intact")), (1.0, 1.0));
}

#[test]
fn random_loss_is_counted_and_takes_its_share() {
    let app = "{ kind = \"cbr\", rate = \"2 Mbps\", message = \"500 B\", duration = \"40 s\" }";
    let outcome = play(&scenario("rate = \"10 Mbps\", loss = 0.1", app, ""), 3);
    let value = |column| number(&outcome.flows, column, 0);
    // A message each 2 ms, the first at once and none at the end.
    let n = value("packets_sent");
    assert_eq!(n, 20_000.0);
    // Four standard errors of a binomial share.
    let error = 4.0 * (0.1 * 0.9 / n).sqrt();
    assert!((value("packets_lost") / n - 0.1).abs() < error, "{}", value("packets_lost"));
    assert_eq!(value("app_bytes"), 500.0 * (n - value("packets_lost")));
    assert_close(value("goodput_bps"), 2e6 * 0.9, error / 0.9 + 1e-3, "delivered rate");
}

#[test]
fn a_flow_that_loses_everything_ends() {
    for app in ["{ kind = \"upload\", size = \"100 kB\" }", "{ kind = \"messages\", count = 5 }"] {
        let outcome = play(&scenario("rate = \"10 Mbps\", loss = { kind = \"bernoulli\", p = 1 }", app, ""), 1);
        let value = |column| number(&outcome.flows, column, 0);
        assert_eq!((value("app_bytes"), value("intact")), (0.0, 1.0), "{app}");
        assert_eq!(value("packets_lost"), value("packets_sent"));
        assert_eq!(cell(&outcome.flows, "last_byte_s", 0), None);
        // It ends with the last loss: 68 datagrams at 1 Mbit/s, or 5 messages 100 ms apart, and no time-out.
        assert!(number(&outcome.runs, "sim_s", 0) < 0.9, "{app}");
    }
}

#[test]
fn a_capture_holds_the_datagrams() {
    let app = "{ kind = \"messages\", message = \"100 B\", count = 3, interval = \"5 ms\" }";
    let (_, files) = captured(&scenario("rate = \"10 Mbps\"", app, ""), 1);
    let mut seen = Vec::new();
    for packet in pcapng::Reader::new(&files["b.1"]).expect("a capture") {
        let packet = packet.expect("a packet");
        let (ip, inside) = ipv4::decode(packet.ip().expect("IP")).expect("an IP header");
        let bytes = &packet.ip().expect("IP")[inside];
        let (ports, data) = udp::decode(bytes, ip.pseudo_header()).expect("a datagram");
        let number = u64::from_be_bytes(*bytes[data.clone()].first_chunk().expect("its number"));
        seen.push((ip.protocol, ports[1], data.len(), number));
    }
    assert_eq!(seen, [(17, 5001, 100, 0), (17, 5001, 100, 1), (17, 5001, 100, 2)]);
}

#[test]
fn tcp_makes_way_for_udp() {
    let text = "until = \"30 s\"\n[network]\ntopology = \"dumbbell\"\npairs = 2\naccess = { rate = \"1 Gbps\" }\n\
                bottleneck = { rate = \"10 Mbps\", delay = \"10 ms\", queue = \"1 bdp\" }\n\
                [[flow]]\napp = \"upload\"\n\
                [[flow]]\napp = \"upload\"\ntransport = { kind = \"udp\", rate = \"6 Mbps\" }\n";
    let outcome = play(text, 1);
    let rate = |row| number(&outcome.flows, "throughput_bps", row);
    // 6 Mbit/s of payload in packets of 1500 bytes; what TCP's bursts push out of the queue is less than 2 %.
    assert_close(rate(1), 6e6 * 1500.0 / (1500.0 - HEADERS), 0.02, "UDP");
    assert!((0.85 * 3.9e6..1.02 * 3.9e6).contains(&rate(0)), "TCP: {}", rate(0));
}

/// A wire that doubles and delays: copies are counted and not taken for data, late ones are, and the flow still ends.
#[test]
fn copies_and_late_datagrams_are_counted() {
    let link = "rate = \"100 Mbps\", duplicate = 0.1, loss = 0.05, reorder = { probability = 0.02, delay = \"20 ms\" }";
    let app = "{ kind = \"packets\", idt = \"2 ms\", ps = \"200 B\", count = 10000 }";
    let outcome = play(&scenario(link, app, ""), 2);
    let value = |column: &str| number(&outcome.flows, column, 0);
    let n = value("packets_sent");
    assert_eq!((n, value("completed"), value("intact")), (10_000.0, 1.0, 1.0));
    assert_eq!(value("app_bytes"), 200.0 * (n - value("packets_lost")));
    let near = |share: f64, what: &str| {
        let error = 4.0 * (share * (1.0 - share) / n).sqrt();
        assert!((value(what) / n - share).abs() < error, "{what}: {}", value(what));
    };
    // Losses come before copies; a datagram is late if it was delayed, or its copy came first.
    near(0.05, "packets_lost");
    near(0.95 * 0.1, "duplicates");
    // Behind a datagram 20 ms late ten others pass: it is reordered unless it was lost, or its other copy was in time.
    near(0.95 * 0.02 * (0.9 + 0.1 * 0.02), "reordered");
}

/// Study 4's generators: an iperf-like stream and D-ITG's packets of the same size and rate are the same traffic.
#[test]
fn two_generators_of_one_traffic_agree() {
    let link = "rate = \"5 Mbps\", queue = \"20 packets\", loss = 0.01";
    let iperf = "{ kind = \"iperf\", duration = \"20 s\" }";
    // 1472 bytes at 6 Mbit/s: a datagram each 1.9626667 ms.
    let d_itg = "{ kind = \"d-itg\", idt = \"1962667 ns\", ps = \"1472 B\", duration = \"20 s\" }";
    let [a, b] =
        [(iperf, "rate = \"6 Mbps\""), (d_itg, "")].map(|(app, transport)| play(&scenario(link, app, transport), 1));
    for column in ["throughput_bps", "packets_sent", "packets_lost", "owd_p50_s", "completion_s"] {
        let (a, b) = (number(&a.flows, column, 0), number(&b.flows, column, 0));
        // Gaps differ by less than a nanosecond: a datagram or two of ten thousand may meet another queue.
        assert!((a / b - 1.0).abs() < 2e-3, "{column}: {a} and {b}");
    }
}
