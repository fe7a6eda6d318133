use super::{Constructor, Discipline, Drops, ECN, Fifo, LIMIT, Limit, MTU, Queued, Setting};
use vazao_engine::registry::{Entry, Kind, Parameters, parameters};
use vazao_engine::{Capacity, Duration, RandomStream, Rate, Time};

parameters! {
    struct Settings {
        limit: Capacity = LIMIT;
        min: Option<Capacity> = Kind::Capacity, "",
            "average queue from which on it drops; without it \"5 packets\", and if adaptive at least half of target";
        max: Option<Capacity> = Kind::Capacity, "", "average queue at which it drops max_p; without it three times min";
        max_p: f64 = Kind::Number(0.001, 1.0), "0.1", "probability at max; where adaptive, at the start";
        weight: Option<f64> = Kind::Number(1e-7, 1.0), "",
            "w_q of each arrival in the average; without it 0.002, and if adaptive 1 - exp(-1/C) at C packets a second";
        gentle: bool = Kind::Flag, "true", "from max to twice max the probability rises to 1, not at once";
        adaptive: bool = Kind::Flag, "false", "max_p moves so that the average stays half-way (ARED)";
        target: Duration = Kind::Duration(Duration::from_micros(1), Duration::from_secs(10)), "5 ms",
            "average wait from which the adaptive form derives min";
        ecn: bool = ECN;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "red",
    aliases: &[],
    title: "RED",
    source: "Floyd, Jacobson, ToN 1(4), 1993; Floyd, Gummadi, Shenker 2001 (adaptive)",
    help: "drops or marks at random, the more the longer the average queue: between min and max up to max_p",
    parameters: Settings::PARAMETERS,
    build: |p, setting| Box::new(Red::from(p, setting)),
};

/// Interval and steps of max_p in the adaptive form (Floyd, Gummadi, Shenker 2001, figure 1).
const INTERVAL: Duration = Duration::from_millis(500);
const BETA: f64 = 0.9;
const MAX_P: (f64, f64) = (0.01, 0.5);

/// Random early detection (Floyd and Jacobson, *Random early detection gateways for congestion avoidance*, ToN 1993).
///
/// The average queue follows the queue at each arrival with a small weight, so that bursts pass; a probability grows with it
/// from 0 at `min` to `max_p` at `max`, and each packet is dropped or marked with it, spread evenly by a count of those
/// that were spared since the last. Thresholds in bytes make it count bytes, and large packets likelier to be hit.
#[derive(Debug)]
pub struct Red {
    queue: Fifo,
    limit: Limit,
    /// Thresholds in packets, or in bytes.
    min: f64,
    max: f64,
    in_bytes: bool,
    max_p: f64,
    weight: f64,
    /// Logarithm of what an arrival leaves of the average.
    log_kept: f64,
    gentle: bool,
    ecn: bool,
    average: f64,
    /// Packets spared since the last was hit; none are counted below `min`.
    count: Option<u64>,
    /// Since when the queue is idle, if it is.
    idle: Option<Time>,
    /// Time to send a packet: as many could have left while the queue was idle.
    packet_time: f64,
    /// Time at which max_p moves next, if it does.
    adapts: Option<Time>,
    stream: RandomStream,
}

impl Red {
    /// RED with the registry's parameters.
    pub fn from(p: &Parameters, setting: &Setting) -> Self {
        let Settings { limit, min, max, max_p, weight, gentle, adaptive, target, ecn } = p.into();
        let packets_per_s = setting.rate.as_bps() as f64 / (8.0 * MTU);
        let automatic = if adaptive { (target.as_secs() * packets_per_s / 2.0).max(5.0) } else { 5.0 };
        let min = min.map(|min| threshold(min, setting));
        let in_bytes = min.is_some_and(|(_, in_bytes)| in_bytes);
        let unit = |(value, bytes): (f64, bool)| match (bytes, in_bytes) {
            (true, false) => value / MTU,
            (false, true) => value * MTU,
            _ => value,
        };
        let min = min.map_or(automatic, unit);
        let max = max.map_or(3.0 * min, |max| unit(threshold(max, setting)));
        let automatic = if adaptive { -libm::expm1(-1.0 / packets_per_s) } else { 0.002 };
        let weight = weight.unwrap_or(automatic);
        Red {
            queue: Fifo::default(),
            limit: setting.limits(limit).into(),
            min,
            max: max.max(min + 1.0),
            in_bytes,
            max_p,
            weight,
            log_kept: libm::log1p(-weight).max(-1e9),
            gentle,
            ecn,
            average: 0.0,
            count: None,
            idle: Some(Time::ZERO),
            packet_time: Rate::time_for(setting.rate, MTU as u64).as_secs(),
            adapts: adaptive.then_some(Time::ZERO + INTERVAL),
            stream: setting.stream.clone(),
        }
    }

    /// Updates the average queue for an arrival now (1993, section 4).
    fn observe(&mut self, now: Time) {
        if let Some(since) = self.idle.take() {
            let could_have_gone = now.since(since).as_secs() / self.packet_time;
            self.average *= libm::exp(self.log_kept * could_have_gone);
        }
        let queue = if self.in_bytes { self.queue.bytes() } else { self.queue.packets() } as f64;
        self.average += self.weight * (queue - self.average);
    }

    /// Moves max_p so that the average stays between 0.4 and 0.6 of the way from `min` to `max`.
    fn adapt(&mut self, now: Time) {
        while let Some(due) = self.adapts.filter(|due| *due <= now) {
            self.adapts = Some(due + INTERVAL);
            let way = (self.average - self.min) / (self.max - self.min);
            if way > 0.6 && self.max_p <= MAX_P.1 {
                self.max_p += (self.max_p / 4.0).min(0.01);
            } else if way < 0.4 && self.max_p >= MAX_P.0 {
                self.max_p *= BETA;
            } else {
                // Nothing changes until the average does: the next interval ends after now.
                let missed = now.since(due).as_nanos() / INTERVAL.as_nanos();
                self.adapts = Some(due + Duration::from_nanos((missed + 1) * INTERVAL.as_nanos()));
            }
        }
    }

    /// p_b: the probability for the average queue, before packets spared are counted.
    fn probability(&self) -> f64 {
        let Red { average, min, max, max_p, .. } = *self;
        if average < max {
            max_p * (average - min) / (max - min)
        } else if self.gentle {
            max_p + (1.0 - max_p) * (average - max) / max
        } else {
            1.0
        }
    }

    /// Returns whether a packet is dropped or marked.
    fn hits(&mut self, size: u32) -> bool {
        if self.average < self.min {
            self.count = None;
            return false;
        }
        let part = if self.in_bytes { f64::from(size) / MTU } else { 1.0 };
        let probability = self.probability() * part;
        // The paper's count starts at -1: the first packet above min is number 0.
        let count = self.count.map_or(0, |count| count + 1);
        let spread = 1.0 - count as f64 * probability;
        let hit = spread <= 0.0 || self.stream.uniform() < probability / spread;
        self.count = Some(if hit { 0 } else { count });
        hit
    }

    /// Returns whether the average is too long for marks alone (RFC 3168, section 7).
    fn must_drop(&self) -> bool {
        self.average >= if self.gentle { 2.0 * self.max } else { self.max }
    }
}

/// Returns a threshold as a number, and whether it counts bytes.
fn threshold(capacity: Capacity, setting: &Setting) -> (f64, bool) {
    match setting.limits(capacity) {
        (packets, u64::MAX) => (f64::from(packets), false),
        (_, bytes) => (bytes as f64, true),
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, mut packet: Queued, drops: &mut Drops) {
        self.adapt(now);
        self.observe(now);
        let hit = self.hits(packet.size);
        if !self.limit.admits(&packet, &self.queue) {
            return drops.full(packet);
        }
        if hit && (self.must_drop() || !self.ecn || !packet.mark()) {
            return drops.early(packet);
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Drops) -> Option<Queued> {
        let packet = self.queue.pop();
        if packet.is_none() {
            self.idle = Some(now);
        }
        packet
    }
}
