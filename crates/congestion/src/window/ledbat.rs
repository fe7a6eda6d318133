use super::{Profile, Reno, Window, windowed};
use crate::entry::Constructor;
use crate::{Ack, Congestion, WindowState};
use std::collections::VecDeque;
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Time};

parameters! {
    struct Settings {
        profile: Profile = Kind::Choice(&["rfc", "ns3"]), "rfc",
            "whose rules where implementations differ: RFC 6817's, or ns-3's, whose slow start ends with a loss only";
        target: Duration = Kind::Duration(Duration::from_millis(1), Duration::from_millis(100)), "100 ms",
            "TARGET: queueing delay to hold (section 2.5: at most 100 ms)";
        gain: f64 = Kind::Number(0.001, 1.0), "1",
            "GAIN: segments a round trip by which an empty queue lets the window grow (section 2.5: at most 1)";
        base_history: usize = Kind::Integer(2, 60), "10",
            "BASE_HISTORY: minutes for which the least delay is remembered (section 2.5: 10)";
        current_filter: usize = Kind::Integer(1, 1000), "4",
            "CURRENT_FILTER: last delays of which the least counts (section 2.4.2 leaves it open; ns-3: 4)";
        allowed_increase: f64 = Kind::Number(0.1, 100.0), "1",
            "ALLOWED_INCREASE: segments by which the window may exceed what is in flight (section 2.5: 1)";
        min_cwnd: f64 = Kind::Integer(1, 10), "2", "MIN_CWND: least window in segments (section 2.5: 2)";
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "ledbat",
    aliases: &[],
    title: "LEDBAT",
    source: "RFC 6817",
    help: "keeps a queue of 100 ms at most and yields to whoever queues more: for transfers that may wait; goes by the \
           one-way delay of TCP's timestamps, elsewhere by the round-trip time",
    parameters: Settings::PARAMETERS,
    build: |p, setup| windowed(Ledbat::from(p), setup),
};

/// LEDBAT, low extra delay background transport (RFC 6817): holds the one-way queueing delay at `target`. Below, the
/// window grows by up to `gain` segments a round trip, in proportion to what is missing; above, it shrinks in the same
/// way. A flow that fills queues thus drives it back to its least window, which is what it is for.
///
/// Queueing delay is the current one-way delay, the least of the last few samples, less the base delay, the least of
/// the last minutes. The clocks of the two ends need not agree, for both terms have their difference in them.
///
/// It errs where the base delay is not seen. A flow that starts into the standing queue of another takes that queue
/// for propagation and puts its own on top, the latecomer's advantage. In a queue shorter than `target` it
/// is as aggressive as Reno. Where the transport has no timestamps (QUIC, SCTP, TCP without them) the round-trip time takes
/// the place of the one-way delay, as in LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus section 4.1), which needs no timestamps
/// but yields to a queue on the way back as well; ns-3's (TcpLedbat) is Reno there.
#[derive(Debug)]
pub struct Ledbat {
    /// TARGET in nanoseconds.
    target: f64,
    settings: Settings,
    base: BaseDelays,
    current: VecDeque<i64>,
}

impl Ledbat {
    /// LEDBAT with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let settings = Settings::from(p);
        Ledbat {
            target: settings.target.as_nanos() as f64,
            base: BaseDelays { minutes: VecDeque::new(), history: settings.base_history, minute: 0 },
            current: VecDeque::new(),
            settings,
        }
    }

    /// FILTER(current_delays) - MIN(base_delays) in nanoseconds, once there is a sample.
    fn queueing_delay(&self) -> Option<f64> {
        let current = self.current.iter().min()?;
        Some(current.saturating_sub(self.base.least()?) as f64)
    }
}

impl Window for Ledbat {
    fn wants_one_way(&self) -> bool {
        true
    }

    fn observe(&mut self, _: &WindowState, ack: &Ack) {
        let delay = if self.settings.profile == Profile::Ns3 { ack.one_way } else { ack.path_delay() };
        let Some(delay) = delay else { return };
        self.base.add(ack.now, delay);
        if self.current.len() == self.settings.current_filter {
            self.current.pop_front();
        }
        self.current.push_back(delay);
    }

    /// Section 2.4.2: cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd, bounded from both sides.
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let Some(queueing_delay) = self.queueing_delay() else { return state.cwnd + Reno::increase(state, ack) };
        let off_target = (self.target - queueing_delay) / self.target;
        let grown = state.cwnd + self.settings.gain * off_target * ack.acked as f64 * state.mss / state.cwnd;
        let most = ack.flight as f64 + self.settings.allowed_increase * state.mss;
        grown.min(most).max(self.settings.min_cwnd * state.mss)
    }

    /// Returns whether slow start ends: at the target, congestion avoidance would not grow any more.
    fn leave_slow_start(&mut self, _: &WindowState, _: &Ack) -> bool {
        self.settings.profile == Profile::Rfc && self.queueing_delay().is_some_and(|delay| delay >= self.target)
    }

    /// Section 2.4.2: half, as Reno.
    fn shrink(&mut self, state: &WindowState, _: &Congestion) -> f64 {
        (state.cwnd / 2.0).max(self.settings.min_cwnd * state.mss)
    }
}

/// The least delay of each of the last minutes (section 2.4.2), the latest last.
#[derive(Debug)]
struct BaseDelays {
    minutes: VecDeque<i64>,
    /// BASE_HISTORY.
    history: usize,
    /// Number of the last minute.
    minute: u64,
}

impl BaseDelays {
    fn add(&mut self, now: Time, delay: i64) {
        let minute = now.as_nanos() / 60_000_000_000;
        match self.minutes.back_mut() {
            Some(least) if minute == self.minute => *least = delay.min(*least),
            _ => {
                if self.minutes.len() == self.history {
                    self.minutes.pop_front();
                }
                self.minutes.push_back(delay);
                self.minute = minute;
            }
        }
    }

    fn least(&self) -> Option<i64> {
        self.minutes.iter().min().copied()
    }
}
