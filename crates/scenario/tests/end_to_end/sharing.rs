//! Flows that share a bottleneck.

use crate::lab::{MSS, PACKET, assert_close, link, mean_and_error, number, play, samples};

fn dumbbell(flows: usize, queue: &str, until: u64, trace: &str) -> String {
    format!(
        r#"
        until = "{until} s"
        trace = [{trace}]
        [network]
        topology = "dumbbell"
        pairs = {flows}
        access = {{ rate = "1 Gbps", delay = "2 ms" }}
        bottleneck = {{ rate = "24 Mbps", delay = "6 ms", queue = "{queue}" }}
        [[flow]]
        count = {flows}
        start_spread = "200 ms"
        app = {{ kind = "upload" }}
        transport = {{ kind = "tcp", cc = "reno", delayed_ack = 1 }}
        "#
    )
}

/// Equal flows get equal shares in the long run, and together what the link carries. With shares that spread by the part s
/// of their mean, Jain's index is 1 / (1 + s²): 0.995 allows 7 %, of which a minute of sawteeth has 3 %.
#[test]
fn equal_flows_share_equally() {
    for flows in [2, 10] {
        let runs: Vec<_> = (1..=5).map(|seed| play(&dumbbell(flows, "1 bdp", 60, ""), seed)).collect();
        let (mean, error) = mean_and_error(&runs.iter().map(|r| number(&r.runs, "jain", 0)).collect::<Vec<_>>());
        assert!(mean > 0.995, "Jain's index of {flows} flows is {mean} +- {error}");
        for run in &runs {
            let together: f64 = (0..flows).map(|f| number(&run.flows, "goodput_bps", f)).sum();
            let used = link(run, "bottleneck", true, "utilisation");
            assert!(used > 0.98, "{used}");
            assert_close(together, used * 24e6 * MSS / PACKET, 0.01, "goodputs together");
        }
    }
}

/// No packet waits longer than the queue is long: a limit of 20 ms, and the packet being sent before it. Nor is any
/// round trip longer than the empty path's and that wait.
#[test]
fn waiting_is_bounded_by_the_queue() {
    for (queue, limit) in [("20 ms", 0.02), ("5 ms", 0.005), ("10 packets", 10.0 * 1500.0 * 8.0 / 24e6)] {
        let run = play(&dumbbell(3, queue, 20, "\"rtt\""), 1);
        let packet = PACKET * 8.0 / 24e6;
        let (mean, p95) =
            (link(&run, "bottleneck", true, "queue_delay_mean_s"), link(&run, "bottleneck", true, "queue_delay_p95_s"));
        // A quantile is within 1/128 of its value.
        assert!(mean < limit && p95 <= (limit + packet) * (1.0 + 1.0 / 128.0), "{queue}: {mean}, {p95}");
        let longest = samples(&run, "rtt").into_iter().map(|s| s.1).fold(0.0, f64::max);
        // There: 10 ms, 1500 B on two access links and the bottleneck. Back: 10 ms and at most 76 B (with SACK blocks)
        // behind other flows' on the same links.
        let empty = 0.02 + 2.0 * 1500.0 * 8.0 / 1e9 + packet + 3.0 * 3.0 * 76.0 * 8.0 / 24e6;
        assert!(longest <= empty + limit + packet, "{queue}: {longest} s");
        assert!(longest > empty + 0.8 * limit, "{queue}: the queue was never full, {longest} s");
    }
}
