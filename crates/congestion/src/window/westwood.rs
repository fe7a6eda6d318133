use super::{PROFILE, Reno, WholeSegments, Window, windowed};
use crate::registry::Constructor;
use crate::{Ack, Congestion, Signal, State};
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};
use vazao_engine::{Duration, Time};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "westwood",
    aliases: &[],
    title: "TCP Westwood",
    source: "Mascolo, Casetti, Gerla, Sanadidi, Wang, MobiCom 2001",
    help: "Reno that falls to the estimated bandwidth times the least round-trip time instead of to half",
    parameters: &[
        PROFILE,
        Parameter::new(
            "tau",
            Kind::Duration(Duration::from_millis(1), Duration::from_secs(60)),
            "500 ms",
            "time constant of the bandwidth filter (section 2.2)",
        ),
        Parameter::new(
            "tick",
            Kind::Duration(Duration::from_micros(1), Duration::from_millis(50)),
            "10 ms",
            "of the kernel's clock, by which the Linux profile measures (HZ = 100)",
        ),
    ],
    build: |p, setup| windowed(Westwood::from(p), setup),
};

/// TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi, Wang, *TCP Westwood: bandwidth estimation for enhanced transport
/// over wireless links*, MobiCom 2001): Reno, but after a loss the window is not halved blindly; it becomes what the
/// path was seen to carry in an empty round trip, estimated bandwidth times minimum round-trip time.
///
/// A random loss on an underused link then costs little. Closely spaced acknowledgements fool the estimate, as
/// the authors of Westwood+ (2004) found.
#[derive(Debug)]
pub struct Westwood {
    estimate: BandwidthEstimate,
    linux: Option<Linux>,
}

impl Westwood {
    /// Westwood with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let duration = |name| p.duration(name).expect("a duration with a default");
        let linux = WholeSegments::wanted(p).map(|whole| Linux::new(whole, duration("tick")));
        Westwood { estimate: BandwidthEstimate::new(duration("tau")), linux }
    }
}

impl Window for Westwood {
    /// Every acknowledgement is a sample (section 2.2), also a duplicate one, in slow start and in recovery.
    fn observe(&mut self, _: &State, ack: &Ack) {
        if let Some(linux) = &mut self.linux {
            return linux.acknowledge(ack);
        }
        self.estimate.acknowledge(ack.now, ack.delivered);
    }

    fn grow(&mut self, state: &State, ack: &Ack) -> f64 {
        match &mut self.linux {
            Some(linux) => linux.whole.grow(state, ack, WholeSegments::window(state)),
            None => state.cwnd + Reno::increase(state, ack),
        }
    }

    /// Section 3: ssthresh = BWE RTTmin, after a fast retransmit and after a timeout alike.
    fn shrink(&mut self, state: &State, congestion: &Congestion) -> f64 {
        if let Some(linux) = &mut self.linux {
            let kept = WholeSegments::window(state) / 2.0;
            let timeout = congestion.signal == Signal::Timeout;
            let kept = if timeout { linux.after_timeout() / state.mss } else { kept };
            return linux.whole.keep(state, kept);
        }
        if congestion.min_rtt == Duration::MAX {
            return state.in_use(congestion) / 2.0;
        }
        self.estimate.bytes_per_second() * congestion.min_rtt.as_secs()
    }

    fn recovered(&mut self, state: &State) -> Option<f64> {
        let linux = self.linux.as_ref()?;
        Some((linux.carried() / state.mss).floor() * state.mss)
    }
}

/// Linux's Westwood (net/ipv4/tcp_westwood.c), which is Westwood+ (Grieco and Mascolo, CCR 34(2), 2004): a sample of bandwidth
/// is what was delivered in a round trip, of 50 ms at least, and passes two filters that keep 7/8. A loss halves the window
/// as Reno; only when it is repaired do window and threshold become what the path carries. All times are whole ticks
/// of the kernel's clock, a span rounded up: at 100 Hz an RTT of 51 ms counts as 60.
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    tick: Duration,
    /// When the sample of now began, in ticks, and the bytes delivered since.
    since: Option<f64>,
    delivered: f64,
    /// The last and the least RTT, in ticks.
    rtt: f64,
    least: Option<f64>,
    /// Bytes a tick, after one filter and after both.
    filtered: Option<(f64, f64)>,
}

impl Linux {
    const SHORTEST: Duration = Duration::from_millis(50);

