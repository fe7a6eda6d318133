//! Active queues under TCP: what they promise of delay and share, with senders that answer.

use crate::lab::{link, number, play};

/// Long CUBIC or Reno flows over 10 Mbit/s and a base round-trip time of 100 ms, for 100 s.
fn long(queue: &str, flows: usize, cc: &str) -> String {
    format!(
        r#"
        until = "100 s"
        [network]
        topology = "point-to-point"
        link = {{ rate = "10 Mbps", delay = "50 ms", queue = {queue} }}
        [[flow]]
        count = {flows}
        start_spread = "1 s"
        app = {{ kind = "upload" }}
        transport = {{ kind = "tcp", cc = "{cc}" }}
        "#
    )
}

/// The mean wait in milliseconds and the utilisation of the link.
fn measured(queue: &str, flows: usize, cc: &str) -> (f64, f64) {
    let run = play(&long(queue, flows, cc), 1);
    (1e3 * link(&run, "link", true, "queue_delay_mean_s"), link(&run, "link", true, "utilisation"))
}

/// A standing queue of about the target is what CoDel leaves to TCPs (RFC 8289, section 4.4); more flows press harder, so
/// twice that is allowed. Windows that halve without any queue to live on would leave 75 % of the link used. Drop-tail of
/// the same limit keeps a second's worth of packets.
#[test]
fn codel_keeps_the_wait_near_its_target() {
    for (flows, cc) in [(2, "reno"), (5, "reno"), (5, "cubic")] {
        let (wait, busy) = measured(r#"{ kind = "codel", limit = "1000 packets" }"#, flows, cc);
        assert!((1.0..10.0).contains(&wait) && busy > 0.75, "{flows} {cc}: {wait} ms, {busy}");
        let (tail, _) = measured(r#""1000 packets""#, flows, cc);
        assert!(tail > 300.0, "{flows} {cc}: {tail} ms");
    }
}

/// PIE holds the wait of TCPs around 15 ms (RFC 8033, section 4; Pan et al. 2013, figures 6 to 9), the link all but full.
#[test]
fn pie_keeps_the_wait_near_its_target() {
    for delay in ["timestamps", "departure-rate"] {
        let queue = format!(r#"{{ kind = "pie", delay = "{delay}" }}"#);
        for flows in [5, 20] {
            let (wait, busy) = measured(&queue, flows, "reno");
            assert!((7.5..22.5).contains(&wait) && busy > 0.9, "{delay}, {flows} flows: {wait} ms, {busy}");
        }
    }
}

/// Adaptive RED aims at half-way between its thresholds: here 5 packets (of 1.2 ms each) and 15, so 10 packets or 12 ms.
#[test]
fn adaptive_red_keeps_the_wait_half_way() {
    let (wait, busy) = measured(r#"{ kind = "red", adaptive = true }"#, 20, "reno");
    assert!((8.0..16.0).contains(&wait) && busy > 0.9, "{wait} ms, {busy}");
}

/// Flow queueing shares what windows do not: Reno's rate goes with 1/RTT, but each flow has a queue of its own. A flow
/// with a tenth of the other's round trip gets the same.
#[test]
fn fq_codel_shares_between_unequal_round_trips() {
    let jain = |queue: &str| {
        let text = format!(
            r#"
            until = "60 s"
            [network]
            topology = "dumbbell"
            pairs = 2
            access = [{{ rate = "1 Gbps", delay = "1 ms" }}, {{ rate = "1 Gbps", delay = "30 ms" }}]
            bottleneck = {{ rate = "10 Mbps", delay = "4 ms", queue = {queue} }}
            [[flow]]
            count = 2
            app = {{ kind = "upload" }}
            transport = {{ kind = "tcp", cc = "cubic", recovery = "sack" }}
            "#
        );
        number(&play(&text, 1).runs, "jain", 0)
    };
    let (fair, unfair) = (jain(r#""fq-codel""#), jain(r#"{ kind = "codel" }"#));
    assert!(fair > 0.99 && unfair < 0.9, "{fair}, {unfair}");
}

/// A queue's luck is its own: under the same seed the same packets are dropped, and another link's losses do not change.
#[test]
fn an_active_queue_repeats_under_its_seed() {
    for kind in ["red", "pie", "fq-codel"] {
        let text = long(&format!("{kind:?}"), 5, "cubic");
        let (first, again, other) = (play(&text, 1), play(&text, 1), play(&text, 2));
        assert_eq!(first, again, "{kind}");
        assert_ne!(first.links, other.links, "{kind}");
    }
}
