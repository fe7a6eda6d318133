//! One Reno flow alone on a bottleneck: how much of it is used depends on the buffer.
//!
//! With P the bandwidth-delay product and b P the buffer, in segments, the window rises by one a round trip from
//! W/2 to W = P (1 + b) + 1 (the one being sent waits in no buffer), where a segment is dropped. Below P a round trip
//! takes T and carries w of the P segments that would fit; above, it takes w T / P and the link is never idle. In
//! segments and units of T/P:
//!
//! - rising through windows w below P: (P - W/2) round trips of P each, carrying (P² - W²/4) / 2;
//! - rising above P: the link is busy for the (W² - P²) / 2 segments it carries;
//! - the repair of the loss: one round trip at W/2 (fast recovery does not raise the window).
//!
//! Without the repair and the one segment this is the textbook's (3/4) (1 + b)² / (1 + b + b²): 3/4 for no buffer at
//! all, 1 from b = 1 on.

use crate::lab::{assert_close, link, play};

/// Bandwidth-delay product in packets: 24 Mbit/s times 50 ms.
const P: f64 = 100.0;

fn textbook(b: f64) -> f64 {
    if b >= 1.0 { 1.0 } else { 0.75 * (1.0 + b) * (1.0 + b) / (1.0 + b + b * b) }
}

/// Utilisation, and segments carried a cycle.
fn closed_form(b: f64) -> (f64, f64) {
    let top = P * (1.0 + b) + 1.0;
    let low = top / 2.0;
    let knee = P.max(low);
    let (below, above) = ((knee * knee - low * low) / 2.0, (top * top - knee * knee) / 2.0);
    let carried = below + above + low;
    let time = (knee - low) * P + above + low.max(P);
    ((carried / time).min(1.0), carried)
}

fn scenario(b: f64, until: f64) -> String {
    format!(
        r#"
        until = "{until} s"
        [network]
        topology = "path"
        link = [
            {{ rate = "1 Gbps", delay = "5 ms" }},
            {{ rate = "24 Mbps", delay = "20 ms", queue = "{b} bdp" }},
        ]
        [[flow]]
        app = {{ kind = "upload" }}
        transport = {{ kind = "tcp", cc = "reno", delayed_ack = 1 }}
        "#
    )
}

#[test]
fn utilisation_follows_the_buffer() {
    for b in [0.1, 0.25, 0.5, 1.0, 2.0] {
        let (utilisation, carried) = closed_form(b);
        // Twenty cycles, after five for slow start and its losses to be forgotten.
        let cycle = carried / utilisation / 2_000.0;
        let [early, late] = [5.0, 25.0].map(|cycles| play(&scenario(b, cycles * cycle), 1));
        let grown = |measure: &str| link(&late, "link2", true, measure) - link(&early, "link2", true, measure);
        let (measured, losses) = (grown("packets") / (20.0 * cycle * 2_000.0), grown("drops_queue"));
        // The fluid's window is continuous, the real one moves in segments, of which W/2 has fifty.
        assert_close(measured, utilisation, 0.01, &format!("utilisation with {b} BDP"));
        assert_close(measured, textbook(b), 0.02, &format!("utilisation with {b} BDP, textbook"));
        // One segment is lost a cycle: twenty cycles, one more or less where the interval begins and ends.
        assert!((losses - 20.0).abs() <= 1.0, "{losses} losses in 20 cycles with {b} BDP");
    }
}