    fn new(whole: WholeSegments, tick: Duration) -> Self {
        Linux { whole, tick, since: None, delivered: 0.0, rtt: 0.0, least: None, filtered: None }
    }

    fn ticks(&self, span: Duration) -> f64 {
        (span.as_nanos() as f64 / self.tick.as_nanos() as f64).ceil()
    }

    fn acknowledge(&mut self, ack: &Ack) {
        let now = (ack.now.as_nanos() / self.tick.as_nanos()) as f64;
        let span = now - *self.since.get_or_insert(now);
        // The sample ends with the acknowledgement before this one.
        if self.rtt > 0.0 && span > self.rtt.max((Self::SHORTEST.as_nanos() / self.tick.as_nanos()) as f64) {
            let sample = (self.delivered / span).floor();
            let once = self.filtered.map_or(sample, |(once, _)| ((7.0 * once + sample) / 8.0).floor());
            let twice = self.filtered.map_or(sample, |(_, twice)| ((7.0 * twice + once) / 8.0).floor());
            self.filtered = Some((once, twice));
            (self.since, self.delivered) = (Some(now), 0.0);
        }
        self.delivered += ack.delivered as f64;
        if let Some(rtt) = ack.rtt {
            self.rtt = self.ticks(rtt);
            self.least = Some(self.least.map_or(self.rtt, |least| least.min(self.rtt)));
        }
    }

    /// Bytes that the path carries in a least RTT.
    fn carried(&self) -> f64 {
        self.filtered.map_or(0.0, |(_, rate)| rate) * self.least.unwrap_or(0.0)
    }

    /// The same after a timeout, from which on the least RTT is looked for anew.
    fn after_timeout(&mut self) -> f64 {
        let carried = self.carried();
        self.least = None;
        carried
    }
}

/// Westwood's bandwidth estimate: the rate of acknowledged data through a first-order low-pass filter whose weights
/// follow the time between samples (the bilinear, or Tustin, transform; section 2.2).
#[derive(Debug)]
pub struct BandwidthEstimate {
    /// The filter's time constant in seconds: changes faster than this are smoothed away.
    tau: f64,
    /// When the last sample ended; nothing was acknowledged before the first.
    last: Option<Time>,
    /// Bytes acknowledged since: acknowledgements that arrive together are one sample.
    pending: f64,
    /// b: the last sample in bytes a second.
    sample: f64,
    /// The filtered rate in bytes a second.
    filtered: f64,
}

impl BandwidthEstimate {
    /// An estimate of zero, with the filter's time constant.
    pub fn new(tau: Duration) -> Self {
        BandwidthEstimate { tau: tau.as_secs(), last: None, pending: 0.0, sample: 0.0, filtered: 0.0 }
    }

    /// The estimate now, in bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.filtered
    }

    /// Notes that `acked` bytes were acknowledged at `now`.
    pub fn acknowledge(&mut self, now: Time, acked: u64) {
        let Some(last) = self.last else {
            // The first acknowledgement only starts the clock: there is no interval to divide by.
            self.last = Some(now);
            return;
        };
        self.pending += acked as f64;
        let interval = now.since(last).as_secs();
        if interval > 0.0 {
            let idle = self.sample_silence(interval);
            let interval = interval - idle;
            self.update(self.pending / interval, interval);
            (self.last, self.pending) = (Some(now), 0.0);
        }
    }

    /// An interval beyond tau/2 would break the sampling theorem: the filter is fed a sample of zero for every tau/2
    /// without an acknowledgement. Returns the time these cover; the rest, above zero, is the acknowledgement's own.
    fn sample_silence(&mut self, interval: f64) -> f64 {
        let longest = self.tau / 2.0;
        if interval <= longest {
            return 0.0;
        }
        let nulls = (interval / longest).ceil() - 1.0;
        // Each keeps 3/5 of the estimate: after a hundred nothing is left to decay.
        for _ in 0..nulls.min(100.0) as u32 {
            self.update(0.0, longest);
        }
        nulls * longest
    }

    /// One step of the filter: `sample` bytes a second were seen over `interval` seconds.
    fn update(&mut self, sample: f64, interval: f64) {
        let weight = 2.0 * self.tau;
        let kept = (weight - interval) * self.filtered;
        self.filtered = (kept + interval * (sample + self.sample)) / (weight + interval);
        self.sample = sample;
    }
}
