//! TCP over wires that do more than lose, and over rates that vary.

use crate::lab::{link, number, play, samples};
use vazao_scenario::{Extensions, Files, Scenario};

fn scenario(keys: &str, size: &str, until: &str) -> String {
    let rate = if keys.trim_start().starts_with("rate") { "" } else { "rate = \"20 Mbps\"" };
    format!(
        r#"
        {until}
        [network]
        topology = "point-to-point"
        [network.link]
        {rate}
        delay = "10 ms"
        {keys}
        [[flow]]
        app = {{ kind = "upload"{size} }}
        transport = {{ kind = "tcp", cc = "cubic" }}
        "#
    )
}

/// Every byte arrives, once and in order, whatever the wire does; and what the wire did is in the link's row.
#[test]
fn every_byte_survives() {
    let transfer = |keys: &str| play(&scenario(keys, ", size = \"3 MB\"", ""), 1);
    for keys in [
        r#"jitter = "2 ms""#,
        r#"jitter = { spread = "5 ms", distribution = "pareto", keeps_order = false, correlation = 0.5 }"#,
        "reorder = 0.02",
        r#"reorder = { probability = 0.05, delay = "15 ms" }"#,
        "duplicate = 0.05",
        "corrupt = 0.01",
        r#"outages = [{ at = "300 ms", for = "700 ms" }]"#,
        r#"outages = { every = "400 ms", for = "30 ms", kind = "loss" }"#,
        r#"loss = { kind = "gilbert-elliott", p = 0.002, r = 0.3 }"#,
        r#"loss = { kind = "bit-errors", rate = 1e-7 }"#,
        r#"shaper = { rate = "5 Mbps", burst = "20 kB" }"#,
        r#"rate = [{ at = "0 s", rate = "20 Mbps" }, { at = "500 ms", rate = "4 Mbps" }]"#,
        r#"rate = { trace = "cellular" }"#,
        r#"jitter = { deviation = "8 ms", distribution = "normal", keeps_order = false }"#,
        r#"policer = { rate = "5 Mbps", burst = "30 kB" }"#,
        r#"queue = { kind = "netem", limit = "40 packets" }"#,
        r#"
        reorder = 0.02
        duplicate = 0.02
        corrupt = 0.005
        loss = 0.005
        queue = "fq-codel"
        jitter = { spread = "1 ms", keeps_order = false }
        outages = { every = "1 s", for = "50 ms" }
        "#,
    ] {
        let run = transfer(keys);
        let flow = |name| number(&run.flows, name, 0);
        assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 1.0, 3e6), "{keys}");
        // No sooner than 3 MB take at 20 Mbit/s; a synthetic cellular link may be faster than that for a while.
        assert!(flow("completion_s") > 1.2 || keys.contains("trace"), "{keys}");
        let drops = |name| link(&run, "link", true, name);
        let dropped = ["drops_queue", "drops_loss", "drops_corrupt", "drops_policer"].map(drops).iter().sum::<f64>();
        // A copy that is corrupt was lost too, but not sent: it counts for the link and for the flow alike.
        assert_eq!(dropped, flow("packets_lost"), "{keys}");
        assert_eq!(drops("drops_corrupt") > 0.0, keys.contains("corrupt"), "{keys}");
        assert!(link(&run, "link", true, "utilisation") <= 1.0);
    }
}

/// An outage that keeps packets loses none, and the transfer is that much longer; one that loses them costs timeouts.
#[test]
fn a_pause_loses_nothing() {
    let room = "queue = \"10000 packets\"";
    let run = |kind: &str| {
        let keys = format!("{room}\noutages = [{{ at = \"500 ms\", for = \"150 ms\", kind = \"{kind}\" }}]");
        play(&scenario(&keys, ", size = \"3 MB\"", ""), 1)
    };
    let clean = number(&play(&scenario(room, ", size = \"3 MB\"", ""), 1).flows, "completion_s", 0);
    let (paused, holed) = (run("pause"), run("loss"));
    assert_eq!(number(&paused.flows, "packets_lost", 0), 0.0);
    let longer = number(&paused.flows, "completion_s", 0) - clean;
    assert!((0.149..0.16).contains(&longer), "{longer} s");
    assert!(number(&holed.flows, "packets_lost", 0) > 10.0);
}

