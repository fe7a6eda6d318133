use super::{SlowStart, Standard};
use crate::entry::SlowStartConstructor;
use crate::{Ack, WindowState};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Duration, Time};

parameters! {
    struct Settings {
        min_rtt_thresh: Duration = SPAN, "4 ms", "rise in delay that slows it down at least (MIN_RTT_THRESH)";
        max_rtt_thresh: Duration = SPAN, "16 ms", "rise in delay that slows it down at most (MAX_RTT_THRESH)";
        min_rtt_divisor: f64 = Kind::Number(1.0, 1000.0), "8", "in between: the least RTT over this";
        n_rtt_sample: f64 = Kind::Integer(1, 1000), "8", "samples a round trip must have to count (N_RTT_SAMPLE)";
        css_growth_divisor: f64 = Kind::Number(1.0, 1000.0), "4",
            "how much slower it grows when slowed down (CSS_GROWTH_DIVISOR)";
        css_rounds: f64 = Kind::Integer(1, 1000), "5", "round trips of that before it ends (CSS_ROUNDS)";
        l: f64 = Kind::Number(1.0, 1e9), "8",
            "growth in segments an acknowledgement at most; a sender that paces needs no bound (L)";
    }
}

pub(crate) const ENTRY: Entry<SlowStartConstructor> = Entry {
    name: "hystart++",
    aliases: &["hystart-plus-plus"],
    title: "HyStart++",
    source: "RFC 9406",
    help: "slows down when the delay rises, and ends slow start if it stays; a false alarm costs little",
    parameters: Settings::PARAMETERS,
    build: |p, _| Box::new(HyStartPlusPlus::from(p)),
};

/// A span that is compared with round-trip times.
const SPAN: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(60));

/// HyStart++ (RFC 9406): standard slow start that does not end at the first sign of a queue but becomes *conservative* (CSS),
/// growing a quarter as fast for five round trips, to see whether the sign was true.
///
/// The sign: a round trip's least RTT, once eight samples are in, lies above that of the round trip before by an eighth, 4
/// to 16 ms. If during CSS it falls below where it was when CSS began, it was jitter, and slow start resumes; after
/// `css_rounds` slow start ends with the window it has. Only the first slow start is watched (section 4.3).
///
/// Where it errs: five round trips of a quarter's growth still triple the window; a buffer smaller than that overflows as
/// under standard slow start. A path shared with others queues for reasons that are not the flow's.
#[derive(Debug)]
pub struct HyStartPlusPlus {
    standard: Standard,
    settings: Settings,
    last_round: Duration,
    current_round: Duration,
    samples: f64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the least RTT when it began, and the round trips of it so far.
    Conservative {
        baseline: Duration,
        rounds: f64,
    },
    /// Any slow start after the first.
    Standard,
}

impl HyStartPlusPlus {
    /// HyStart++ with the registry's parameters.
    pub fn from(p: &Parameters) -> Self {
        let settings = Settings::from(p);
        HyStartPlusPlus {
            standard: Standard { limit: settings.l },
            settings,
            last_round: Duration::MAX,
            current_round: Duration::MAX,
            samples: 0.0,
            phase: Phase::SlowStart,
        }
    }

    /// RttThresh: how far the delay must rise.
    fn rtt_thresh(&self) -> Duration {
        let part = Duration::from_nanos((self.last_round.as_nanos() as f64 / self.settings.min_rtt_divisor) as u64);
        part.min(self.settings.max_rtt_thresh).max(self.settings.min_rtt_thresh)
    }

    fn start_round(&mut self) {
        (self.last_round, self.current_round, self.samples) = (self.current_round, Duration::MAX, 0.0);
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1.0;
        }
    }

    fn judge(&mut self) {
        if self.samples < self.settings.n_rtt_sample || self.current_round == Duration::MAX {
            return;
        }
        let rises = self.last_round < Duration::MAX && self.current_round >= self.last_round + self.rtt_thresh();
        match self.phase {
            // The rest of this round trip counts as the first of CSS.
            Phase::SlowStart if rises => self.phase = Phase::Conservative { baseline: self.current_round, rounds: 0.0 },
            Phase::Conservative { baseline, .. } if self.current_round < baseline => self.phase = Phase::SlowStart,
            _ => (),
        }
    }
}

impl SlowStart for HyStartPlusPlus {
    fn grow(&mut self, state: &WindowState, ack: &Ack) -> f64 {
        let conservative = matches!(self.phase, Phase::Conservative { .. });
        let divisor = if conservative { self.settings.css_growth_divisor } else { 1.0 };
        state.cwnd + self.standard.increase(state, ack) / divisor
    }

    fn leave(&mut self, _: &WindowState, ack: &Ack) -> bool {
        if self.phase == Phase::Standard {
            return false;
        }
        if ack.round {
            self.start_round();
        }
        if let Some(rtt) = ack.rtt {
            self.current_round = self.current_round.min(rtt);
            self.samples += 1.0;
            self.judge();
        }
        matches!(self.phase, Phase::Conservative { rounds, .. } if rounds >= self.settings.css_rounds)
    }

    fn restart(&mut self, _: Time) {
        self.phase = Phase::Standard;
    }

    fn phase(&self) -> Option<&'static str> {
        matches!(self.phase, Phase::Conservative { .. }).then_some("conservative slow start")
    }
}
