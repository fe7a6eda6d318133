use super::tick::{Clock, TICK};
use super::westwood_ns3::Ns3Westwood;
use super::{PROFILES, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Time};

parameters! {
    struct Settings {
        profile: Profile = PROFILES;
        alpha: f64 = Kind::Number(0.0, 0.999), "0.875",
            "part of the estimate that a sample leaves (the filter's pole: 7/8)";
        tick: Duration = TICK;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "westwood-plus",
    aliases: &["westwood+"],
    title: "TCP Westwood+",
    source: "Grieco, Mascolo, CCR 34(2), 2004",
    help: "Westwood that samples the bandwidth once a round trip, so that bunched acknowledgements do not fool it",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(WestwoodPlus::from(p), setup),
};

/// TCP Westwood+ (Grieco, Mascolo, *Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
/// control*, CCR 34(2), 2004): Westwood with one sample of bandwidth a round trip, what was delivered in it over how long
/// it took, through a low-pass filter that keeps `alpha` of the estimate whatever the time between samples.
///
/// On loss window and threshold become estimate times least RTT; a timeout sets the threshold so. Growth is Reno's.
///
/// Where it errs: the estimate is of what the flow got, not of what the path has. After a loss in a crowd or early in
/// slow start it is low, the filter takes eight round trips to follow, and the window falls below half.
#[derive(Debug)]
pub struct WestwoodPlus {
    alpha: f64,
    /// Start of the round trip, and the bytes delivered since.
    round: Option<Time>,
    delivered: f64,
    /// Bytes a second.
    estimate: Option<f64>,
    theirs: Option<Theirs>,
}

impl WestwoodPlus {
    /// Westwood+ with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, alpha, tick } = p.into();
        let theirs = Theirs::wanted(profile, tick, Ns3Westwood::westwood_plus);
        WestwoodPlus { alpha, round: None, delivered: 0.0, estimate: None, theirs }
    }

    fn sample(&mut self, now: Time) {
        let Some(start) = self.round.replace(now) else { return };
        let seconds = now.since(start).as_secs();
        if seconds > 0.0 {
            let sample = std::mem::take(&mut self.delivered) / seconds;
            self.estimate = Some(self.estimate.map_or(sample, |b| self.alpha * b + (1.0 - self.alpha) * sample));
        }
    }
}

impl Window for WestwoodPlus {
    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(theirs) = &mut self.theirs {
            return theirs.acknowledge(state, ack);
        }
        if self.round.is_some() {
            self.delivered += ack.delivered as f64;
        }
        if ack.round || self.round.is_none() {
            self.sample(ack.now);
        }
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        match &mut self.theirs {
            Some(theirs) => theirs.grow(state, ack),
            None => state.cwnd + Reno::increase(state, ack),
        }
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        if let Some(theirs) = &mut self.theirs {
            return theirs.shrink(state, congestion);
        }
        match self.estimate {
            Some(rate) if congestion.min_rtt < Duration::MAX => rate * congestion.min_rtt.as_secs(),
            _ => state.in_use(congestion) / 2.0,
        }
    }

    fn recovered(&mut self, state: &WindowState) -> Option<f64> {
        self.theirs.as_ref().map(|theirs| theirs.recovered(state))
    }
}

/// The rules of Linux or ns-3, of Westwood and Westwood+ alike.
#[derive(Debug)]
pub(super) enum Theirs {
    Linux(LinuxWestwood),
    Ns3(Ns3Westwood),
}

impl Theirs {
    /// Returns the rules that the profile asks for, if any; Linux's clock has this tick, and `ns3` are ns-3's.
    pub fn wanted(profile: Profile, tick: Duration, ns3: fn() -> Ns3Westwood) -> Option<Self> {
        match profile {
            Profile::Rfc => None,
            Profile::Linux => Some(Theirs::Linux(LinuxWestwood::new(tick))),
            Profile::Ns3 => Some(Theirs::Ns3(ns3())),
        }
    }

    pub fn acknowledge(&mut self, state: &WindowState, ack: &Ack) {
        match self {
            Theirs::Linux(linux) => linux.acknowledge(state, ack),
            Theirs::Ns3(ns3) => ns3.acknowledge(ack),
        }
    }

    pub fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        match self {
            Theirs::Linux(linux) => linux.grow(state, ack),
            Theirs::Ns3(ns3) => ns3.grow(state, ack),
        }
    }

    pub fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        match self {
            Theirs::Linux(linux) => linux.shrink(state, congestion),
            Theirs::Ns3(ns3) => ns3.shrink(),
        }
    }

    pub fn recovered(&self, state: &WindowState) -> f64 {
        match self {
            Theirs::Linux(linux) => linux.recovered(state),
            Theirs::Ns3(ns3) => ns3.recovered(),
        }
    }
}

