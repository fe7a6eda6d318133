//! Adaptive video against closed forms: when it starts, how often it stops, how far ahead it fetches.

use crate::lab::{MSS, PACKET, assert_close, number, play};
use vazao_scenario::Outcome;

/// A link that one connection fills: its delay product is half a packet, and its queue holds every segment of a video.
fn watch(rate: &str, app: &str) -> Outcome {
    play(
        &format!(
            "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"{rate}\", delay = \"500 us\", queue = \"10000 packets\" }}\n\
             [[flow]]\napp = {{ kind = \"video\", {app} }}\ntransport = {{ kind = \"tcp\" }}\n"
        ),
        1,
    )
}

/// Seconds that a segment of so many bits takes: a round trip, its header and its bits in segments, at `bps`.
fn fetch(bits: f64, bps: f64) -> f64 {
    0.001 + (bits + 8.0 * 500.0) * PACKET / MSS / bps
}

/// Bounds: a packet more or less a segment, and ACKs of half a packet's time, are below 1 % of 340 packets.
#[test]
fn it_starts_when_its_first_segments_are_there() {
    let app = "ladder = [\"1 Mbps\"], segment = \"4 s\", duration = \"60 s\", startup = \"8 s\", buffer = \"20 s\"";
    let outcome = watch("10 Mbps", app);
    let value = |name| number(&outcome.flows, name, 0);
    let startup = 0.001 + 2.0 * fetch(4e6, 10e6);
    assert_close(value("startup_s"), startup, 0.01, "start");
    assert_eq!((value("stalls"), value("stalled_s"), value("bitrate_switches")), (0.0, 0.0, 0.0));
    assert_eq!((value("bitrate_mean_bps"), value("app_bytes")), (1e6, 7.5e6));
    assert_eq!((value("completed"), value("intact"), value("messages_delivered")), (1.0, 1.0, 15.0));
    // The last segment is asked for when the 14 before it are down to 16 s of the buffer's 20: 40 s after the start.
    assert_close(value("completion_s"), startup + 40.0 + fetch(4e6, 10e6), 0.002, "last segment");
}

/// Each segment takes longer than it plays: after the first one it stops once for each.
#[test]
fn below_its_lowest_rate_it_stalls_at_every_segment() {
    let app = "ladder = [\"1 Mbps\"], segment = \"4 s\", duration = \"40 s\", startup = \"4 s\"";
    let outcome = watch("800 kbps", app);
    let value = |name| number(&outcome.flows, name, 0);
    let each = fetch(4e6, 0.8e6);
    assert_close(value("startup_s"), each, 0.01, "start");
    assert_eq!(value("stalls"), 9.0);
    assert_close(value("stalled_s"), 9.0 * (each - 4.0), 0.03, "time lost");
}

/// Whatever chooses, there is no stall while the link carries more than the lowest rate, and no rate is below that.
#[test]
fn above_its_lowest_rate_it_plays_on() {
    for adaptation in ["bba-0", "rate-based"] {
        for (rate, bps) in [("400 kbps", 0.4e6_f64), ("3 Mbps", 3e6), ("20 Mbps", 20e6)] {
            let app = format!("adaptation = \"{adaptation}\", duration = \"20 min\"");
            let outcome = watch(rate, &app);
            let value = |name| number(&outcome.flows, name, 0);
            assert_eq!(value("stalls"), 0.0, "{adaptation} at {rate}");
            let mean = value("bitrate_mean_bps");
            assert!((235e3..=bps.min(5.8e6)).contains(&mean), "{adaptation} at {rate}: {mean}");
        }
    }
}

/// 85 % of 5 Mbit/s less headers are 4.1: of the ladder's rates 3 Mbit/s, from the second segment on.
#[test]
fn the_throughput_is_met_from_below() {
    let outcome = watch("5 Mbps", "adaptation = \"rate-based\", duration = \"400 s\"");
    let value = |name| number(&outcome.flows, name, 0);
    assert_eq!(value("bitrate_switches"), 1.0);
    assert_close(value("bitrate_mean_bps"), (0.235e6 + 99.0 * 3e6) / 100.0, 1e-9, "mean");
}

/// Once its buffer is full BBA-0 fetches a segment whenever one was played, at the highest rate.
#[test]
fn a_full_buffer_means_the_highest_rate() {
    let app = "ladder = [\"1 Mbps\", \"2 Mbps\"], buffer = \"30 s\", duration = \"200 s\", \
               adaptation = { kind = \"bba-0\", reservoir = \"8 s\", cushion = \"8 s\" }";
    let outcome = watch("100 Mbps", app);
    let value = |name| number(&outcome.flows, name, 0);
    // A line from 1 Mbit/s at 8 s to 2 at 16 s: 2 at the fourth segment, when three are there less what has played.
    assert_eq!(value("bitrate_switches"), 1.0);
    assert_close(value("bitrate_mean_bps"), (4.0 * 1e6 + 46.0 * 2e6) / 50.0, 0.011, "mean: a segment more or less");
}

/// Over whatever carries a stream of bytes, and whatever the network does, all of it comes.
#[test]
fn it_comes_over_every_reliable_transport() {
    for transport in ["\"quic\"", "\"sctp\"", "\"mptcp\"", "{ kind = \"tcp\", tls = \"1.3\" }"] {
        let outcome = play(
            &format!(
                "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"5 Mbps\", delay = \"20 ms\", loss = 0.02 }}\n\
                 [[flow]]\napp = {{ kind = \"video\", duration = \"40 s\", adaptation = \"rate-based\" }}\n\
                 transport = {transport}\n"
            ),
            1,
        );
        let value = |name| number(&outcome.flows, name, 0);
        assert_eq!((value("completed"), value("intact"), value("messages_delivered")), (1.0, 1.0, 10.0), "{transport}");
        assert!(value("retransmissions") > 0.0 && value("startup_s") < 8.0);
    }
}
