//! Fine-grained forward prediction.

use super::{Build, Decision, PacketScheduler, PathState, Situation};
use vazao_engine::Duration;
use vazao_engine::registry::Entry;

/// Fine-grained forward prediction, F2P-DPS (Ni, Xue, Hong, Shen, ICCCN 2014): a segment on a slower path skips as much
/// waiting data as the faster paths are predicted to deliver until it arrives, so that it arrives in order. The
/// prediction is a model of TCP Reno with the path's window, round-trip time and losses, those counted over what was
/// sent once.
///
/// After the description in Lima, UNIFEI 2017, section 4.3. The lead is half the difference of the round-trip times, and
/// the model looks one loss ahead: a window grows by a segment a round trip until 1/p segments are through, and goes on
/// from half of it.
pub struct ForwardPrediction;

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "forward-prediction",
    aliases: &["f2p-dps"],
    title: "Fine-grained forward prediction",
    source: "Ni, Xue, Hong, Shen, ICCCN 2014",
    help: "each subflow leaves out what faster ones will have delivered by when its segment arrives, losses considered",
    parameters: &[],
    build: |_| Box::new(ForwardPrediction),
};

/// Segments that a window of `window` segments and its growth deliver in `rounds` round trips.
fn grown(window: f64, rounds: f64) -> f64 {
    rounds * (window + (rounds - 1.0).max(0.0) / 2.0)
}

/// Bytes that Reno is expected to deliver on `path` in `time`.
fn predicted(path: &PathState, time: Duration) -> f64 {
    let (window, rounds) = (path.cwnd as f64 / path.mss as f64, time.as_secs() / path.srtt.as_secs());
    let all = grown(window, rounds);
    let lost = path.retransmissions as f64;
    let between = (path.segments as f64 - lost).max(1.0) / lost.max(f64::MIN_POSITIVE);
    if all <= between {
        return all * path.mss as f64;
    }
    // grown(window, n) = between: the positive root of n² + (2 window - 1) n - 2 between.
    let linear = 2.0 * window - 1.0;
    let before = ((linear * linear + 8.0 * between).sqrt() - linear) / 2.0;
    let halved = ((window + before) / 2.0).max(1.0);
    (between + grown(halved, (rounds - before).max(0.0))) * path.mss as f64
}

impl PacketScheduler for ForwardPrediction {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        let Some(best) = situation.least(|path| path.srtt) else { return Decision::Wait };
        if situation.waiting == 0 {
            return Decision::Send { path: best, skip: 0 };
        }
        let PathState { srtt, mss, .. } = situation.paths[best];
        let faster =
            situation.paths.iter().filter(|path| path.usable && path.srtt > Duration::ZERO && path.srtt < srtt);
        let skip: f64 = faster.map(|path| predicted(path, (srtt - path.srtt) / 2)).sum();
        if skip >= situation.waiting as f64 {
            return Decision::Wait;
        }
        // Whole segments, to avoid fragments.
        Decision::Send { path: best, skip: skip as u64 / mss * mss }
    }
}
