use crate::entry::Constructor;
use crate::slow_start::SlowStart;
use crate::{Ack, Congestion, CongestionControl, Setup, Signal, WindowState};
use std::collections::VecDeque;
use vazao_engine::registry::{Entry, Kind, Parameters, choice, parameters};
use vazao_engine::{Duration, Rate, Time};

choice! { enum Mode { Switching = "switching", Default = "default" } }

parameters! {
    struct Settings {
        delta: f64 = Kind::Number(0.004, 10.0), "0.5",
            "delta: what delay counts against rate; the queue holds about 1/delta segments of a flow";
        mode: Mode = Mode::KIND, "switching",
            "switching: competes as TCP does while others keep the queue filled (section 2.2); default: never";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "copa",
    aliases: &[],
    title: "Copa",
    source: "Arun, Balakrishnan, NSDI 2018",
    help: "aims at a rate of 1 / (delta queueing delay): a queue of a few segments, whatever the path",
    parameters: Settings::PARAMETERS,
    build: |p, setup| Box::new(Copa::new(p, setup)),
};

/// Time for which RTTmin is remembered (section 2.1).
const MIN_SPAN: Duration = Duration::from_secs(10);

/// Copa (Arun, Balakrishnan, *Copa: practical delay-based congestion control for the Internet*, NSDI 2018): the rate
/// 1 / (`delta` d_q) segments a second, where d_q is the queueing delay, is what each flow wants if it values rate
/// and delay by their logarithms. The window moves towards it by v / (`delta` cwnd) segments an acknowledgement, up or
/// down, where the velocity v doubles each round trip once the direction has been the same for three.
///
/// d_q = RTTstanding - RTTmin: the least RTT of half a smoothed RTT, which acknowledgements thinned on the way do not raise,
/// and of 10 s. Packets are paced at 2 cwnd / RTTstanding. Flows that do this empty the queue every five round trips.
/// Where that is not seen someone fills it, and `delta` is made smaller as TCP makes its window larger: 1/delta grows by
/// one a round trip and is halved on loss.
///
/// Losses by themselves do not lower the window (a timeout does), so that noise on a link costs little; nor does a queue
/// that holds less than 1/delta segments of each flow. It errs where RTTmin is not seen, as all that goes by delay; and many
/// flows that are out of step never empty the queue, so that they take each other for TCP and fill it.
pub struct Copa {
    state: WindowState,
    slow_start: Box<dyn SlowStart>,
    /// 1/delta in the default mode, and now.
    default_room: f64,
    room: f64,
    switches: bool,
    velocity: Velocity,
    min: Least,
    standing: Least,
    /// The least of the negated RTTs of four round trips.
    max: Least,
    /// Time at which the queue was last seen nearly empty.
    emptied: Time,
    /// Whether something was lost in this round trip.
    lost: bool,
    /// Window and threshold before the last reduction.
    before: (f64, f64),
}

impl Copa {
    /// Copa with the registry's parameters.
    pub fn new(p: &Parameters, setup: Setup) -> Self {
        let state = WindowState {
            cwnd: setup.initial_window as f64,
            ssthresh: setup.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64),
            mss: setup.mss as f64,
        };
        let Settings { delta, mode } = p.into();
        let room = 1.0 / delta;
        Copa {
            state,
            slow_start: setup.slow_start,
            default_room: room,
            room,
            switches: mode == Mode::Switching,
            velocity: Velocity::new(state.cwnd),
            min: Least::default(),
            standing: Least::default(),
            max: Least::default(),
            emptied: Time::ZERO,
            lost: false,
            before: (state.cwnd, state.ssthresh),
        }
    }

    /// RTTstanding and d_q in seconds, once there is a sample.
    fn delays(&self) -> Option<(f64, f64)> {
        let (standing, min) = (self.standing.get()?, self.min.get()?);
        Some((standing * 1e-9, (standing - min).max(0.0) * 1e-9))
    }

    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let nanos = rtt.as_nanos() as f64;
        self.min.add(ack.now, nanos, MIN_SPAN);
        self.standing.add(ack.now, nanos, ack.srtt / 2);
        self.max.add(ack.now, -nanos, ack.srtt * 4);
        let (Some(standing), Some(min), Some(max)) = (self.standing.get(), self.min.get(), self.max.get()) else {
            return;
        };
        // Section 2.2: below a tenth of what it varies by, the queue is nearly empty; and it is as empty as can be with what
        // one acknowledgement lets out, which at a few segments is more.
        let released = standing * ack.delivered as f64 / self.state.cwnd;
        if standing - min <= released.max(0.1 * (-max - min)) {
            self.emptied = ack.now;
        }
    }

    /// Section 2.2: with the queue never nearly empty in five round trips, others fill it.
    fn choose_mode(&mut self, ack: &Ack) {
        let competes = self.switches && ack.now.since(self.emptied) > ack.srtt * 5;
        self.room = match (competes, std::mem::take(&mut self.lost)) {
            (false, _) => self.default_room,
            (true, true) => (self.room / 2.0).max(self.default_room),
            (true, false) => self.room + 1.0,
        };
    }

    /// Moves the window after `ack`: section 2.1, with λ = cwnd / RTTstanding against λ_t = 1 / (delta d_q).
    fn step(&mut self, ack: &Ack) {
        let Some((standing, queueing)) = self.delays() else { return };
        let state = &mut self.state;
        let w = state.segments();
        let up = w * queueing <= self.room * standing;
        if state.in_slow_start() && up {
            state.cwnd = self.slow_start.grow(state, ack).max(state.mss);
            return;
        }
        let most = ack.acked as f64;
        let change = (self.velocity.towards(up) * self.room / w * most).min(most);
        state.cwnd = if up { state.cwnd + change } else { (state.cwnd - change).max(2.0 * state.mss).min(state.cwnd) };
        state.ssthresh = state.ssthresh.min(state.cwnd);
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        if ack.round {
            self.choose_mode(ack);
            self.velocity.end_round(self.state.cwnd);
        }
        if ack.acked > 0 && !ack.in_recovery && ack.window_limited {
            self.step(ack);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.lost = true;
        let state = &mut self.state;
        match congestion.signal {
            Signal::Loss | Signal::Mark => {
                self.before = (state.cwnd, state.ssthresh);
                state.ssthresh = state.cwnd.max(2.0 * state.mss);
            }
            Signal::Restart | Signal::Timeout => {
                self.before = (state.cwnd, state.ssthresh);
                state.ssthresh = (state.in_use(congestion) / 2.0).max(2.0 * state.mss);
                state.cwnd = state.mss;
            }
            Signal::RepeatedTimeout => state.cwnd = state.mss,
        }
        if !matches!(congestion.signal, Signal::Loss | Signal::Mark) {
            self.slow_start.restart(congestion.now);
            self.velocity = Velocity::new(state.cwnd);
        }
    }

    fn on_spurious(&mut self, _: Time) {
        let (cwnd, ssthresh) = self.before;
        self.state.cwnd = self.state.cwnd.max(cwnd);
        self.state.ssthresh = self.state.ssthresh.max(ssthresh);
    }

    fn paces(&self) -> bool {
        true
    }
    /// Section 2.1: twice the window over RTTstanding.
    fn pacing_rate(&self) -> Option<Rate> {
        let (standing, _) = self.delays()?;
        (standing > 0.0).then(|| Rate::from_bps((16.0 * self.state.cwnd / standing) as u64))
    }

    fn cwnd(&self) -> u64 {
        self.state.cwnd as u64
    }
    fn ssthresh(&self) -> u64 {
        self.state.ssthresh as u64
    }
}

