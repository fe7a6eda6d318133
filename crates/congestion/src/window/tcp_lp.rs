use super::{PROFILE, Profile, Reno, WholeSegments, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Time};

parameters! {
    struct Settings {
        profile: Profile = PROFILE;
        delta: f64 = Kind::Number(0.0, 1.0), "0.15",
            "delta: part of the way from the least to the largest one-way delay that means congestion (section III)";
        gamma: f64 = Kind::Number(0.001, 1.0), "0.125", "gamma: weight of a new sample in the smoothed delay";
        inference: u64 = Kind::Integer(1, 100), "3", "itti: round-trip times that the inference phase lasts";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "tcp-lp",
    aliases: &["lp"],
    title: "TCP-LP",
    source: "Kuzmanovic, Knightly, INFOCOM 2003",
    help: "Reno that yields as soon as packets wait, down to one segment: takes what others leave; goes by the one-way \
           delay of TCP's timestamps, elsewhere by the round-trip time",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(TcpLp::from(p), setup),
};

/// The shortest time for which receivers delay an acknowledgement (Linux's).
const DELAYED_ACK: Duration = Duration::from_millis(40);

/// TCP-LP (Kuzmanovic, Knightly, *TCP-LP: a distributed algorithm for low priority data transfer*, INFOCOM 2003): Reno
/// that takes a rise in one-way delay for congestion and yields before others lose anything.
///
/// Congestion is indicated early when the smoothed one-way delay is above d_min + delta (d_max - d_min), both learnt in
/// slow start. The first indication halves the window and begins an *inference phase* in which the window does not grow.
/// Another one within the phase means that others use the path: the window falls to one segment. When the phase passes
/// in silence, growth resumes.
///
/// The effect of halving the window shows a round trip and a half later, for nothing is sent during half of it; so smoothing
/// begins anew then, and only then is there another indication. (The pseudocode says nothing of this; its text has a flow
/// take two round trips from its full window to one segment.) It errs where d_max has not been seen: with a large queue that never filled,
/// 15 % of what was seen is little; and alone on a path it leaves part of it idle after each halving. Where the transport has
/// no timestamps it goes by the round-trip time, and yields to a queue on the way back as well.
///
/// Linux's (net/ipv4/tcp_lp.c) is Reno. It takes the difference of the two ends' timestamps for the delay itself, in 29 bits
/// where the smoothed one is kept, and since each connection's timestamps begin at random (4.10) the smoothed delay is below
/// the least nearly always. By chance it is not, and some window is halved for nothing; that is left out here.
#[derive(Debug)]
pub struct TcpLp {
    delta: f64,
    gamma: f64,
    inference: u64,
    delays: Option<Delays>,
    /// Time at which the last indication was answered, and when the inference phase that it began is over.
    answered: Option<(Time, Time)>,
    /// Time at which the last acknowledgement came.
    last: Time,
    linux: Option<WholeSegments>,
}

/// One-way delays in nanoseconds, by clocks that may be apart.
#[derive(Debug)]
struct Delays {
    /// Delays are counted from the first, so that none is large.
    origin: i64,
    /// d_min and d_max.
    least: f64,
    most: f64,
    /// sd; none since the last indication was answered.
    smoothed: Option<f64>,
}

impl Delays {
    fn add(&mut self, delay: i64, gamma: f64, smooth: bool) {
        let delay = delay.saturating_sub(self.origin) as f64;
        self.least = self.least.min(delay);
        self.most = self.most.max(delay);
        if smooth {
            self.smoothed = Some(self.smoothed.map_or(delay, |smoothed| smoothed + gamma * (delay - smoothed)));
        }
    }
}

impl TcpLp {
    /// TCP-LP with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let Settings { profile, delta, gamma, inference } = p.into();
        let linux = WholeSegments::wanted(profile);
        TcpLp { delta, gamma, inference, delays: None, answered: None, last: Time::ZERO, linux }
    }

    /// Section III: sd > d_min + (d_max - d_min) delta.
    fn is_congested(&self) -> bool {
        let Some(Delays { least, most, smoothed: Some(smoothed), .. }) = self.delays else { return false };
        smoothed > least + (most - least) * self.delta
    }

    fn infers(&self, now: Time) -> bool {
        self.answered.is_some_and(|(_, end)| now < end)
    }
}

impl Window for TcpLp {
    fn wants_one_way(&self) -> bool {
        self.linux.is_none()
    }

    fn observe(&mut self, state: &WindowState, ack: &Ack) {
        // A segment alone after such a silence waited for the receiver's timer, which would seem a queue for ever.
        let silence = ack.now.since(std::mem::replace(&mut self.last, ack.now));
        let timed = ack.delivered as f64 <= state.mss && silence >= DELAYED_ACK;
        let delay = ack.path_delay().filter(|_| self.linux.is_none() && !timed);
        let Some(delay) = delay else { return };
        let new = || Delays { origin: delay, least: 0.0, most: 0.0, smoothed: None };
        let smooth = self.answered.is_none_or(|(last, _)| ack.now >= last + ack.srtt * 3 / 2);
        self.delays.get_or_insert_with(new).add(delay, self.gamma, smooth);
    }

    /// Section III, the pseudocode. In slow start the delays are only learnt.
    fn yield_early(&mut self, state: &WindowState, ack: &Ack) -> Option<WindowState> {
        if state.in_slow_start() || !self.is_congested() {
            return None;
        }
        if let Some(delays) = &mut self.delays {
            delays.smoothed = None;
        }
        let cwnd = if self.infers(ack.now) { state.mss } else { state.cwnd / 2.0 };
        self.answered = Some((ack.now, ack.now + ack.srtt * self.inference));
        Some(WindowState { cwnd, ssthresh: cwnd, ..*state })
    }

    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let infers = self.infers(ack.now);
        match &mut self.linux {
            Some(whole) => whole.grow(state, ack, WholeSegments::window(state)),
            None if infers => state.cwnd,
            None => state.cwnd + Reno::increase(state, ack),
        }
    }

    fn shrink(&mut self, state: &WindowState, congestion: &Congestion) -> f64 {
        match &mut self.linux {
            Some(whole) => whole.keep(state, WholeSegments::window(state) / 2.0),
            None => state.in_use(congestion) / 2.0,
        }
    }
}
