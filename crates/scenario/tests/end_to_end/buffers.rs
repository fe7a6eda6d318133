//! Buffers that grow by themselves, and up to where: `tcp_wmem` and `tcp_rmem` of Linux.

use crate::lab::{MSS, number, play};

/// Goodput in bit/s, and the seconds limited by the receiver's window and by the send buffer.
fn outcome(link: &str, size: &str, transport: &str) -> [f64; 3] {
    let text = format!(
        r#"
        [network]
        topology = "point-to-point"
        link = {{ {link} }}
        [[flow]]
        app = {{ kind = "upload", size = "{size}" }}
        transport = {{ kind = "tcp", cc = "cubic", like = "linux"{transport} }}
        "#
    );
    let run = play(&text, 1);
    ["goodput_bps", "rwnd_limited_s", "sndbuf_limited_s"].map(|name| number(&run.flows, name, 0))
}

/// On a path of 0.4 ms the receiver's timestamps, of milliseconds, would measure no round trip at all, and a buffer tuned by
/// what is read in one would stay as it is. Linux takes such a trip for a millisecond: its window opens, and the link is full
/// but for the headers and the first round trips.
#[test]
fn a_receive_window_opens_on_a_short_path() {
    let [goodput, limited, _] = outcome("rate = \"1 Gbps\", delay = \"200 us\", queue = \"1000 packets\"", "20 MB", "");
    assert!(goodput > 0.95 * 1e9 * MSS / (MSS + 52.0), "{goodput}");
    assert!(limited < 0.01, "{limited}");
}
