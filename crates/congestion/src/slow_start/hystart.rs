use super::{SlowStart, Standard};
use crate::entry::SlowStartConstructor;
use crate::window::Profile;
use crate::{Ack, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, choice, parameters};
use vazao_engine::{Duration, Time};

choice! { enum Sign { Both = "both", Train = "train", Delay = "delay" } }

parameters! {
    struct Settings {
        profile: Profile = Kind::Choice(&["linux", "ns3"]), "linux",
            "whose constants and samples: Linux's since 5.6, or those of ns-3's CUBIC, which sees the smoothed RTT";
        detect: Sign = Sign::KIND, "both",
            "what ends it: a train of acknowledgements as long as the forward delay, a rise in delay, or either";
        low_window: f64 = Kind::Number(0.0, 1e6), "16", "window in segments below which nothing ends it";
        spacing: Duration = SPAN, "2 ms", "acknowledgements at most so far apart belong to one train";
        train: Option<f64> = PART, "", "length of a train that ends it, in least RTTs; default: 0.5, ns-3 1";
        batching: Option<Duration> = SPAN, "", "what the host's card may add to that RTT; default: 1 ms, ns-3 0";
        rise: Option<f64> = PART, "", "rise in delay that ends it, in least RTTs; default: 0.125, ns-3 1";
        least_rise: Duration = SPAN, "4 ms", "the rise is at least this";
        most_rise: Option<Duration> = SPAN, "", "and at most this; default: 16 ms, ns-3 1 s";
    }
}

pub(crate) const ENTRY: Entry<SlowStartConstructor> = Entry {
    name: "hystart",
    aliases: &[],
    title: "HyStart",
    source: "Ha, Rhee, Computer Networks 55(9), 2011; constants of Linux 5.6 and later",
    help: "ends slow start without a loss, when a train of acknowledgements or the delay shows that the path is full",
    parameters: Settings::PARAMETERS,
    build: |p, limit| Box::new(HyStart::from(p, limit)),
};

/// A span that is compared with round-trip times.
const SPAN: Kind = Kind::Duration(Duration::ZERO, Duration::from_secs(60));
/// A part of the least round-trip time, or so many of them.
const PART: Kind = Kind::Number(0.01, 10.0);
/// Samples a round trip must have before its least RTT counts (Ha and Rhee 2011 and Linux: 8).
const MIN_SAMPLES: u32 = 8;

/// Constants of a profile.
struct Constants {
    train: f64,
    batching: Duration,
    rise: f64,
    most_rise: Duration,
}

const LINUX: Constants =
    Constants { train: 0.5, batching: Duration::from_millis(1), rise: 0.125, most_rise: Duration::from_millis(16) };

const NS3: Constants = Constants { train: 1.0, batching: Duration::ZERO, rise: 1.0, most_rise: Duration::from_secs(1) };

/// HyStart, hybrid slow start (Ha and Rhee, *Taming the elephants: new TCP slow start*, Computer Networks 55(9), 2011;
/// constants and rounding of it as in Linux since 5.6, net/ipv4/tcp_cubic.c): standard slow start that ends, with the
/// window it has, when either of two signs shows that the window fills the path.
///
/// *ACK train*: the packets of a round trip left in one burst, so their acknowledgements come as closely spaced as the
/// bottleneck let the packets through. A train as long as the forward delay (half the least RTT) means that the window
/// is as large as what the path holds. *Delay*: the least RTT of a round trip's first samples lies above the least RTT
/// of all by an eighth (4 to 16 ms): a queue stands. To the train's RTT Linux adds what batching may add, four of the
/// largest segments that it would hand to a network card at once: more than a millisecond, its most, below 2 Gbit/s.
///
/// Where it errs: acknowledgements thinned or bunched on the way back break trains or forge them; a path shared with
/// others queues before the window is of any size.
///
/// ns-3's CUBIC (tcp-cubic.cc in 3.37) takes a train for the whole path's that is as long as the least RTT, and a queue
/// for one when the RTT has doubled; what it takes for the RTT is the smoothed one, of a round trip's first samples only.
#[derive(Debug)]
pub struct HyStart {
    standard: Standard,
    /// Whether the smoothed RTT is the sample, and only the first of a round trip count (ns-3).
    smoothed: bool,
    settings: Settings,
    /// The length of a train that ends slow start, and the rise in delay, in least RTTs.
    parts: (f64, f64),
    /// Time added to the least RTT for the train.
    batching: Duration,
    most_rise: Duration,
    /// The least RTT of data.
    base: Duration,
    /// Whether it has ended slow start; it may do so again after a timeout.
    found: bool,
    round: Round,
    sequence: Sequence,
}