/// Velocity of the window (section 2.1): v doubles each round trip once the direction has been the same for three.
#[derive(Debug)]
struct Velocity {
    v: f64,
    rose: bool,
    rounds: u32,
    /// The window when the round trip began.
    start: f64,
}

impl Velocity {
    fn new(window: f64) -> Self {
        Velocity { v: 1.0, rose: true, rounds: 0, start: window }
    }

    /// v for a step in this direction. What was gathered in the other would go on for a round trip, and empty the pipe: as
    /// the authors' code, though not their text, does, it begins anew.
    fn towards(&mut self, up: bool) -> f64 {
        if up != self.rose && self.v > 1.0 {
            (self.v, self.rose, self.rounds) = (1.0, up, 0);
        }
        self.v
    }

    fn end_round(&mut self, window: f64) {
        let rose = window > self.start;
        self.rounds = if rose == self.rose { self.rounds.saturating_add(1) } else { 0 };
        self.v = match self.rounds {
            0 => 1.0,
            1..=2 => self.v,
            _ => (2.0 * self.v).min(65_536.0),
        };
        (self.rose, self.start) = (rose, window);
    }
}

/// The least of the values of a span of time: the values that may yet be, each larger than the one before.
#[derive(Debug, Default)]
struct Least(VecDeque<(Time, f64)>);

impl Least {
    fn add(&mut self, now: Time, value: f64, span: Duration) {
        while self.0.back().is_some_and(|&(_, other)| other >= value) {
            self.0.pop_back();
        }
        self.0.push_back((now, value));
        while self.0.front().is_some_and(|&(at, _)| now.since(at) > span) {
            self.0.pop_front();
        }
    }

    fn get(&self) -> Option<f64> {
        self.0.front().map(|&(_, value)| value)
    }
}
