//! Random changes to documents that are right: each loads, or is refused in one line.

use proptest::prelude::*;
use vazao_scenario::{Extensions, Node, Scenario, Toml, parse};

const DOCUMENTS: [&str; 4] = [
    r#"
    seed = 7
    until = "10 s"
    trace = { measures = ["cwnd", "queue"], every = "10 ms" }
    [network]
    topology = "dumbbell"
    pairs = 2
    access = [{ rate = "1 Gbps", delay = "1 ms" }, { rate = "1 Gbps", delay = "2 ms" }]
    [network.bottleneck]
    rate = "10 Mbps"
    delay = "10 ms"
    queue = "1 bdp"
    overhead = "14 B"
    forward = { loss = { kind = "list", packets = [3, 5] } }
    reverse = { rate = "1 Mbps", queue = { kind = "drop-tail", limit = "20 packets" } }
    [[flow]]
    count = 2
    start_spread = "1 s"
    app = { kind = "download", duration = "2 s", read_rate = "1 Mbps" }
    transport = { kind = "tcp", cc = { kind = "cubic", profile = "linux" }, slow_start = "limited", receive_buffer = "64 kB" }
    "#,
    r#"
    [network]
    topology = "path"
    link = [{ rate = "1 Gbps" }, { rate = "5 Mbps", delay = "20 ms", loss = { kind = "periodic", every = 50 } }]
    [[flow]]
    app = { kind = "upload", size = "50 kB" }
    transport = { kind = "tcp", cc = "highspeed", recovery = "tahoe", timestamps = false, min_rto = "1 s" }
    "#,
    r#"
    [network]
    topology = "multipath"
    path = [{ rate = "10 Mbps" }, { rate = "2 Mbps", delay = "5 ms" }]
    [[flow]]
    client = "a.2"
    server = "b.2"
    app = { kind = "upload", size = "10 kB" }
    [[flow]]
    client = "b"
    start = "100 ms"
    app = { kind = "upload", size = "10 kB" }
    transport = "tcp"
    "#,
    r#"
    [network]
    topology = "custom"
    hosts = ["a", "b", "c"]
    routers = ["r"]
    [[network.link]]
    from = "a"
    to = "r"
    rate = "10 Mbps"
    [[network.link]]
    name = "out"
    from = "r"
    to = "b"
    rate = "1 Mbps"
    delay = "3 ms"
    [[flow]]
    app = { kind = "upload", size = "10 kB" }
    "#,
];

/// Names and quantities, likely and absurd.
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "a.1",
    "a.99",
    "left1",
    "right9",
    "r",
    "cubic",
    "vegas",
    "tcp",
    "udp",
    "auto",
    "10 Mbps",
    "0 bps",
    "1 Tbps",
    "0 s",
    "3600 s",
    "50 ms",
    "1 ns",
    "-1 s",
    "1e308 s",
    "0 packets",
    "4e9 packets",
    "0 bdp",
    "1e9 bdp",
    "1 B",
    "8 EiB",
    "9e18 B",
    "18446744073709551615 B",
    "path",
    "custom",
    "point-to-point",
    "list",
];

/// Values of every kind, likely and absurd.
fn value() -> impl Strategy<Value = Toml> {
    let text = prop_oneof![
        prop::sample::select(TEXTS).prop_map(str::to_owned),
        "\\PC{0,12}",
        "-?[0-9]{1,4} ?(ms|s|Mbps|kB|packets|bdp|x)?",
    ];
    let number = prop_oneof![
        prop::sample::select(
            &[0.0, -1.0, 1.0, 0.5, 1e-300, 1e300, f64::NAN, f64::INFINITY, 9.007_199_254_740_993e15, 65_535.0][..]
        ),
        any::<f64>(),
        (0u32..2_000).prop_map(f64::from),
    ];
    let leaf = prop_oneof![
        4 => text.prop_map(Toml::Text),
        3 => number.prop_map(Toml::Number),
        1 => any::<bool>().prop_map(Toml::Flag),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let node = inner.prop_map(Node::from);
        prop_oneof![
            prop::collection::vec(node.clone(), 0..4).prop_map(Toml::List),
            prop::collection::vec((key(), node), 0..4).prop_map(Toml::Table),
        ]
    })
}

