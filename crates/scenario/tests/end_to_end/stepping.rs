//! Runs in steps: what a step's length is, and what is looked at between steps, changes nothing; actions do.

use crate::lab::{load, play};
use std::sync::Arc;
use vazao_congestion::{CongestionControl, Setup, Steered};
use vazao_engine::{Duration, Rate, Time};
use vazao_scenario::{ControlFactory, Extensions, Outcome, Plugin, Plugins, Scenario, Session, Stopped};

/// Every protocol, with losses, queues that ask a timer, a page, and flows that end before the run does.
const VARIED: &[&str] = &[
    r#"
    until = "3 s"
    network = { topology = "dumbbell", pairs = 3, access = { rate = "100 Mbps", delay = "1 ms" }, bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = "1 bdp", loss = 0.003 } }
    [[flow]]
    app = { kind = "upload" }
    transport = { kind = "tcp", cc = "cubic" }
    [[flow]]
    app = { kind = "download", size = "500 kB" }
    transport = { kind = "quic", cc = "bbr" }
    [[flow]]
    app = { kind = "page", objects = 20 }
    "#,
    r#"
    until = "2 s"
    network = { topology = "multipath", path = [
        { rate = "8 Mbps", delay = "10 ms", queue = { kind = "codel", limit = "100 packets" } },
        { rate = "4 Mbps", delay = "25 ms", queue = { kind = "red", limit = "50 packets" }, loss = 0.01, jitter = "1 ms" },
    ] }
    [[flow]]
    app = { kind = "upload" }
    transport = { kind = "mptcp", cc = "lia" }
    [[flow]]
    app = { kind = "upload" }
    transport = { kind = "sctp", cmt = true }
    [[flow]]
    app = { kind = "messages", message = "200 B", interval = "20 ms", count = 50 }
    transport = { kind = "dccp" }
    "#,
    // It ends with its flow, 13 round trips from the start.
    r#"
    network = { topology = "point-to-point", link = { rate = "1 Gbps", delay = "10 ms" } }
    [[flow]]
    app = { kind = "upload", size = "1 MB" }
    "#,
];

/// Runs a scenario in steps of a length, with a glance at its flows after each.
fn stepped(scenario: Scenario, step: Duration, most: u64) -> Outcome {
    let (id, flows) = (scenario.run_id(), scenario.flows.len());
    let mut session = Session::new(scenario).expect("we play all of it");
    let mut next = Time::ZERO;
    while !(session.is_over() || session.is_at_end()) {
        next += step;
        while !session.advance(next, most) {}
        for flow in 0..flows {
            assert_eq!(session.view(flow), None, "nothing steers flow {flow}");
        }
    }
    session.outcome(&id)
}

#[test]
fn a_run_in_steps_is_the_run_in_one_go() {
    for text in VARIED {
        let whole = play(text, 7);
        for (step, most) in [(Duration::from_millis(1), u64::MAX), (Duration::from_nanos(33_333_333), 100)] {
            assert_eq!(stepped(load(text, 7), step, most), whole, "steps of {step:?} of\n{text}");
        }
        assert_eq!(stepped(load(text, 7), Duration::from_secs(3600), u64::MAX), whole, "one step of\n{text}");
    }
}

/// Reads a scenario in which the congestion control "agent" is steered.
fn with_agent(text: &str) -> Scenario {
    let build: ControlFactory = Arc::new(|setup: Setup| Box::new(Steered::new(&setup)) as Box<dyn CongestionControl>);
    let controls = Plugins::new(move |name, _| {
        (name == "agent").then(|| Ok(Plugin { fingerprint: "steered".into(), build: build.clone() }))
    });
    let extensions = Extensions { controls, ..Extensions::default() };
    Scenario::load_with(text, "", Vec::new(), Some(1), &extensions).unwrap_or_else(|e| panic!("{e}"))
}

fn one_flow(transport: &str, queue: &str) -> String {
    format!(
        "until = '4 s'\nnetwork = {{ topology = 'point-to-point', link = {{ rate = '12 Mbps', delay = '20 ms', queue = '{queue}' }} }}\n\
         [[flow]]\napp = {{ kind = 'upload' }}\ntransport = {{ kind = '{transport}', cc = 'agent' }}\n"
    )
}

/// Sets the window, in packets, every 100 ms, and looks every `step`; returns the tables and the actions' digest.
fn steered(text: &str, windows: &[u64], step: Duration) -> (Outcome, Option<String>) {
    let mut session = Session::new(with_agent(text)).expect("we play all of it");
    assert_eq!(session.refusal(0), None);
    assert!(session.open(&[0], u64::MAX));
    let mut next = session.now();
    for window in windows {
        let view = session.view(0).expect("it is steered");
        session.steer(0, window * view.mss, None);
        let end = next + Duration::from_millis(100);
        while next < end {
            next += step;
            assert!(session.advance(next, u64::MAX));
            session.view(0);
        }
    }
    let actions = session.actions();
    (session.outcome("x"), actions)
}

