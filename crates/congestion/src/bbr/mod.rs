//! BBR, version 1: a window and a rate from a model of the path instead of from losses.

mod drain;
mod policer;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use crate::entry::Constructor;
use crate::model::{ProbeRtt, State, WindowedMax, send_quantum};
use crate::window::{PROFILE, Profile};
use crate::{Ack, Congestion, CongestionControl, Sending, Setup, Signal};
use policer::Policer;
use probe_bw::Cycle;
use startup::FullPipe;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Rate, Time};
use window::Repair;

parameters! {
    struct Settings {
        high_gain: f64 = Kind::Number(1.1, 8.0), "2.885", "gain of STARTUP, 2 / ln 2: the rate doubles each round trip";
        cwnd_gain: f64 = Kind::Number(1.0, 8.0), "2", "window in bandwidth-delay products outside STARTUP";
        bandwidth_window: u64 = Kind::Integer(2, 100), "10", "round trips that the bandwidth's maximum spans";
        min_rtt_window: Duration = Kind::Duration(Duration::from_millis(100), Duration::from_secs(600)), "10 s",
            "time that the least round-trip time spans, and between two PROBE_RTTs (RTpropFilterLen)";
        probe_rtt_duration: Duration = Kind::Duration(Duration::from_millis(1), Duration::from_secs(10)), "200 ms",
            "time with four segments in flight (ProbeRTTDuration)";
        profile: Profile = PROFILE;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "bbr",
    aliases: &["bbr1"],
    title: "BBR",
    source: "Cardwell et al., ACM Queue 14 (5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00",
    help: "paces at the bandwidth that it measures, with two bandwidth-delay products in flight at most; losses do not count",
    parameters: Settings::PARAMETERS,
    build: |p, setup| Box::new(Bbr::new(p, setup)),
};

/// BBR version 1 (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, *BBR: congestion-based congestion control*, ACM Queue 14 (5),
/// 2016; draft-cardwell-iccrg-bbr-congestion-control-00): the bandwidth is the maximum of the delivery rates of ten round
/// trips, the propagation delay the least round-trip time of ten seconds. STARTUP doubles the rate until the bandwidth does
/// not grow any more, DRAIN empties the queue that made, PROBE_BW sends at the bandwidth, now and then more for a round trip
/// and then less, and PROBE_RTT all but stops so that queues empty and the delay can be seen.
///
/// `profile = "linux"` counts whole segments, paces 1 % below the bandwidth, allows for bursts of acknowledgements and
/// knows policers, as Linux 6 does.
pub struct Bbr {
    rules: Rules,
    mode: Mode,
    state: State,
    full_pipe: FullPipe,
    bandwidth: WindowedMax,
    policer: Policer,
    repair: Repair,
    /// Flight at which DRAIN ends.
    ssthresh: u64,
}

/// The states.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw(Cycle),
    ProbeRtt(ProbeRtt),
}

/// The constants.
#[derive(Clone, Copy, Debug)]
struct Rules {
    high_gain: f64,
    drain_gain: f64,
    cwnd_gain: f64,
    bandwidth_window: u64,
    min_rtt_window: Duration,
    probe_rtt_duration: Duration,
    linux: bool,
}

impl Rules {
    /// BBRMinPipeCwnd: segments that keep acknowledgements of every other one coming.
    const MIN_PIPE: f64 = 4.0;

    fn new(p: &Parameters) -> Rules {
        let Settings { high_gain: gain, cwnd_gain, bandwidth_window, min_rtt_window, probe_rtt_duration, profile } =
            p.into();
        let linux = profile == Profile::Linux;
        // Linux's gains are whole 256ths.
        let (high_gain, drain_gain) =
            if linux { ((256.0 * gain).floor() + 1.0, (256.0 / gain).floor()) } else { (256.0 * gain, 256.0 / gain) };
        Rules {
            high_gain: high_gain / 256.0,
            drain_gain: drain_gain / 256.0,
            cwnd_gain,
            bandwidth_window,
            min_rtt_window,
            probe_rtt_duration,
            linux,
        }
    }

    /// Linux paces a little below the bandwidth, so that no queue is left (bbr_pacing_margin_percent).
    fn margin(&self) -> f64 {
        if self.linux { 0.99 } else { 1.0 }
    }
}

impl Bbr {
    /// BBR with the registry's parameters.
    pub fn new(p: &Parameters, setup: Setup) -> Self {
        let rules = Rules::new(p);
        Bbr {
            rules,
            mode: Mode::Startup,
            state: State::new(setup, "bbr/cycle", rules.high_gain),
            full_pipe: FullPipe::default(),
            bandwidth: WindowedMax::default(),
            policer: Policer::default(),
            repair: Repair::default(),
            ssthresh: u64::MAX,
        }
    }

