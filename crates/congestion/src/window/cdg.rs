use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, Signal, WindowState};
use std::collections::VecDeque;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, RandomStream};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        g: Option<f64> = Kind::Number(0.1, 1000.0), "",
            "G: gradient in ms a round trip at which it backs off with probability 1 - 1/e; default: 3, Linux 1000/336";
        beta: Option<f64> = Kind::Number(0.1, 0.99), "", "part kept when it backs off; default: 0.7, Linux 724/1024";
        window: usize = Kind::Integer(1, 256), "8", "a: gradients of which the mean counts";
        ineffectual: u64 = Kind::Integer(1, 1000), "5",
            "b: times it backs off in a row, to no effect, before it takes others for the cause";
        shadow: bool = Kind::Flag, "true", "whether a loss takes the window to the shadow's, if that is larger";
        tolerance: Option<bool> = Kind::Flag, "",
            "whether a loss while no queue seems full leaves the window as it is; default: true, Linux false";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "cdg",
    aliases: &[],
    title: "CAIA Delay-Gradient (CDG)",
    source: "Hayes, Armitage, Networking 2011",
    help: "backs off by chance, the sooner the faster round-trip times rise; tells lost packets from full queues",
    parameters: Settings::PARAMETERS,
    build: |p, setup| {
        let random = RandomStream::new(setup.seed, "cdg");
        windowed(Cdg::from(p, random), setup)
    },
};

/// CAIA Delay-Gradient (Hayes, Armitage, *Revisiting TCP congestion control using delay gradients*, Networking 2011):
/// neither a delay but its change tells of congestion, so there is no threshold to choose for a path.
///
/// Once a round trip the least and the largest RTT are compared with those of the round trip before. If the mean g of the last
/// gradients is positive, CDG backs off to `beta` of its window with probability 1 - exp(-g/G): chance keeps flows
/// from backing off together, and makes flows of long and short RTTs as likely to in the same time.
///
/// Beside flows that fill the queue this would lose everything, hence three more rules. After b times in a row with no
/// negative gradient it stops for as many. A *shadow window* grows on as if it had not backed off; a loss halves that
/// and lets the window be as large. And a loss while the queue does not seem full (the largest RTT stands while the
/// least rises) is not congestion's. It errs where RTTs vary by themselves (radio links), as they have gradients, too.
#[derive(Debug)]
pub struct Cdg {
    /// G in milliseconds.
    g: f64,
    beta: f64,
    ineffectual: u64,
    shadowed: bool,
    tolerant: bool,
    random: RandomStream,
    gradients: Gradients,
    queue: Queue,
    /// Positive gradients in a row that called for backing off.
    indications: u64,
    /// The window as it might be without backing off, in bytes; zero while there is none.
    shadow: f64,
    /// Whether it has just backed off, so that the next round trip says nothing about the queue.
    pausing: bool,
    /// A round trip has been measured since the last loss. Losses without end leave none to measure, and then nothing says
    /// that the queue is not full.
    measured: bool,
    linux: Option<Linux>,
}

/// State of the queue by the extremes of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Unknown,
    /// Both rise.
    Rising,
    /// The largest has stopped while the least still rises.
    Full,
    /// Both fall.
    Falling,
    /// The least has stopped while the largest still falls.
    Empty,
}

impl Queue {
    fn after(self, [least, most]: [f64; 2]) -> Queue {
        match self {
            _ if least > 0.0 && most > 0.0 => Queue::Rising,
            _ if least < 0.0 && most < 0.0 => Queue::Falling,
            Queue::Rising if least > 0.0 => Queue::Full,
            Queue::Falling if most < 0.0 => Queue::Empty,
            other => other,
        }
    }
}

/// Differences of Linux (net/ipv4/tcp_cdg.c): it measures in microseconds, takes less than 32 of them for no effect,
/// extrapolates while it has few gradients, begins with the handshake's RTT, comes down over a round trip, and leaves that
/// out, as it does the delay of acknowledgements that came late. Its slow start is HyStart with `spacing = "3 ms"`,
/// `low_window = 0`, `least_rise = "125 us"` and no `most_rise`.
#[derive(Debug, Default)]
struct Linux {
    whole: WholeSegments,
    /// Number of acknowledgements of one segment that may come from the receiver's timer.
    late: u32,
    /// The window has come down, and the measurements until now are what the next round trip's are compared with.
    recovered: bool,
}

impl Cdg {
    /// CDG with the registry's parameters, and what it draws from.
    pub fn from(p: &Parameters, random: RandomStream) -> Self {
        let Settings { profile, g, beta, window, ineffectual, shadow, tolerance } = p.into();
        let linux = WholeSegments::wanted(profile).map(|whole| Linux { whole, ..Linux::default() });
        let own = if linux.is_some() { (1000.0 / 336.0, 724.0 / 1024.0) } else { (3.0, 0.7) };
        Cdg {
            g: g.unwrap_or(own.0),
            beta: beta.unwrap_or(own.1),
            ineffectual,
            shadowed: shadow,
            tolerant: tolerance.unwrap_or(linux.is_none()),
            random,
            gradients: Gradients::new(window, linux.is_some()),
            queue: Queue::Unknown,
            indications: 0,
            shadow: 0.0,
            pausing: false,
            measured: false,
            linux,
        }
    }

    /// 1 - exp(-g/G): how likely it backs off at a gradient of `gradient` milliseconds a round trip.
    pub fn probability(&self, gradient: f64) -> f64 {
        if gradient > 0.0 { 1.0 - libm::exp(-gradient / self.g) } else { 0.0 }
    }

