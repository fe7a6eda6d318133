//! Applications over the whole way against closed forms: queues, latencies, request loops, flows that arrive.

use crate::lab::{assert_close, cell, column, load, mean_and_error, number, play};
use std::collections::BTreeMap;
use vazao_scenario::{Column, Table};

fn scenario(link: &str, app: &str, transport: &str) -> String {
    format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ {link} }}\n\
         [[flow]]\napp = {app}\ntransport = {{ {transport} }}\n"
    )
}

const UDP: &str = "kind = \"udp\"";
const TCP: &str = "kind = \"tcp\"";

/// Poisson packets of one size through a link wait rho / (2 (1 - rho)) services on average (Pollaczek and Khinchine), and
/// then take their own.
#[test]
fn poisson_packets_wait_as_in_an_m_d_1_queue() {
    // 472 bytes and 28 of headers at 4 Mbit/s: a service of 1 ms.
    for load in [0.3, 0.6, 0.8] {
        let gap = (1e6_f64 / load).round();
        let app =
            format!("{{ kind = \"packets\", idt = \"exponential {gap} ns\", ps = \"472 B\", duration = \"60 s\" }}");
        let text = scenario("rate = \"4 Mbps\", queue = \"100000 packets\", delay = \"10 ms\"", &app, UDP);
        let latency = |seed| number(&play(&text, seed).flows, "message_latency_mean_s", 0);
        let (mean, error) = mean_and_error(&(1..=12).map(latency).collect::<Vec<_>>());
        let expected = 0.010 + 1e-3 * (1.0 + load / (2.0 * (1.0 - load)));
        assert!((mean - expected).abs() < 4.0 * error, "load {load}: {mean}, not {expected} within {}", 4.0 * error);
    }
}

/// Without a queue to wait in, a message over TCP takes the way's delay and the time of its last segment's bits.
#[test]
fn a_message_takes_the_way_and_its_own_time() {
    let app = "{ kind = \"messages\", message = \"1000 B\", interval = \"100 ms\", count = 50 }";
    let outcome = play(&scenario("rate = \"8 Mbps\", delay = \"30 ms\"", app, TCP), 1);
    let value = |column| number(&outcome.flows, column, 0);
    assert_eq!((value("messages_delivered"), value("app_bytes"), value("completed")), (50.0, 50e3, 1.0));
    // 52 bytes of headers: 1052 bytes at 1 MB/s. The first one may wait for the ACK that opens the connection.
    let expected = 0.030 + 1.052e-3;
    assert_close(value("message_latency_p50_s"), expected, 1.0 / 120.0, "median");
    assert_close(value("message_latency_mean_s"), expected, 2e-3, "mean");
    assert!(value("message_latency_p99_s") >= value("message_latency_p95_s"));
}

/// A datagram of a message is late or lost on its own; over TCP those behind a lost one wait for its repair.
#[test]
fn loss_delays_messages_over_tcp_and_takes_them_over_udp() {
    let app = "{ kind = \"messages\", message = \"500 B\", interval = \"20 ms\", count = 2000 }";
    let text = |transport| scenario("rate = \"10 Mbps\", delay = \"20 ms\", loss = 0.02", app, transport);
    let (udp, tcp) = (play(&text(UDP), 1), play(&text(TCP), 1));
    let value = |outcome: &vazao_scenario::Outcome, column| number(&outcome.flows, column, 0);
    assert_eq!(value(&tcp, "messages_delivered"), 2000.0);
    assert_eq!(value(&udp, "messages_delivered"), 2000.0 - value(&udp, "packets_lost"));
    assert_close(value(&udp, "message_latency_p99_s"), 0.0204, 0.02, "udp: 20 ms and 0.42 ms, whatever is lost");
    // At least one round trip more for what is repaired.
    assert!(value(&tcp, "message_latency_p99_s") > 0.060, "{}", value(&tcp, "message_latency_p99_s"));
    assert!(value(&tcp, "message_latency_p50_s") < 0.022, "{}", value(&tcp, "message_latency_p50_s"));
}

/// One request after the other: a round trip and the bits of both. With a window of three three are under way.
#[test]
fn requests_take_a_round_trip_each() {
    let app = |pipeline| {
        format!(
            "{{ kind = \"requests\", count = 30, request = \"100 B\", response = \"1000 B\", think = \"50 ms\", \
             pipeline = {pipeline} }}"
        )
    };
    let link = "rate = \"100 Mbps\", delay = \"20 ms\"";
    let play = |pipeline| play(&scenario(link, &app(pipeline), "kind = \"tcp\", delayed_ack = 1"), 1);
    let (one, three) = (play(1), play(3));
    for (outcome, users) in [(&one, 1.0), (&three, 3.0)] {
        let value = |column| number(&outcome.flows, column, 0);
        assert_eq!((value("completed"), value("intact"), value("app_bytes")), (1.0, 1.0, 30e3));
        assert_eq!(value("messages_delivered"), 30.0);
        // 152 and 1052 bytes at 100 Mbit/s; behind two others at most as much again for each.
        let bits = 8.0 * (152.0 + 1052.0) / 100e6;
        let latency = value("message_latency_mean_s");
        assert!((0.040 + bits..0.040 + users * bits + 1e-6).contains(&latency), "{users}: {latency}");
        // Rounds of latency and thinking, the last without; before them the handshake.
        let rounds = 30.0 / users;
        let expected = 0.040 + rounds * (0.040 + bits) + (rounds - 1.0) * 0.050;
        assert_close(value("completion_s"), expected, 0.005, "completion");
    }
}

