//! Flow control (RFC 9000 section 4). The lab checks at every datagram that limits are respected.

use crate::lab::{Lab, Laboratory, Weather, config, text};
use vazao_engine::registry::Raw;

/// The application reads 1000 bytes every 5 ms: 400 kB in 400 of these, whatever the path could carry. The sender is
/// never more than a buffer of 20 kB ahead, the maximum of any window.
#[test]
fn a_slow_reader_slows_the_sender() {
    let buffer = [("receive_buffer", text("20 kB"))];
    let mut lab = Lab::new(config(&buffer), [400_000, 0], Weather::fair(10), 1);
    lab.ends[1].user.reads_slowly(Some(1000));
    lab.run_until(10, |lab| {
        assert!(lab.client().sent_bytes() <= lab.ends[1].user.received + 20_000);
        lab.ends[1].user.received == 400_000
    });
    let taken = lab.paths.now.as_nanos() as f64 / 1e9;
    assert!((399.0 * 0.005..2.1).contains(&taken), "{taken} s");
    lab.run(10);
    lab.assert_delivered();
}

/// With windows fixed at 100 kB, a round trip of 100 ms carries 100 kB at most. If limits are announced once a part of a
/// window was read, it carries at least the rest of it, once slow start, within five round trips with the handshake, has
/// come so far. Half a window would take 8 s and more. With windows that may grow, the transfer takes the few round trips
/// of slow start.
#[test]
fn windows_limit_the_rate_until_they_widen() {
    let taken = |buffer: &str, part: f64| {
        let windows = [
            ("stream_window", text("100 kB")),
            ("connection_window", text("100 kB")),
            ("receive_buffer", text(buffer)),
            ("window_update", Raw::Number(part)),
        ];
        let mut lab = Lab::new(config(&windows), [4_000_000, 0], Weather::fair(50), 1);
        lab.run(60);
        lab.assert_delivered();
        lab.paths.now.as_nanos() as f64 / 1e9
    };
    for part in [0.0, 0.125, 0.25, 0.5] {
        let fixed = taken("100 kB", part);
        assert!((4.0..4.0 / (1.0 - part) + 0.5).contains(&fixed), "{fixed} s with {part}");
    }
    let wide = taken("16 MB", 0.125);
    // Slow start alone sends 14, 28, 56, ... kB a round trip: 4 MB in nine; a window that doubles each time is as fast.
    assert!(wide < 1.6, "{wide} s");
}

/// A lost limit is announced again: nothing else would unblock the sender.
#[test]
fn lost_limits_are_repeated() {
    let windows =
        [("stream_window", text("20 kB")), ("connection_window", text("20 kB")), ("receive_buffer", text("20 kB"))];
    let mut lab = Lab::new(config(&windows), [100_000, 0], Weather::fair(10), 1);
    lab.paths.weather[0].outages.push(45..700);
    lab.run(60);
    lab.assert_delivered();
}
