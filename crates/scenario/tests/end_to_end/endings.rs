//! How runs end: every byte read however slowly, nothing waited for that cannot come, and why a connection gave up.

use crate::lab::{captured, cell, column, link, load, number, play};
use std::sync::atomic::AtomicBool;
use vazao_scenario::{Column, Options, Outcome, Scenario, Stopped, run};

fn point_to_point(line: &str, app: &str, transport: &str) -> String {
    format!(
        "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"10 ms\", {line} }}\n\
         [[flow]]\napp = {app}\ntransport = {transport}\n"
    )
}

fn text<'a>(outcome: &'a Outcome, name: &str, row: usize) -> Option<&'a str> {
    let Column::Label { codes, names } = column(&outcome.flows, name) else { panic!("{name} is not a label") };
    codes.get(row).map(|code| names[code as usize].as_str())
}

/// 100 kB at 100 kbit/s are 8 s of reading, which begins with the data and ends within an interval of 10 ms and the round trips
/// around it; the connection may be closed long before.
#[test]
fn a_slow_reader_reads_what_a_closed_connection_has_left() {
    let narrow = "{ kind = \"sctp\", receive_buffer = \"5 kB\" }";
    for transport in ["\"tcp\"", "\"sctp\"", "\"mptcp\"", "\"quic\"", narrow] {
        for app in ["kind = \"upload\"", "kind = \"download\"", "kind = \"download\", request = \"200 B\""] {
            let app = format!("{{ {app}, size = \"100 kB\", read_rate = \"100 kbps\" }}");
            let outcome = play(&point_to_point("", &app, transport), 1);
            let value = |name| number(&outcome.flows, name, 0);
            assert_eq!((value("app_bytes"), value("completed"), value("intact")), (1e5, 1.0, 1.0), "{transport}");
            assert!((7.9..8.3).contains(&value("completion_s")), "{transport}: {}", value("completion_s"));
        }
    }
}

/// Half of what a server needs to hear is given up, and without heartbeats nothing happens any more.
#[test]
fn a_response_ends_where_no_message_is_full() {
    // 10 000 bytes in messages of 39: the last one has 16, and no close of the association ends it.
    let app = r#"{ kind = "download", size = "10 kB", request = "100 B", message = "39 B" }"#;
    let outcome = play(&point_to_point("", app, "\"sctp\""), 1);
    let value = |name| number(&outcome.flows, name, 0);
    assert_eq!((value("app_bytes"), value("completed"), value("intact")), (1e4, 1.0, 1.0));
}

#[test]
fn looking_at_queues_keeps_no_run_going() {
    let transport = "{ kind = \"sctp\", partial_reliability = \"timed\", lifetime = \"1 ms\", heartbeat = \"0 s\" }";
    let link = "loss = { kind = \"list\", packets = [3, 4, 5, 6, 7, 8, 9, 10] }";
    let scenario = point_to_point(link, "{ kind = \"requests\", request = \"4 kB\", count = 3 }", transport);
    let until = "until = \"3000 s\"\n";
    let plain = play(&format!("{until}{scenario}"), 1);
    let traced = play(&format!("{until}trace = [\"queue\"]\n{scenario}"), 1);
    assert_eq!(number(&plain.flows, "completed", 0), 0.0);
    assert_eq!((&plain.runs[1..], &plain.flows[1..]), (&traced.runs[1..], &traced.flows[1..]));
    assert_eq!(plain.links[1..], traced.links[1..]);
}

/// A run that waits for its next event for hours can be stopped while it looks at a queue that never empties.
#[test]
fn a_run_that_looks_at_queues_can_be_stopped() {
    let outage = "outages = [{ at = \"100 ms\", for = \"300 h\" }]";
    let scenario =
        point_to_point(outage, "{ kind = \"upload\", size = \"10 MB\" }", "{ kind = \"udp\", rate = \"5 Mbps\" }");
    let text = format!("until = \"200 h\"\ntrace = {{ measures = [\"queue\"], every = \"1 us\" }}\n{scenario}");
    let stopped = run(&load(&text, 1), &AtomicBool::new(true), Options::default());
    assert_eq!(stopped, Err(Stopped::Cancelled));
}

