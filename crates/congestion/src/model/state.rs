//! State that the versions of BBR share: their model of the path, and what they send by.

use super::{Aggregation, Rounds};
use crate::{Ack, RateSample, Sending, Setup};
use vazao_engine::{Duration, RandomStream, Rate, Time};

/// Model of the path and sending state.
pub(crate) struct State {
    pub mss: f64,
    pub initial_window: f64,
    /// Random stream of PROBE_BW.
    pub luck: RandomStream,
    pub rounds: Rounds,
    pub aggregation: Aggregation,
    /// Least round-trip time, and when it was seen.
    pub min_rtt: Duration,
    pub min_rtt_at: Time,
    /// Bytes delivered.
    pub delivered: u64,
    /// Range of bytes delivered within which packets that leave are application-limited, as PROBE_RTT has the window down.
    muted: (u64, u64),
    /// Whether sending has begun again after silence, and nothing was delivered since.
    pub idle_restart: bool,
    /// Whether a round-trip time was measured.
    has_rtt: bool,
    /// Pacing rate in bytes a second.
    pub pacing_rate: f64,
    /// Congestion window in bytes, and that before a recovery or PROBE_RTT.
    pub cwnd: f64,
    pub prior_cwnd: f64,
}

impl State {
    /// Creates the state at the start, whose pacing gain is `gain`; `stream` names the random numbers.
    pub fn new(setup: Setup, stream: &str, gain: f64) -> State {
        let cwnd = setup.initial_window as f64;
        State {
            mss: setup.mss as f64,
            initial_window: cwnd,
            luck: RandomStream::new(setup.seed, stream),
            rounds: Rounds::default(),
            aggregation: Aggregation::default(),
            min_rtt: Duration::MAX,
            min_rtt_at: Time::ZERO,
            delivered: 0,
            muted: (u64::MAX, 0),
            idle_restart: false,
            has_rtt: false,
            // Before the first round-trip time: as if that were a millisecond.
            pacing_rate: gain * cwnd / 1e-3,
            cwnd,
            prior_cwnd: 0.0,
        }
    }

    /// Sets the first pacing rate from the first round-trip time, with a gain; returns whether this was the first.
    pub fn see_rtt(&mut self, now: Time, srtt: Duration, min_rtt: Duration, gain: f64) -> bool {
        let is_first = !self.has_rtt && srtt > Duration::ZERO;
        if is_first {
            self.has_rtt = true;
            self.pacing_rate = gain * self.cwnd / srtt.as_secs();
            (self.min_rtt, self.min_rtt_at) = (min_rtt, now);
        }
        is_first
    }

    /// Sets the pacing rate, which never falls while the pipe is not known to be full.
    pub fn pace(&mut self, rate: f64, is_full: bool) {
        if is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Pacing rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bps((8.0 * self.pacing_rate).max(1.0) as u64)
    }

    /// Returns `gain` bandwidth-delay products in bytes; before the first round-trip time, the initial window.
    pub fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt == Duration::MAX {
            return self.initial_window;
        }
        gain * bandwidth * self.min_rtt.as_secs()
    }

    /// Raises the window by what is delivered toward a target; until an initial window was delivered also beyond it.
    pub fn approach(&mut self, target: f64, acked: f64, is_full: bool) {
        if is_full {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || (self.delivered as f64) < self.initial_window {
            self.cwnd += acked;
        }
    }

    /// Remembers the window to go back to after a recovery or PROBE_RTT; `whole` says that neither is under way.
    pub fn save_window(&mut self, whole: bool) {
        self.prior_cwnd = if whole { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Goes back to the window that was saved.
    pub fn restore_window(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Returns whether the application or PROBE_RTT, not the network, limited a sample.
    pub fn is_app_limited(&self, sample: &RateSample) -> bool {
        sample.app_limited || self.is_muted(sample.prior_delivered)
    }

    fn is_muted(&self, delivered: u64) -> bool {
        (self.muted.0..=self.muted.1).contains(&delivered)
    }

    /// Begins the range that is application-limited, as PROBE_RTT takes the window down.
    pub fn mute(&mut self) {
        self.muted.0 = self.delivered;
    }

    /// Extends the range over what is in flight at an acknowledgement.
    pub fn stay_muted(&mut self, ack: &Ack) {
        self.muted.1 = self.delivered + ack.pipe;
    }

    /// Handles data that is about to leave; returns whether sending begins again after silence.
    pub fn restarts(&mut self, sending: &Sending) -> bool {
        let restarts = sending.flight == 0 && (sending.app_limited || self.is_muted(self.delivered));
        if restarts {
            self.idle_restart = true;
            self.aggregation.restart(sending.now);
        }
        restarts
    }
}