/// A long flow uses what a schedule offers, and utilisation is measured against that: 20 Mbit/s for 5 s, then 5 Mbit/s for
/// 15 s are 175 Mbit.
#[test]
fn utilisation_is_of_what_was_offered() {
    let keys = r#"
        rate = [{ at = "0 s", rate = "20 Mbps" }, { at = "5 s", rate = "5 Mbps" }]
        queue = "50 packets"
        "#;
    let run = play(&scenario(keys, "", "until = \"20 s\""), 1);
    let (bits, used) = (8.0 * link(&run, "link", true, "bytes"), link(&run, "link", true, "utilisation"));
    assert!((used - bits / 175e6).abs() < 1e-9, "{used} {bits}");
    assert!(used > 0.9, "{used}");
}

/// Two treatments meet the same luck: jitter, copies and corruption leave the losses of a link where they were.
#[test]
fn one_impairment_does_not_move_another() {
    let udp_like = |keys: &str| {
        let run = play(&scenario(&format!("loss = 0.01\n{keys}"), "", "until = \"5 s\""), 1);
        (link(&run, "link", true, "drops_loss"), link(&run, "link", true, "packets"))
    };
    // The first loss of a flow comes at the same packet, so a short flow loses the same.
    let first = |keys: &str| {
        let run = play(&scenario(&format!("forward.loss = 0.02\n{keys}"), ", size = \"60 kB\"", ""), 3);
        number(&run.flows, "packets_lost", 0)
    };
    assert_eq!(first(""), first("forward.jitter = \"1 ms\""));
    let (lost, sent) = udp_like("duplicate = 0.1");
    // Four standard errors of a binomial count.
    assert!((lost - 0.01 * sent).abs() < 4.0 * (0.01 * sent).sqrt(), "{lost} of {sent}");
}

