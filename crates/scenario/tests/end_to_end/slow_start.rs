//! Slow start on an empty path, to the nanosecond.
//!
//! Host a sends to b over one link of rate R and delay d, acknowledgements come back over the same. With S the time of a
//! full packet and A that of an acknowledgement on the link, the handshake ends after H = 2 (SYN's time + d), and
//! round k begins at H + k (S + d + A + d): when the first packet of the round before has been acknowledged. With an
//! acknowledgement for each segment and one more segment for each acknowledgement, it carries w0 2^k segments, back
//! to back, until a round fills the pipe; from then on the link is never idle. (With
//! recovery by time, as Linux has it, an acknowledgement goes ahead of the first round, and where a packet takes longer than
//! two round trips of a SYN the tail is probed.)

use crate::lab::{nanos, number, play, samples};

struct Path {
    rate: u64,
    delay: u64,
    window: u64,
}

const MSS: u64 = 1448;

impl Path {
    /// Nanoseconds that `bytes` take from an idle transmitter on: rounded down once a busy period.
    fn time(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * 8_000_000_000 / u128::from(self.rate)) as u64
    }

    /// A SYN has 20 + 20 bytes of header, MSS (4), SACK-permitted and timestamps (12) and window scale (4).
    fn handshake(&self) -> u64 {
        2 * (self.time(60) + self.delay)
    }

    /// From the beginning of one round to that of the next: a packet there, 52 bytes of acknowledgement back.
    fn round_trip(&self) -> u64 {
        self.time(1500) + self.time(52) + 2 * self.delay
    }

    /// When segment `n` (from 0) has arrived: behind those before it in its round.
    fn arrival(&self, n: u64) -> u64 {
        let (mut start, mut first, mut size) = (self.handshake(), 0, self.window);
        while n >= first + size && self.time(1500 * size) < self.round_trip() {
            (start, first, size) = (start + self.round_trip(), first + size, 2 * size);
        }
        start + self.time(1500 * (n - first + 1)) + self.delay
    }

    fn scenario(&self, bytes: u64, trace: &str) -> String {
        let Path { rate, delay, window } = self;
        format!(
            r#"
            trace = [{trace}]
            [network]
            topology = "point-to-point"
            link = {{ rate = "{rate} bps", delay = "{delay} ns", queue = "1000000 packets" }}
            [[flow]]
            app = {{ kind = "upload", size = "{bytes} B" }}
            [flow.transport]
            kind = "tcp"
            cc = "reno"
            initial_window = {window}
            delayed_ack = 1
            abc_limit = 1
            recovery = "sack"
            receive_buffer = "1 GB"
            "#
        )
    }
}

/// A fast long path, one whose packets do not take whole nanoseconds, a slow short one, and one that a window fills.
const PATHS: [Path; 4] = [
    Path { rate: 1_000_000_000, delay: 50_000_000, window: 10 },
    Path { rate: 700_000_000, delay: 33_333_333, window: 3 },
    Path { rate: 10_000_000, delay: 5_000_000, window: 1 },
    Path { rate: 1_000_000, delay: 1_000_000, window: 2 },
];

#[test]
fn the_handshake_takes_a_round_trip_of_syns() {
    for path in &PATHS {
        let outcome = play(&path.scenario(1_000, ""), 1);
        assert_eq!(nanos(&outcome.flows, "handshake_s", 0), path.handshake());
    }
}

/// Every instant at which the sender's position in the stream moves, and by how much: two segments for each
/// acknowledgement, in rounds of w0 2^k.
#[test]
fn rounds_begin_on_time_with_twice_the_segments() {
    let path = &PATHS[0];
    let rounds = 6;
    let segments = path.window * ((1 << rounds) - 1);
    let outcome = play(&path.scenario(segments * MSS, "\"sequence\""), 1);
    let mut expected = vec![(path.handshake(), (path.window * MSS) as f64)];
    let mut sent = path.window;
    for round in 1..rounds {
        for acknowledged in 0..path.window << (round - 1) {
            let at = path.handshake() + round * path.round_trip() + acknowledged * path.time(1500);
            sent += 2;
            expected.push((at, (sent * MSS) as f64));
        }
    }
    let mut got: Vec<_> = samples(&outcome, "sequence").into_iter().filter(|s| s.1 > 0.0).collect();
    // The last row repeats a value: it says until when that held.
    got.dedup_by(|next, held| next.1 == held.1);
    assert_eq!(got, expected);
}

/// When a transfer of n segments is complete: for every n up to and beyond the full pipe.
#[test]
fn transfers_complete_to_the_nanosecond() {
    for path in &PATHS {
        for n in [1, 2, 3, 5, 10, 11, 29, 30, 31, 100, 1_000, 5_000] {
            let outcome = play(&path.scenario(n * MSS, ""), 1);
            let what = format!("{n} segments at {} bit/s", path.rate);
            assert_eq!(nanos(&outcome.flows, "completion_s", 0), path.arrival(n - 1), "{what}");
            assert_eq!(number(&outcome.flows, "retransmissions", 0), 0.0, "{what}");
            // SYN, the segments (FIN in the last one, the handshake's acknowledgement in the first), and that of the
            // receiver's FIN.
            assert_eq!(number(&outcome.flows, "packets_sent", 0), (n + 2) as f64, "{what}");
        }
    }
}

/// On a full pipe more bytes take exactly their share of the rate: goodput is R mss / (mss + headers).
#[test]
fn goodput_is_the_rate_less_headers() {
    for path in &PATHS {
        let completion = |n: u64| {
            let outcome = play(&path.scenario(n * MSS, ""), 1);
            nanos(&outcome.flows, "completion_s", 0)
        };
        let (few, many) = (20_000, 60_000);
        let seconds = (completion(many) - completion(few)) as f64 / 1e9;
        let goodput = 8.0 * ((many - few) * MSS) as f64 / seconds;
        // Two completion times, each rounded to a nanosecond.
        crate::lab::assert_close(goodput, path.rate as f64 * 1448.0 / 1500.0, 2e-9 / seconds, "goodput");
    }
}
