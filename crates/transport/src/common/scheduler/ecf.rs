//! Earliest completion first.

use super::{Build, Decision, PacketScheduler, Situation};
use vazao_engine::registry::{Entry, Kind, parameters};

/// Earliest completion first, ECF (Lim, Nahum, Towsley, Gibbens, CoNEXT 2017, algorithm 1): the path with the least
/// round-trip time sends. If it is full, the scheduler waits for it where all waiting data would complete sooner that
/// way than with a slower path.
///
/// With k bytes waiting, the fast path needs n = 1 + k / w_f round-trip times. It is waited for if n srtt_f < (1 +
/// beta)(srtt_s + delta), and k / w_s srtt_s >= 2 srtt_f + delta, where delta is the larger of the deviations. beta
/// counts only while waiting, as hysteresis.
pub struct EarliestCompletionFirst {
    beta: f64,
    waiting: bool,
}

parameters! {
    struct Settings { beta: f64 = Kind::Number(0.0, 10.0), "0.25", "hysteresis: how much longer waiting may take"; }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "ecf",
    aliases: &["earliest-completion-first"],
    title: "Earliest completion first",
    source: "Lim, Nahum, Towsley, Gibbens, CoNEXT 2017",
    help: "lowest round-trip time; a slower subflow is left out where all that waits is complete sooner without it",
    parameters: Settings::PARAMETERS,
    build: |p| Box::new(EarliestCompletionFirst { beta: Settings::from(p).beta, waiting: false }),
};

impl PacketScheduler for EarliestCompletionFirst {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        situation.send_or_wait(|slow, fast| {
            let delta = slow.rttvar.max(fast.rttvar).as_secs();
            let (srtt_s, srtt_f) = (slow.srtt.as_secs(), fast.srtt.as_secs());
            let hysteresis = if self.waiting { 1.0 + self.beta } else { 1.0 };
            if srtt_f + fast.time_for(situation.waiting) >= hysteresis * (srtt_s + delta) {
                self.waiting = false;
                return false;
            }
            let waits = slow.time_for(situation.waiting) >= 2.0 * srtt_f + delta;
            self.waiting |= waits;
            waits
        })
    }
}
