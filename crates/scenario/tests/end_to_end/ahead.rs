//! Ends and packets that are ahead of the run: a run in steps, in which each event has its turn, comes to the same to the bit.

use crate::lab::{captured, load, play};
use proptest::prelude::*;
use proptest::sample::select;
use vazao_engine::Time;
use vazao_scenario::{Column, Outcome, Session};

/// Plays a scenario event by event.
fn stepwise(text: &str, seed: u64) -> Outcome {
    let scenario = load(text, seed);
    let id = scenario.run_id();
    let mut session = Session::new(scenario).expect("we play all of it");
    while !(session.is_over() || session.is_at_end()) {
        session.advance(Time::NEVER, u64::MAX);
    }
    session.outcome(&id)
}

/// Returns a scenario with samples of queues besides.
fn watching_queues(text: &str) -> String {
    match text.starts_with("trace") {
        true => text.replacen('[', "[\"queue\", ", 1),
        false => format!("trace = {{ measures = [\"queue\"] }}\n{text}"),
    }
}

/// Samples of flows, without the identity of the run.
fn rows(outcome: &Outcome) -> Vec<String> {
    let cell = |column: &Column, row: usize| match column {
        Column::Label { codes, names } => format!("{:?}", codes.get(row).map(|code| &names[code as usize])),
        Column::Integer(values) => format!("{:?}", values.get(row)),
        Column::Number(values) => format!("{:?}", values.get(row)),
        Column::Flag(values) => format!("{:?}", values[row]),
    };
    let rows = outcome.samples.first().map_or(0, |(_, column)| match column {
        Column::Label { codes, .. } => codes.len(),
        Column::Integer(values) => values.len(),
        Column::Number(values) => values.len(),
        Column::Flag(values) => values.len(),
    });
    let row =
        |row| outcome.samples.iter().skip(1).map(|(name, column)| format!("{name} {} ", cell(column, row))).collect();
    (0..rows).map(row).filter(|row: &String| !row.contains("\"queue\"")).collect()
}

/// Columns in which two outcomes differ, with both contents.
fn differing(one: &Outcome, other: &Outcome) -> Vec<String> {
    let tables = |outcome: &Outcome| [&outcome.runs, &outcome.flows, &outcome.paths, &outcome.links].map(Clone::clone);
    let pairs = tables(one).into_iter().flatten().zip(tables(other).into_iter().flatten());
    pairs.filter(|(a, b)| a != b).map(|(a, b)| format!("{}: {:?}, {:?}", a.0, a.1, b.1)).collect()
}

/// Link: rates and delays are few, so that events often coincide, and queues short, so that packets are dropped.
fn link() -> impl Strategy<Value = String> {
    let queue = select(vec!["4 packets", "20 packets", "20 kB", "1 bdp", "codel", "fq-codel", "pie"]);
    let extra =
        select(vec!["", "", "", ", loss = 0.01", ", jitter = \"1 ms\"", ", duplicate = 0.01", ", corrupt = 0.01"]);
    let (rate, delay) = (select(vec![2, 5, 10, 10, 40]), select(vec![0, 1, 5, 5, 20]));
    (rate, delay, queue, extra).prop_map(|(rate, delay, queue, extra)| {
        format!("{{ rate = \"{rate} Mbps\", delay = \"{delay} ms\", queue = \"{queue}\"{extra} }}")
    })
}

fn network() -> impl Strategy<Value = String> {
    let path = prop::collection::vec(link(), 1..5).prop_map(|links| {
        let links = links.join(", ");
        format!("{{ topology = \"path\", link = [{links}] }}")
    });
    let dumbbell = (1..6, link(), link()).prop_map(|(pairs, access, bottleneck)| {
        format!("{{ topology = \"dumbbell\", pairs = {pairs}, access = {access}, bottleneck = {bottleneck} }}")
    });
    prop_oneof![path, dumbbell]
}

