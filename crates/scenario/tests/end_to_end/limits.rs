//! What senders wait for: at every instant one thing, and by closed forms the right one.

use crate::lab::{assert_close, cell, link, nanos, number, play};
use proptest::prelude::*;
use proptest::sample::select;
use vazao_scenario::Outcome;

const LIMITS: [&str; 12] = [
    "handshake",
    "application",
    "send_buffer",
    "receive_window",
    "connection_window",
    "slow_start",
    "avoidance",
    "recovery",
    "pacing",
    "timeout",
    "scheduler",
    "nagle",
];

/// Limits of which the path may have a part.
const WINDOWS: [&str; 6] = ["receive_window", "connection_window", "slow_start", "avoidance", "recovery", "pacing"];

fn limited(outcome: &Outcome, limit: &str) -> f64 {
    number(&outcome.flows, &format!("limited_{limit}_s"), 0)
}

/// The path's part of a limit.
fn busy(outcome: &Outcome, limit: &str) -> f64 {
    number(&outcome.flows, &format!("path_{limit}_s"), 0)
}

/// One flow of TCP by the RFCs, each segment acknowledged at once, over one link.
fn one_flow(link: &str, transport: &str, app: &str) -> Outcome {
    play(
        &format!(
            "trace = [\"limit\"]\n[network]\ntopology = \"point-to-point\"\nlink = {{ {link} }}\n[[flow]]\n\
             transport = {{ kind = \"tcp\", host = \"rfc\", delayed_ack = 1, {transport} }}\napp = {{ {app} }}\n"
        ),
        1,
    )
}

/// A window of w segments, sent at once and then by acknowledgements: segment w m + j leaves m round trips and j segment
/// times after the first. Until the last of k windows has left, the receiver's window is the limit; the link is busy for as
/// long as segments take, all but the last of which arrive while their sender waits for the window.
#[test]
fn a_receive_window_is_the_limit_for_its_round_trips() {
    let (w, k) = (40.0, 25.0);
    let outcome = one_flow(
        "rate = \"100 Mbps\", delay = \"50 ms\"",
        "receive_buffer = \"57920 B\", initial_window = 1000",
        "kind = \"upload\", size = \"1448000 B\"",
    );
    let time = |bytes: f64| bytes * 8.0 / 100e6;
    let (segment, ack) = (time(1500.0), time(52.0));
    let round = 0.1 + segment + ack;
    let expected = (k - 1.0) * round + (w - 1.0) * segment;
    assert!((limited(&outcome, "receive_window") - expected).abs() < 1e-6, "{}", limited(&outcome, "receive_window"));
    // SYN, SYN-ACK and ACK, with their options of 20 bytes, and 12 in the last one.
    assert!((limited(&outcome, "handshake") - (0.1 + 2.0 * time(60.0))).abs() < 1e-6);
    // Of the last window the part that has left the queue when its last segment is sent: all but that one.
    let sent = (w * k - 1.0) * segment;
    assert_close(busy(&outcome, "receive_window"), sent, 2e-3, "the link's time");
    assert_eq!(limited(&outcome, "slow_start") + limited(&outcome, "avoidance"), 0.0);
}

/// Slow start from 10 segments doubles: of 70 the last left two round trips after the first ten. Nothing else is waited for
/// but the acknowledgements of the end.
#[test]
fn slow_start_is_the_limit_for_its_rounds() {
    let outcome = one_flow(
        "rate = \"10 Gbps\", delay = \"50 ms\"",
        "receive_buffer = \"64 MB\"",
        "kind = \"upload\", size = \"101360 B\"",
    );
    assert_close(limited(&outcome, "slow_start"), 0.2, 2e-3, "two rounds");
    assert_close(limited(&outcome, "application"), 0.1, 2e-3, "the last one's acknowledgement");
}

/// The second of two segments is lost. Its sender hears of the first a round trip later, which restarts the timer, a second by
/// RFC 6298 section 2.4; that is all it can wait for then.
#[test]
fn a_lost_segment_waits_for_the_timer() {
    let outcome = one_flow(
        "rate = \"10 Gbps\", delay = \"10 ms\", forward.loss = { kind = \"list\", packets = [3] }",
        "recovery = \"sack\"",
        "kind = \"upload\", size = \"2000 B\"",
    );
    assert_eq!(number(&outcome.flows, "timeouts", 0), 1.0);
    assert_close(limited(&outcome, "timeout"), 1.0, 1e-6, "the timer");
    assert_close(limited(&outcome, "application"), 0.04, 1e-3, "two acknowledgements");
}

