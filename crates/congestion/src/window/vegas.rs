use super::round::Round;
use super::{PROFILE, WholeSegments, Window, windowed};
use crate::registry::Constructor;
use crate::{Ack, Congestion, Signal, State};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters, Value};

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "vegas",
    aliases: &[],
    title: "TCP Vegas",
    source: "Brakmo, Peterson, JSAC 13(8), 1995",
    help: "keeps alpha to beta segments of its own in queues, seen from the round-trip time, without loss",
    parameters: &[
        PROFILE,
        Parameter::new(
            "alpha",
            Kind::Number(0.0, 1000.0),
            "",
            "segments in queues below which the window grows; default: 1, Linux 2 (the paper uses both)",
        ),
        Parameter::new(
            "beta",
            Kind::Number(0.0, 1000.0),
            "",
            "segments in queues above which it shrinks; default: 3, Linux 4 (the paper uses both)",
        ),
        Parameter::new("gamma", Kind::Number(0.0, 1000.0), "1", "segments in queues above which slow start ends"),
    ],
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
    /// Segments in queues below which the window grows.
    alpha: f64,
    /// Segments in queues above which it shrinks.
    beta: f64,
    /// Segments in queues above which slow start ends.
    gamma: f64,
    round: Round,
    timeout: FineTimeout,
    /// Segments in queues over the round trip that just ended, if its RTT was measured.
    queued: Option<f64>,
    /// Whether slow start keeps the window this round trip, so that it can be compared.
    hold: bool,
    linux: Option<Linux>,
}

/// What Linux (net/ipv4/tcp_vegas.c) does otherwise: the least RTT of a round trip counts, not the mean, and not fewer than
/// three samples; slow start doubles every round trip and ends at what the path was seen to carry; loss is Reno's.
#[derive(Debug)]
struct Linux {
    whole: WholeSegments,
    /// The least RTT of data, in seconds; the handshake's small packets do not count.
    base: f64,
    /// A recovery has just ended: what this round trip saw of it is not to be compared.
    stale: bool,
    /// The window that the last round trip's rate fills without a queue, in segments.
    carried: f64,
}

impl Linux {
    /// Segments in queues over a round trip with these samples: the difference over the least RTT, not over the current
    /// one, in whole segments.
    fn queued(&mut self, w: f64, round: &Round) -> Option<f64> {
        let stale = std::mem::take(&mut self.stale);
        let rtt = round.least.as_secs();
        self.carried = (w * self.base / rtt).floor() + 1.0;
        (round.count > 2 && !stale).then(|| (w * (rtt - self.base) / self.base).floor())
    }
}

impl Vegas {
    /// Vegas with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let linux = WholeSegments::wanted(p).map(|whole| Linux { whole, base: f64::MAX, stale: false, carried: 0.0 });
        let own = |name, default| if let Some(Value::Number(x)) = p.get(name) { *x } else { default };
        let (alpha, beta) = if linux.is_some() { (2.0, 4.0) } else { (1.0, 3.0) };
        Vegas {
            alpha: own("alpha", alpha),
            beta: own("beta", beta),
            gamma: p.number("gamma"),
            round: Round::default(),
            timeout: FineTimeout::default(),
            queued: None,
            hold: false,
            linux,
        }
    }
}

impl Window for Vegas {
    fn observe(&mut self, state: &State, ack: &Ack) {
        if let (Some(linux), Some(rtt)) = (&mut self.linux, ack.rtt) {
            linux.base = linux.base.min(rtt.as_secs());
        }
        if ack.round
            && let Some(linux) = &mut self.linux
        {
            // The acknowledgement that begins a round trip also counts as the last sample of the one before.
            ack.rtt.into_iter().for_each(|rtt| self.round.add(rtt));
            self.queued = linux.queued(WholeSegments::window(state), &std::mem::take(&mut self.round));
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
    fn grow(&mut self, state: &State, ack: &Ack) -> f64 {
        if ack.round
            && self.queued.is_none()
            && let Some(linux) = &mut self.linux
        {
            return linux.whole.grow(state, ack, WholeSegments::window(state));
        }
        match self.queued {
            Some(queued) if ack.round && queued < self.alpha => state.cwnd + state.mss,
            Some(queued) if ack.round && queued > self.beta => (state.cwnd - state.mss).max(2.0 * state.mss),
            _ => state.cwnd,
        }
    }

    /// Section III-C: the window doubles only every other round trip and stays fixed in between.
    fn slow_start(&mut self, state: &State, ack: &Ack) -> Option<f64> {
        if self.linux.is_some() {
            return None;
        }
        self.hold ^= ack.round;
        self.hold.then_some(state.cwnd)
    }

    fn leave_slow_start(&mut self, _: &State, ack: &Ack) -> bool {
        ack.round && (self.hold || self.linux.is_some()) && self.queued.is_some_and(|queued| queued > self.gamma)
    }

    /// An eighth less drains what slow start queued (the authors' implementation, as ported to ns-2).
    fn after_slow_start(&mut self, state: &State) -> f64 {
        let kept = match &self.linux {
            Some(linux) => state.cwnd.min(linux.carried * state.mss),
            None => state.cwnd * 7.0 / 8.0,
        };
        kept.max(2.0 * state.mss)
    }

    /// Section III-A: a quarter less after a fast retransmit, for it comes early; half after a timeout, as in Reno.
    fn shrink(&mut self, state: &State, congestion: &Congestion) -> f64 {
        self.hold = false;
        if let Some(linux) = &mut self.linux {
            return linux.whole.keep(state, WholeSegments::window(state) / 2.0);
        }
        let kept = if congestion.signal == Signal::Timeout { 0.5 } else { 0.75 };
        kept * state.in_use(congestion)
    }

    fn recovered(&mut self, _: &State) -> Option<f64> {
        if let Some(linux) = &mut self.linux {
            linux.stale = true;
            self.round = Round::default();
        }
        None
    }

    fn retransmit_early(&self, age: Duration) -> bool {
        self.linux.is_none() && self.timeout.expired(age.as_nanos() as f64)
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
