//! Which subflows a Multipath TCP connection has, and what becomes of them.

use crate::lab::{cell, link, number, play};

/// Two hosts with one interface each, and two relays between them, each over a link of 10 Mbit/s.
const RELAYED: &str = r#"
    [network]
    topology = "custom"
    hosts = ["a", "b"]
    routers = ["g", "r1", "r2", "x"]
    link = [
        { from = "a", to = "g", rate = "100 Mbps", delay = "1 ms" },
        { from = "g", to = "r1", rate = "10 Mbps", delay = "10 ms", queue = "1 bdp" },
        { from = "g", to = "r2", rate = "10 Mbps", delay = "11 ms", queue = "1 bdp" },
        { from = "r1", to = "x", rate = "100 Mbps", delay = "1 ms" },
        { from = "r2", to = "x", rate = "100 Mbps", delay = "1 ms" },
        { from = "x", to = "b", rate = "100 Mbps", delay = "1 ms" },
    ]
    [[flow]]
    client = "a"
    server = "b"
    app = { kind = "upload", size = "5 MB" }
    transport = TRANSPORT
"#;

fn relayed(transport: &str) -> String {
    RELAYED.replace("TRANSPORT", transport)
}

#[test]
fn a_binder_uses_each_relay() {
    let alone = play(&relayed(r#"{ kind = "mptcp", cc = "cubic", path_manager = "default" }"#), 1);
    let bound =
        play(&relayed(r#"{ kind = "mptcp", cc = "cubic", path_manager = "binder", relays = ["r1", "r2"] }"#), 1);
    let time = |outcome| number(outcome, "completion_s", 0);
    // 5 MB over 10 Mbit/s take 4 s at least; over both, half of that.
    assert!(time(&alone.flows) > 4.0);
    assert!((2.0..3.0).contains(&time(&bound.flows)), "{} s", time(&bound.flows));
    for relay in ["g-r1", "g-r2"] {
        assert!(link(&bound, relay, true, "bytes") > 1e6);
    }
}

#[test]
fn a_relay_that_is_not_there_is_named() {
    let text = relayed(r#"{ kind = "mptcp", path_manager = "binder", relays = ["r3"] }"#);
    let problem = vazao_scenario::Scenario::load(&text, "", Vec::new(), None).unwrap_err().to_string();
    assert!(problem.contains("unknown router \"r3\"") && problem.contains("r1"), "{problem}");
}

/// Two disjoint paths of 10 Mbit/s.
fn disjoint(more: &str) -> String {
    format!(
        r#"
        [network]
        topology = "multipath"
        path = [
            {{ rate = "10 Mbps", delay = "10 ms", queue = "1 bdp" }},
            {{ rate = "10 Mbps", delay = "10 ms", queue = "1 bdp" }},
        ]
        [[flow]]
        app = {{ kind = "upload", size = "10 MB" }}
        transport = {{ kind = "mptcp", cc = "cubic", {more} }}
        "#
    )
}

/// An interface that goes takes its subflow along, and what that had is sent by the other; where it comes back, a new one
/// joins.
#[test]
fn an_interface_goes_and_comes_back() {
    let gone = play(&disjoint(r#"changes = [{ at = "1 s", remove = 2 }]"#), 1);
    let back = play(&disjoint(r#"changes = [{ at = "1 s", remove = 2 }, { at = "2 s", add = 2 }]"#), 1);
    let whole = play(&disjoint(""), 1);
    for outcome in [&gone, &back, &whole] {
        assert_eq!(cell(&outcome.flows, "intact", 0), Some(1.0));
        assert_eq!(cell(&outcome.flows, "completed", 0), Some(1.0));
    }
    let time = |outcome: &vazao_scenario::Outcome| number(&outcome.flows, "completion_s", 0);
    assert!(time(&whole) < time(&back) && time(&back) < time(&gone));
    // A second of both paths, the rest of one.
    assert!((7.0..7.6).contains(&time(&gone)), "{} s", time(&gone));
    assert!(number(&back.paths, "bytes", 2) > 1e6, "a new subflow joined");
}

/// A path that becomes a backup carries nothing while the other can.
#[test]
fn a_backup_waits() {
    let outcome = play(&disjoint(r#"changes = [{ at = "1 s", backup = 2 }]"#), 1);
    let first = play(&disjoint("backups = [2]"), 1);
    // What it had sent in the first second, headers counted.
    assert!(link(&outcome, "path2", true, "bytes") < 1.3e6);
    assert!(link(&first, "path2", true, "bytes") < 10e3);
}

/// One subflow is TCP, but for 28 bytes of options a segment: also for a control that lives by rates, which must not take data
/// that is handed to it segment by segment for an application that has no more.
#[test]
fn one_subflow_is_as_tcp() {
    let text = r#"
        [network]
        topology = "point-to-point"
        link = { rate = "50 Mbps", delay = "10 ms", queue = "83 packets" }
        [[flow]]
        app = { kind = "upload", size = "20 MB" }
        transport = TRANSPORT
    "#;
    for control in ["reno", "cubic", "bbr"] {
        let of = |kind: &str| {
            let transport = format!(r#"{{ kind = "{kind}", cc = "{control}" }}"#);
            let outcome = play(&text.replace("TRANSPORT", &transport), 1);
            (number(&outcome.flows, "completion_s", 0), number(&outcome.flows, "retransmissions", 0))
        };
        let (tcp, mptcp) = (of("tcp"), of("mptcp"));
        assert!((1.0..1.04).contains(&(mptcp.0 / tcp.0)), "{control}: {mptcp:?}, TCP {tcp:?}");
        assert!(mptcp.1 < 1.5 * tcp.1, "{control}: {mptcp:?}, TCP {tcp:?}");
    }
}

/// Twenty interfaces at each end are four hundred pairs of addresses: a single mesh has a subflow from each, and each on a
/// path of its own.
#[test]
fn a_single_mesh_of_many_interfaces() {
    let paths = "{ rate = \"10 Mbps\", delay = \"10 ms\", queue = \"100 packets\" },\n".repeat(20);
    let text = |app: &str| {
        format!(
            "[network]\ntopology = \"multipath\"\npath = [\n{paths}]\n[[flow]]\napp = {app}\ntransport = {{ kind = \"mptcp\" }}\n"
        )
    };
    let outcome = play(&text("{ kind = \"upload\", size = \"20 MB\" }"), 1);
    assert_eq!(cell(&outcome.flows, "intact", 0), Some(1.0));
    let rows = (0..20).map(|row| number(&outcome.paths, "bytes", row));
    assert!(rows.into_iter().all(|bytes| bytes > 500e3), "each of 20 subflows carries data");
    for path in 1..=20 {
        assert!(link(&outcome, &format!("path{path}"), true, "bytes") > 500e3, "path{path}");
    }
}

/// More interfaces than there are is a mistake that is named.
#[test]
fn interfaces_beyond_count_are_named() {
    let paths = "{ rate = \"10 Mbps\" },\n".repeat(65);
    let text = format!(
        "[network]\ntopology = \"multipath\"\npath = [\n{paths}]\n[[flow]]\napp = {{ kind = \"upload\", size = \"1 B\" }}\ntransport = {{ kind = \"mptcp\" }}\n"
    );
    let problem = vazao_scenario::Scenario::load(&text, "", Vec::new(), None).unwrap_err().to_string();
    assert!(problem.contains("65 interfaces") && problem.contains("64 at most"), "{problem}");
}

/// A queue of a bandwidth-delay product is of the longest round trip that takes the link: what leaves by a path comes back by it,
/// and a path that is longer adds nothing.
#[test]
fn queues_are_of_their_own_paths() {
    let completion = |other: &str| {
        let text = format!(
            r#"
            [network]
            topology = "multipath"
            path = [
                {{ rate = "10 Mbps", delay = "10 ms", queue = "1 bdp" }},
                {{ rate = "10 Mbps", delay = "{other}", queue = "1 bdp" }},
            ]
            [[flow]]
            app = {{ kind = "upload", size = "3 MB" }}
            transport = {{ kind = "mptcp", path_manager = "default" }}
            "#
        );
        let outcome = play(&text, 1);
        (number(&outcome.flows, "completion_s", 0), link(&outcome, "path1", true, "drops_queue"))
    };
    let alone = completion("10 ms");
    assert!(alone.1 > 10.0, "slow start fills a queue of 25 kB: {alone:?}");
    assert_eq!(completion("1 s"), alone);
}
