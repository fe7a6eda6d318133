//! BBR, version 3: the model of version 1, bounded by what losses (and marks) say the path holds.

mod bounds;
mod drain;
mod marks;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use crate::entry::Constructor;
use crate::model::{ProbeRtt, State};
use crate::{Ack, Congestion, CongestionControl, RateSample, Sending, Setup, Signal};
use bounds::Bounds;
use marks::Marks;
use probe_bw::{Cycle, Phase};
use startup::FullPipe;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Rate, Time};

parameters! {
    /// The constants (section 4.1.3).
    #[derive(Copy)]
    struct Rules {
        startup_pacing_gain: f64 = Kind::Number(1.1, 8.0), "2.773", "StartupPacingGain: 4 ln 2";
        cwnd_gain: f64 = Kind::Number(1.0, 8.0), "2", "DefaultCwndGain: window in bandwidth-delay products";
        loss_thresh: f64 = Kind::Number(0.001, 0.5), "0.02", "LossThresh: losses above which too much was in flight";
        beta: f64 = Kind::Number(0.1, 0.99), "0.7", "Beta: part kept when too much was in flight";
        headroom: f64 = Kind::Number(0.0, 0.5), "0.15", "Headroom: part of inflight_hi left to others while cruising";
        probe_rtt_interval: Duration = Kind::Duration(Duration::from_millis(100), Duration::from_secs(600)), "5 s",
            "ProbeRTTInterval: time between two PROBE_RTTs";
        probe_rtt_duration: Duration = Kind::Duration(Duration::from_millis(1), Duration::from_secs(10)), "200 ms",
            "ProbeRTTDuration: time with half a bandwidth-delay product in flight";
        ecn: bool = Kind::Flag, "false",
            "whether marks bound what is in flight too (for paths that mark as DCTCP's do)";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "bbr3",
    aliases: &[],
    title: "BBR version 3",
    source: "draft-ietf-ccwg-bbr; Cardwell et al., IETF 117 CCWG, 2023",
    help: "BBR that stays below what losses of 2 % say the path holds, leaves room for others and probes every two to three seconds",
    parameters: Rules::PARAMETERS,
    build: |p, setup| Box::new(Bbr3::new(p, setup)),
};

/// BBR version 3 (draft-ietf-ccwg-bbr; section numbers are those of its version 01): version 1's states, and two pairs of
/// bounds. `inflight_hi` is what the path held in the last probe without losses of 2 %; `bw_lo` and `inflight_lo` answer
/// losses of the last round trips, until the next probe. PROBE_BW is DOWN, CRUISE with room for others, REFILL and UP.
pub struct Bbr3 {
    rules: Rules,
    mode: Mode,
    state: State,
    /// Greatest rates, in bytes a second, of the last cycle of probing and of this one (MaxBwFilter).
    rates: [f64; 2],
    full_pipe: FullPipe,
    bounds: Bounds,
    marks: Marks,
    /// The least round-trip time since the last PROBE_RTT, and when it was seen.
    probed_rtt: (Duration, Time),
    repairing: bool,
}

/// The states (section 4.1.1).
#[derive(Clone, Copy, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw(Cycle),
    ProbeRtt(ProbeRtt),
}

impl Rules {
    /// MinPipeCwnd, in segments.
    const MIN_PIPE: f64 = 4.0;
    /// PacingMarginPercent: a little below the bandwidth, so that no queue is left.
    const MARGIN: f64 = 0.99;
    /// DrainPacingGain.
    const DRAIN: f64 = 0.5;
    /// ProbeRTTCwndGain.
    const PROBE_RTT: f64 = 0.5;
    /// MinRTTFilterLen.
    const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
}

impl Bbr3 {
    /// BBR version 3 with the registry's parameters.
    pub fn new(p: &Parameters, setup: Setup) -> Self {
        let rules = Rules::from(p);
        Bbr3 {
            rules,
            mode: Mode::Startup,
            state: State::new(setup, "bbr3/probe", rules.startup_pacing_gain),
            rates: [0.0; 2],
            full_pipe: FullPipe::default(),
            bounds: Bounds::default(),
            marks: Marks::default(),
            probed_rtt: (Duration::MAX, Time::ZERO),
            repairing: false,
        }
    }

