use super::tick::{Clock, TICK};
use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Time};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        delta_l: Duration = Kind::Duration(Duration::from_millis(1), Duration::from_secs(3600)), "1 s",
            "time since a loss up to which Reno rules (Delta_L)";
        delta_b: f64 = Kind::Number(0.0, 1.0), "0.2",
            "change in throughput between losses above which half the window is given up (Delta_B)";
        beta_max: f64 = Kind::Number(0.5, 0.99), "0.8", "part of the window kept on loss at most";
        rtt_scaling: bool = Kind::Flag, "true", "whether growth is scaled by the least RTT over 100 ms";
        tick: Duration = TICK;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "htcp",
    aliases: &["h-tcp"],
    title: "H-TCP",
    source: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06",
    help: "Reno that grows ever faster from a second after a loss on, and gives up no more than the queue it built",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Htcp::from(p), setup),
};

/// H-TCP (Leith, Shorten, *H-TCP: TCP for high-speed and long-distance networks*, PFLDnet 2004): growth is a function of
/// the time t in seconds since the last loss, alpha(t) = 1 + 10 (t - 1) + 0.25 (t - 1)², from a second on and 1 before;
/// so flows that share a link, which lose together, grow alike whatever their windows.
///
/// The part of the window that is kept on loss is RTTmin/RTTmax, between 0.5 and 0.8: what the queue held is given up and
/// the link stays busy. If throughput changed by more than a fifth since the loss before, the path's load did, and half is
/// given up. Growth is 2 (1 - beta) alpha, so that the average window does not depend on beta.
///
/// Where it errs: random losses keep t small, and it is then no better than Reno; RTTmax fades by a twentieth a loss, so
/// a path with little queue keeps 0.8 though others queue. The increase is polynomial: long after a loss it overshoots by
/// hundreds of segments.
#[derive(Debug)]
pub struct Htcp {
    delta_l: f64,
    delta_b: f64,
    beta_max: f64,
    rtt_scaling: bool,
    clock: Clock,
    alpha: f64,
    beta: f64,
    /// Time at which the last loss was (repaired), in the clock's units.
    since: Option<f64>,
    repairing: bool,
    rtt_min: f64,
    rtt_max: f64,
    throughput: Throughput,
    /// `since`, RTTmax and throughput before the last loss.
    before: Option<(f64, f64, f64)>,
    linux: Option<Linux>,
}

/// Differences of Linux (net/ipv4/tcp_htcp.c): all in whole ticks of its clock and whole 128ths; alpha is looked at anew
/// only when the window grows; a jump of the RTT by more than 20 ms is not believed; and beta adapts only from the second
/// loss on after which throughput was steady, where the least RTT is above 10 ms.
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    adaptive: bool,
}

/// Throughput of the time since the last loss, in segments a second: the greatest of a smoothed one.
#[derive(Debug, Default)]
struct Throughput {
    /// Time at which the sample of now began, and the segments acknowledged since.
    from: Option<f64>,
    segments: f64,
    smoothed: f64,
    greatest: f64,
    /// The greatest between the last two losses.
    previous: f64,
}

/// Linux counts alpha and beta in such parts.
const PARTS: f64 = 128.0;
/// The RTT at which growth is as the formula says.
const REFERENCE: Duration = Duration::from_millis(100);