/// Linux's Westwood (net/ipv4/tcp_westwood.c), which is Westwood+: a sample is what was delivered in a round trip, of 50 ms
/// at least, and passes two filters that keep 7/8. A loss halves the window as Reno; only when it is repaired do window
/// and threshold become what the path carries. All times are whole ticks of the kernel's clock.
///
/// Linux's estimate guesses delivered data as if there were no SACK: a duplicate acknowledgement counts as a segment,
/// and what so many stood for is taken off the next that cover more than one segment, but those that Van Jacobson's
/// header prediction foresaw (no SACK, the same window). The RTT by a time stamp's echo is cut to milliseconds before
/// it is rounded up to ticks: on a path of 10.2 ms that is two ticks while nothing is lost, and one once something was
/// sent again.
#[derive(Debug)]
pub(super) struct LinuxWestwood {
    whole: WholeSegments,
    clock: Clock,
    /// Start of the current sample in ticks, and the bytes delivered since.
    since: Option<f64>,
    delivered: f64,
    /// Data counted by duplicates that no cumulative acknowledgement has been reduced by.
    accounted: f64,
    /// The last and the least RTT, in ticks.
    rtt: f64,
    least: Option<f64>,
    /// Bytes a tick, after one filter and after both.
    filtered: Option<(f64, f64)>,
}

impl LinuxWestwood {
    /// A sample's least span.
    const SHORTEST: Duration = Duration::from_millis(50);

    /// Linux's Westwood, with this tick.
    pub fn new(tick: Duration) -> Self {
        let (whole, clock, since, least, filtered) =
            (WholeSegments::default(), Clock::of_ticks(tick), None, None, None);
        let (delivered, accounted, rtt) = (0.0, 0.0, 0.0);
        LinuxWestwood { whole, clock, since, delivered, accounted, rtt, least, filtered }
    }

    /// Every acknowledgement counts.
    pub fn acknowledge(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(rtt) = ack.rtt.or(ack.echo_rtt) {
            self.rtt = self.clock.span(rtt);
        }
        let now = self.clock.now(ack.now);
        // The first sample begins with the connection, whose first data this acknowledges; what it covers, a segment at
        // least, counts as a duplicate.
        let first = self.since.is_none();
        let opened = Time::from_nanos(ack.now.as_nanos().saturating_sub(ack.rtt.map_or(0, Duration::as_nanos)));
        let span = now - *self.since.get_or_insert(self.clock.now(opened));
        // The sample ends with the acknowledgement before this one.
        if self.rtt > 0.0 && span > self.rtt.max(self.clock.constant(Self::SHORTEST)) {
            let sample = (self.delivered / span).floor();
            let once = self.filtered.map_or(sample, |(once, _)| ((7.0 * once + sample) / 8.0).floor());
            let twice = self.filtered.map_or(sample, |(_, twice)| ((7.0 * twice + once) / 8.0).floor());
            self.filtered = Some((once, twice));
            (self.since, self.delivered) = (Some(now), 0.0);
        }
        let advance = if first { 0.0 } else { ack.advance as f64 };
        self.delivered += self.counted(advance, state.mss, ack.same_window && !ack.blocks);
        if self.rtt > 0.0 {
            self.least = Some(self.least.map_or(self.rtt, |least| least.min(self.rtt)));
        }
    }

    /// Returns the bytes that count as delivered by an acknowledgement that moved so far, foreseen (`fast`) or not.
    fn counted(&mut self, advance: f64, mss: f64, fast: bool) -> f64 {
        if advance == 0.0 {
            self.accounted += mss;
            return mss;
        }
        if fast || advance <= mss {
            return advance;
        }
        if self.accounted >= advance {
            self.accounted -= advance;
            return mss;
        }
        advance - std::mem::take(&mut self.accounted)
    }

    /// Returns the window of Reno.
    pub fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        self.whole.grow(state, ack, WholeSegments::window(state))
    }

    /// Half; after a timeout what the path carries, and the least RTT is looked for anew.
    pub fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        if congestion.signal != Signal::Timeout {
            return self.whole.keep(state, WholeSegments::window(state) / 2.0);
        }
        let carried = self.carried();
        self.least = None;
        self.whole.keep(state, carried / state.mss)
    }

    /// Returns the window once a loss is repaired.
    pub fn recovered(&self, state: &WindowState) -> f64 {
        (self.carried() / state.mss).floor() * state.mss
    }

    /// Bytes that the path carries in a least RTT.
    fn carried(&self) -> f64 {
        self.filtered.map_or(0.0, |(_, rate)| rate) * self.least.unwrap_or(0.0)
    }
}
