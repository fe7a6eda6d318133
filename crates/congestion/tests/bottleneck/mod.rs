//! A fluid model of one flow over one bottleneck: one segment acknowledged at a time, the window spread evenly over a
//! round-trip time that is the base one or, with a queue, what the bottleneck needs for the window.

pub mod multipath;
pub mod packets;

use std::collections::BTreeMap;
use vazao_congestion::{
    Ack, CONGESTION_CONTROLS, Congestion, CongestionControl, RateSample, Setup, Signal, slow_start,
};
use vazao_engine::registry::{Parameters, Raw, find};
use vazao_engine::{Duration, Time};

/// The receiver's clock less the sender's, in nanoseconds: nothing may depend on it.
pub const CLOCKS_APART: i64 = -4_000_000_000;

/// Payload bytes of a segment.
pub const MSS: u64 = 1000;

/// The named control with some parameters changed.
pub fn control(name: &str, changed: &[(&str, Raw)], setup: Setup) -> Box<dyn CongestionControl> {
    let entry = find("congestion control", CONGESTION_CONTROLS, name).unwrap();
    let changed: BTreeMap<String, Raw> = changed.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    (entry.build)(&Parameters::resolve(entry.parameters, &changed).unwrap(), setup)
}

/// Standard slow start from `initial` segments up to `ssthresh` segments.
pub fn setup(initial: f64, ssthresh: Option<f64>) -> Setup {
    let bytes = |segments: f64| (segments * MSS as f64) as u64;
    Setup {
        mss: MSS,
        initial_window: bytes(initial),
        initial_ssthresh: ssthresh.map(bytes),
        slow_start: Box::new(slow_start::Standard { limit: 2.0 }),
        seed: 1,
    }
}

/// A path: its base round-trip time in seconds, segments a second (infinite: no queue ever), and the segments that its
/// queue holds.
#[derive(Clone, Copy)]
pub struct Path {
    pub base_rtt: f64,
    pub rate: f64,
    pub buffer: f64,
}

/// A path on which nothing queues.
pub fn wide(base_rtt: f64) -> Path {
    Path { base_rtt, rate: f64::INFINITY, buffer: 0.0 }
}

/// One flow over one path.
pub struct Flow {
    pub control: Box<dyn CongestionControl>,
    pub path: Path,
    /// Seconds since the start.
    pub now: f64,
    /// Segments acknowledged.
    pub acked: u64,
    /// Congestion signals so far.
    pub losses: u64,
    round_end: u64,
}

impl Flow {
    pub fn new(control: Box<dyn CongestionControl>, path: Path) -> Flow {
        Flow { control, path, now: 0.0, acked: 0, losses: 0, round_end: 0 }
    }

    /// The window in segments.
    pub fn window(&self) -> f64 {
        self.control.cwnd() as f64 / MSS as f64
    }

    pub fn rtt(&self) -> f64 {
        self.path.base_rtt.max(self.window() / self.path.rate)
    }

    /// An acknowledgement of one segment `seconds` after the last, from a full window.
    fn event(&mut self, seconds: f64, round: bool) -> Ack {
        self.now += seconds;
        self.acked += 1;
        let rtt = Duration::from_secs_f64(self.rtt());
        Ack {
            now: Time::from_nanos((self.now * 1e9) as u64),
            acked: MSS,
            delivered: MSS,
            advance: MSS,
            blocks: false,
            same_window: true,
            flight: self.control.cwnd(),
            rtt: Some(rtt),
            echo_rtt: None,
            srtt: rtt,
            min_rtt: Duration::from_secs_f64(self.path.base_rtt),
            round,
            window_limited: true,
            in_recovery: false,
            one_way: Some(self.one_way()),
            pipe: self.control.cwnd().saturating_sub(MSS),
            rate: self.control.wants_rate().then(|| self.rate(rtt)),
            ..Ack::default()
        }
    }