    /// Returns the greatest rate of this cycle and the last (max_bw).
    fn max_bw(&self) -> f64 {
        self.rates[0].max(self.rates[1])
    }

    /// Returns the bandwidth that is used: as far as recent losses let it (BBRBoundBWForModel).
    fn bw(&self) -> f64 {
        self.max_bw().min(self.bounds.bw_lo)
    }

    /// pacing_gain and cwnd_gain of each state (section 4.6.1).
    fn gains(&self) -> (f64, f64) {
        let default = self.rules.cwnd_gain;
        match self.mode {
            Mode::Startup => (self.rules.startup_pacing_gain, default),
            Mode::Drain => (Rules::DRAIN, default),
            Mode::ProbeBw(cycle) => (cycle.phase.pacing_gain(), default + cycle.phase.more_window()),
            Mode::ProbeRtt(_) => (1.0, Rules::PROBE_RTT),
        }
    }

    /// Section 4.5.2: the bandwidth's maximum.
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.state.rounds.update(sample);
        let rate = sample.bytes_per_second();
        if rate >= self.max_bw() || !self.state.is_app_limited(sample) {
            self.rates[1] = self.rates[1].max(rate);
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        self.state.pace(gain * self.bw() * Rules::MARGIN, self.full_pipe.reached);
    }

    /// Takes the first rate from the first round-trip time.
    fn see_rtt(&mut self, srtt: Duration, min_rtt: Duration, now: Time) {
        if self.state.see_rtt(now, srtt, min_rtt, self.rules.startup_pacing_gain * Rules::MARGIN) {
            self.probed_rtt = (min_rtt, now);
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, ack: &Ack) {
        self.see_rtt(ack.srtt, ack.min_rtt, ack.now);
        self.state.delivered += ack.delivered;
        self.state.rounds.start = false;
        if let Some(sample) = &ack.rate {
            self.update_max_bw(sample);
            self.update_lower_bounds(ack, sample);
            let (bw, cwnd) = (self.bw(), self.state.cwnd);
            self.state.aggregation.update(ack.now, ack.delivered as f64, bw, cwnd, self.state.rounds.start);
            self.check_full_pipe(ack, sample);
        }
        self.check_startup_done();
        self.check_drain_done(ack);
        if let Some(sample) = &ack.rate {
            self.update_upper_bounds(ack, sample);
            self.update_cycle(ack, sample);
        }
        self.update_min_rtt(ack);
        if let Some(sample) = &ack.rate {
            self.bounds.advance(sample);
        }
        let (pacing_gain, cwnd_gain) = self.gains();
        self.set_pacing_rate(pacing_gain);
        self.set_window(ack, cwnd_gain);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        match congestion.signal {
            Signal::Mark => {}
            Signal::Loss => self.save_window(),
            Signal::Restart | Signal::Timeout | Signal::RepeatedTimeout => {
                if congestion.signal != Signal::RepeatedTimeout {
                    self.save_window();
                }
                self.repairing = true;
                self.state.cwnd = self.state.mss;
            }
        }
    }

    /// Section 4.6.4.5: what the losses did is undone.
    fn on_spurious(&mut self, _now: Time) {
        self.state.restore_window();
        self.full_pipe.restart(0.0);
        self.bounds.undo();
    }

    fn on_send(&mut self, sending: &Sending) {
        self.see_rtt(sending.srtt, sending.min_rtt, sending.now);
        if !self.state.restarts(sending) {
            return;
        }
        // Section 4.4.3: after silence at the bandwidth.
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
        u64::MAX
    }
    fn in_slow_start(&self) -> bool {
        matches!(self.mode, Mode::Startup)
    }
    fn phase(&self) -> Option<&'static str> {
        Some(match self.mode {
            Mode::Startup => "Startup",
            Mode::Drain => "Drain",
            Mode::ProbeBw(cycle) => cycle.phase.name(),
            Mode::ProbeRtt(_) => "ProbeRTT",
        })
    }
}
