//! Mistakes and what is said of each.

use vazao_scenario::{Scenario, ScenarioError, Toml};

const GOOD: &str = r#"
name = "good"
until = "60 s"
trace = ["cwnd"]
[network]
topology = "dumbbell"
pairs = 2
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = "1 bdp", loss = 0.001 }
[[flow]]
client = "left1"
server = "right1"
start = "0 s"
app = { kind = "upload", size = "1 MB" }
transport = { kind = "tcp", cc = "reno", mss = 1448 }
"#;

fn error(text: &str) -> ScenarioError {
    Scenario::load(text, "", Vec::new(), None).err().unwrap_or_else(|| panic!("accepted:\n{text}"))
}

/// A piece of the good scenario, what it is replaced by, the key complained of, and parts of the complaint.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str, &str, &[&str])] = &[
    // Keys.
    ("pairs = 2", "pears = 2", "network.pears", &["did you mean \"pairs\"?"]),
    ("until =", "untill =", "untill", &["did you mean \"until\"?"]),
    ("delay = \"10 ms\"", "dealy = \"10 ms\"", "network.bottleneck.dealy", &["did you mean \"delay\"?"]),
    ("mss = 1448", "ms = 1448", "flow.0.transport.ms", &["did you mean \"mss\"?"]),
    ("size =", "sice =", "flow.0.app.sice", &["did you mean \"size\"?"]),
    ("client =", "clinet =", "flow.0.clinet", &["did you mean \"client\"?"]),
    // Other words for keys.
    ("rate = \"10 Mbps\"", "bandwidth = \"10 Mbps\"", "network.bottleneck.bandwidth", &["did you mean \"rate\"?"]),
    ("rate = \"10 Mbps\"", "bandwith = \"10 Mbps\"", "network.bottleneck.bandwith", &["did you mean \"rate\"?"]),
    ("delay = \"10 ms\"", "latency = \"10 ms\"", "network.bottleneck.latency", &["did you mean \"delay\"?"]),
    ("queue =", "buffer_size =", "network.bottleneck.buffer_size", &["did you mean \"queue\"?"]),
    ("cc = ", "congestion_control = ", "flow.0.transport.congestion_control", &["did you mean \"cc\"?"]),
    ("client =", "src =", "flow.0.src", &["did you mean \"client\"?"]),
    ("until =", "duration =", "duration", &["did you mean \"until\"?"]),
    // Quantities.
    ("10 Mbps", "10 MB/s", "network.bottleneck.rate", &["\"80 Mbps\"", "or \"10 Mbps\" if bits were meant"]),
    ("\"1 MB\"", "\"8 Mb\"", "flow.0.app.size", &["\"1 MB\"", "or \"8 MB\" if bytes were meant"]),
    ("10 Mbps", "10 Mbs", "network.bottleneck.rate", &["\"10 Mbs\" is not a rate", "did you mean \"10 Mbps\"?"]),
    ("\"10 Mbps\"", "10", "network.bottleneck.rate", &["10 has no unit", "\"10 Mbps\""]),
    ("10 Mbps", "-10 Mbps", "network.bottleneck.rate", &["must not be negative"]),
    ("10 Mbps", "0 Mbps", "network.bottleneck.rate", &["above zero"]),
    ("10 Mbps", "1e30 Gbps", "network.bottleneck.rate", &["too large"]),
    ("\"10 ms\"", "\"10 m\"", "network.bottleneck.delay", &["is not a duration"]),
    ("\"10 ms\"", "\"-1 ms\"", "network.bottleneck.delay", &["must not be negative"]),
    ("\"10 ms\"", "\"2 h\"", "network.bottleneck.delay", &["from"]),
    ("\"10 ms\"", "true", "network.bottleneck.delay", &["true is not a quantity"]),
    ("1 bdp", "1 bdps", "network.bottleneck.queue", &["did you mean \"1 bdp\"?"]),
    ("1 bdp", "-3 packets", "network.bottleneck.queue", &["is not a queue limit"]),
    ("1 bdp", "many", "network.bottleneck.queue", &["write \"100 packets\""]),
    ("\"1 MB\"", "\"0 B\"", "flow.0.app.size", &["0"]),
    ("\"1 MB\"", "\"1 MByte\"", "flow.0.app.size", &["is not a size"]),
    ("\"60 s\"", "\"0 s\"", "until", &["0 s"]),
    ("\"60 s\"", "60", "until", &["60 has no unit"]),
    ("\"60 s\"", "\"9999 h\"", "until", &["is not"]),
    // Numbers.
    ("0.001", "1.5", "network.bottleneck.loss", &["1.5 is not a probability", "from 0 to 1"]),
    ("0.001", "-0.1", "network.bottleneck.loss", &["is not a probability"]),
    ("0.001", "1", "network.bottleneck.loss", &["1 is all packets", "0.01 for 1 %", "p = 1 }"]),
    ("0.001", "\"1%\"", "network.bottleneck.loss", &["write 0.01"]),
    ("0.001", "\"0.5 %\"", "network.bottleneck.loss", &["write 0.005"]),
    ("0.001", "\"150 %\"", "network.bottleneck.loss", &["unknown loss model"]),
    ("0.001", "{ kind = \"bernoulli\", p = \"1%\" }", "network.bottleneck.loss.p", &["write 0.01"]),
    ("loss = 0.001", "duplicate = \"2%\"", "network.bottleneck.duplicate", &["write 0.02"]),
    ("0.001", "nan", "network.bottleneck.loss", &["is not a probability"]),
    ("1448", "0", "flow.0.transport.mss", &["from 64 to 65000"]),
    ("1448", "1448.5", "flow.0.transport.mss", &["whole number"]),
    ("1448", "\"big\"", "flow.0.transport.mss", &["\"big\""]),
    ("pairs = 2", "pairs = 0", "network.pairs", &["from 1 to"]),
    ("pairs = 2", "pairs = 1e9", "network.pairs", &["from 1 to"]),
    // Names.
    ("dumbbell", "dumbell", "network.topology", &["did you mean \"dumbbell\"?"]),
    ("\"reno\"", "\"rano\"", "flow.0.transport.cc", &["did you mean \"reno\"?"]),
    ("\"reno\"", "{ kind = \"cubic\", beeta = 0.7 }", "flow.0.transport.cc.beeta", &["did you mean \"beta\"?"]),
    ("\"reno\"", "7", "flow.0.transport.cc", &["congestion control"]),
    ("upload", "uplaod", "flow.0.app.kind", &["did you mean \"upload\"?"]),
    ("kind = \"tcp\", ", "kind = \"tpc\", ", "flow.0.transport.kind", &["tcp"]),
    ("[\"cwnd\"]", "[\"cwind\"]", "trace.0", &["did you mean \"cwnd\"?"]),
    ("0.001", "{ kind = \"bernouli\", p = 0.1 }", "network.bottleneck.loss.kind", &["did you mean \"bernoulli\"?"]),
    ("0.001", "{ kind = \"bernoulli\" }", "network.bottleneck.loss.p", &["missing"]),
    ("0.001", "{ kind = \"list\", packets = [0] }", "network.bottleneck.loss.packets", &["at least 1"]),
    ("0.001", "{ kind = \"list\", packets = [1.5] }", "network.bottleneck.loss.packets", &["whole number"]),
    ("\"1 bdp\"", "{ kind = \"wred\" }", "network.bottleneck.queue.kind", &["did you mean \"red\"?"]),
    ("\"1 bdp\"", "\"codell\"", "network.bottleneck.queue", &["did you mean \"codel\"?", "write \"100 packets\""]),
    ("\"1 bdp\"", "{ kind = \"red\", min = 5 }", "network.bottleneck.queue.min", &["5 has no unit", "\"1 bdp\""]),
    ("\"1 bdp\"", "{ kind = \"red\", min = \"5 pints\" }", "network.bottleneck.queue.min", &["not a queue limit"]),
    ("\"1 bdp\"", "{ kind = \"pie\", target = \"0 s\" }", "network.bottleneck.queue.target", &["from 1 us"]),
    ("\"1 bdp\"", "{ kind = \"pie\", targett = \"1 s\" }", "network.bottleneck.queue.targett", &["\"target\""]),
    // Impairments: keys of the link stand where its loss does.
    ("loss = 0.001", "jitter = 5", "network.bottleneck.jitter", &["5 has no unit"]),
    ("loss = 0.001", "jitter = { spread = \"1 ms\", kind = 3 }", "network.bottleneck.jitter.kind", &["unknown key"]),
    ("loss = 0.001", "reorder = 2", "network.bottleneck.reorder", &["from 0 to 1"]),
    ("loss = 0.001", "duplicate = \"1 serde_json::Value\"", "network.bottleneck.duplicate", &["from 0 to 1"]),
    ("loss = 0.001", "corupt = 0.1", "network.bottleneck.corupt", &["did you mean \"corrupt\"?"]),
    ("loss = 0.001", "outages = [{ for = \"1 s\" }]", "network.bottleneck.outages.0", &["at is missing"]),
    ("loss = 0.001", "strip = [\"sack\", \"time-stamps\"]", "network.bottleneck.strip.1", &["did you mean \"timestamps\"?"]),
    ("loss = 0.001", "strip = 3", "network.bottleneck.strip", &["3 is not a text"]),
    ("loss = 0.001", "outages = 3", "network.bottleneck.outages", &["3 is not a table"]),
    ("loss = 0.001", "shaper = { rate = \"1 Mbps\" }", "network.bottleneck.shaper.burst", &["is missing"]),
    ("loss = 0.001", "shaper = \"leaky\"", "network.bottleneck.shaper", &["unknown shaper"]),
    ("loss = 0.001", "jitter = { distribution = \"normal\" }", "network.bottleneck.jitter.spread", &["is missing", "deviation"]),
    ("loss = 0.001", "jitter = { deviation = 3 }", "network.bottleneck.jitter.deviation", &["3 has no unit"]),
    (
        "loss = 0.001", "reorder = { probability = 0.1, gap = 2, delay = \"1 ms\" }",
        "network.bottleneck.reorder.gap", &["no effect beside delay"],
    ),
    ("loss = 0.001", "policer = { rate = \"1 Mbps\" }", "network.bottleneck.policer.burst", &["is missing"]),
    ("loss = 0.001", "policer = \"1 Mbps\"", "network.bottleneck.policer", &["\"1 Mbps\" is not a table"]),
    ("\"1 bdp\"", "{ kind = \"netem\", limit = 3 }", "network.bottleneck.queue.limit", &["3 has no unit"]),
    // Delays that vary.
    ("\"10 ms\"", "[]", "network.bottleneck.delay", &["is empty; write [{ at = \"0 s\""]),
    ("\"10 ms\"", "[{ at = \"1 s\", delay = \"1 ms\" }]", "network.bottleneck.delay.0.at", &["is not at 0"]),
    ("\"10 ms\"", "[{ at = \"0 s\", dealy = \"1 ms\" }]", "network.bottleneck.delay.0.dealy", &["did you mean \"delay\"?"]),
    ("\"10 ms\"", "{ trace = \"x\" }", "network.bottleneck.delay.trace", &["\"x\"", "no files"]),
    ("\"10 ms\"", "{ mean = \"1 ms\" }", "network.bottleneck.delay", &["is not a delay", "{ trace = \"file\" }"]),
    // The part that is measured.
    ("name = \"good\"", "measure = {}", "measure", &["neither from nor to"]),
    ("name = \"good\"", "measure = { from = \"60 s\" }", "measure.from", &["60 s is not before the end, 60 s"]),
    ("name = \"good\"", "measure = { to = \"0 s\" }", "measure.to", &["nothing is measured"]),
    ("name = \"good\"", "measure = { form = \"1 s\" }", "measure.form", &["did you mean \"from\"?"]),
    // Rates that vary.
    ("\"10 Mbps\"", "{ trace = \"x\" }", "network.bottleneck.rate.trace", &["\"x\"", "no files"]),
    ("\"10 Mbps\"", "{ trace = \"cellular\", seed = -1 }", "network.bottleneck.rate.seed", &["-1 is not", "from 0 to"]),
    ("\"10 Mbps\"", "{ trace = \"x\", steps = [] }", "network.bottleneck.rate", &["is not a rate", "steps, or { trace ="]),
    ("\"10 Mbps\"", "{ steps = [], repeat = \"2 h\" }", "network.bottleneck.rate.repeat", &["\"2 h\" is not", "to 3600 s"]),
    ("\"10 Mbps\"", "{ steps = [], reapet = \"2 s\" }", "network.bottleneck.rate.reapet", &["did you mean \"repeat\"?"]),
    ("\"10 Mbps\"", "{ steps = 3 }", "network.bottleneck.rate.steps", &["3 is not a table"]),
    ("\"10 Mbps\"", "{ steps = [] }", "network.bottleneck.rate.steps", &["is empty; write [{ at = \"0 s\""]),
    ("\"10 Mbps\"", "[]", "network.bottleneck.rate", &["is empty; write [{ at = \"0 s\""]),
    ("\"10 Mbps\"", "[3]", "network.bottleneck.rate.0", &["3 is not a table"]),
    ("\"10 Mbps\"", "[{ rate = \"1 Mbps\" }]", "network.bottleneck.rate.0.at", &["is missing"]),
    ("\"10 Mbps\"", "[{ at = \"0 s\", rate = 3 }]", "network.bottleneck.rate.0.rate", &["3 has no unit", "\"10 Mbps\""]),
    ("\"10 Mbps\"", "[{ at = \"0 s\", rat = 3 }]", "network.bottleneck.rate.0.rat", &["unknown key \"rat\"", "did you mean \"rate\"?"]),
    ("\"10 Mbps\"", "[{ at = \"1 s\", rate = \"1 Mbps\" }]", "network.bottleneck.rate.0.at", &["is not \"0 s\""]),
    (
        "\"10 Mbps\"", "[{ at = \"0 s\", rate = \"1 Mbps\" }, { at = \"0 s\", rate = \"2 Mbps\" }]",
        "network.bottleneck.rate.1.at", &["is not later than the step before it"],
    ),
    (
        "\"10 Mbps\"", "{ steps = [{ at = \"0 s\", rate = \"1 Mbps\" }, { at = \"2 s\", rate = \"2 Mbps\" }], repeat = \"2 s\" }",
        "network.bottleneck.rate.steps", &["repeats before its last step"],
    ),
    // Ends.
    ("\"left1\"", "\"left9\"", "flow.0.client", &["there is no host \"left9\""]),
    ("\"left1\"", "\"R1\"", "flow.0.client", &["there is no host \"R1\""]),
    ("\"left1\"", "\"left1.2\"", "flow.0.client", &["1 interface"]),
    ("\"left1\"", "\"right1\"", "flow.0.client", &["itself"]),
    // What is missing or of the wrong kind.
    ("topology = \"dumbbell\"", "", "network.topology", &["is missing", "dumbbell"]),
    ("rate = \"10 Mbps\", ", "", "network.bottleneck.rate", &["is missing"]),
    ("app = { kind = \"upload\", size = \"1 MB\" }", "", "flow.0.app", &["is missing", "upload"]),
    ("app = { kind = \"upload\", size", "app = { size", "flow.0.app.kind", &["is missing"]),
    ("access = { rate = \"1 Gbps\", delay = \"1 ms\" }", "access = []", "network.access", &["is empty"]),
    ("access = { rate = \"1 Gbps\", delay = \"1 ms\" }", "access = 5", "network.access", &["5 is not a table"]),
    ("[[flow]]", "[flew]", "flew", &["did you mean \"flow\"?"]),
    ("[[flow]]", "[[flows]]", "flows", &["did you mean \"flow\"?"]),
    ("[[flow]]", "[[stream]]", "flow", &["is missing", "[[flow]]"]),
    ("[\"cwnd\"]", "3", "trace", &["3 is not a text"]),
];