#[test]
fn random_responses_are_what_was_drawn_and_all_arrive() {
    let app = "{ kind = \"requests\", duration = \"20 s\", response = \"pareto 20 kB\", think = \"exponential 20 ms\", pipeline = 4 }";
    let text = scenario("rate = \"10 Mbps\", delay = \"10 ms\", loss = 0.01", app, TCP);
    let outcome = play(&text, 4);
    let value = |column| number(&outcome.flows, column, 0);
    assert_eq!((value("completed"), value("intact")), (1.0, 1.0));
    assert!(value("messages_delivered") > 300.0, "{}", value("messages_delivered"));
    assert!(value("app_bytes") > 1000.0 * value("messages_delivered"));
}

/// Rows of a table's column of labels.
fn labels(table: &Table, name: &str) -> Vec<Option<String>> {
    let Column::Label { codes, names } = column(table, name) else { panic!("{name} is not a label") };
    codes.iter().map(|code| code.map(|code| names[code as usize].clone())).collect()
}

#[test]
fn flows_that_arrive_are_rows_of_their_own() {
    let text = "[network]\ntopology = \"dumbbell\"\npairs = 2\naccess = { rate = \"1 Gbps\" }\n\
                bottleneck = { rate = \"100 Mbps\", delay = \"5 ms\" }\n\
                [[flow]]\napp = { kind = \"upload\", size = \"1 MB\" }\n\
                [[flow]]\nstart = \"1 s\"\n\
                app = { kind = \"arrivals\", interval = \"exponential 50 ms\", duration = \"20 s\", direction = \"download\", \
                sizes = [[\"1 kB\", 0.5], [\"1 MB\", 1]] }\n";
    let outcome = play(text, 1);
    assert_eq!(play(text, 1), outcome, "the same seed, the same run");
    let flows = load(text, 1).flows;
    let n = flows.len() - 1;
    // 20 s of a Poisson process of 20 a second.
    assert!((n as f64 - 400.0).abs() < 4.0 * 20.0, "{n}");
    assert!(flows[1..].iter().all(|flow| flow.client == "left2" && flow.server == "right2"));
    let group: Vec<f64> = (0..=n).map(|row| number(&outcome.flows, "group", row)).collect();
    assert!(group[0] == 0.0 && group[1..].iter().all(|&group| group == 1.0));
    assert!((1..=n).all(|row| number(&outcome.flows, "completed", row) == 1.0));
    assert!((1..=n).all(|row| number(&outcome.flows, "start_s", row) > 1.0));
    let classes = labels(&outcome.flows, "size_class");
    let mut sizes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (row, class) in classes.into_iter().enumerate().skip(1) {
        sizes.entry(class.expect("a size")).or_default().push(number(&outcome.flows, "app_bytes", row));
    }
    assert_eq!(sizes.keys().map(String::as_str).collect::<Vec<_>>(), ["100 kB to 10 MB", "up to 100 kB"]);
    assert!(sizes["up to 100 kB"].iter().all(|&size| (1e3..=1e5).contains(&size)));
    // Half are 1 kB, a twentieth between that and 100 kB.
    let share = sizes["up to 100 kB"].len() as f64 / n as f64;
    let expected = 0.5 + 0.5 * 99.0 / 999.0;
    assert!((share - expected).abs() < 4.0 * (expected * (1.0 - expected) / n as f64).sqrt(), "{share}");
}

/// The same arrivals and gaps, whatever else is in the scenario.
#[test]
fn draws_belong_to_their_flow() {
    let first =
        "[[flow]]\napp = { kind = \"packets\", idt = \"exponential 2 ms\", ps = \"uniform 100 B\", count = 500 }\n";
    let first = first.replace("\"uniform 100 B\"", "{ kind = \"uniform\", min = \"100 B\", max = \"1 kB\" }");
    let network = "[network]\ntopology = \"point-to-point\"\nlink = { rate = \"1 Gbps\" }\n";
    let more =
        "[[flow]]\napp = { kind = \"on-off\", duration = \"2 s\", off = \"pareto 50 ms\" }\ntransport = \"udp\"\n";
    let row = |text: &str| {
        let outcome = play(text, 9);
        ["app_bytes", "last_byte_s"].map(|name| cell(&outcome.flows, name, 0).expect("a value"))
    };
    let alone = row(&format!("{network}{first}transport = \"udp\"\n"));
    assert_eq!(row(&format!("{network}{first}transport = \"udp\"\n{more}")), alone);
    // 500 sizes with a mean of 550 bytes and a deviation of 260.
    assert!((alone[0] - 275e3).abs() < 4.0 * 260.0 * 500_f64.sqrt(), "{}", alone[0]);
}
