//! Applications over the whole way: sizes, durations and slow readers.

use crate::lab::{cell, number, play, samples};

fn scenario(app: &str) -> String {
    format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"10 ms\", queue = \"100 packets\" }}\n\
         [[flow]]\napp = {app}\n"
    )
}

#[test]
fn a_duration_sends_for_so_long_and_then_drains() {
    for kind in ["upload", "download"] {
        let outcome = play(&scenario(&format!("{{ kind = \"{kind}\", duration = \"10 s\" }}")), 1);
        let value = |column| number(&outcome.flows, column, 0);
        assert_eq!((value("completed"), value("intact")), (1.0, 1.0), "{kind}");
        // The connection stands after at most one round trip; what was sent by 10 s later drains within a full queue
        // (100 packets of 1.2 ms) and one repair.
        assert!((10.0..10.5).contains(&value("completion_s")), "{kind}: {}", value("completion_s"));
        // 10 s at 10 Mbit/s of 1448 in 1500 bytes, less what slow start and its repair leave unused.
        let full = 10.0 * 10e6 / 8.0 * 1448.0 / 1500.0;
        assert!((0.95 * full..1.01 * full).contains(&value("app_bytes")), "{kind}: {}", value("app_bytes"));
    }
}

#[test]
fn a_slow_reader_sets_the_pace_by_its_window() {
    let app = "{ kind = \"upload\", size = \"1 MB\", read_rate = \"4 Mbps\" }\n\
               transport = { kind = \"tcp\", receive_buffer = \"64 kB\" }";
    let outcome = play(&scenario(app), 1);
    let value = |column| number(&outcome.flows, column, 0);
    assert_eq!((value("completed"), value("intact"), value("app_bytes")), (1.0, 1.0, 1e6));
    // 1 MB at 4 Mbit/s is 2 s; the window never lets the sender fill the link, so nothing is lost.
    assert!((2.0..2.1).contains(&value("completion_s")), "{}", value("completion_s"));
    assert_eq!(value("packets_lost"), 0.0);
}

/// Two disjoint paths, the second of which loses everything.
fn beside_a_dead_path(app: &str) -> String {
    format!(
        "[network]\ntopology = \"multipath\"\n\
         path = [{{ rate = \"1 Mbps\", delay = \"10 ms\" }}, \
         {{ rate = \"1 Mbps\", delay = \"10 ms\", loss = {{ kind = \"bernoulli\", p = 1 }} }}]\n\
         [[flow]]\napp = {{ kind = \"upload\", size = \"20 MB\" }}\n[[flow]]\napp = {app}\n"
    )
}

#[test]
fn a_flow_that_is_given_up_holds_nobody_up() {
    for app in [
        "{ kind = \"upload\", duration = \"5 s\" }",
        "{ kind = \"upload\", size = \"1 MB\", read_rate = \"1 Mbps\" }",
        "{ kind = \"download\", size = \"1 MB\", read_rate = \"1 Mbps\" }",
    ] {
        let outcome = play(&beside_a_dead_path(app), 1);
        assert_eq!(number(&outcome.flows, "completed", 0), 1.0, "{app}");
        assert_eq!(number(&outcome.flows, "completed", 1), 0.0, "{app}");
        assert_eq!(number(&outcome.flows, "app_bytes", 1), 0.0, "{app}");
    }
}

#[test]
fn a_starved_flow_counts_in_jains_index() {
    let outcome = play(&beside_a_dead_path("{ kind = \"upload\", size = \"1 MB\" }"), 1);
    // One of two flows has everything: 1/n.
    assert_eq!(number(&outcome.runs, "jain", 0), 0.5);
}

#[test]
fn a_burst_that_the_first_queue_refuses_is_only_lost() {
    let text = "[network]\ntopology = \"point-to-point\"\nlink = { rate = \"100 Mbps\", delay = \"1 ms\", queue = \"1 packets\" }\n\
                [[flow]]\napp = { kind = \"upload\", size = \"20 MB\" }\n\
                transport = { kind = \"tcp\", initial_window = 10000, receive_buffer = \"64 MB\" }";
    let outcome = play(text, 1);
    assert_eq!(number(&outcome.flows, "intact", 0), 1.0);
    assert_eq!(number(&outcome.flows, "completed", 0), 1.0);
    assert!(number(&outcome.flows, "packets_lost", 0) > 9_000.0);
}

#[test]
fn a_lost_syn_is_no_loss_in_slow_start() {
    let text = "until = \"3 s\"\n[network]\ntopology = \"point-to-point\"\n\
                link = { rate = \"10 Mbps\", delay = \"10 ms\", forward.loss = { kind = \"list\", packets = [1] } }\n\
                [[flow]]\napp = { kind = \"upload\", size = \"20 kB\" }";
    let outcome = play(text, 1);
    // The SYN goes again after 1 s (RFC 6298 section 2.1).
    assert!((1.02..1.03).contains(&number(&outcome.flows, "handshake_s", 0)));
    assert_eq!(number(&outcome.flows, "timeouts", 0), 0.0);
    assert_eq!(cell(&outcome.flows, "slow_start_loss", 0), None);
}

/// A sawtooth shorter than the interval of its trace still shows its height.
#[test]
fn a_coarse_trace_keeps_extremes() {
    let trace = |every: &str| {
        let text = format!(
            "until = \"60 s\"\ntrace = {{ measures = [\"cwnd\"]{every} }}\n[network]\ntopology = \"point-to-point\"\n\
             link = {{ rate = \"10 Mbps\", delay = \"5 ms\", queue = \"20 packets\" }}\n\
             [[flow]]\napp = {{ kind = \"upload\" }}\ntransport = {{ kind = \"tcp\", cc = \"reno\" }}\n"
        );
        samples(&play(&text, 1), "cwnd")
    };
    let (fine, coarse) = (trace(""), trace(", every = \"7 s\""));
    // Two a interval of 7 s in 60 s, and the last value; the sawtooth takes less than a second.
    assert!(coarse.len() <= 2 * 9 + 1 && fine.len() > 1_000, "{} and {}", coarse.len(), fine.len());
    assert!(coarse.is_sorted_by(|a, b| a.0 <= b.0));
    for start in (0..56).step_by(7) {
        let extremes = |values: &[(u64, f64)]| {
            let of = |v: &&(u64, f64)| (start * 1_000_000_000..(start + 21) * 1_000_000_000).contains(&v.0);
            let values: Vec<f64> = values.iter().filter(of).map(|v| v.1).collect();
            (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max))
        };
        let (fine, coarse) = (extremes(&fine), extremes(&coarse));
        // Over any three intervals both see the window's low and high points, to a segment.
        assert!((fine.0 - coarse.0).abs() <= 1_448.0 && (fine.1 - coarse.1).abs() <= 1_448.0, "{fine:?} {coarse:?}");
    }
}