#[test]
fn every_mistake_is_named_with_its_key() {
    Scenario::load(GOOD, "", Vec::new(), None).unwrap();
    for (old, new, key, parts) in MISTAKES {
        assert!(GOOD.contains(old), "{old}");
        let e = error(&GOOD.replacen(old, new, 1));
        let message = e.to_string();
        assert_eq!(e.key, *key, "{new}: {message}");
        for part in *parts {
            assert!(message.contains(part), "{new}: {message:?} does not say {part:?}");
        }
        assert!(!message.contains('\n') && message.len() < 400, "{message}");
    }
}

/// A key that has no effect where it stands is refused, and beside what it needs it is not: a transport's table with it, what
/// it needs besides, and the key complained of.
#[test]
fn a_key_without_effect_is_refused() {
    let upload = "{ kind = \"upload\", size = \"1 MB\" }";
    let message = "{ kind = \"upload\", size = \"1 MB\", message = \"1 kB\" }";
    let cases = [
        (upload, "kind = \"tcp\", cookie = \"cached\"", "fast_open = true", "transport.cookie"),
        (upload, "kind = \"tcp\", prr = true", "recovery = \"sack\"", "transport.prr"),
        (upload, "kind = \"tcp\", sack_profile = \"ns3\"", "recovery = \"sack\"", "transport.sack_profile"),
        (upload, "kind = \"tcp\", rtt = \"timestamps\", timestamps = false", "", "transport.rtt"),
        (upload, "kind = \"tcp\", sysctl = { \"net.ipv4.tcp_sack\" = 0 }", "stack = \"linux\"", "transport.sysctl"),
        (upload, "kind = \"tcp\", offloads = \"none\"", "stack = { server = \"linux\" }", "transport.offloads"),
        (upload, "kind = \"tcp\", moderation = \"1 us\"", "stack = \"linux\"", "transport.moderation"),
        (upload, "kind = \"sctp\", lifetime = \"1 s\"", "partial_reliability = \"timed\"", "transport.lifetime"),
        (
            upload,
            "kind = \"sctp\", max_retransmissions = 2",
            "partial_reliability = \"retransmissions\"",
            "transport.max_retransmissions",
        ),
        (
            upload,
            "kind = \"sctp\", streams = 2, weights = [1, 2]",
            "scheduler = \"weighted-fair-queueing\"",
            "transport.weights",
        ),
        (message, "kind = \"tcp\"", "", "app"),
        (message, "kind = \"quic\"", "", "app"),
    ];
    for (app, transport, needed, key) in cases {
        let told = error(&flow(app, &format!("{{ {transport} }}")));
        assert_eq!(told.key, format!("flow.0.{key}"), "{transport}: {told}");
        assert!(told.to_string().contains("leave"), "{told}");
        if !needed.is_empty() {
            let text = flow(app, &format!("{{ {transport}, {needed} }}"));
            Scenario::load(&text, "", Vec::new(), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
        }
    }
    // What a word for several settings brings along is not the user's, whatever he changes of it.
    for transport in ["like = \"ns3\", recovery = \"newreno\"", "like = \"linux\", recovery = \"sack\", cc = \"bbr\""] {
        let text = flow(upload, &format!("{{ kind = \"tcp\", {transport} }}"));
        Scenario::load(&text, "", Vec::new(), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
    Scenario::load(&flow(message, "\"sctp\""), "", Vec::new(), None).unwrap();
}

/// Where the value stands in the file, its line is named: the line of the text that was changed.
#[test]
fn errors_name_the_line() {
    for (old, new, ..) in MISTAKES.iter().filter(|m| !m.1.is_empty() && m.0 != "[[flow]]" && !m.2.ends_with(".kind")) {
        let text = GOOD.replacen(old, new, 1);
        let line = GOOD[..GOOD.find(old).unwrap()].matches('\n').count() + 1;
        assert_eq!(error(&text).line, Some(line), "{new}: {}", error(&text));
    }
}

/// A document, the beginning of the key complained of, and a part of the complaint.
type Case = (String, &'static str, &'static str);

const NETWORK: &str = "[network]\ntopology = \"point-to-point\"\nlink = { rate = \"1 Mbps\" }\n";

fn flow(app: &str, transport: &str) -> String {
    format!("{NETWORK}[[flow]]\napp = {app}\ntransport = {transport}")
}

fn documents() -> Vec<Case> {
    let network = NETWORK;
    let endless = "[[flow]]\napp = { kind = \"upload\" }";
    vec![
        (String::new(), "network", "is missing"),
        ("until = ".into(), "", "not TOML"),
        ("name = \"a\"\nname = \"b\"".into(), "", "not TOML"),
        (network.into(), "flow", "is missing"),
        (format!("{network}{endless}"), "flow.0.app", "until = \"60 s\""),
        (format!("flow = []\n{network}"), "flow", "empty"),
        (format!("flow = 3\n{network}"), "flow", "3 is not a table"),
        ("network = 3".into(), "network", "3 is not a table"),
    ]
}

fn applications() -> Vec<Case> {
    vec![
        (flow("\"on-off\"", "\"udp\""), "flow.0.app", "give it a size or a duration"),
        (flow("{ kind = \"ping\", count = 1 }", "\"tcp\""), "flow.0.transport", "ping goes over icmp"),
        (flow("{ kind = \"upload\", size = \"1 MB\" }", "\"icmp\""), "flow.0.transport", "carries ping alone"),
        (flow("\"ping\"", "\"icmp\""), "flow.0.app", "give it a count or a duration"),
        (flow("\"packets\"", "\"tcp\""), "flow.0.app", "give it a count or a size or a duration"),
        (flow("\"requests\"", "\"tcp\""), "flow.0.app", "give it a count or a duration"),
        (flow("\"arrivals\"", "\"tcp\""), "flow.0.app", "give it a count or a duration"),
        (flow("{ kind = \"requests\", count = 1 }", "\"udp\""), "flow.0.app", "over udp"),
        (flow("\"video\"", "\"tcp\""), "flow.0.app", "give it a duration"),
        (flow("\"page\"", "\"udp\""), "flow.0.app", "needs a reliable stream"),
        (
            flow("{ kind = \"page\", http = \"3\" }", "\"tcp\""),
            "flow.0.app",
            "over tcp write http = \"2\" or http = \"1.1\"",
        ),
        (flow("{ kind = \"page\", http = \"2\" }", "\"quic\""), "flow.0.app", "over quic write http = \"3\""),
        (flow("\"video\"", "{ kind = \"quic\", streams = 3 }"), "flow.0.app", "give it a duration"),
        (flow("\"page\"", "{ kind = \"quic\", streams = 3 }"), "flow.0.app", "its own use for streams"),
        (flow("{ kind = \"page\", http = 2 }", "\"tcp\""), "flow.0.app.http", "one of 1.1, 2, 3"),
        (flow("\"page\"", "{ kind = \"sctp\", streams = 3 }"), "flow.0.app", "its own use for streams"),
        (flow("\"page\"", "{ kind = \"tcp\", stack = \"linux\" }"), "flow.0.app", "not what a guest can play"),
        (
            flow("{ kind = \"video\", ladder = [\"2 Mbps\", \"1 Mbps\"] }", "\"tcp\""),
            "flow.0.app.ladder",
            "above the one",
        ),
        (flow("{ kind = \"video\", adaptation = \"bba\" }", "\"tcp\""), "flow.0.app.adaptation", "\"bba-0\""),
        (
            flow("{ kind = \"video\", adaptation = { kind = \"bba-0\", history = 3 } }", "\"tcp\""),
            "flow.0.app.adaptation.history",
            "reservoir",
        ),
        (flow("{ kind = \"download\", size = \"1 B\" }", "\"udp\""), "flow.0.app", "other way round"),
        (flow("{ kind = \"cbr\", size = \"1 B\" }", "{ kind = \"udp\", rate = \"1 Mbps\" }"), "flow.0.app", "leave"),
        (flow("{ kind = \"packets\", count = 1, idt = 5 }", "\"tcp\""), "flow.0.app.idt", "5 has no unit"),
        (flow("{ kind = \"packets\", count = 1, ps = { mean = \"1 B\" } }", "\"tcp\""), "flow.0.app.ps", "kind"),
        (flow("{ kind = \"arrivals\", duration = \"1 h\", interval = \"1 us\" }", "\"tcp\""), "flow.0.app", "count"),
    ]
}

fn transports() -> Vec<Case> {
    vec![
        (
            flow("{ kind = \"upload\", size = \"1 B\" }", "{ kind = \"mptcp\", fast_open = true }"),
            "flow.0.transport",
            "leave fast_open out",
        ),
        (
            flow(
                "{ kind = \"upload\", size = \"1 B\" }",
                "{ kind = \"mptcp\", stack = { client = \"linux\" }, changes = [{ at = \"1 s\", remove = 1 }] }",
            ),
            "flow.0.transport",
            "leave changes out",
        ),
        (
            flow(
                "{ kind = \"upload\", size = \"1 kB\" }",
                "{ kind = \"quic\", handshake = \"retry\", address_token = true }",
            ),
            "flow.0.transport",
            "address_token goes with 1-rtt, 0-rtt and 0-rtt-rejected",
        ),
    ]
}

fn graphs() -> Vec<Case> {
    let custom = |rest: &str| {
        format!("[network]\ntopology = \"custom\"\n{rest}\n[[flow]]\napp = {{ kind = \"upload\", size = \"1 B\" }}")
    };
    let hosts = "hosts = [\"a\", \"b\"]";
    let link = "[[network.link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbps\"\n";
    vec![
        (custom("hosts = []"), "network.link", "is missing"),
        (custom(&format!("hosts = [\"a\", \"a\"]\n{link}")), "network.link", "two nodes are called \"a\""),
        (custom(&format!("{hosts}\n{link}{link}")), "network.link", "two links are called \"a-b\""),
        (custom(&format!("{hosts}\n{}", link.replace("\"b\"", "\"c\""))), "network.link", "unknown node \"c\""),
        (custom(&format!("{hosts}\n{}", link.replace("\"b\"", "\"a\""))), "network.link", "to itself"),
        (custom(&format!("hosts = [\"a\"]\nrouters = [\"b\"]\n{link}")), "flow.0", "no pairs"),
    ]
}

/// Whole documents that cannot be.
#[test]
fn documents_that_are_none() {
    for (text, key, part) in [documents(), applications(), transports(), graphs()].concat() {
        let e = error(&text);
        let message = e.to_string();
        assert!(message.contains(part), "{message:?} does not say {part:?} of\n{text}");
        assert!(e.key.starts_with(key), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn overrides_are_checked_as_files_are() {
    let text = |x: &str| Toml::Text(x.to_owned());
    let cases = [
        ("network.bottleneck.rate", text("10 Mbs"), "network.bottleneck.rate", "did you mean \"10 Mbps\"?"),
        ("network.botleneck.rate", text("10 Mbps"), "network.botleneck", "did you mean \"bottleneck\"?"),
        ("flow.1.start", text("1 s"), "flow.1.start", "not an index into a list of 1"),
        ("flow.first.start", text("1 s"), "flow.first.start", "not an index"),
        ("pairs.x", Toml::Number(1.0), "pairs", "unknown key"),
        ("until.x", text("1"), "until", "is not a quantity"),
        ("network.pairs.x", text("1"), "network.pairs.x", "cannot be set inside 2"),
        ("", text("1"), "", "not a key"),
        ("flow..start", text("1 s"), "flow..start", "not a key"),
    ];
    for (key, value, named, part) in cases {
        let e = Scenario::load(GOOD, "", vec![(key.into(), value)], None).unwrap_err();
        assert!(e.key == named && e.to_string().contains(part), "{key}: {e}");
    }
    let set = |key: &str, value| Scenario::load(GOOD, "", vec![(key.to_owned(), value)], Some(9)).unwrap();
    let json = |scenario: &Scenario| serde_json::from_str::<serde_json::Value>(&scenario.json()).unwrap();
    assert_eq!(json(&set("flow.0.transport.cc", text("bic")))["flow"][0]["transport"]["cc"]["kind"], "bic");
    // A name becomes the kind of a table, so that its parameters can be set.
    assert_eq!(set("flow.0.app.kind", text("download")).seed, 9);
    let changes = [("flow.0.transport.cc", text("bic")), ("flow.0.transport.cc.low_window", Toml::Number(20.0))];
    let changed = Scenario::load(GOOD, "", changes.map(|(k, v)| (k.to_owned(), v)).into(), None).unwrap();
    assert_eq!(json(&changed)["flow"][0]["transport"]["cc"]["low_window"], 20.0);
    // A table merges with what is there, and after = it replaces that: of mss = 1448 and reno nothing is left.
    let table = || Toml::Table(vec![("tls".into(), text("1.3").into())]);
    let transport = |key: &str| json(&set(key, table()))["flow"][0]["transport"].clone();
    let (merged, replaced) = (transport("flow.0.transport"), transport("=flow.*.transport"));
    assert_eq!((&merged["tls"], &replaced["tls"]), (&"1.3".into(), &"1.3".into()));
    assert_eq!((&merged["cc"]["kind"], &replaced["cc"]["kind"]), (&"reno".into(), &"cubic".into()));
    let e = Scenario::load(GOOD, "", vec![("=flow.7.transport".into(), table())], None).unwrap_err();
    assert_eq!(e.key, "flow.7.transport");
}

/// Names go into files' names, guests' plans and terminals: none is a path, a line of its own or a control sequence.
#[test]
fn names_are_letters_digits_and_three_signs() {
    let text = |host: &str, router: &str, link: &str| {
        let quoted = |name: &str| format!("\"{}\"", name.escape_unicode());
        let [host, router, link] = [host, router, link].map(quoted);
        format!(
            "[network]\ntopology = \"custom\"\nhosts = [\"a\", {host}]\nrouters = [{router}]\n\
             link = [{{ name = {link}, from = \"a\", to = {router}, rate = \"1 Mbps\" }},\n\
             {{ from = {router}, to = {host}, rate = \"1 Mbps\" }}]\n\
             [[flow]]\nclient = \"a\"\nserver = {host}\napp = {{ kind = \"upload\", size = \"1 B\" }}"
        )
        .replace("\\u{", "\\U{")
    };
    // TOML writes a character's number with eight digits.
    let toml = |text: String| {
        let mut parts = text.split("\\U{");
        let first = parts.next().expect("a part").to_owned();
        parts.fold(first, |done, part| {
            let (digits, rest) = part.split_once('}').expect("an end");
            format!("{done}\\U{digits:0>8}{rest}")
        })
    };
    Scenario::load(&toml(text("b-1_x.y", "R1", "a.b")), "", Vec::new(), None).unwrap();
    let long = "x".repeat(65);
    let bad = [
        "",
        ".",
        "..",
        "../x",
        "/tmp/x",
        "a/b",
        "a b",
        "a\nsysctl x",
        "\u{1b}[2J",
        "a\0",
        "-rf",
        "\u{202e}b",
        "ü",
        "a\\b",
        "a\"b",
        "$(id)",
        "a;b",
        &long,
    ];
    for name in bad {
        for (text, key) in [
            (text(name, "R1", "l"), "network.hosts.1"),
            (text("b", name, "l"), "network.routers.0"),
            (text("b", "R1", name), "network.link.0.name"),
        ] {
            // What an empty name would be called by: the list it is in.
            let error = error(&toml(text));
            assert!(error.key == key || error.key == "network.routers", "{name:?}: {error}");
            assert!(error.problem.contains("is not a name; write letters"), "{name:?}: {error}");
            assert!(!error.to_string().contains(char::is_control), "{name:?}: {error:?}");
        }
    }
}

/// A message is read by a person in a terminal, whatever a stranger's file has for keys and values.
#[test]
fn a_message_is_short_and_has_no_control_sequence() {
    let long = "x".repeat(100_000);
    for hostile in ["\\u001b[2J", "\\u202e", "\\n\\n", "\\u0000", "\\u009b31m", long.as_str()] {
        for (old, new) in [
            ("pairs = 2", format!("\"{hostile}\" = 2")),
            ("\"10 Mbps\"", format!("\"{hostile}\"")),
            ("\"reno\"", format!("\"{hostile}\"")),
            ("mss = 1448", format!("\"{hostile}\" = \"{hostile}\"")),
            ("\"left1\"", format!("\"{hostile}\"")),
            ("[\"cwnd\"]", format!("[\"{hostile}\"]")),
            ("\"1 MB\"", format!("{{ \"{hostile}\" = 1 }}")),
        ] {
            let message = error(&GOOD.replacen(old, &new, 1)).to_string();
            let obeyed = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(message.len() < 1_500 && !message.contains(obeyed), "{message:?}");
        }
    }
}