/// A segment of TCP carries nothing of Multipath TCP's, whichever left last: it takes as many bytes of the link as its capture has.
#[test]
fn tcp_beside_multipath_tcp_can_be_captured() {
    let scenario = "[network]\ntopology = \"dumbbell\"\npairs = 2\naccess = { rate = \"1 Gbps\", delay = \"1 ms\" }\n\
                    bottleneck = { rate = \"10 Mbps\", delay = \"10 ms\", loss = 0.01 }\n[[flow]]\n\
                    app = { kind = \"upload\", size = \"200 kB\" }\ntransport = \"mptcp\"\n[[flow]]\n\
                    app = { kind = \"upload\", size = \"200 kB\" }\ntransport = \"tcp\"\n";
    let (outcome, files) = captured(scenario, 1);
    assert_eq!(outcome, play(scenario, 1));
    assert_eq!(files.len(), 4);
    // A pcapng block has its type and its length first; of type 6, its packet's length at 24.
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let (mut at, mut captured, bytes) = (0, 0, &files["right2.1"]);
    while at < bytes.len() {
        captured += if word(bytes, at) == 6 { word(bytes, at + 24) } else { 0 };
        at += word(bytes, at + 4);
    }
    let moved = [true, false].map(|forward| link(&outcome, "right2", forward, "bytes"));
    assert_eq!(captured as f64, moved[0] + moved[1]);
}

/// Without an answer to what was given up a client waits for ever: the scenario must say for how long.
#[test]
fn who_may_wait_for_ever_needs_an_end() {
    let apps = [
        "{ kind = \"requests\", count = 3 }",
        "{ kind = \"page\" }",
        "{ kind = \"download\", size = \"1 MB\", request = \"2 kB\" }",
        "{ kind = \"video\", duration = \"20 s\" }",
    ];
    let partial = "{ kind = \"sctp\", partial_reliability = \"retransmissions\" }";
    for transport in [partial, "{ kind = \"sctp\", restart = \"50 ms\" }"] {
        for app in apps {
            let scenario = point_to_point("loss = 0.2", app, transport);
            let refused = Scenario::load(&scenario, "", Vec::new(), None).expect_err("it has no end");
            assert!(refused.key == "flow.0.app" && refused.problem.contains("until = \"60 s\""), "{refused}");
            let outcome = play(&format!("until = \"20 s\"\n{scenario}"), 1);
            assert!(number(&outcome.runs, "sim_s", 0) <= 20.0);
        }
    }
    // What only one side sends ends with it.
    for app in ["{ kind = \"upload\", size = \"100 kB\" }", "{ kind = \"download\", size = \"100 kB\" }"] {
        let outcome = play(&point_to_point("loss = 0.2", app, partial), 1);
        assert_eq!(number(&outcome.flows, "completed", 0), 1.0);
    }
}

/// Asking every 37 us whether the peer is there would fill the line 10 times over; what is under way asks already.
#[test]
fn keeping_a_connection_alive_does_not_drown_it() {
    for more in ["", ", multipath = true, cc = \"lia\""] {
        let transport = format!("{{ kind = \"quic\", keep_alive = \"37 us\"{more} }}");
        let outcome = play(&point_to_point("", "{ kind = \"upload\", size = \"100 kB\" }", &transport), 1);
        let value = |name| number(&outcome.flows, name, 0);
        assert_eq!((value("completed"), value("packets_lost")), (1.0, 0.0), "{more}");
        assert!(value("packets_sent") < 400.0, "{more}: {}", value("packets_sent"));
    }
}

/// A path that failed once is asked whether it is there, in the moment in which data leave again. A bottleneck at which one
/// packet may be under way and none waits takes the first: were that the question each time, its answer would keep the path
/// alive for ever and no data would come through.
#[test]
fn data_that_leave_again_go_before_the_question_whether_the_path_is_there() {
    let outcome = play(
        r#"
        until = "300 s"
        [network]
        topology = "dumbbell"
        access = { rate = "1 Gbps", delay = "10 us" }
        bottleneck = { rate = "500 kbps", delay = "100 ms", queue = "0 packets" }
        [[flow]]
        app = { kind = "upload", size = "44 kB" }
        transport = { kind = "sctp", pf_retries = 0 }
        "#,
        1,
    );
    assert_eq!(number(&outcome.flows, "completed", 0), 1.0);
    assert!(number(&outcome.flows, "timeouts", 0) > 0.0, "the path has not failed once");
}