/// Keys, likely ones first.
fn key() -> impl Strategy<Value = String> {
    let known = [
        "kind",
        "size",
        "rate",
        "delay",
        "queue",
        "loss",
        "cc",
        "mss",
        "p",
        "every",
        "packets",
        "limit",
        "forward",
        "from",
        "to",
        "name",
        "link",
        "path",
        "count",
        "client",
        "server",
        "start",
        "duration",
        "initial_window",
        "overhead",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[a-z_. -]{0,8}"]
}

/// Every place in a document as a dotted path.
fn places(node: &Node, path: &str, found: &mut Vec<String>) {
    let child = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match &node.value {
        Toml::Table(entries) => {
            for (key, node) in entries {
                found.push(child(key));
                places(node, &child(key), found);
            }
        }
        Toml::List(items) => {
            for (index, node) in items.iter().enumerate() {
                found.push(child(&index.to_string()));
                places(node, &child(&index.to_string()), found);
            }
        }
        _ => {}
    }
}

fn check(text: &str, overrides: Vec<(String, Toml)>) {
    match Scenario::load(text, "", overrides.clone(), None) {
        Ok(scenario) => {
            // Under another seed it is what is read under that seed.
            let others = scenario.run_ids(&[scenario.seed, 8]);
            assert!(others.is_none_or(|ids| {
                let read = Scenario::load(text, "", overrides, Some(8))
                    .expect("what loads under one seed loads under another");
                ids == [scenario.run_id(), read.run_id()]
            }));
            // What was accepted can be told, estimated and identified.
            assert!(vazao_scenario::estimate(&scenario).hops >= 0.0);
            assert_eq!(scenario.run_id().len(), 16);
            // What was resolved is read back as it was.
            let json = scenario.json();
            match Scenario::from_json(&json, &scenario.name, &Extensions::default()) {
                Ok(read) => assert_eq!(read.json(), json),
                Err(error) => panic!("{error}: {json}"),
            }
        }
        Err(e) => {
            let message = e.to_string();
            assert!(!message.contains(['\n', '\r']), "{message:?}");
            assert!(!e.problem.is_empty() && !message.contains("panicked"), "{message:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 12))]

    /// Values put anywhere: in place of what is there, and below it.
    #[test]
    fn any_override_loads_or_is_refused(
        document in 0..DOCUMENTS.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(key()), value()), 1..4)
    ) {
        let text = DOCUMENTS[document];
        let mut known = Vec::new();
        places(&parse(text).unwrap(), "", &mut known);
        let overrides = changes.into_iter().map(|(place, below, value)| {
            let place = place.get(&known).clone();
            (below.map_or(place.clone(), |key| format!("{place}.{key}")), value)
        });
        check(text, overrides.collect());
    }

    /// Bytes of the text taken out, doubled, or replaced.
    #[test]
    fn any_text_loads_or_is_refused(
        document in 0..DOCUMENTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, "\\PC{0,3}|[\"\\[\\]{}=.,\n#0-9]{0,2}"), 1..5),
    ) {
        let mut characters: Vec<char> = DOCUMENTS[document].chars().collect();
        for (place, length, new) in changes {
            let start = place.index(characters.len());
            let end = (start + length).min(characters.len());
            characters.splice(start..end, new.chars());
        }
        let text: String = characters.into_iter().collect();
        check(&text, Vec::new());
    }

    /// Whole lines left out.
    #[test]
    fn any_lines_may_be_missing(document in 0..DOCUMENTS.len(), kept in prop::collection::vec(any::<bool>(), 40)) {
        let lines = DOCUMENTS[document].lines().zip(kept.iter().cycle()).filter(|(_, kept)| **kept);
        let text = lines.map(|(line, _)| line).collect::<Vec<_>>().join("\n");
        check(&text, Vec::new());
    }
}