/// A trace is a file beside the scenario: what it offers is what can be sent, and its mistakes have their line.
#[test]
fn traces_are_read_where_the_scenario_is() {
    let files = |name: &str| match name {
        "steady.trace" => Ok((1..=1_000).map(|ms| format!("{ms}\n")).collect()),
        "bad.trace" => Ok("1\n2\nx\n".to_owned()),
        _ => Err("cannot be read: no such file".to_owned()),
    };
    let extensions = Extensions { files: Files::new(files), ..Extensions::default() };
    let load = |rate: &str| {
        let text = scenario("", "", "until = \"5 s\"").replace("rate = \"20 Mbps\"", &format!("rate = {rate}"));
        Scenario::load_with(&text, "", Vec::new(), None, &extensions)
    };
    // 1500 B a millisecond are 12 Mbit/s.
    let steady = load(r#"{ trace = "steady.trace" }"#).unwrap();
    assert_eq!(steady.graph.links[0].forward.rate.as_bps(), 12_000_000);
    let message = |rate: &str| load(rate).unwrap_err().to_string();
    for (rate, parts) in [
        (r#"{ trace = "bad.trace" }"#, ["network.link.rate", "bad.trace:3: is not a whole number"]),
        (r#"{ trace = "none.trace" }"#, ["network.link.rate", "\"none.trace\": cannot be read"]),
        (r#"{ repeat = "1 s" }"#, ["network.link.rate", "write \"10 Mbps\""]),
        ("[]", ["network.link.rate", "is empty"]),
        (r#"[{ at = "1 s", rate = "1 Mbps" }]"#, ["network.link.rate.0.at", "from the start"]),
        (r#"[{ at = "0 s", rate = "1 Mbps" }, { at = "0 s", rate = "2 Mbps" }]"#, ["rate.1.at", "not later"]),
        (r#"{ steps = [{ at = "0 s", rate = "1 Mbps" }], repeat = "0 s" }"#, ["rate.repeat", "from 1 ns"]),
    ] {
        let message = message(rate);
        assert!(parts.iter().all(|part| message.contains(part)), "{rate}: {message}");
    }
}

/// One-way delays follow their schedule, from steps and from a file alike: datagrams of 1278 B at 20 Mbit/s take 0.5 ms to be
/// sent, and so each is 10.5 ms on its way, and from 1 s on 40.5 ms. A BDP is reckoned with the least delay.
#[test]
fn delays_follow_their_schedule() {
    let files = |_: &str| Ok("0 10\n1000 40\n".to_owned());
    let extensions = Extensions { files: Files::new(files), ..Extensions::default() };
    let text = |delay: &str| {
        format!(
            "trace = [\"message_latency\"]\n[network]\ntopology = \"point-to-point\"\n\
             link = {{ rate = \"20 Mbps\", delay = {delay} }}\n[[flow]]\ntransport = \"udp\"\n\
             app = {{ kind = \"messages\", message = \"1250 B\", interval = \"100 ms\", count = 20 }}\n"
        )
    };
    let delays = [
        r#"[{ at = "0 s", delay = "10 ms" }, { at = "1 s", delay = "40 ms" }]"#,
        r#"{ trace = "measured.txt" }"#,
        r#"{ steps = [{ at = "0 s", delay = "10 ms" }, { at = "1 s", delay = "40 ms" }], repeat = "1 h", keeps_order = false }"#,
    ];
    for delay in delays {
        let scenario = Scenario::load_with(&text(delay), "", Vec::new(), None, &extensions).unwrap();
        assert_eq!(scenario.graph.links[0].forward.delay.as_nanos(), 10_000_000);
        let outcome =
            vazao_scenario::run(&scenario, &Default::default(), Default::default()).expect("nothing stops it");
        let latencies: Vec<f64> = samples(&outcome, "message_latency").iter().map(|(_, latency)| *latency).collect();
        let sent = 8.0 * 1278.0 / 20e6;
        let expected = (0..20).map(|n| sent + if n < 10 { 0.010 } else { 0.040 });
        assert!(latencies.iter().zip(expected).all(|(got, want)| (got - want).abs() < 2e-9), "{delay}: {latencies:?}");
        assert_eq!(latencies.len(), 20);
    }
    let [steps, file] = [delays[0], delays[1]]
        .map(|delay| Scenario::load_with(&text(delay), "", Vec::new(), None, &extensions).unwrap().json());
    // The file's content is part of what is run.
    assert!(steps.contains(r#""steps":[{"at":"0 s","delay":"10 ms"},"#), "{steps}");
    assert!(file.contains(r#""trace":"measured.txt","digest":""#) && !file.contains("steps"), "{file}");
}

/// Behind a policer TCP gets what passes in the long run, at most its rate, and loses without a queue having grown: all its
/// round-trip times are within a millisecond or two of the path's 20, where a shaper of the same rate lets a queue grow.
#[test]
fn a_policer_drops_where_a_shaper_delays() {
    let run = |key: &str| {
        let keys = format!("queue = \"200 packets\"\n{key} = {{ rate = \"5 Mbps\", burst = \"30 kB\" }}");
        play(&scenario(&keys, "", "until = \"20 s\""), 1)
    };
    let (policed, shaped) = (run("policer"), run("shaper"));
    let flow = |run: &vazao_scenario::Outcome, name| number(&run.flows, name, 0);
    assert!(flow(&policed, "throughput_bps") <= 5e6 + 8.0 * 30e3 / 20.0, "{}", flow(&policed, "throughput_bps"));
    assert!(flow(&policed, "goodput_bps") > 2e6, "{}", flow(&policed, "goodput_bps"));
    assert_eq!(link(&policed, "link", true, "drops_policer"), flow(&policed, "packets_lost"));
    assert_eq!(link(&policed, "link", true, "drops_queue"), 0.0);
    assert!(flow(&policed, "rtt_p99_s") < 0.035 && flow(&shaped, "rtt_p99_s") > 0.2, "{}", flow(&policed, "rtt_p99_s"));
}