/// A datagram flow of which nothing is heard has not been completed, however much was sent.
#[test]
fn datagrams_that_never_arrive_complete_nothing() {
    for (loss, completed) in [(1.0, 0.0), (0.5, 1.0)] {
        let app = "{ kind = \"upload\", size = \"100 kB\" }";
        let lossy = format!("loss = {{ kind = \"bernoulli\", p = {loss} }}");
        let outcome = play(&point_to_point(&lossy, app, "{ kind = \"udp\", rate = \"1 Mbps\" }"), 1);
        assert_eq!(number(&outcome.flows, "completed", 0), completed);
        assert_eq!(cell(&outcome.flows, "completion_s", 0).is_some(), completed == 1.0);
    }
}

/// Over a link that loses everything each transport gives up in the end, and says so; what has completed has not failed.
#[test]
fn a_connection_that_gives_up_says_so() {
    for transport in ["tcp", "sctp", "mptcp", "quic"] {
        for app in ["{ kind = \"upload\", size = \"100 kB\" }", "upload", "page"] {
            let scenario = format!(
                "until = \"10000 s\"\n{}",
                point_to_point(
                    "loss = { kind = \"bernoulli\", p = 1 }",
                    if app.starts_with('{') { app.into() } else { format!("{{ kind = \"{app}\" }}") }.as_str(),
                    &format!("{transport:?}")
                )
            );
            let outcome = play(&scenario, 1);
            let failure = text(&outcome, "failure", 0).unwrap_or_else(|| panic!("{transport} {app} says nothing"));
            assert!(
                failure.starts_with("client: the ") && failure.contains("timed out"),
                "{transport} {app}: {failure}"
            );
            assert_ne!(cell(&outcome.flows, "completed", 0), Some(1.0), "{transport} {app}");
        }
        let outcome =
            play(&point_to_point("", "{ kind = \"upload\", size = \"100 kB\" }", &format!("{transport:?}")), 1);
        assert_eq!((text(&outcome, "failure", 0), number(&outcome.flows, "completed", 0)), (None, 1.0), "{transport}");
    }
}

/// An association that is set up anew (RFC 9260 section 5.2.4) lets its application wait: time goes on although a message or a
/// request was due.
#[test]
fn an_application_waits_for_an_association_that_restarts() {
    let apps = [
        "{ kind = \"messages\", message = \"100 B\", interval = \"5 ms\", count = 100 }",
        "{ kind = \"requests\", think = \"5 ms\", count = 20 }",
        "{ kind = \"upload\", duration = \"45 ms\" }",
    ];
    for app in apps {
        let transport = "{ kind = \"sctp\", restart = \"1 ms\" }";
        let outcome = play(&format!("until = \"60 s\"\n{}", point_to_point("", app, transport)), 1);
        assert!(number(&outcome.runs, "events", 0) < 5_000.0, "{app}");
    }
}

/// Two copies that leave at one time, the later data first: RACK waits for neither behind the other (RFC 8985 section 6.2, step 5),
/// and time goes on. Jitter and a small queue make such a pair within a second.
#[test]
fn reordered_copies_do_not_stop_the_clock() {
    let text = "seed = 455054\nuntil = \"6 s\"\n[network]\ntopology = \"point-to-point\"\nlink = { rate = \"5338512 bit/s\", \
                delay = \"76346 ns\", queue = \"red\", strip = \"timestamps\", jitter = { spread = \"38.509 ms\" } }\n[[flow]]\n\
                app = { kind = \"requests\", count = 23 }\ntransport = { kind = \"sctp\", dac = true, initial_ssthresh = \"520 B\", min_rto = \"31956746.661 us\", pf_retries = 0, cmt = true }\n[[flow]]\n\
                app = { kind = \"upload\", read_rate = \"0.0501019 Mbps\", size = \"478 kB\" }\n\
                transport = { kind = \"tcp\", undo = false, frto = false, ecn = true }\nstart = \"1700.565 us\"\n\
                start_spread = \"3569301 ns\"\n[[flow]]\napp = { kind = \"packets\", ps = \"data-mining\", count = 59, \
                idt = \"100 us\" }\ntransport = { kind = \"tcp\", limited_transmit = false, host = \"rfc\" }\n";
    let outcome = play(text, 455_054);
    assert!(number(&outcome.runs, "events", 0) < 1e6);
}
