use vazao_engine::registry::{Kind, Parameter};
use vazao_engine::{Duration, Time};

/// The tick of the clock by which a kernel's control measures.
pub(super) const TICK: Parameter = Parameter::shared(
    Kind::Duration(Duration::from_micros(1), Duration::from_millis(50)),
    "10 ms",
    "of the kernel's clock, by which the Linux profile measures (HZ = 100)",
);

/// Clock of an algorithm: to the nanosecond, as its source may, or in a kernel's ticks (jiffies), and then
/// with whole numbers throughout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Nanoseconds a unit.
    unit: u64,
    whole: bool,
}

impl Clock {
    /// Nanoseconds and fractions.
    pub const FINE: Clock = Clock { unit: 1, whole: false };

    /// Whole ticks of this length.
    pub fn of_ticks(tick: Duration) -> Self {
        Clock { unit: tick.as_nanos().max(1), whole: true }
    }

    /// Returns the instant in units: the tick that passed last.
    pub fn now(self, now: Time) -> f64 {
        (now.as_nanos() / self.unit) as f64
    }

    /// Returns a measured span in units. Linux measures microseconds and rounds them up to ticks: at 100 Hz 51 ms count
    /// as 60.
    pub fn span(self, span: Duration) -> f64 {
        if self.whole {
            ((span.as_nanos() / 1_000 * 1_000) as f64 / self.unit as f64).ceil()
        } else {
            span.as_nanos() as f64
        }
    }

    /// Returns a constant in units, rounded down.
    pub fn constant(self, span: Duration) -> f64 {
        (span.as_nanos() / self.unit) as f64
    }

    /// Units a second.
    pub fn hertz(self) -> f64 {
        1e9 / self.unit as f64
    }

    /// Returns a quotient, rounded down where numbers are whole.
    pub fn whole(self, x: f64) -> f64 {
        if self.whole { x.floor() } else { x }
    }
}