/// What may stand in a leaf's place: the extremes of its kind of quantity, other names, other numbers.
fn alternatives(leaf: &Toml) -> &'static [&'static str] {
    let Toml::Text(text) = leaf else {
        return &["0", "1", "2", "3", "0.5", "0.01", "7.25", "64", "1000", "65000"];
    };
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    match unit {
        "bps" | "kbps" | "Mbps" | "Gbps" => &["1 bps", "9 kbps", "333333 bps", "1 Mbps", "7 Gbps", "1000 Tbps"],
        "s" | "ms" => &["0 s", "1 ns", "1 us", "33 ms", "299 ms", "1 s", "3600 s"],
        "B" | "kB" => &["0 B", "1 B", "255 B", "256 B", "1449 B", "64 kB", "65535 B", "1 GB", "9e18 B"],
        "packets" | "bdp" => &["0 packets", "1 packets", "4e9 packets", "0 bdp", "0.001 bdp", "1e5 bdp", "1 ns", "1 B"],
        _ => match text.as_str() {
            "cubic" | "highspeed" => {
                &["reno", "highspeed", "bic", "cubic", "vegas", "westwood", "htcp", "hybla", "illinois", "yeah"]
            }
            "tahoe" => &["tahoe-no-fast-retransmit", "tahoe", "reno", "newreno", "pipe", "sack"],
            "upload" | "download" => &["upload", "download"],
            "a.2" | "b.2" | "b" => &["a", "b", "a.1", "b.1", "a.2", "b.2"],
            "limited" => &["standard", "limited"],
            "linux" => &["rfc", "linux", "ns2", "ns3"],
            _ => &["cwnd", "rtt", "queue", "drop-tail", "periodic", "list", "out"],
        },
    }
}

/// What the loader lets through must also run: several values changed for others of their kind, the run cut short.
#[test]
fn what_loads_runs() {
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let cases = Config::default().cases * 8;
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let mut runner = TestRunner::new_with_rng(config, random);
    let index = any::<prop::sample::Index>;
    let ran = std::cell::Cell::new(0);
    let case = |(document, changes): (usize, Vec<(prop::sample::Index, prop::sample::Index)>)| {
        let text = DOCUMENTS[document];
        let tree = parse(text).unwrap();
        let mut known = Vec::new();
        places(&tree, "", &mut known);
        let leaf = |place: &String| match &tree.at(place)?.value {
            Toml::List(_) | Toml::Table(_) => None,
            leaf => Some((place.clone(), leaf.clone())),
        };
        let leaves: Vec<_> = known.iter().filter_map(leaf).collect();
        let mut overrides = Vec::new();
        for (at, choice) in changes {
            let (place, old) = at.get(&leaves);
            let new = *choice.get(alternatives(old));
            let value = match old {
                Toml::Text(_) => Toml::Text(new.to_owned()),
                Toml::Flag(flag) => Toml::Flag(!flag),
                _ => Toml::Number(new.parse().unwrap()),
            };
            overrides.push((place.clone(), value));
        }
        overrides.push(("until".into(), Toml::Text("300 ms".into())));
        if let Ok(scenario) = Scenario::load(text, "", overrides, None)
            && scenario.flows.len() <= 100
            && vazao_scenario::estimate(&scenario).hops < 1e5
        {
            let outcome =
                vazao_scenario::run(&scenario, &Default::default(), Default::default()).expect("nothing stops it");
            assert!(!outcome.flows.is_empty());
            ran.set(ran.get() + 1);
        }
        Ok(())
    };
    runner.run(&(0..DOCUMENTS.len(), prop::collection::vec((index(), index()), 1..5)), case).unwrap();
    // Enough of them to mean something.
    assert!(ran.get() >= cases / 4, "only {} of {cases} ran", ran.get());
}
