//! What Multipath TCP does where data of a slow path keeps the receiver's window full.

use crate::lab::{number, play};

/// Goodput, bytes repeated and penalties over 20 Mbit/s and a slow path whose queue holds as much as the receiver does.
fn outcome(options: &str) -> [f64; 3] {
    let run = play(
        &format!(
            r#"
            [network]
            topology = "multipath"
            path = [
                {{ rate = "20 Mbps", delay = "5 ms", queue = "20 packets" }},
                {{ rate = "1 Mbps", delay = "100 ms", queue = "100 packets" }},
            ]
            [[flow]]
            app = {{ kind = "upload", size = "5 MB" }}
            transport = {{ kind = "mptcp", cc = "lia", receive_buffer = "100 kB"{options} }}
            "#
        ),
        1,
    );
    let flow = |name| number(&run.flows, name, 0);
    assert_eq!((flow("completed"), flow("intact"), flow("app_bytes")), (1.0, 1.0, 5e6), "{options}");
    ["goodput_bps", "repeated_bytes", "penalties"].map(flow)
}

/// Each mechanism does its part and no other's, each alone helps, and both together more (Raiciu et al., NSDI 2012, section
/// 4.2).
#[test]
fn repeating_and_slowing_down_unblock_a_small_buffer() {
    const REPEAT: &str = ", opportunistic_retransmission = true";
    const SLOW: &str = ", penalisation = true";
    let [none, repeat, slow, both] = ["", REPEAT, SLOW, &format!("{REPEAT}{SLOW}")].map(outcome);
    assert_eq!(none[1..], [0.0, 0.0]);
    assert!(repeat[1] > 0.0 && repeat[2] == 0.0, "{repeat:?}");
    assert!(slow[1] == 0.0 && slow[2] > 0.0, "{slow:?}");
    assert!(both[1] > 0.0 && both[2] > 0.0, "{both:?}");
    assert!(
        none[0] < repeat[0].min(slow[0]) && repeat[0].max(slow[0]) < both[0],
        "{none:?} {repeat:?} {slow:?} {both:?}"
    );
}