/// Flow of TCP for the most part: only its ends run ahead.
fn flow() -> impl Strategy<Value = String> {
    let app = select(vec![
        "kind = \"upload\"",
        "kind = \"upload\"",
        "kind = \"download\"",
        "kind = \"upload\", size = \"300 kB\"",
        "kind = \"download\", size = \"1 MB\"",
        "kind = \"upload\", duration = \"900 ms\"",
        "kind = \"upload\", read_rate = \"3 Mbps\"",
        "kind = \"messages\", message = \"2 kB\", interval = \"7 ms\", count = 100",
        "kind = \"requests\", request = \"1 kB\", response = \"60 kB\", count = 5",
    ]);
    let transport = prop_oneof![
        6 => select(vec!["cubic", "reno", "bbr", "bbr3", "vegas", "ledbat", "cdg"])
            .prop_map(|cc| format!("kind = \"tcp\", cc = \"{cc}\"")),
        1 => Just("kind = \"tcp\", recovery = \"newreno\", host = \"rfc\"".to_owned()),
        1 => Just("kind = \"tcp\", send_buffer = \"64 kB\", retries = 3".to_owned()),
        1 => Just("kind = \"tcp\", fast_open = true".to_owned()),
        1 => select(vec!["quic", "sctp", "udp"]).prop_map(|kind| format!("kind = \"{kind}\"")),
    ];
    let start = select(vec!["0 s", "0 s", "300 ms", "1 s"]);
    (app, transport, start).prop_map(|(app, transport, start)| {
        // Datagrams that nothing paces would fill the network.
        let app = match transport.contains("udp") {
            true => "kind = \"messages\", message = \"1 kB\", interval = \"9 ms\"",
            false => app,
        };
        format!("[[flow]]\nstart = \"{start}\"\napp = {{ {app} }}\ntransport = {{ {transport} }}\n")
    })
}

/// Flow that ends by itself, by one of several limits.
fn finite_flow() -> impl Strategy<Value = String> {
    let app = select(vec![
        "kind = \"upload\", size = \"300 kB\"",
        "kind = \"download\", size = \"1 MB\"",
        "kind = \"upload\", duration = \"900 ms\"",
        "kind = \"messages\", message = \"2 kB\", interval = \"3 ms\", count = 40",
        "kind = \"packets\", count = 100, size = \"1 MB\"",
        "kind = \"requests\", request = \"1 kB\", response = \"60 kB\", count = 5",
    ]);
    (app, select(vec!["0 s", "0 s", "400 ms"])).prop_map(|(app, start)| {
        format!("[[flow]]\nstart = \"{start}\"\napp = {{ {app} }}\ntransport = {{ kind = \"tcp\" }}\n")
    })
}

/// Run that ends with its last flow.
fn ending() -> impl Strategy<Value = String> {
    (network(), prop::collection::vec(finite_flow(), 1..6))
        .prop_map(|(network, flows)| format!("network = {network}\n{}", flows.concat()))
}

fn scenario() -> impl Strategy<Value = String> {
    let top = select(vec![
        "",
        "",
        "measure = { from = \"700 ms\", to = \"1500 ms\" }\n",
        "trace = { measures = [\"cwnd\", \"sequence\", \"message_latency\"] }\n",
        "trace = { measures = [\"srtt\", \"delivered\"], every = \"100 ms\" }\n",
    ]);
    (top, network(), prop::collection::vec(flow(), 1..6))
        .prop_map(|(top, network, flows)| format!("{top}until = \"2500 ms\"\nnetwork = {network}\n{}", flows.concat()))
}

proptest! {
    #[test]
    fn a_run_ahead_comes_to_the_same_as_one_event_by_event(
        text in prop_oneof![3 => scenario().boxed(), 2 => ending().boxed()],
        seed in 0u64..100,
    ) {
        let (ahead, stepwise) = (play(&text, seed), stepwise(&text, seed));
        prop_assert_eq!(differing(&ahead, &stepwise), Vec::<String>::new());
        // A session has neither time series nor captures; a run whose queues are watched does not go ahead.
        let (watched, files) = captured(&watching_queues(&text), seed);
        prop_assert_eq!(rows(&ahead), rows(&watched));
        prop_assert!(captured(&text, seed).1 == files, "captures");
    }
}