    /// Returns the bandwidth, in bytes a second: the policer's, where there is one.
    fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// pacing_gain and cwnd_gain of each state.
    fn gains(&self) -> (f64, f64) {
        let Rules { high_gain, drain_gain, cwnd_gain, .. } = self.rules;
        match self.mode {
            Mode::Startup => (high_gain, high_gain),
            Mode::Drain => (drain_gain, high_gain),
            Mode::ProbeBw(_) if self.policer.rate().is_some() => (1.0, cwnd_gain),
            Mode::ProbeBw(cycle) => (cycle.gain(), cwnd_gain),
            Mode::ProbeRtt(_) => (1.0, 1.0),
        }
    }

    /// Section 4.1.1: what an acknowledgement says of the bandwidth.
    fn update_bandwidth(&mut self, ack: &Ack) {
        self.state.rounds.start = false;
        let Some(sample) = &ack.rate else { return };
        self.state.rounds.update(sample);
        if self.state.rounds.start {
            self.repair.conserve = false;
        }
        let app_limited = self.state.is_app_limited(sample);
        if self.rules.linux {
            self.sample_policer(ack, app_limited);
        }
        let rate = sample.bytes_per_second();
        if !app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(self.rules.bandwidth_window, self.state.rounds.count, rate);
        }
    }

    /// Section 4.2.1: the rate never falls while the pipe is not known to be full.
    fn set_pacing_rate(&mut self, gain: f64) {
        self.state.pace(gain * self.bw() * self.rules.margin(), self.full_pipe.reached);
    }

    /// Takes the first rate from the first round-trip time.
    fn see_rtt(&mut self, srtt: Duration, min_rtt: Duration, now: Time) {
        self.state.see_rtt(now, srtt, min_rtt, self.rules.high_gain * self.rules.margin());
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, ack: &Ack) {
        self.see_rtt(ack.srtt, ack.min_rtt, ack.now);
        self.state.delivered += ack.delivered;
        self.update_bandwidth(ack);
        if self.rules.linux && ack.delivered > 0 && ack.rate.is_some() {
            let (bw, cwnd) = (self.bw(), self.state.cwnd);
            self.state.aggregation.update(ack.now, ack.delivered as f64, bw, cwnd, self.state.rounds.start);
        }
        self.update_cycle(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        let (pacing_gain, cwnd_gain) = self.gains();
        self.set_pacing_rate(pacing_gain);
        self.set_window(ack, cwnd_gain);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.signal {
            Signal::Mark => {}
            Signal::Loss => self.save_window(),
            Signal::Restart | Signal::Timeout | Signal::RepeatedTimeout => self.on_timeout(congestion),
        }
    }

    fn on_spurious(&mut self, now: Time) {
        self.full_pipe.forget();
        self.policer.reset(now, self.state.delivered);
    }

    fn on_send(&mut self, sending: &Sending) {
        self.see_rtt(sending.srtt, sending.min_rtt, sending.now);
        if !self.state.restarts(sending) {
            return;
        }
        // Section 4.3.4.4: after silence at the bandwidth, lest the first round trip overflow a queue.
        match self.mode {
            Mode::ProbeBw(_) => self.set_pacing_rate(1.0),
            Mode::ProbeRtt(probe) => self.check_probe_rtt_done(sending.now, probe),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn wants_rate(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.state.rate())
    }
    fn cwnd(&self) -> u64 {
        self.state.cwnd as u64
    }
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
    fn in_slow_start(&self) -> bool {
        matches!(self.mode, Mode::Startup)
    }
    fn phase(&self) -> Option<&'static str> {
        Some(match self.mode {
            Mode::Startup => "Startup",
            Mode::Drain => "Drain",
            Mode::ProbeBw(cycle) => cycle.name(),
            Mode::ProbeRtt(_) => "ProbeRTT",
        })
    }
}

impl Bbr {
    /// Bytes that `gain` bandwidth-delay products are (section 4.2.3.2).
    fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        let (bytes, mss) = (self.state.bdp(bandwidth, gain), self.state.mss);
        let is_whole = self.rules.linux && self.state.min_rtt < Duration::MAX;
        if is_whole { (bytes / mss).ceil() * mss } else { bytes }
    }

    /// Returns the flight that keeps `bytes` in the network, as bursts are held up at either end.
    fn with_bursts(&self, bytes: f64) -> f64 {
        let bursts = 3.0 * send_quantum(self.state.pacing_rate, self.state.mss);
        if !self.rules.linux {
            return bytes + bursts * self.state.mss;
        }
        let even = ((bytes / self.state.mss + bursts) / 2.0).ceil() * 2.0;
        let probing = matches!(self.mode, Mode::ProbeBw(cycle) if cycle.is_probing());
        (even + if probing { 2.0 } else { 0.0 }) * self.state.mss
    }

    fn inflight(&self, gain: f64) -> f64 {
        self.with_bursts(self.bdp(self.bandwidth.get(), gain))
    }

    /// Returns the data in the network when the pacer sends the next burst, of `in_flight` now.
    fn in_network(&self, in_flight: f64, ack: &Ack, raising: bool) -> f64 {
        if !self.rules.linux {
            return in_flight;
        }
        let next = if raising { send_quantum(self.state.pacing_rate, self.state.mss) * self.state.mss } else { 0.0 };
        (in_flight + next - self.bw() * ack.held.as_secs()).max(0.0)
    }
}
