//! What a sender tells of itself as Linux does in `struct tcp_info`, as columns and over time.

use crate::lab::{MSS, cell, number, play, samples};
use vazao_scenario::Outcome;

fn scenario(link: &str, app: &str, transport: &str) -> Outcome {
    let text = format!(
        r#"
        trace = ["ca_state", "lost", "sacked", "flight"]
        [network]
        topology = "point-to-point"
        link = {{ {link} }}
        [[flow]]
        app = {{ {app} }}
        transport = {{ {transport} }}
        "#
    );
    play(&text, 1)
}

/// A window of 20 segments over a path that has room for far more: ten segments leave in the first round trip, twenty in each of the
/// others. In the second the congestion window is as large; from the third on, and until the last data has left, the receiver's
/// is what limits. All is acknowledged a round trip after that, and a delayed acknowledgement.
#[test]
fn a_small_window_limits_from_the_third_round_trip_on() {
    let (rounds, rtt) = (50.0, 0.1);
    let size = format!("kind = \"upload\", size = \"{} B\"", (10.0 + 20.0 * rounds) * MSS);
    let window = format!("kind = \"tcp\", cc = \"reno\", receive_buffer = \"{} B\"", 20.0 * MSS);
    let run = scenario("rate = \"1 Gbps\", delay = \"50 ms\"", &size, &window);
    let [busy, limited] = ["busy_s", "rwnd_limited_s"].map(|name| number(&run.flows, name, 0));
    assert!((busy - (rounds + 1.0) * rtt).abs() < 0.06, "{busy}");
    assert!((limited - (rounds - 1.5) * rtt).abs() < rtt, "{limited}");
    assert_eq!(cell(&run.flows, "reordering", 0), Some(3.0));
}

/// Little's law for a slow reader: what it reads in all takes its time, of which the sender waits for it but for the first and the
/// last buffer.
#[test]
fn a_slow_reader_keeps_its_sender_waiting() {
    let app = "kind = \"upload\", size = \"1 MB\", read_rate = \"1 Mbps\"";
    let run = scenario("rate = \"10 Mbps\", delay = \"10 ms\"", app, "kind = \"tcp\", receive_buffer = \"50 kB\"");
    let limited = number(&run.flows, "rwnd_limited_s", 0);
    // 8 s, of which the last 50 kB take 0.4 s to read, and the first 0.04 s to arrive; 20 ms for the way and back.
    assert!((limited - (8.0 - 0.4 - 0.04)).abs() < 0.1, "{limited}");
    let busy = number(&run.flows, "busy_s", 0);
    assert!(busy > limited && busy < limited + 0.2, "{busy}");
}

/// At every moment of a transfer with losses: while nothing is amiss, nothing is lost or SACKed; in a fast recovery something was.
#[test]
fn its_state_and_what_is_lost_agree() {
    for recovery in ["newreno", "sack", "rack"] {
        let transport = format!("kind = \"tcp\", cc = \"reno\", recovery = \"{recovery}\"");
        let link = "rate = \"10 Mbps\", delay = \"20 ms\", queue = \"30 packets\"";
        let run = scenario(link, "kind = \"upload\", size = \"10 MB\"", &transport);
        let [states, lost, sacked, flight] =
            ["ca_state", "lost", "sacked", "flight"].map(|measure| samples(&run, measure));
        let at = |series: &[(u64, f64)], time| series[series.partition_point(|s| s.0 <= time) - 1].1;
        assert_eq!(at(&states, 0), 0.0, "{recovery}");
        let starts = states.windows(2).filter(|pair| pair[0].1 < 3.0 && pair[1].1 == 3.0).count() as f64;
        assert_eq!(starts, number(&run.flows, "recoveries", 0), "{recovery}: it never goes from one to the next");
        for &(time, state) in &states {
            let [lost, sacked] = [&lost, &sacked].map(|series| at(series, time));
            assert!(state != 0.0 || lost + sacked == 0.0, "{recovery} at {time}");
            assert!(state != 1.0 || lost + sacked > 0.0, "{recovery} at {time}");
            assert!((lost + sacked - 1.0) * MSS <= at(&flight, time) || state == 0.0, "{recovery} at {time}");
        }
        assert!(lost.iter().any(|&(_, lost)| lost > 1.0) || recovery == "newreno", "{recovery}");
    }
}

/// What twelve packets overtake is thirteen segments behind the highest that has come, itself counted, as Linux counts.
#[test]
fn it_knows_how_far_the_network_reorders() {
    let link = "rate = \"10 Mbps\", delay = \"20 ms\", forward.reorder = { probability = 0.002, gap = 12 }";
    for (recovery, reordering) in [("rack", Some(13.0)), ("sack", None)] {
        let transport = format!("kind = \"tcp\", cc = \"cubic\", slow_start = \"hystart\", recovery = \"{recovery}\"");
        let run = scenario(link, "kind = \"upload\", size = \"10 MB\"", &transport);
        assert_eq!(cell(&run.flows, "reordering", 0), reordering);
    }
}

/// What only TCP tells is missing elsewhere.
#[test]
fn others_do_not_tell() {
    for transport in ["kind = \"udp\", rate = \"1 Mbps\"", "kind = \"sctp\"", "kind = \"quic\""] {
        let app = "kind = \"upload\", size = \"100 kB\"";
        let run = scenario("rate = \"10 Mbps\", delay = \"10 ms\"", app, transport);
        for name in ["busy_s", "rwnd_limited_s", "sndbuf_limited_s", "reordering"] {
            assert_eq!(cell(&run.flows, name, 0), None, "{transport}: {name}");
        }
        for measure in ["ca_state", "lost", "sacked"] {
            assert_eq!(samples(&run, measure), [], "{transport}: {measure}");
        }
    }
}
