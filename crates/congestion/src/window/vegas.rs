use super::round::Round;
use super::{Profile, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

parameters! {
    struct Settings {
        profile: Profile = Profile::KIND, "rfc",
            "whose rules where implementations differ: the paper's as in ns-2, Linux 6's, ns-3's";
        alpha: Option<f64> = Kind::Number(0.0, 1000.0), "",
            "segments in queues below which the window grows; default: 1, Linux and ns-3 2 (the paper uses both)";
        beta: Option<f64> = Kind::Number(0.0, 1000.0), "",
            "segments in queues above which it shrinks; default: 3, Linux and ns-3 4 (the paper uses both)";
        gamma: f64 = Kind::Number(0.0, 1000.0), "1", "segments in queues above which slow start ends";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "vegas",
    aliases: &[],
    title: "TCP Vegas",
    source: "Brakmo, Peterson, JSAC 13(8), 1995",
    help: "keeps alpha to beta segments of its own in queues, seen from the round-trip time, without loss",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Vegas::from(p), setup),
};

/// TCP Vegas (Brakmo, Peterson, *TCP Vegas: end to end congestion avoidance on a global Internet*, JSAC 13(8), 1995):
/// the window follows the queue that the connection itself builds, not loss.
///
/// Each round trip the rate that an empty path would give, window / base RTT, is compared with the actual one,
/// window / RTT. The difference times base RTT is the number of segments that wait in queues: fewer than `alpha` and
/// the window grows by a segment, more than `beta` and it shrinks by one.
///
/// The paper speaks of at least one and at most three extra buffers, so `alpha` = 1 and `beta` = 3 here and in ns-2
/// (with `gamma` = 1); it also measures 2 and 4, which Linux uses. As in ns-2 the round trip's RTT is the mean of its
/// samples, not that of one distinguished segment, which a delayed acknowledgement would distort.
#[derive(Debug)]
pub struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    round: Round,
    timeout: FineTimeout,
    /// Segments in queues over the round trip that just ended, if its RTT was measured.
    queued: Option<f64>,
    /// Whether slow start keeps the window this round trip, so that it can be compared.
    hold: bool,
    kernel: Option<Kernel>,
}

/// Differences of Linux (net/ipv4/tcp_vegas.c) and ns-3 (tcp-vegas.cc), which took it over: the least RTT of a round
/// trip counts, not the mean, and not fewer than three samples; slow start doubles every round trip and ends at what the
/// path was seen to carry.
#[derive(Debug)]
struct Kernel {
    rules: Rules,
    /// The least RTT of data, in seconds; the handshake's small packets do not count.
    base: f64,
    /// A loss was being repaired: what was seen of that is not to be compared.
    repairing: bool,
    /// The window that the last round trip's rate fills without a queue, in segments.
    carried: f64,
}

/// Rules in which these two differ.
#[derive(Debug)]
enum Rules {
    /// The difference is taken over the least RTT, not over the current one; loss is Reno's.
    Linux(WholeSegments),
    /// Rules of ns-3: a sample is the smoothed RTT, which hides a queue for some round trips and shows it for some after
    /// it is gone. A loss leaves a threshold in bytes that lies below the window by a segment when that shrinks, and by a
    /// quarter at most when it grows.
    Ns3 { threshold: f64 },
}

impl Kernel {
    /// Segments in queues over a round trip with these samples, a whole number.
    fn queued(&mut self, w: f64, round: &Round) -> Option<f64> {
        let rtt = round.least.as_secs();
        let carried = (w * self.base / rtt).floor();
        self.carried = carried + 1.0;
        (round.count > 2).then(|| match self.rules {
            Rules::Linux(_) => (w * (rtt - self.base) / self.base).floor(),
            Rules::Ns3 { .. } => w - carried,
        })
    }

    /// Returns the window when nothing can be compared.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        match &mut self.rules {
            Rules::Linux(whole) => whole.grow(state, ack, WholeSegments::window(state)),
            Rules::Ns3 { .. } => state.cwnd + state.mss * state.mss / state.cwnd,
        }
    }

    /// Returns the threshold after a loss.
    fn shrink(&mut self, state: &WindowState) -> f64 {
        match &mut self.rules {
            Rules::Linux(whole) => whole.keep(state, WholeSegments::window(state) / 2.0),
            Rules::Ns3 { threshold } => {
                *threshold = threshold.min(state.cwnd - state.mss).max(2.0 * state.mss);
                *threshold
            }
        }
    }

    /// Handles a comparison that has set the window, or left it.
    fn on_compared(&mut self, state: &WindowState, window: f64) {
        if let Rules::Ns3 { threshold } = &mut self.rules {
            if window < state.cwnd {
                *threshold = threshold.min(window - state.mss);
            }
            *threshold = threshold.max(0.75 * window);
        }
    }

    /// Returns the sample that an acknowledgement brings.
    fn sample(&self, ack: &Ack) -> Option<Duration> {
        match self.rules {
            Rules::Linux(_) => ack.rtt,
            Rules::Ns3 { .. } => (ack.srtt > Duration::ZERO).then_some(ack.srtt),
        }
    }
}