#[test]
fn looking_more_often_changes_nothing_but_other_actions_do() {
    let windows: Vec<u64> = (0..20).map(|n| 5 + (n * 7) % 40).collect();
    for transport in ["tcp", "quic", "dccp"] {
        let text = one_flow(transport, "1 bdp");
        let often = steered(&text, &windows, Duration::from_millis(1));
        assert_eq!(often, steered(&text, &windows, Duration::from_millis(100)), "{transport}");
        let mut other = windows.clone();
        other[3] += 1;
        let (tables, digest) = steered(&text, &other, Duration::from_millis(100));
        assert_ne!((&tables.links, &digest), (&often.0.links, &often.1), "{transport}");
    }
}

/// A window of w packets a round trip is a rate of w/RTT until the bottleneck is full, and beyond it a queue: Little's law.
#[test]
fn a_set_window_gives_the_rate_and_the_delay_of_littles_law() {
    for (transport, header) in [("tcp", 52.0), ("quic", 28.0), ("dccp", 52.0)] {
        // 12 Mbit/s over a round trip of 40 ms are 60 kB.
        for share in [0.5, 2.0] {
            let mut session = Session::new(with_agent(&one_flow(transport, "4 bdp"))).expect("we play it");
            assert!(session.open(&[0], u64::MAX));
            let mss = session.view(0).expect("steered").mss;
            let packets = (share * 60_000.0 / (mss as f64 + header)).round() as u64;
            session.steer(0, packets * mss, None);
            session.advance(Time::ZERO + Duration::from_secs(2), u64::MAX);
            let before = session.view(0).expect("steered").seen;
            session.advance(Time::ZERO + Duration::from_secs(4), u64::MAX);
            let after = session.view(0).expect("steered").seen;
            let samples = (after.rtt_samples - before.rtt_samples) as f64;
            let rtt = (after.rtt_sum - before.rtt_sum).as_secs() / samples;
            let rate = (after.delivered - before.delivered) as f64 / 2.0;
            // The window over the round trip; acknowledgements of every other packet leave one unused now and then.
            let law = packets as f64 * mss as f64 / rtt;
            assert!((rate / law - 1.0).abs() < 0.06, "{transport}: {rate} B/s, not {law}, in {rtt} s");
            if share > 1.0 {
                assert!((rtt - 0.08).abs() < 0.006, "{transport}: {rtt} s with two bandwidth-delay products");
                assert!((rate / 1.5e6 - 1.0).abs() < 0.12, "{transport}: {rate} B/s of the bottleneck's 1.5 MB/s");
            } else {
                assert!((0.04..0.044).contains(&rtt), "{transport}: {rtt} s without a queue");
            }
        }
    }
}

/// A pacing rate below the bottleneck is the rate of delivery, whatever the window.
#[test]
fn a_set_rate_is_the_rate_of_delivery() {
    for transport in ["tcp", "quic", "dccp"] {
        let mut session = Session::new(with_agent(&one_flow(transport, "1 bdp"))).expect("we play it");
        assert!(session.open(&[0], u64::MAX));
        let mss = session.view(0).expect("steered").mss;
        session.steer(0, 1000 * mss, Some(Rate::from_bps(6_000_000)));
        session.advance(Time::ZERO + Duration::from_secs(2), u64::MAX);
        let before = session.view(0).expect("steered").seen.delivered;
        session.advance(Time::ZERO + Duration::from_secs(4), u64::MAX);
        let rate = 8.0 * (session.view(0).expect("steered").seen.delivered - before) as f64 / 2.0;
        // Headers are counted in some of the rates: 3 to 5 % of a packet.
        assert!((5.7e6..6.3e6).contains(&rate), "{transport}: {rate} bit/s");
    }
}

/// What cannot be steered is said by its reason.
#[test]
fn a_flow_that_cannot_be_steered_is_refused() {
    let mut session = Session::new(load(VARIED[1], 1)).expect("we play it");
    let told = |session: &mut Session, flow| session.refusal(flow).expect("no agent's");
    assert!(told(&mut session, 0).contains("agents are for tcp, dccp, quic"));
    assert!(told(&mut session, 1).contains("agents are for tcp, dccp, quic"));
    assert!(told(&mut session, 9).contains("flows are 0 to 2"));
    let text = VARIED[2].replace("[[flow]]", "[[flow]]\ntransport = { kind = 'tcp', stack = 'ns2' }");
    let extensions = Extensions {
        simulators: [("ns2".to_owned(), vazao_scenario::Simulator { version: "2.35".into(), digest: "x".into() })]
            .into(),
        ..Extensions::default()
    };
    let foreign = Scenario::load_with(&text, "", Vec::new(), Some(1), &extensions).unwrap_or_else(|e| panic!("{e}"));
    let Err(Stopped::NotRun(problem)) = Session::new(foreign) else { panic!("ns-2 cannot be stepped") };
    assert!(problem.contains("flow 0: ns-2 plays it"), "{problem}");
}
