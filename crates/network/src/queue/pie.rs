use super::{Constructor, Discipline, Drops, ECN, Fifo, LIMIT, Limit, MTU, Queued, Setting};
use vazao_engine::registry::{Entry, Kind, Parameters, choice, parameters};
use vazao_engine::{Capacity, Duration, RandomStream, Time};

const SPAN: Kind = Kind::Duration(Duration::from_micros(1), Duration::from_secs(100));

choice! { enum Estimator { Timestamps = "timestamps", DepartureRate = "departure-rate" } }

parameters! {
    struct Settings {
        limit: Capacity = LIMIT;
        target: Duration = SPAN, "15 ms", "QDELAY_REF: the wait that it aims at";
        update: Duration = SPAN, "15 ms", "T_UPDATE: how often the probability moves";
        alpha: f64 = Kind::Number(0.0, 100.0), "0.125", "weight of the distance from target, 1/s";
        beta: f64 = Kind::Number(0.0, 100.0), "1.25", "weight of the trend, 1/s";
        max_burst: Duration = Kind::Duration(Duration::ZERO, Duration::from_secs(100)), "150 ms",
            "MAX_BURST: how long a burst after idleness passes untouched (section 4.4)";
        delay: Estimator = Estimator::KIND, "timestamps",
            "how the wait is known: that of the packet that left last, or bytes over the rate at which they leave (5.2)";
        derandomize: bool = Kind::Flag, "true", "no drop soon after another, none long in coming (5.4)";
        activation: bool = Kind::Flag, "false", "sleeps until a third of the limit waits (5.3)";
        mark_limit: f64 = Kind::Number(0.0, 1.0), "0.1", "probability from which on marks are drops (5.1)";
        ecn: bool = ECN;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "pie",
    aliases: &[],
    title: "PIE",
    source: "RFC 8033; Pan et al., HPSR 2013",
    help: "drops on arrival at random; a controller moves the probability by the wait's distance from target and by its trend",
    parameters: Settings::PARAMETERS,
    build: |p, setting| Box::new(Pie::from(p, setting)),
};

/// The smaller the probability, the smaller its steps (section 4.2): below the first number, divided by the second.
const AUTO_TUNING: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// Largest rise at once from a probability of 0.1 on (section 5.5).
const STEP_CAP: f64 = 0.02;
/// Bytes over which the rate of departures is measured (section 5.2).
const DQ_THRESHOLD: u64 = 1 << 14;
/// Sum of probabilities since the last drop below which there is none, and from which there is one (section 5.4).
const SPREAD: (f64, f64) = (0.85, 8.5);

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Debug)]
pub struct Pie {
    queue: Fifo,
    limit: Limit,
    control: Control,
    update: Duration,
    due: Time,
    delay: Delay,
    /// Bytes from which on it is awake, where it sleeps at all; and whether it is awake.
    wakes_at: Option<u64>,
    active: bool,
    /// Sum of probabilities since the last drop, if drops are to be spread.
    accumulated: Option<f64>,
    mark_limit: f64,
    ecn: bool,
    stream: RandomStream,
}

/// The controller (section 4.2), apart from the queue.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// QDELAY_REF, alpha and beta: seconds, and 1/s.
    pub target: f64,
    /// Weight of the distance from the target.
    pub alpha: f64,
    /// Weight of the trend.
    pub beta: f64,
    /// MAX_BURST, in seconds.
    pub max_burst: f64,
    /// The probability of a drop.
    pub probability: f64,
    /// The wait at the last update, in seconds.
    pub old_delay: f64,
    /// Seconds for which drops are still waived.
    pub burst_allowance: f64,
}

impl Control {
    /// Moves the probability: `period` seconds have passed and the wait is `delay` seconds.
    pub fn update(&mut self, delay: f64, period: f64) {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.old_delay);
        let divisor = AUTO_TUNING.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |(_, by)| *by);
        let step = step / divisor;
        self.probability += if self.probability >= 0.1 { step.min(STEP_CAP) } else { step };
        if delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = (self.burst_allowance - period).max(0.0);
        if self.probability == 0.0 && delay.max(self.old_delay) < self.target / 2.0 {
            self.burst_allowance = self.max_burst;
        }
        self.old_delay = delay;
    }

    /// Returns whether an empty queue would change nothing any more.
    fn rests(&self) -> bool {
        self.probability == 0.0 && self.old_delay == 0.0 && self.burst_allowance == self.max_burst
    }
}

/// Estimator of the wait.
#[derive(Clone, Copy, Debug)]
enum Delay {
    /// Wait of the packet that left last, in seconds.
    Sojourn(f64),
    /// Average seconds for each `DQ_THRESHOLD` bytes; and the start of a measurement, with the bytes since.
    Departures { average: f64, measuring: Option<(Time, u64)> },
}