/// A congestion window that fills the link: but for the beginning, the path is the limit, whatever the phase.
#[test]
fn a_window_beyond_the_path_is_the_path() {
    let outcome = one_flow(
        "rate = \"20 Mbps\", delay = \"10 ms\", queue = \"2 bdp\"",
        "cc = \"cubic\"",
        "kind = \"upload\", size = \"20 MB\"",
    );
    let life = number(&outcome.flows, "life_s", 0);
    let windows: f64 = WINDOWS.iter().map(|limit| busy(&outcome, limit)).sum();
    let whole = link(&outcome, "link", true, "utilisation") * number(&outcome.runs, "sim_s", 0);
    assert!(windows / life > 0.95, "{windows} of {life}");
    assert!(windows <= whole + 1e-6, "{windows}, and the link was busy for {whole}");
}

/// Ten messages a second over an empty path: there is nothing to send, but for the times in which one is on its way.
#[test]
fn a_slow_application_is_the_limit() {
    let outcome = one_flow(
        "rate = \"1 Gbps\", delay = \"1 ms\"",
        "",
        "kind = \"messages\", message = \"1000 B\", interval = \"100 ms\", count = 50",
    );
    let life = number(&outcome.flows, "life_s", 0);
    assert_close(limited(&outcome, "application") + limited(&outcome, "handshake"), life, 1e-9, "all of its life");
}

/// A send buffer of half the bandwidth-delay product lets half the rate through: it is the limit for most of the time.
#[test]
fn a_send_buffer_is_the_limit() {
    let outcome = one_flow(
        "rate = \"80 Mbps\", delay = \"50 ms\"",
        "send_buffer = \"500 kB\", receive_buffer = \"64 MB\", initial_window = 1000",
        "kind = \"upload\", size = \"20 MB\"",
    );
    let life = number(&outcome.flows, "life_s", 0);
    assert!(limited(&outcome, "send_buffer") / life > 0.8, "{} of {life}", limited(&outcome, "send_buffer"));
}

fn transport() -> impl Strategy<Value = &'static str> {
    select(vec![
        "kind = \"tcp\"",
        "kind = \"tcp\", cc = \"bbr\"",
        "kind = \"tcp\", nagle = true, host = \"rfc\", recovery = \"newreno\"",
        "kind = \"tcp\", like = \"linux\"",
        "kind = \"tcp\", receive_buffer = \"20 kB\"",
        "kind = \"tcp\", send_buffer = \"30 kB\", tls = \"1.3\"",
        "kind = \"sctp\"",
        "kind = \"sctp\", receive_buffer = \"30 kB\"",
        "kind = \"quic\"",
        "kind = \"quic\", cc = \"bbr3\"",
        "kind = \"dccp\"",
        "kind = \"mptcp\"",
        "kind = \"mptcp\", scheduler = \"ecf\", send_buffer = \"60 kB\"",
    ])
}

fn app() -> impl Strategy<Value = &'static str> {
    select(vec![
        "kind = \"upload\", size = \"200 kB\"",
        "kind = \"download\", size = \"400 kB\"",
        "kind = \"upload\"",
        "kind = \"messages\", message = \"3 kB\", interval = \"20 ms\", count = 60",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever the network does, the times add up to the life of the connection, the path has no more than its windows have,
    /// and to ask for it changes nothing else.
    #[test]
    fn every_instant_has_one_limit(
        transport in transport(),
        app in app(),
        rate in select(vec![1, 5, 40]),
        delay in select(vec![0, 5, 60]),
        extra in select(vec!["", ", loss = 0.02", ", loss = 0.2", ", jitter = \"8 ms\", reorder = true", ", queue = \"3 packets\""]),
        seed in 0_u64..1 << 32,
    ) {
        let link = format!("{{ rate = \"{rate} Mbps\", delay = \"{delay} ms\"{} }}", extra.replace(", reorder = true", ""));
        let text = |trace: &str| format!(
            "until = \"4 s\"\n{trace}[network]\ntopology = \"multipath\"\npath = [{link}, {link}]\n\
             [[flow]]\nstart = \"0.25 s\"\ntransport = {{ {transport} }}\napp = {{ {app} }}\n"
        );
        let (asked, plain) = (play(&text("trace = [\"limit\"]\n"), seed), play(&text(""), seed));
        let life = nanos(&asked.flows, "life_s", 0);
        let parts = LIMITS.map(|limit| nanos(&asked.flows, &format!("limited_{limit}_s"), 0));
        prop_assert_eq!(parts.iter().sum::<u64>(), life);
        prop_assert!(life <= 3_750_000_000);
        for limit in WINDOWS {
            // The work of a link is known to the nanosecond a packet.
            prop_assert!(busy(&asked, limit) <= limited(&asked, limit) + 1e-5, "{}", limit);
            prop_assert_eq!(cell(&plain.flows, &format!("path_{limit}_s"), 0), None);
        }
        let columns = |outcome: &Outcome| {
            let of_path = |name: &str| name.starts_with("path_") && name.ends_with("_s");
            let all = outcome.flows.iter().filter(|(name, _)| !of_path(name) && *name != "run_id");
            all.cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(columns(&asked), columns(&plain));
    }
}
