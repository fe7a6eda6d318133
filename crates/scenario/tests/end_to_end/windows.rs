//! Parts of runs that are measured by themselves, and events of losses.

use crate::lab::{assert_close, cell, link, load, number, play};
use vazao_engine::Time;
use vazao_scenario::{Outcome, Session};

/// Datagrams of 1250 B each 10 ms (1 Mbit/s) from `start` for `duration` over a link of 10 Mbit/s and 10 ms.
fn flow(start: &str, duration: &str) -> String {
    format!(
        "[[flow]]\nstart = \"{start}\"\ntransport = \"udp\"\n\
         app = {{ kind = \"messages\", message = \"1250 B\", interval = \"10 ms\", duration = \"{duration}\" }}\n"
    )
}

fn scenario(top: &str, keys: &str, flows: &[String]) -> String {
    format!(
        "{top}\n[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"10 Mbps\", delay = \"10 ms\"{keys} }}\n{}",
        flows.concat()
    )
}

fn measured(outcome: &Outcome, flow: usize) -> (Option<f64>, Option<f64>) {
    (cell(&outcome.flows, "measured_bytes", flow), cell(&outcome.flows, "measured_goodput_bps", flow))
}

/// From 5 to 10 s: a flow that sends all the time has 500 datagrams of 1250 B, 1 Mbit/s; one that begins at 7.5 s half of
/// them, one that ended before none, and the rates' fairness is (1 + 1/2)^2 / (3 (1 + 1/4)). A datagram is 1278 B on the wire,
/// so the link is busy 0.1 and a half of 1278/1250. The rest of the run is not in it.
#[test]
fn a_window_has_rates_of_its_own() {
    let flows = [flow("0 s", "20 s"), flow("7500 ms", "10 s"), flow("0 s", "4 s")];
    let outcome = play(&scenario("measure = { from = \"5 s\", to = \"10 s\" }", "", &flows), 1);
    assert_eq!(measured(&outcome, 0), (Some(500.0 * 1250.0), Some(1e6)));
    // The first of the second flow arrives at 7.511 s.
    assert_eq!(measured(&outcome, 1), (Some(249.0 * 1250.0), Some(249.0 / 500.0 * 1e6)));
    assert_eq!(measured(&outcome, 2), (Some(0.0), Some(0.0)));
    assert_eq!(number(&outcome.runs, "measured_s", 0), 5.0);
    assert_close(number(&outcome.runs, "measured_jain", 0), 2.25 / 3.75, 4e-3, "fairness");
    let busy = link(&outcome, "link", true, "measured_utilisation");
    assert_close(busy, 0.15 * 1278.0 / 1250.0, 2e-3, "utilisation");
    let whole = link(&outcome, "link", true, "utilisation");
    assert_close(whole, 0.17 * 1278.0 / 1250.0, 5e-3, "the whole run: 34 s of flows in 20 s");
}

/// Without an end it lasts until the run is over; a run that is over before it has nothing there, nor has one without it.
#[test]
fn a_window_ends_with_its_run() {
    let play = |top: &str| play(&scenario(top, "", &[flow("0 s", "4 s")]), 1);
    let outcome = play("measure = { from = \"1 s\" }\nuntil = \"5 s\"");
    // From the first that arrives after 1 s, sent at 0.99 s, to the last one.
    let end = number(&outcome.runs, "sim_s", 0);
    assert_eq!(number(&outcome.runs, "measured_s", 0), end - 1.0);
    assert_eq!(measured(&outcome, 0).0, Some(number(&outcome.flows, "app_bytes", 0) - 99.0 * 1250.0));
    for top in ["measure = { from = \"100 s\" }", ""] {
        let outcome = play(top);
        assert_eq!((measured(&outcome, 0), cell(&outcome.runs, "measured_s", 0)), ((None, None), None), "{top}");
        assert_eq!(cell(&outcome.links, "measured_utilisation", 0), None, "{top}");
    }
}

/// A run that only its end stops is measured up to there, also where nothing happens any more.
#[test]
fn a_window_lasts_where_nothing_happens() {
    let outage = ", outages = [{ at = \"2 s\", for = \"1 h\", kind = \"loss\" }]";
    let text = scenario("measure = { from = \"1 s\", to = \"8 s\" }\nuntil = \"9 s\"", outage, &[flow("0 s", "20 s")]);
    let outcome = play(&text, 1);
    assert_eq!(number(&outcome.runs, "measured_s", 0), 7.0);
    // What has been sent at 1.989 s is the last to arrive, at 1.99 s and a bit.
    assert_close(measured(&outcome, 0).1.expect("a rate"), 1e6 / 7.0, 0.02, "one second of seven");
}

/// Steps of any length make the same run, its window included.
#[test]
fn a_run_in_steps_has_the_same_window() {
    let text = scenario("measure = { from = \"1 s\", to = \"2 s\" }\nuntil = \"3 s\"", "", &[flow("0 s", "20 s")]);
    let whole = play(&text, 1);
    let mut session = Session::new(load(&text, 1)).unwrap_or_else(|_| panic!("a session"));
    for ms in [300, 999, 1_000, 1_001, 1_500, 2_000, 2_007, 3_000] {
        assert!(session.advance(Time::from_nanos(ms * 1_000_000), u64::MAX));
    }
    let stepped = session.outcome("a");
    assert_eq!(measured(&stepped, 0), measured(&whole, 0));
    assert_eq!(cell(&stepped.runs, "measured_s", 0), Some(1.0));
}

/// Datagrams 10 to 12 are lost, sent within 20 ms of each other and so within the path's round trip of 20 ms: one loss event
/// (RFC 5348 section 5.2). 200 is another, and 204, 40 ms after it, a third. On the link they are three runs.
#[test]
fn losses_are_told_in_events() {
    let keys = ", forward = { loss = { kind = \"list\", packets = [10, 11, 12, 200, 204] } }";
    let outcome = play(&scenario("", keys, &[flow("0 s", "4 s")]), 1);
    assert_eq!((number(&outcome.flows, "packets_lost", 0), number(&outcome.flows, "loss_events", 0)), (5.0, 3.0));
    let runs = ["loss_runs", "loss_run_max", "drop_runs"].map(|name| link(&outcome, "link", true, name));
    assert_eq!(runs, [3.0, 3.0, 0.0]);
}

/// The sender's own round-trip time counts where it has one: a queue of 100 ms in front of it makes losses 50 ms apart one
/// event, which by the path's 20 ms alone were two.
#[test]
fn a_loss_event_lasts_a_round_trip_of_its_sender() {
    let events = |transport: &str, app: &str| {
        let text = format!(
            "until = \"3 s\"\n[network]\ntopology = \"point-to-point\"\n\
             link = {{ rate = \"1 Mbps\", delay = \"10 ms\", queue = \"100 packets\", \
             forward = {{ loss = {{ kind = \"list\", packets = [60, 64] }} }} }}\n[[flow]]\napp = {app}\ntransport = {transport}\n"
        );
        number(&play(&text, 1).flows, "loss_events", 0)
    };
    // 1500 B take 12 ms, so four packets are 48 ms. Reno has filled the queue by then; a datagram flow at the rate does not.
    assert_eq!(events("{ kind = \"tcp\", cc = \"reno\" }", "\"upload\""), 1.0);
    assert_eq!(events("{ kind = \"udp\", rate = \"950 kbps\" }", "\"upload\""), 2.0);
}