impl Htcp {
    /// H-TCP with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, delta_l, delta_b, beta_max, rtt_scaling, tick } = p.into();
        let linux = WholeSegments::wanted(profile).map(|whole| Linux { whole, adaptive: false });
        let clock = if linux.is_some() { Clock::of_ticks(tick) } else { Clock::FINE };
        Htcp {
            delta_l: clock.constant(delta_l),
            delta_b,
            beta_max: clock.whole(beta_max * PARTS) / clock.whole(PARTS),
            rtt_scaling,
            clock,
            alpha: 1.0,
            beta: 0.5,
            since: None,
            repairing: false,
            rtt_min: f64::INFINITY,
            rtt_max: 0.0,
            throughput: Throughput::default(),
            before: None,
            linux,
        }
    }

    /// alpha for a time since the last loss, in the clock's units: the polynomial, scaled by the RTT, and by beta.
    fn alpha(&self, elapsed: f64) -> f64 {
        let (clock, hz) = (self.clock, self.clock.hertz());
        let late = elapsed - self.delta_l;
        let half = clock.whole(late / 2.0);
        let polynomial =
            if late > 0.0 { 1.0 + clock.whole((10.0 * late + clock.whole(half * half / hz)) / hz) } else { 1.0 };
        // The first second is Reno's for every RTT; Linux scales that, too.
        let scaled = self.rtt_scaling && self.rtt_min.is_finite() && (late > 0.0 || self.linux.is_some());
        let factor = if scaled { self.scale(polynomial) } else { polynomial };
        2.0 * (1.0 - self.beta) * factor
    }

    /// Growth scaled by RTTmin/100 ms within 1/10 and 2, and not below 1. Linux divides by the inverse in eighths.
    fn scale(&self, polynomial: f64) -> f64 {
        let reference = REFERENCE.as_secs() * self.clock.hertz();
        let inverse = self.clock.whole(8.0 * reference / self.rtt_min.max(1.0)).clamp(4.0, 80.0);
        self.clock.whole(8.0 * polynomial / inverse).max(1.0)
    }

    /// Returns the part to be kept: what the path holds without its queue.
    fn adapt(&mut self) -> f64 {
        let steady = (self.throughput.greatest - self.throughput.previous).abs()
            <= self.delta_b * self.throughput.previous * (1.0 + 1e-12);
        self.throughput.previous = self.throughput.greatest;
        if let Some(linux) = &mut self.linux {
            let adaptive = std::mem::replace(&mut linux.adaptive, steady);
            // As long as it is adaptive a short RTT does not end that, and half is kept.
            if !(steady && adaptive && self.rtt_min > self.clock.constant(Duration::from_millis(10))) {
                return 0.5;
            }
        } else if !steady {
            return 0.5;
        }
        let kept = self.clock.whole(PARTS * self.rtt_min / self.rtt_max) / PARTS;
        if self.rtt_max > 0.0 { kept.clamp(0.5, self.beta_max) } else { 0.5 }
    }

    fn measure_rtt(&mut self, rtt: f64, repairing: bool) {
        self.rtt_min = self.rtt_min.min(rtt);
        if repairing {
            return;
        }
        self.rtt_max = self.rtt_max.max(self.rtt_min);
        let jump = self.linux.is_some() && rtt > self.rtt_max + self.clock.constant(Duration::from_millis(20));
        if !jump {
            self.rtt_max = self.rtt_max.max(rtt);
        }
    }

    /// Over a window and a least RTT at least. Early samples after a loss replace each other, later ones are smoothed.
    fn measure_throughput(&mut self, state: &WindowState, ack: &Ack, now: f64, since: f64) {
        let clock = self.clock;
        let measured = &mut self.throughput;
        let from = *measured.from.get_or_insert(now);
        if ack.repairing() {
            (measured.segments, measured.from) = (0.0, Some(now));
            return;
        }
        measured.segments += ack.acked as f64 / state.mss;
        let grown = self.alpha.floor().max(1.0);
        let elapsed = now - from;
        if measured.segments < clock.whole(state.segments()) - grown || elapsed < self.rtt_min.max(1.0) {
            return;
        }
        let sample = clock.whole(measured.segments * clock.hertz() / elapsed);
        if clock.whole((now - since) / self.rtt_min) <= 3.0 {
            (measured.smoothed, measured.greatest) = (sample, sample);
        } else {
            measured.smoothed = clock.whole((3.0 * measured.smoothed + sample) / 4.0);
            measured.greatest = measured.greatest.max(measured.smoothed);
        }
        (measured.segments, measured.from) = (0.0, Some(now));
    }
}

impl Window for Htcp {
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        let now = self.clock.now(ack.now);
        if std::mem::replace(&mut self.repairing, ack.repairing()) && !ack.repairing() {
            (self.since, self.before) = (Some(now), None);
        }
        let since = *self.since.get_or_insert(now);
        if let Some(rtt) = ack.rtt {
            self.measure_rtt(self.clock.span(rtt), ack.repairing());
        }
        if self.rtt_min.is_finite() {
            self.measure_throughput(state, ack, now, since);
        }
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let elapsed = self.clock.now(ack.now) - self.since.unwrap_or(0.0);
        let alpha = self.alpha(elapsed);
        let Some(linux) = &mut self.linux else {
            self.alpha = alpha;
            return state.cwnd + alpha * Reno::increase(state, ack);
        };
        let window = WholeSegments::window(state);
        let acked = if ack.repairing() { 1.0 } else { ack.acked as f64 / state.mss };
        if !linux.whole.due(acked, window / self.alpha) {
            return window * state.mss;
        }
        self.alpha = alpha;
        (window + 1.0) * state.mss
    }

    fn counts_what_slow_start_leaves(&self) -> bool {
        false
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let now = self.clock.now(congestion.now);
        let since = self.since.unwrap_or(now);
        self.before = Some((since, self.rtt_max, self.throughput.previous));
        self.beta = self.adapt();
        self.alpha = self.alpha(now - since);
        self.since = Some(now);
        if self.rtt_max > self.rtt_min {
            // It fades, for the path may have changed.
            self.rtt_max = self.rtt_min + self.clock.whole((self.rtt_max - self.rtt_min) * 95.0 / 100.0);
        }
        match &mut self.linux {
            Some(linux) => linux.whole.keep(state, self.beta * WholeSegments::window(state)),
            None => self.beta * state.in_use(congestion),
        }
    }

    fn undo(&mut self, _: Time) {
        if let Some((since, rtt_max, previous)) = self.before.take() {
            (self.since, self.rtt_max, self.throughput.previous) = (Some(since), rtt_max, previous);
        }
    }
}