    /// Data delivered in the last round-trip time: all that was in flight.
    fn rate(&self, rtt: Duration) -> RateSample {
        let total = self.acked * MSS;
        let window = total.min(self.control.cwnd());
        RateSample {
            delivered: window,
            interval: rtt,
            prior_delivered: total - window,
            total_delivered: total,
            lost: 0,
            tx_in_flight: self.control.cwnd(),
            app_limited: false,
        }
    }

    /// Length of the queue in seconds.
    pub fn queueing(&self) -> f64 {
        self.rtt() - self.path.base_rtt
    }

    /// Half the empty path's round trip and the queue, by clocks that are apart.
    fn one_way(&self) -> i64 {
        ((self.path.base_rtt / 2.0 + self.queueing()) * 1e9) as i64 + CLOCKS_APART
    }

    /// For so long the application sends now and then, with little in flight.
    pub fn trickle(&mut self, seconds: f64) {
        let end = self.now + seconds;
        while self.now < end {
            let ack = Ack { flight: 5 * MSS, window_limited: false, ..self.event(self.rtt(), true) };
            self.control.on_ack(&ack);
        }
    }

    /// For so long nothing is in flight.
    pub fn idle(&mut self, seconds: f64) {
        for pause in [self.rtt(), seconds + self.rtt()] {
            let ack = Ack { flight: MSS, window_limited: false, ..self.event(pause, true) };
            self.control.on_ack(&ack);
        }
    }

    /// One segment is acknowledged; a window that the path cannot hold loses one, repaired at once.
    pub fn ack(&mut self) {
        let w = self.window();
        let round = self.acked >= self.round_end;
        if round {
            self.round_end = self.acked + w as u64;
        }
        let ack = self.event(self.rtt() / w, round);
        self.control.on_ack(&ack);
        if self.path.rate.is_finite() && self.window() > self.path.base_rtt * self.path.rate + self.path.buffer {
            self.lose();
        }
    }

    /// A segment is lost and repaired at once.
    pub fn lose(&mut self) {
        self.signal(Signal::Loss);
    }

    pub fn signal(&mut self, signal: Signal) {
        self.losses += 1;
        let rtt = Duration::from_secs_f64(self.rtt());
        self.control.on_congestion(&Congestion {
            now: Time::from_nanos((self.now * 1e9) as u64),
            signal,
            flight: self.control.cwnd(),
            srtt: rtt,
            min_rtt: Duration::from_secs_f64(self.path.base_rtt),
        });
    }

    /// One window of acknowledgements.
    pub fn round(&mut self) {
        for _ in 0..self.window() as u64 {
            self.ack();
        }
    }

    /// Acknowledgements up to the time `seconds`.
    pub fn until(&mut self, seconds: f64) {
        while self.now < seconds {
            self.ack();
        }
    }

    /// The average window in segments when every `every`-th segment is lost: the segments that a round trip carries,
    /// over `cycles` losses after as many to settle.
    pub fn average_window(&mut self, every: u64, cycles: u64) -> f64 {
        let cycle = |flow: &mut Flow| {
            for _ in 0..every {
                flow.ack();
            }
            flow.lose();
        };
        (0..cycles).for_each(|_| cycle(self));
        let (start, before) = (self.now, self.acked);
        (0..cycles).for_each(|_| cycle(self));
        (self.acked - before) as f64 * self.path.base_rtt / (self.now - start)
    }
}

/// A flow in congestion avoidance from the start, with a window of `w` segments.
pub fn avoiding(name: &str, changed: &[(&str, Raw)], w: f64, path: Path) -> Flow {
    Flow::new(control(name, changed, setup(w, Some(w))), path)
}

/// Fails unless `got` is within a part `tolerance` of `want`.
pub fn assert_close(got: f64, want: f64, tolerance: f64, what: &str) {
    assert!((got - want).abs() <= tolerance * want.abs(), "{what}: {got}, not {want} within {tolerance}");
}
