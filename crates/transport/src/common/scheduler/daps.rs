//! Delay-aware packet scheduling.

use super::{Build, Decision, PacketScheduler, PathState, Situation, fastest};
use vazao_engine::Duration;
use vazao_engine::registry::Entry;

/// Delay-aware packet scheduling, DAPS (Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, ICC 2014, algorithm 1): the
/// scheduler makes a plan from the current delays and windows and follows it to the end. In the plan each path has a
/// turn at every multiple of its forward delay (half its round-trip time), faster paths first where turns coincide. In
/// its turn it is given the next window of data, whether it has room or not, so a slow path sends now the data that
/// will be due when it arrives.
///
/// A plan ends after the slowest path's turn, and the next one is made as soon as a path has room again. (The paper's
/// plan lasts until the least common multiple of the delays, which measured delays never reach.) Paths that still hold
/// unsent data are left out of a plan.
#[derive(Default)]
pub struct DelayAware {
    plan: Vec<Turn>,
}

/// A path's part of the plan.
struct Turn {
    path: usize,
    /// Forward delay in nanoseconds, and the time of the next turn.
    delay: u64,
    next: u64,
    /// Bytes per turn, and bytes left in this one.
    window: u64,
    left: u64,
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "daps",
    aliases: &["delay-aware"],
    title: "Delay-aware packet scheduling",
    source: "Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, ICC 2014",
    help: "a plan by delays and windows: each subflow is given a window of data at every multiple of its delay",
    parameters: &[],
    build: |_| Box::new(DelayAware::default()),
};

impl DelayAware {
    fn make_plan(&mut self, situation: &Situation<'_>) {
        if situation.available().next().is_none() {
            return;
        }
        let is_idle = |path: &PathState| path.usable && path.srtt > Duration::ZERO && path.queued == 0;
        let idle = situation.paths.iter().enumerate().filter(|(_, path)| is_idle(path));
        self.plan.extend(idle.map(|(path, state)| {
            let (delay, window) = (state.srtt.as_nanos().div_ceil(2), state.cwnd.max(state.mss));
            Turn { path, delay, next: delay, window, left: window }
        }));
        self.plan.sort_by_key(|turn| turn.delay);
    }
}

impl PacketScheduler for DelayAware {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        if situation.waiting == 0 {
            return Decision::send(fastest(situation.paths));
        }
        self.plan.retain(|turn| situation.paths[turn.path].usable);
        if self.plan.is_empty() {
            self.make_plan(situation);
        }
        let next = self.plan.iter().min_by_key(|turn| turn.next).map(|turn| turn.path);
        // A path without an RTT sample has no part in plans: it is tried as soon as it has room.
        Decision::send(next.or_else(|| situation.least(|path| path.srtt)))
    }

    fn on_sent(&mut self, path: usize, bytes: u64) {
        let Some(turn) = self.plan.iter_mut().find(|turn| turn.path == path) else { return };
        turn.left = turn.left.saturating_sub(bytes);
        if turn.left == 0 {
            (turn.left, turn.next) = (turn.window, turn.next + turn.delay);
            if self.plan.last().is_some_and(|slowest| slowest.next > slowest.delay) {
                self.plan.clear();
            }
        }
    }

    fn queues(&self) -> bool {
        true
    }
}