    /// Returns whether the round trip that has just ended makes it back off.
    fn backs_off(&mut self) -> bool {
        let Some([least, most]) = self.gradients.end_round() else { return false };
        self.measured = true;
        self.queue = self.queue.after([least, most]);
        let effect = if self.linux.is_some() { -0.032 / self.gradients.window as f64 } else { 0.0 };
        if least.min(most) < effect {
            self.indications = 0;
        }
        if self.queue == Queue::Empty && self.linux.is_none() {
            self.shadow = 0.0;
        }
        let gradient = if least > 0.0 { least } else { most };
        if self.pausing || self.random.uniform() >= self.probability(gradient) {
            return false;
        }
        self.indications += 1;
        if self.indications >= 2 * self.ineffectual && self.linux.is_none() {
            self.indications = 0;
            return false;
        }
        self.indications <= self.ineffectual
    }
}

impl Window for Cdg {
    /// Linux's first round trip is the handshake's, too, whose small packets wait for less than data does.
    fn initial(&mut self, _: &WindowState, rtt: Option<Duration>) -> Option<f64> {
        if let (Some(rtt), true) = (rtt, self.linux.is_some()) {
            self.gradients.add(rtt.as_secs() * 1e3, false);
        }
        None
    }

    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let late = self.linux.as_mut().is_some_and(|linux| linux.is_late(ack, state.mss));
            self.gradients.add(rtt.as_secs() * 1e3, late);
        }
        if self.linux.as_mut().is_some_and(|linux| std::mem::take(&mut linux.recovered)) {
            self.gradients.skip_round();
        }
    }

    fn falls_gradually(&self) -> bool {
        self.linux.is_some()
    }

    fn yield_early(&mut self, state: &WindowState, ack: &Ack) -> Option<WindowState> {
        if !ack.window_limited {
            self.shadow = self.shadow.min(state.cwnd);
        }
        if !ack.round {
            return None;
        }
        let backs_off = self.backs_off();
        self.pausing = backs_off && self.linux.is_none();
        if !backs_off {
            return None;
        }
        self.shadow = self.shadow.max(state.cwnd);
        let kept = match &mut self.linux {
            Some(linux) => linux.whole.keep(state, self.beta * WholeSegments::window(state)),
            None => self.beta * state.cwnd,
        };
        let kept = kept.max(2.0 * state.mss);
        Some(WindowState { cwnd: kept, ssthresh: kept, ..*state })
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let grown = match &mut self.linux {
            Some(linux) => linux.whole.grow(state, ack, WholeSegments::window(state)),
            None => state.cwnd + Reno::increase(state, ack),
        };
        if self.shadow > 0.0 {
            self.shadow += grown - state.cwnd;
        }
        grown
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        let lost = matches!(congestion.signal, Signal::Loss);
        let measured = std::mem::take(&mut self.measured);
        if lost && self.tolerant && measured && self.queue != Queue::Full {
            return state.cwnd;
        }
        self.shadow /= 2.0;
        let half = match &mut self.linux {
            Some(linux) => {
                self.shadow = self.shadow.min(state.cwnd);
                linux.whole.keep(state, WholeSegments::window(state) / 2.0)
            }
            None => state.in_use(congestion) / 2.0,
        };
        if self.shadowed { half.max(self.shadow) } else { half }
    }

    fn recovered(&mut self, _: &WindowState) -> Option<f64> {
        match &mut self.linux {
            Some(linux) => linux.recovered = true,
            None => self.gradients.skip_round(),
        }
        None
    }
}

impl Linux {
    /// Returns whether an acknowledgement is late: a receiver acknowledges one segment alone when its timer has expired.
    fn is_late(&mut self, ack: &Ack, mss: f64) -> bool {
        let one = ack.delivered as f64 <= mss;
        let late = one && self.late > 0;
        if late {
            self.late -= 1;
        } else if !one && self.late < 5 {
            self.late += 1;
        }
        late
    }
}

/// The extremes of the round-trip time, one pair a round trip, and how they change. In milliseconds.
#[derive(Debug)]
struct Gradients {
    /// a: gradients of which the mean counts.
    window: usize,
    /// Whether missing ones are taken to be as those there are.
    extrapolates: bool,
    /// Least and largest of this round trip and of the one before.
    current: Option<[f64; 2]>,
    previous: Option<[f64; 2]>,
    /// The last gradients, and their sum.
    last: VecDeque<[f64; 2]>,
}

impl Gradients {
    fn new(window: usize, extrapolates: bool) -> Self {
        Gradients { window, extrapolates, current: None, previous: None, last: VecDeque::with_capacity(window) }
    }

    /// Adds a sample; one that is `late` counts only for the least.
    fn add(&mut self, rtt: f64, late: bool) {
        match &mut self.current {
            Some([least, most]) => {
                *least = least.min(rtt);
                *most = if late { *most } else { most.max(rtt) };
            }
            None if late => (),
            none => *none = Some([rtt; 2]),
        }
    }

    /// Returns the mean gradients of least and largest, once there are any.
    fn end_round(&mut self) -> Option<[f64; 2]> {
        let current = self.current.take()?;
        let previous = self.previous.replace(current)?;
        if self.last.len() == self.window {
            self.last.pop_front();
        }
        self.last.push_back([current[0] - previous[0], current[1] - previous[1]]);
        let over = if self.extrapolates { self.last.len() } else { self.window } as f64;
        let mean = |i: usize| self.last.iter().map(|gradient| gradient[i]).sum::<f64>() / over;
        Some([mean(0), mean(1)])
    }

    /// Skips the change of this round trip.
    fn skip_round(&mut self) {
        self.previous = self.current.take();
    }
}
