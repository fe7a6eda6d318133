//! Explicit congestion notification from end to end: queues mark, senders slow down, and nothing is lost.

use crate::lab::{link, number, play};

fn scenario(queue: &str, transport: &str, until: u32) -> String {
    format!(
        r#"
        until = "{until} s"
        [network]
        topology = "point-to-point"
        link = {{ rate = "10 Mbps", delay = "20 ms", forward.queue = {queue} }}
        [[flow]]
        app = {{ kind = "upload" }}
        transport = {{ kind = "tcp", {transport} }}
        "#
    )
}

/// RFC 3168: where the queue would drop it marks, and the window comes down as for a loss: as often, but for nothing.
#[test]
fn marks_take_the_place_of_losses() {
    let queue = |ecn| format!(r#"{{ kind = "codel", ecn = {ecn} }}"#);
    for cc in ["reno", "cubic"] {
        let marked = play(&scenario(&queue(true), &format!("cc = {cc:?}, ecn = true"), 60), 1);
        let dropped = play(&scenario(&queue(true), &format!("cc = {cc:?}"), 60), 1);
        let count = |run: &vazao_scenario::Outcome, name: &str| number(&run.flows, name, 0);
        assert_eq!((count(&marked, "retransmissions"), count(&marked, "packets_lost")), (0.0, 0.0), "{cc}");
        assert!(count(&marked, "mark_reductions") >= 5.0, "{cc}");
        assert!(count(&dropped, "packets_lost") >= 5.0 && count(&dropped, "mark_reductions") == 0.0, "{cc}");
        let (a, b) = (count(&marked, "goodput_bps"), count(&dropped, "goodput_bps"));
        assert!((a / b - 1.0).abs() < 0.05, "{cc}: {a} beside {b}");
        assert!(link(&marked, "link", true, "marks") >= count(&marked, "mark_reductions"), "{cc}");
    }
}

/// Alizadeh et al. 2010, section 3.3: a long DCTCP flow's queue rises to K + 1 packets, and its sawtooth is
/// A = sqrt(2 (C RTT + K)) / 2 packets deep, so that with K above C RTT / 7 the link never idles. Reno's queue under the same
/// marks runs empty: it halves.
#[test]
fn dctcp_keeps_a_short_queue_and_a_full_link() {
    // C RTT is 33.3 packets of 1500 bytes and K = 10, so A = 4.7. An arrival finds one more when it comes in a pair.
    let queue = r#"{ kind = "step", mark = "10 packets", limit = "200 packets" }"#;
    let run = play(&scenario(queue, r#"cc = "dctcp", delayed_ack = 1"#, 60), 1);
    let wait = link(&run, "link", true, "queue_delay_mean_s") / 1.2e-3;
    let busy = link(&run, "link", true, "utilisation");
    assert_eq!(number(&run.flows, "packets_lost", 0), 0.0);
    assert!((11.0 - 4.7..=12.0).contains(&wait), "{wait} packets");
    assert!(busy > 0.99, "{busy}");
    let reno = play(&scenario(queue, r#"cc = "reno", ecn = true"#, 60), 1);
    assert!(link(&reno, "link", true, "utilisation") < busy - 0.02);
}