impl Vegas {
    /// Vegas with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, alpha, beta, gamma } = p.into();
        let rules = match profile {
            Profile::Linux => Some(Rules::Linux(WholeSegments::default())),
            Profile::Ns3 => Some(Rules::Ns3 { threshold: f64::INFINITY }),
            Profile::Rfc => None,
        };
        let kernel = rules.map(|rules| Kernel { rules, base: f64::MAX, repairing: false, carried: 0.0 });
        let own = if kernel.is_some() { (2.0, 4.0) } else { (1.0, 3.0) };
        Vegas {
            alpha: alpha.unwrap_or(own.0),
            beta: beta.unwrap_or(own.1),
            gamma,
            round: Round::default(),
            timeout: FineTimeout::default(),
            queued: None,
            hold: false,
            kernel,
        }
    }
}

impl Window for Vegas {
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(kernel) = &mut self.kernel {
            let sample = kernel.sample(ack);
            if let Some(rtt) = sample {
                kernel.base = kernel.base.min(rtt.as_secs());
                // The acknowledgement that begins a round trip also counts as the last sample of the one before.
                self.round.add(rtt);
            }
            if std::mem::replace(&mut kernel.repairing, ack.repairing()) && !ack.repairing() {
                self.round = Round::default();
            }
            if ack.round {
                self.queued = kernel.queued(WholeSegments::window(state), &std::mem::take(&mut self.round));
            }
            return;
        }
        if ack.round {
            let mean = self.round.take_mean();
            self.queued = mean.map(|rtt| state.segments() * (1.0 - ack.min_rtt.as_secs() / rtt));
        }
        if let Some(rtt) = ack.rtt {
            self.round.add(rtt);
            self.timeout.update(rtt.as_nanos() as f64);
        }
    }

    /// Section III-B: a segment more, a segment less or neither, once a round trip; never below two segments.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        if ack.round
            && self.queued.is_none()
            && let Some(kernel) = &mut self.kernel
        {
            return kernel.grow(state, ack);
        }
        let window = match self.queued {
            Some(queued) if ack.round && queued < self.alpha => state.cwnd + state.mss,
            Some(queued) if ack.round && queued > self.beta => (state.cwnd - state.mss).max(2.0 * state.mss),
            _ => state.cwnd,
        };
        if ack.round
            && let Some(kernel) = &mut self.kernel
        {
            kernel.on_compared(state, window);
        }
        window
    }

    /// Section III-C: the window doubles only every other round trip and stays fixed in between.
    fn slow_start(&mut self, state: &WindowState, ack: &Ack) -> Option<f64> {
        if self.kernel.is_some() {
            return None;
        }
        self.hold ^= ack.round;
        self.hold.then_some(state.cwnd)
    }

    fn leave_slow_start(&mut self, _: &WindowState, ack: &Ack) -> bool {
        ack.round && (self.hold || self.kernel.is_some()) && self.queued.is_some_and(|queued| queued > self.gamma)
    }

    /// Returns the window after slow start, an eighth less to drain its queue (the authors' implementation, as ported
    /// to ns-2).
    fn after_slow_start(&mut self, state: &WindowState) -> f64 {
        let Some(kernel) = &mut self.kernel else { return (state.cwnd * 7.0 / 8.0).max(2.0 * state.mss) };
        let window = state.cwnd.min(kernel.carried * state.mss).max(2.0 * state.mss);
        if let Rules::Ns3 { threshold } = &mut kernel.rules {
            *threshold = window - state.mss;
        }
        window
    }

    fn counts_what_slow_start_leaves(&self) -> bool {
        false
    }

    /// Section III-A: a quarter less after a fast retransmit, for it comes early; half after a timeout, as in Reno.
    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        self.hold = false;
        if let Some(kernel) = &mut self.kernel {
            return kernel.shrink(state);
        }
        let kept = if congestion.signal == Signal::Timeout { 0.5 } else { 0.75 };
        kept * state.in_use(congestion)
    }

    fn retransmit_early(&self, age: Duration) -> bool {
        self.kernel.is_none() && self.timeout.expired(age.as_nanos() as f64)
    }
}

/// The retransmission timeout that a fine clock would give: srtt + 4 rttvar (RFC 6298 section 2) without that
/// section's minimum of a second, which is why Vegas need not wait for three duplicate acknowledgements. In nanoseconds.
#[derive(Debug, Default)]
struct FineTimeout {
    srtt: f64,
    rttvar: f64,
}

impl FineTimeout {
    fn update(&mut self, rtt: f64) {
        if self.srtt == 0.0 {
            *self = FineTimeout { srtt: rtt, rttvar: rtt / 2.0 };
            return;
        }
        self.rttvar += ((self.srtt - rtt).abs() - self.rttvar) / 4.0;
        self.srtt += (rtt - self.srtt) / 8.0;
    }

    fn expired(&self, age: f64) -> bool {
        self.srtt > 0.0 && age > self.srtt + 4.0 * self.rttvar
    }
}