impl Delay {
    /// Returns the wait in seconds.
    fn seconds(&self, queue: &Fifo) -> f64 {
        match *self {
            Delay::Sojourn(seconds) => seconds,
            Delay::Departures { average, .. } => queue.bytes() as f64 / DQ_THRESHOLD as f64 * average,
        }
    }

    /// Measures a leaving packet, with `queue` behind it.
    fn see(&mut self, now: Time, packet: &Queued, queue: &Fifo) {
        match self {
            Delay::Sojourn(seconds) => *seconds = if queue.is_empty() { 0.0 } else { packet.sojourn(now).as_secs() },
            Delay::Departures { average, measuring } => {
                let Some((since, bytes)) = measuring else {
                    // It is measured only where enough waits: else the rate of arrivals is what would be seen.
                    *measuring = (queue.bytes() >= DQ_THRESHOLD).then_some((now, 0));
                    return;
                };
                *bytes += u64::from(packet.size);
                if *bytes >= DQ_THRESHOLD {
                    const WEIGHT: f64 = DQ_THRESHOLD as f64 / 65_536.0;
                    let time = now.since(*since).as_secs() * DQ_THRESHOLD as f64 / *bytes as f64;
                    *average = if *average == 0.0 { time } else { WEIGHT * time + (1.0 - WEIGHT) * *average };
                    *measuring = None;
                }
            }
        }
    }
}

impl Pie {
    /// PIE with the registry's parameters.
    pub fn from(p: &Parameters, setting: &Setting) -> Self {
        let settings = Settings::from(p);
        let limit: Limit = setting.limits(settings.limit).into();
        let room = limit.bytes.min(u64::from(limit.packets).saturating_mul(MTU as u64));
        let max_burst = settings.max_burst.as_secs();
        let control = Control {
            target: settings.target.as_secs(),
            alpha: settings.alpha,
            beta: settings.beta,
            max_burst,
            probability: 0.0,
            old_delay: 0.0,
            burst_allowance: max_burst,
        };
        let wakes_at = settings.activation.then_some(room / 3);
        let delay = match settings.delay {
            Estimator::Timestamps => Delay::Sojourn(0.0),
            Estimator::DepartureRate => Delay::Departures { average: 0.0, measuring: None },
        };
        Pie {
            queue: Fifo::default(),
            limit,
            control,
            update: settings.update,
            due: Time::ZERO + settings.update,
            delay,
            wakes_at,
            active: wakes_at.is_none(),
            accumulated: settings.derandomize.then_some(0.0),
            mark_limit: settings.mark_limit,
            ecn: settings.ecn,
            stream: setting.stream.clone(),
        }
    }

    /// Makes up for the updates since the last event. What they depend on changes only at events, so that none is missed.
    fn catch_up(&mut self, now: Time) {
        while self.due <= now {
            if self.control.rests() && self.delay.seconds(&self.queue) == 0.0 {
                let missed = now.since(self.due).as_nanos() / self.update.as_nanos();
                self.due += Duration::from_nanos((missed + 1) * self.update.as_nanos());
                break;
            }
            self.due += self.update;
            if self.active {
                self.control.update(self.delay.seconds(&self.queue), self.update.as_secs());
            }
            if self.wakes_at.is_some() && self.control.rests() {
                self.active = false;
            }
        }
    }

    /// Returns whether an arriving packet is dropped or marked (section 4.1).
    fn hits(&mut self) -> bool {
        let Control { probability, old_delay, target, burst_allowance, .. } = self.control;
        let spares = old_delay < target / 2.0 && probability < 0.2 || self.queue.bytes() <= 2 * MTU as u64;
        if !self.active || burst_allowance > 0.0 || spares {
            return false;
        }
        if let Some(sum) = &mut self.accumulated {
            *sum = if probability == 0.0 { 0.0 } else { *sum + probability };
            if *sum < SPREAD.0 {
                return false;
            }
            if *sum < SPREAD.1 && self.stream.uniform() >= probability {
                return false;
            }
            *sum = 0.0;
            return true;
        }
        self.stream.uniform() < probability
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Time, mut packet: Queued, drops: &mut Drops) {
        self.catch_up(now);
        if !self.limit.admits(&packet, &self.queue) {
            return drops.full(packet);
        }
        if self.hits() && !(self.ecn && self.control.probability < self.mark_limit && packet.mark()) {
            return drops.early(packet);
        }
        self.queue.push(packet);
        if self.wakes_at.is_some_and(|bytes| !self.active && self.queue.bytes() >= bytes) {
            self.active = true;
            self.control.burst_allowance = self.control.max_burst;
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Drops) -> Option<Queued> {
        self.catch_up(now);
        let packet = self.queue.pop()?;
        self.delay.see(now, &packet, &self.queue);
        Some(packet)
    }
}
