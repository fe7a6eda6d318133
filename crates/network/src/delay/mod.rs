//! Propagation delays that vary, one module each. A packet has the delay of the instant at which it has been sent.

mod schedule;
mod trace;

use crate::rate::{ReadFile, fnv1a};
use std::sync::Arc;
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameter, ParameterError, Parameters};

/// Makes a delay that varies from its parameters and the files that they name.
pub type Vary = fn(&Parameters, ReadFile) -> Result<Course, ParameterError>;

/// Kinds of a link's `delay`. A table is of the kind whose first parameter it has, a list that of the first kind.
pub const DELAYS: &[Entry<Vary>] = &[schedule::ENTRY, trace::ENTRY];

/// Longest delay: more than the way to Mars and back.
pub const LONGEST: Duration = Duration::from_secs(3600);

const REPEAT: Parameter = Parameter::shared(
    Kind::Duration(Duration::from_nanos(1), Duration::from_secs(366 * 86_400)),
    "",
    "after how long it begins anew; without it the last delay lasts",
);

const KEEPS_ORDER: Parameter = Parameter::shared(
    Kind::Flag,
    "true",
    "where the delay falls, packets wait for those before them; else they may overtake",
);

/// Course of a delay over time: what it is from when on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// Name of the file that it is from, if it is from one.
    pub file: Option<String>,
    /// Start and value of each delay in nanoseconds, in order; the first starts at 0.
    pub steps: Arc<[(u64, u64)]>,
    /// Period in nanoseconds.
    pub repeat: Option<u64>,
    /// Whether packets wait for those before them.
    pub keeps_order: bool,
    least: u64,
}

impl Course {
    /// Creates a course from steps; `path` leads to a step by its number, for errors.
    ///
    /// # Errors
    /// There is no step, the first is not at 0, one is not later than the one before, or they do not fit the period.
    fn new(
        steps: Vec<(u64, u64)>,
        repeat: Option<Duration>,
        keeps_order: bool,
    ) -> Result<Course, (usize, &'static str)> {
        let repeat = repeat.map(Duration::as_nanos);
        let Some(least) = steps.iter().map(|(_, delay)| *delay).min() else { return Err((0, "is empty")) };
        if steps[0].0 > 0 {
            return Err((0, "is not at 0; the first delay must hold from the start"));
        }
        if let Some(number) = (1..steps.len()).find(|&i| steps[i].0 <= steps[i - 1].0) {
            return Err((number, "is not later than the one before it"));
        }
        if repeat.is_some_and(|period| period <= steps[steps.len() - 1].0) {
            return Err((steps.len() - 1, "is not before the end of repeat; write a longer one"));
        }
        Ok(Course { file: None, steps: steps.into(), repeat, keeps_order, least })
    }

    /// Returns a digest of its steps, for the record of what was run.
    pub fn digest(&self) -> u64 {
        fnv1a(self.steps.iter().flat_map(|&(at, delay)| [at, delay]))
    }

    /// Returns the least delay.
    pub fn least(&self) -> Duration {
        Duration::from_nanos(self.least)
    }

    /// Returns the delay at a time, both in nanoseconds.
    pub fn at(&self, time: u64) -> u64 {
        let within = self.repeat.map_or(time, |period| time % period);
        self.steps[self.steps.partition_point(|(at, _)| *at <= within) - 1].1
    }

    /// Returns by how many nanoseconds the delay at a time is above the least.
    pub(crate) fn above_least(&self, time: u64) -> i64 {
        (self.at(time) - self.least) as i64
    }
}
