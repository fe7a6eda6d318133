//! BBR over whole paths: its rate, its queue, its fairness, and what losses do to it.

use crate::lab::{MSS, PACKET, assert_close, link, number, play, samples};

/// An upload over one link, `rtt` in milliseconds.
fn upload(cc: &str, rate: &str, rtt: f64, queue: &str, loss: f64, until: f64, trace: &str) -> String {
    let delay = rtt / 2.0;
    format!(
        r#"
        until = "{until} s"
        trace = [{trace}]
        [network]
        topology = "point-to-point"
        link = {{ rate = "{rate}", delay = "{delay} ms", queue = "{queue}", forward = {{ loss = {loss} }} }}
        [[flow]]
        app = {{ kind = "upload" }}
        transport = {{ kind = "tcp", cc = {cc}, recovery = "rack", receive_buffer = "1 GB" }}
        "#
    )
}

const BOTH: [&str; 2] = [r#"{ kind = "bbr" }"#, r#"{ kind = "bbr", profile = "linux" }"#];

/// 2 / ln 2 is the least gain with which the rate doubles each round trip (ACM Queue 2016): from the second on, what is sent
/// in one is twice what was sent in the one before, until the pipe is full. Within 10 %: the receiver acknowledges every
/// other segment, and bursts do not end with round trips.
#[test]
fn startup_doubles_each_round_trip() {
    for cc in BOTH {
        let run = play(&upload(cc, "10 Gbps", 100.0, "1 bdp", 0.0, 1.2, "\"sequence\""), 1);
        let sequence = samples(&run, "sequence");
        let sent_by = |ns: u64| sequence.iter().take_while(|s| s.0 <= ns).last().map_or(0.0, |s| s.1);
        let sent: Vec<f64> = (1..10)
            .map(|k| sent_by((k + 1) * 100_000_000 + 50_000_000) - sent_by(k * 100_000_000 + 50_000_000))
            .collect();
        for pair in sent[1..].windows(2) {
            assert_close(pair[1] / pair[0], 2.0, 0.1, &format!("{cc}: {sent:?}"));
        }
    }
}

/// Alone it fills the link but for PROBE_RTT's 2 %. In the mean less waits than one phase of the higher gain adds, a quarter
/// of the round-trip time; CUBIC fills half the queue at least.
#[test]
fn the_link_is_full_and_the_queue_is_not() {
    for cc in BOTH {
        let run = play(&upload(cc, "50 Mbps", 40.0, "4 bdp", 0.0, 60.0, ""), 1);
        let used = link(&run, "link", true, "utilisation");
        assert!(used > 0.96, "{cc}: {used}");
        let waiting = link(&run, "link", true, "queue_delay_mean_s");
        assert!(waiting < 0.25 * 0.040, "{cc}: {waiting} s");
    }
    let run = play(&upload("\"cubic\"", "50 Mbps", 40.0, "4 bdp", 0.0, 60.0, ""), 1);
    assert!(link(&run, "link", true, "queue_delay_mean_s") > 2.0 * 0.040);
}

/// Random losses hardly slow it: of the link's rate what is lost is missing, PROBE_RTT's part, and what the first round
/// trip of each recovery costs; at 10 %, where there is always one, a fifth (Linux's BBR has 0.78 there). Reno at 1 % has
/// 1.2 / sqrt(p) segments a round trip: 12 of 417.
#[test]
fn random_losses_do_not_slow_it() {
    for cc in BOTH {
        for (loss, part) in [(0.01, 0.9), (0.03, 0.9), (0.1, 0.75)] {
            let run = play(&upload(cc, "50 Mbps", 100.0, "1 bdp", loss, 60.0, ""), 1);
            let goodput = number(&run.flows, "goodput_bps", 0) / (50e6 * MSS / PACKET);
            assert!(goodput > (1.0 - loss) * part, "{cc}, {loss}: {goodput}");
        }
    }
    let run = play(&upload("\"reno\"", "50 Mbps", 100.0, "1 bdp", 0.01, 60.0, ""), 1);
    assert!(number(&run.flows, "goodput_bps", 0) < 0.05 * 50e6);
}

/// Flows of the same path get the same part in the long run, whenever they start: draft section 4.3.5.
#[test]
fn flows_share_equally() {
    for cc in BOTH {
        let run = play(
            &format!(
                r#"
                until = "120 s"
                [network]
                topology = "dumbbell"
                pairs = 2
                access = {{ rate = "1 Gbps", delay = "2 ms" }}
                bottleneck = {{ rate = "24 Mbps", delay = "16 ms", queue = "2 bdp" }}
                [[flow]]
                app = {{ kind = "upload" }}
                transport = {{ kind = "tcp", cc = {cc}, recovery = "rack" }}
                [[flow]]
                start = "3 s"
                app = {{ kind = "upload" }}
                transport = {{ kind = "tcp", cc = {cc}, recovery = "rack" }}
                "#
            ),
            1,
        );
        let jain = number(&run.runs, "jain", 0);
        let goodput = [0, 1].map(|flow| number(&run.flows, "goodput_bps", flow));
        assert!(jain > 0.97, "{cc}: {jain} {goodput:?}");
        let used = link(&run, "bottleneck", true, "utilisation");
        assert!(used > 0.95, "{cc}: {used}");
    }
}

/// Four segments in flight for 200 ms and a round trip at most every ten seconds, where the least round-trip time does not
/// show by itself.
#[test]
fn the_window_falls_to_four_segments_every_ten_seconds() {
    let run = play(&upload(BOTH[1], "50 Mbps", 40.0, "2 bdp", 0.0, 35.0, "\"cwnd\""), 1);
    let windows = samples(&run, "cwnd");
    let falls: Vec<f64> = windows
        .windows(2)
        .filter(|pair| pair[1].1 == 4.0 * MSS && pair[0].1 > 4.0 * MSS)
        .map(|pair| pair[1].0 as f64 / 1e9)
        .collect();
    assert!(falls.len() >= 2, "{falls:?}");
    assert!((10.0..10.1).contains(&falls[0]), "{falls:?}");
    assert!(falls.windows(2).all(|pair| pair[1] - pair[0] > 10.2), "{falls:?}");
}

const VERSION_3: &str = r#""bbr3""#;

/// Version 3 alone: full but for what it leaves to others (Headroom: 15 % of what it found to fit, where that is the least)
/// and PROBE_RTT's half flight; less of a queue than a probe adds.
#[test]
fn version_3_fills_the_link_without_a_queue() {
    let run = play(&upload(VERSION_3, "50 Mbps", 40.0, "4 bdp", 0.0, 60.0, ""), 1);
    let used = link(&run, "link", true, "utilisation");
    assert!(used > 0.93, "{used}");
    let waiting = link(&run, "link", true, "queue_delay_mean_s");
    assert!(waiting < 0.25 * 0.040, "{waiting} s");
    assert_eq!(number(&run.flows, "retransmissions", 0), 0.0);
}

/// Losses below LossThresh's 2 % leave it most of the rate; at 10 % it backs off, where version 1 does not.
#[test]
fn version_3_backs_off_where_version_1_does_not() {
    let goodput = |cc, loss| {
        let run = play(&upload(cc, "50 Mbps", 100.0, "1 bdp", loss, 60.0, ""), 1);
        number(&run.flows, "goodput_bps", 0) / (50e6 * MSS / PACKET)
    };
    let (few, many) = (goodput(VERSION_3, 0.001), goodput(VERSION_3, 0.1));
    assert!(few > 0.7, "{few}");
    assert!(many < 0.5 * goodput(BOTH[0], 0.1), "{many}");
}

#[test]
fn version_3_shares_equally() {
    let flow = r#"
        app = { kind = "upload" }
        transport = { kind = "tcp", cc = "bbr3", recovery = "rack" }
    "#;
    let run = play(
        &format!(
            r#"
            until = "120 s"
            [network]
            topology = "dumbbell"
            pairs = 2
            access = {{ rate = "1 Gbps", delay = "2 ms" }}
            bottleneck = {{ rate = "24 Mbps", delay = "16 ms", queue = "1 bdp" }}
            [[flow]]
            {flow}
            [[flow]]
            start = "3 s"
            {flow}
            "#
        ),
        1,
    );
    let jain = number(&run.runs, "jain", 0);
    assert!(jain > 0.95, "{jain}");
    assert!(link(&run, "bottleneck", true, "utilisation") > 0.93);
}
