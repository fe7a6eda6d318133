//! Random quantities: how times and sizes are spread.

use crate::{Duration, RandomStream};

/// Dimension of a random quantity, which sets the unit of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A span of time, in nanoseconds.
    Time,
    /// An amount of data, in bytes.
    Size,
}

/// Law of a random number.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always the same.
    Constant(f64),
    /// Anything between two bounds, all equally likely.
    Uniform(f64, f64),
    /// Exponential with this mean: the gaps of a Poisson process.
    Exponential(f64),
    /// P(X > x) = (scale / x)^shape for x above the scale.
    Pareto {
        /// The tail's exponent: below 2 the variance is infinite, up to 1 the mean is.
        shape: f64,
        /// The least value.
        scale: f64,
    },
    /// Mean and standard deviation; what is drawn below zero counts as zero.
    Normal(f64, f64),
    /// The logarithm is normal: its mean and its standard deviation.
    Lognormal(f64, f64),
    /// Values and the probability that a number is at most that, straight lines between them.
    Empirical(Vec<(f64, f64)>),
}

impl Law {
    /// Draws a number.
    pub fn draw(&self, stream: &mut RandomStream) -> f64 {
        match *self {
            Law::Constant(x) => x,
            Law::Uniform(low, high) => low + (high - low) * stream.uniform(),
            Law::Exponential(mean) => stream.exponential(mean),
            Law::Pareto { shape, scale } => scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape),
            Law::Normal(mean, deviation) => (mean + deviation * stream.normal()).max(0.0),
            Law::Lognormal(mu, sigma) => libm::exp(mu + sigma * stream.normal()),
            Law::Empirical(ref points) => invert(points, stream.uniform()),
        }
    }

    /// Returns the mean of what is drawn (a normal's as if nothing below zero were).
    pub fn mean(&self) -> f64 {
        match *self {
            Law::Constant(mean) | Law::Exponential(mean) | Law::Normal(mean, _) => mean,
            Law::Uniform(low, high) => (low + high) / 2.0,
            Law::Pareto { shape, scale } if shape > 1.0 => shape * scale / (shape - 1.0),
            Law::Pareto { .. } => f64::INFINITY,
            Law::Lognormal(mu, sigma) => libm::exp(mu + sigma * sigma / 2.0),
            Law::Empirical(ref points) => {
                let (first, p) = points[0];
                let lines = points.windows(2).map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0);
                first * p + lines.sum::<f64>()
            }
        }
    }

    /// Draws a span of time, if it is one, of at least a nanosecond.
    pub fn span(&self, stream: &mut RandomStream) -> Duration {
        Duration::from_nanos((self.draw(stream).round() as u64).clamp(1, LONGEST))
    }

    /// Draws an amount of data, if it is one, of at least a byte.
    pub fn bytes(&self, stream: &mut RandomStream) -> u64 {
        (self.draw(stream).round() as u64).clamp(1, LARGEST)
    }
}

/// Largest drawn value: 30 years, a petabyte.
const LONGEST: u64 = 1_000_000_000_000_000_000;
const LARGEST: u64 = 1_000_000_000_000_000;

/// Returns the value below which the share `u` of all lies.
fn invert(points: &[(f64, f64)], u: f64) -> f64 {
    let above = points.partition_point(|&(_, p)| p <= u);
    match (above.checked_sub(1).map(|below| points[below]), points.get(above)) {
        (None, Some(&(x, _))) | (Some((x, _)), None) => x,
        (Some((x0, p0)), Some(&(x1, p1))) => x0 + (x1 - x0) * (u - p0) / (p1 - p0),
        (None, None) => unreachable!("a distribution has points"),
    }
}

impl Dimension {
    /// Returns the accepted values, for messages and documentation.
    pub(crate) fn expected(self) -> String {
        let (what, value) = match self {
            Dimension::Time => ("duration", "10 ms"),
            Dimension::Size => ("size", "1 kB"),
        };
        format!(
            "a {what} such as \"{value}\", or a distribution such as {{ kind = \"exponential\", mean = \"{value}\" }}"
        )
    }
}
