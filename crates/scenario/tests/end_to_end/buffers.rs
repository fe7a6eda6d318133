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

/// A full buffer blocks its application until a third of it is free (sk_stream_write_space): with 256 KiB of memory and a round
/// trip of 100 ms no more than that leaves in each, and once slow start is over no less than two thirds, of which the kernel's
/// structures take up to a quarter. SO_SNDBUF is doubled, so that half of it is as good.
#[test]
fn a_send_buffer_bounds_what_leaves_in_a_round_trip() {
    const MEMORY: f64 = 262_144.0;
    for buffer in ["tcp_wmem = \"256 KiB\"", "send_buffer = \"128 KiB\""] {
        let link = "rate = \"100 Mbps\", delay = \"50 ms\"";
        let [goodput, window, limited] = outcome(link, "5 MB", &format!(", {buffer}"));
        let bytes = goodput / 8.0 * 0.1;
        assert!((0.5 * MEMORY..MEMORY).contains(&bytes), "{buffer}: {bytes}");
        let rounds = 5e6 / bytes * 0.1;
        assert!(
            limited > 0.75 * rounds && limited < rounds && window < 0.01,
            "{buffer}: {limited} of {rounds}, {window}"
        );
    }
}

/// Segments of 1448 bytes in 2176 of memory: of 256 KiB two thirds hold data, which is the window (tcp_win_from_space).
#[test]
fn a_receive_buffer_bounds_what_leaves_in_a_round_trip() {
    const WINDOW: f64 = 262_144.0 * MSS / 2176.0;
    let link = "rate = \"100 Mbps\", delay = \"50 ms\"";
    let [goodput, limited, buffer] = outcome(link, "5 MB", ", tcp_rmem = \"256 KiB\"");
    let bytes = goodput / 8.0 * 0.1;
    assert!((0.85 * WINDOW..1.02 * WINDOW).contains(&bytes), "{bytes}");
    assert!(limited > 0.8 * 5e6 / bytes * 0.1 && buffer < 0.01, "{limited} {buffer}");
}