/// Linux's measure of round trips for HyStart alone (end_seq of bictcp): the sender's, which recoveries begin anew, is not
/// used. In octets since it began.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    una: u64,
    nxt: u64,
    /// Beyond it the next round trip begins.
    end: u64,
}

/// Measurements of the current round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Time,
    /// The end of the train so far.
    train: Time,
    least: Duration,
    samples: u32,
}

impl Round {
    fn new(now: Time) -> Self {
        Round { start: now, train: now, least: Duration::MAX, samples: 0 }
    }
}

fn part(whole: Duration, part: f64) -> Duration {
    Duration::from_nanos((whole.as_nanos() as f64 * part) as u64)
}

impl HyStart {
    /// HyStart with the registry's parameters; `limit` is RFC 3465's L.
    pub fn from(p: &Parameters, limit: f64) -> Self {
        let settings = Settings::from(p);
        let smoothed = settings.profile == Profile::Ns3;
        let own = if smoothed { NS3 } else { LINUX };
        HyStart {
            standard: Standard { limit },
            smoothed,
            parts: (settings.train.unwrap_or(own.train), settings.rise.unwrap_or(own.rise)),
            batching: settings.batching.unwrap_or(own.batching),
            most_rise: settings.most_rise.unwrap_or(own.most_rise),
            settings,
            base: Duration::MAX,
            found: false,
            round: Round::new(Time::ZERO),
            sequence: Sequence::default(),
        }
    }

    /// Returns whether a sample of `rtt` in slow start shows that the window fills the path.
    fn shows_end(&mut self, state: &WindowState, now: Time, rtt: Duration) -> bool {
        if self.found || state.segments() < self.settings.low_window {
            return false;
        }
        let filled = self.settings.detect != Sign::Delay && self.train_fills_path(now);
        let queued = self.settings.detect != Sign::Train && self.delay_rises(rtt);
        self.found = filled || queued;
        self.found
    }

    /// Returns whether acknowledgements that follow each other closely span the part of the least RTT that ends slow start.
    fn train_fills_path(&mut self, now: Time) -> bool {
        if now.since(self.round.train) > self.settings.spacing {
            return false;
        }
        self.round.train = now;
        now.since(self.round.start) > part(self.base + self.batching, self.parts.0)
    }

    /// Returns whether this round trip's least RTT is well above the least of all.
    fn delay_rises(&mut self, rtt: Duration) -> bool {
        if !self.smoothed || self.round.samples < MIN_SAMPLES {
            self.round.least = self.round.least.min(rtt);
        }
        if self.round.samples < MIN_SAMPLES {
            self.round.samples += 1;
            return false;
        }
        self.round.least > self.base + part(self.base, self.parts.1).max(self.settings.least_rise).min(self.most_rise)
    }
}

impl SlowStart for HyStart {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        self.standard.grow(state, ack)
    }

    fn stops_at_threshold(&self) -> bool {
        self.standard.stops_at_threshold()
    }

    /// Linux's (cubictcp_acked, hystart_update): every acknowledgement that measures a round-trip time, be it of data that
    /// arrived out of order or in a recovery.
    fn observe(&mut self, state: &WindowState, ack: &Ack) -> bool {
        if self.smoothed {
            return false;
        }
        let sequence = &mut self.sequence;
        sequence.nxt = sequence.una + ack.flight;
        sequence.una += ack.advance;
        let Some(rtt) = ack.rtt.or(ack.echo_rtt) else { return false };
        self.base = self.base.min(rtt);
        if self.found || !state.in_slow_start() {
            return false;
        }
        if sequence.una > sequence.end {
            sequence.end = sequence.nxt;
            self.round = Round::new(ack.now);
        }
        self.shows_end(state, ack.now, rtt)
    }

    fn leave(&mut self, state: &WindowState, ack: &Ack) -> bool {
        if ack.observed && !self.smoothed {
            return false;
        }
        if ack.round {
            self.round = Round::new(ack.now);
        }
        let sample = if self.smoothed { Some(ack.srtt).filter(|&srtt| srtt > Duration::ZERO) } else { ack.rtt };
        let Some(rtt) = sample else { return false };
        self.base = self.base.min(rtt);
        self.shows_end(state, ack.now, rtt)
    }

    fn restart(&mut self, now: Time) {
        (self.base, self.found, self.round) = (Duration::MAX, false, Round::new(now));
        self.sequence.end = self.sequence.nxt;
    }
}
