//! Pacing: departure times. The round-trip time is 100 ms, from the handshake; segments have 1000 octets.

use crate::config::{control, plain};
use crate::trace::Trace;
use vazao_congestion::{Ack, Congestion, CongestionControl};
use vazao_engine::{Duration, Rate};
use vazao_transport::tcp::{Config, Host, Pacing};

/// Congestion control with a fixed window of a hundred segments and a rate of its own.
struct Fixed(Option<Rate>);

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn cwnd(&self) -> u64 {
        100_000
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.0
    }
}

fn at_rate(mbps: u64) -> Config {
    let control = move |_, _| Box::new(Fixed(Some(Rate::from_bps(mbps * 1_000_000)))) as Box<dyn CongestionControl>;
    Config { control: std::sync::Arc::new(control), ..plain() }
}

/// Departure times of the first `count` segments, in microseconds from the first; nothing is acknowledged.
fn departures(config: Config, count: usize) -> Vec<u64> {
    let mut t = Trace::established(config);
    let start = t.now;
    let mut times = vec![0; t.writes_segments(count as u64).len()];
    while times.len() < count && t.tcp.next_timeout() < start + Duration::from_millis(400) {
        t.now = t.tcp.next_timeout();
        t.tcp.handle_timeout(t.now);
        times.extend(t.sent().iter().map(|_| t.now.since(start).as_nanos() / 1000));
    }
    times
}

/// 8 Mbit/s are a segment a millisecond.
#[test]
fn a_rate_of_the_controls_is_kept_segment_by_segment() {
    assert_eq!(departures(at_rate(8), 5), [0, 1000, 2000, 3000, 4000]);
}

#[test]
fn no_pacing_is_no_pacing() {
    assert_eq!(departures(Config { pacing: Pacing::Off, ..at_rate(8) }, 5), [0; 5]);
    assert_eq!(departures(Config { control: control("reno", 5, None), ..plain() }, 5), [0; 5]);
}

/// Twice the window a round trip in slow start: 10 segments in 50 ms. Near ssthresh 120 %: in 83.3 ms.
#[test]
fn a_window_gives_a_rate() {
    for (ssthresh, gap) in [(None, 5_000.0), (Some(10), 100_000.0 / 12.0)] {
        let config = Config { pacing: Pacing::On, control: control("reno", 10, ssthresh), ..plain() };
        let times = departures(config, 10);
        assert_eq!(times.len(), 10);
        for (i, time) in times.iter().enumerate() {
            // Microseconds are rounded down, each pause up to a nanosecond.
            assert!((*time as f64 - i as f64 * gap).abs() <= 1.0, "{i}: {time}");
        }
    }
}

/// The first ten segments are free, but the burst of the tenth is followed by its pause; then bursts of what the rate
/// carries in 1/1024 s, at least two segments (one below 1.2 Mbit/s), and their pause: 24 Mbit/s are 2.9 segments in
/// that time, 100 Mbit/s 12.2, 1 Mbit/s 0.12.
#[test]
fn linux_sends_bursts() {
    for (mbps, burst) in [(24, 2), (100, 12), (1, 1)] {
        let free = 10usize.next_multiple_of(burst);
        let times = departures(Config { host: Host::Linux, ..at_rate(mbps) }, free + 3 * burst);
        let pause = burst as f64 * 8_000.0 / mbps as f64;
        assert!(times[..free].iter().all(|&time| time == 0), "{mbps} Mbit/s: {times:?}");
        for (k, together) in times[free..].chunks(burst).enumerate() {
            let time = (k + 1) as f64 * pause;
            assert!(together.iter().all(|&t| (t as f64 - time).abs() <= 1.0), "{mbps} Mbit/s, burst {k}: {times:?}");
        }
    }
}

/// A retransmission is paced too; a new acknowledgement does not release anything earlier.
#[test]
fn acknowledgements_do_not_override_pacing() {
    let mut t = Trace::established(at_rate(8));
    assert_eq!(t.writes_segments(20), [1]);
    t.wait(7);
    assert_eq!(t.acks(4, &[]), [0; 0]);
    assert_eq!(t.acks(5, &[]), [0; 0]);
    assert_eq!(t.wait(2).len(), 2);
}
