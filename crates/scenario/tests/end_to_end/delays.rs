//! Controls that go by delay or marks, end to end: receivers delay acknowledgements, timestamps count in milliseconds.

use crate::lab::{link, number, play, samples};
use vazao_scenario::Outcome;

/// Flows of these controls over a path with an empty round trip of 40 ms.
fn run(controls: &[&str], rate: &str, queue: &str, until: u64) -> Outcome {
    let transport = |cc| format!("kind = 'tcp', recovery = 'rack', cc = '{cc}'");
    run_over(&controls.iter().map(transport).collect::<Vec<_>>(), rate, queue, until)
}

/// Flows of these transports over the same path.
fn run_over(transports: &[String], rate: &str, queue: &str, until: u64) -> Outcome {
    let flow = |transport: &String| format!("[[flow]]\napp = {{ kind = 'upload' }}\ntransport = {{ {transport} }}\n");
    let flows: String = transports.iter().map(flow).collect();
    let text = format!(
        r#"
        until = "{until} s"
        trace = ["rtt"]
        [network]
        topology = "dumbbell"
        pairs = {}
        access = {{ rate = "1 Gbps", delay = "0 s" }}
        bottleneck = {{ rate = "{rate}", delay = "20 ms", queue = {queue} }}
        {flows}"#,
        transports.len()
    );
    play(&text, 1)
}

fn utilisation(run: &Outcome) -> f64 {
    link(run, "bottleneck", true, "utilisation")
}

/// RFC 6817: a queue of TARGET, 100 ms. It is approached from above, where slow start left it, by e-folds of the round-trip
/// time over the target: some milliseconds are left after a minute, and a timestamp's millisecond is not seen.
#[test]
fn ledbat_holds_a_hundred_milliseconds() {
    let run = run(&["ledbat"], "10 Mbps", "'500 ms'", 60);
    let (_, rtt) = *samples(&run, "rtt").last().expect("samples");
    assert!((0.138..0.147).contains(&rtt), "{rtt}");
    assert!(utilisation(&run) > 0.98);
}

/// TCP-LP beside Reno leaves it nine tenths; alone it takes most, though a receiver's timer looks like a queue.
#[test]
fn tcp_lp_takes_what_is_left() {
    assert!(utilisation(&run(&["tcp-lp"], "10 Mbps", "'1 bdp'", 60)) > 0.7);
    let both = run(&["tcp-lp", "reno"], "10 Mbps", "'1 bdp'", 60);
    let rates = [0, 1].map(|flow| number(&both.flows, "goodput_bps", flow));
    assert!(rates[0] < 0.1 * rates[1], "{rates:?}");
}

/// Where no timestamps tell of one-way delays both go by the round-trip time: the same queue of TARGET beyond 40 ms, and the
/// same tenth beside Reno. A receiver that holds an acknowledgement back seems part of the queue, for 25 ms at most.
#[test]
fn scavengers_without_timestamps_go_by_the_round_trip() {
    for transport in ["kind = 'quic'", "kind = 'sctp'", "kind = 'tcp', timestamps = false"] {
        let over = |cc| format!("{transport}, cc = '{cc}'");
        let alone = run_over(&[over("ledbat")], "10 Mbps", "'500 ms'", 60);
        let (_, rtt) = *samples(&alone, "rtt").last().expect("samples");
        assert!((0.138..0.147).contains(&rtt), "{transport}: {rtt} s");
        let reno = "kind = 'tcp', cc = 'reno'".to_string();
        let both = run_over(&[over("tcp-lp"), reno], "10 Mbps", "'1 bdp'", 60);
        let rates = [0, 1].map(|flow| number(&both.flows, "goodput_bps", flow));
        assert!(rates[0] < 0.1 * rates[1], "{transport}: {rates:?}");
    }
}

/// Arun and Balakrishnan, section 3: 1.25 / delta segments of 1.2 ms for each flow on average, here 2.5; two in service or
/// in one burst are as many again. With a queue of half a second beyond it none is lost, and shares are equal.
#[test]
fn copa_keeps_queues_short() {
    for flows in [1, 2] {
        let run = run(&vec!["copa"; flows], "10 Mbps", "'500 ms'", 60);
        let queued = link(&run, "bottleneck", true, "queue_delay_mean_s") / 1.2e-3;
        assert!(queued < 2.5 * flows as f64 + 2.0, "{flows} flows: {queued} segments");
        assert!(utilisation(&run) > 0.98);
        assert_eq!(link(&run, "bottleneck", true, "drops_queue"), 0.0);
        let rates: Vec<f64> = (0..flows).map(|flow| number(&run.flows, "goodput_bps", flow)).collect();
        assert!(rates.iter().all(|rate| (rate * flows as f64 / rates.iter().sum::<f64>() - 1.0).abs() < 0.05));
    }
}

/// Alizadeh et al., section 3.3: the queue swings below K plus a segment a flow. Their K > RTT C / 7 keeps the link busy:
/// 333 / 7 segments here. Only the first marks, with alpha = 1, halve the window: twice, for what leaves while it comes down is
/// marked as well. From a quarter of 333 segments it then grows for 250 round trips of 40 ms, over which the link idles for
/// three eighths of the time: 4.2 % of 90 s.
#[test]
fn dctcp_fills_a_link_with_a_short_queue() {
    let queue = "{ kind = 'threshold', mark = '60 packets', limit = '2000 packets' }";
    let dctcp = run(&["dctcp"], "100 Mbps", queue, 90);
    let queued = link(&dctcp, "bottleneck", true, "queue_delay_mean_s") / 0.12e-3;
    assert!(queued < 61.0, "{queued} segments");
    assert!(utilisation(&dctcp) > 0.955, "{}", utilisation(&dctcp));
    assert_eq!(link(&dctcp, "bottleneck", true, "drops_queue"), 0.0);
    assert!(link(&dctcp, "bottleneck", true, "marks") > 0.0);
}
