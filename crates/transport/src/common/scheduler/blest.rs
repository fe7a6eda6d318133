//! Blocking estimation.

use super::{Build, Decision, PacketScheduler, PathState, Situation};
use vazao_engine::Time;
use vazao_engine::registry::{Entry, Kind, parameters};

/// Blocking estimation-based scheduling, BLEST (Ferlin, Alay, Mehani, Boreli, IFIP Networking 2016). The path with the
/// least round-trip time sends. A slower path is used only if the send window left after its segment is large enough
/// for all that the fastest path can send until that segment is acknowledged. Otherwise nothing leaves until the
/// fastest path has room.
///
/// The estimate is scaled by lambda. Once per round-trip time of the slow path, lambda grows by delta_bad if the
/// receiver's window was full and falls by delta_good if it was not. The constants are those of the authors' Linux
/// implementation.
pub struct Blest {
    settings: Settings,
    lambda: f64,
    blocked: bool,
    due: Time,
}

parameters! {
    struct Settings {
        lambda: f64 = Kind::Number(0.1, 10.0), "1.2", "what the estimate is multiplied by, at first";
        min_lambda: f64 = Kind::Number(0.1, 10.0), "1", "the same, at least";
        max_lambda: f64 = Kind::Number(0.1, 10.0), "1.3", "the same, at most";
        delta_good: f64 = Kind::Number(0.0, 1.0), "0.01", "by how much it falls without blocking";
        delta_bad: f64 = Kind::Number(0.0, 1.0), "0.04", "by how much it grows after blocking";
    }
}

pub(super) const ENTRY: Entry<Build> = Entry {
    name: "blest",
    aliases: &[],
    title: "Blocking estimation",
    source: "Ferlin, Alay, Mehani, Boreli, IFIP Networking 2016",
    help: "lowest round-trip time; a slower subflow is left out where it would keep the fastest waiting for the receiver's window",
    parameters: Settings::PARAMETERS,
    build: |p| {
        let settings = Settings::from(p);
        Box::new(Blest { lambda: settings.lambda, settings, blocked: false, due: Time::ZERO })
    },
};

impl Blest {
    fn adapt(&mut self, now: Time, slow: &PathState) {
        if now < self.due {
            return;
        }
        if self.due > Time::ZERO {
            let Settings { min_lambda, max_lambda, delta_good, delta_bad, .. } = self.settings;
            let step = if self.blocked { delta_bad } else { -delta_good };
            self.lambda = (self.lambda + step).min(max_lambda).max(min_lambda);
        }
        (self.blocked, self.due) = (false, now + slow.srtt);
    }
}

/// Bytes that the fast path can send in a round-trip time of the slow one while its window grows by a segment per round
/// trip: mss (w + (n - 1) / 2) n, with n the number of its round trips.
fn sendable(fast: &PathState, slow: &PathState) -> f64 {
    let rounds = slow.srtt.as_secs() / fast.srtt.as_secs();
    (fast.cwnd as f64 + fast.mss as f64 * (rounds - 1.0) / 2.0) * rounds
}

impl PacketScheduler for Blest {
    fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        self.blocked |= situation.blocker.is_some();
        situation.send_or_wait(|slow, fast| {
            self.adapt(situation.now, slow);
            let space = situation.buffer as f64 - (slow.flight + slow.queued + slow.mss) as f64;
            self.lambda * sendable(fast, slow) > space
        })
    }
}
