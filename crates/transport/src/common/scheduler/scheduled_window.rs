//! Scheduled windows.

use super::{Build, Decision, PacketScheduler, PathState, Situation};
use vazao_engine::registry::Entry;
use vazao_engine::{Duration, Time};

/// Scheduled-window-based transmission control, SWTC (Tsai, Chou, Lan, *PLoS ONE* 11(8), 2016): the subflow by which a
/// segment is estimated to arrive first, the wait behind what was scheduled on it before included, so that the fastest
/// one is not fed until its window is full while others idle.
///
/// After the description in Lima, UNIFEI 2017, section 4.3: each subflow has a timestamp, of when what is scheduled on
/// it will have left at a window a round-trip time; a segment leaves then or now, and takes a round-trip time.
#[derive(Default)]
pub struct ScheduledWindow {
    /// When each path will be free, and the nanoseconds that it takes for a byte.
    free: Vec<(Time, f64)>,
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "scheduled-window",
    aliases: &["swtc"],
    title: "Scheduled windows",
    source: "Tsai, Chou, Lan, PLoS ONE 11(8), 2016",
    help: "the subflow by which a segment arrives first, behind what was scheduled on it before",
    parameters: &[],
    build: |_| Box::<ScheduledWindow>::default(),
};

impl PacketScheduler for ScheduledWindow {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        self.free.resize(situation.paths.len(), (Time::ZERO, 0.0));
        let mut best: Option<(u64, usize)> = None;
        for (number, path) in situation.available() {
            let PathState { srtt, cwnd, .. } = *path;
            let (free, pace) = &mut self.free[number];
            *free = (*free).max(situation.now);
            *pace = srtt.as_nanos() as f64 / cwnd.max(1) as f64;
            let arrival = free.since(situation.now).as_nanos() + srtt.as_nanos();
            if best.is_none_or(|(least, _)| arrival < least) {
                best = Some((arrival, number));
            }
        }
        Decision::send(best.map(|(_, number)| number))
    }

    fn on_sent(&mut self, path: usize, bytes: u64) {
        if let Some((free, pace)) = self.free.get_mut(path) {
            *free += Duration::from_nanos((bytes as f64 * *pace) as u64);
        }
    }
}
