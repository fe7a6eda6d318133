use vazao_engine::registry::{Entry, Kind, ParameterError, Parameters, choice, parameters};
use vazao_engine::{Duration, RandomStream};

choice! {
    /// Pareto's is shifted to begin at 0 (Lomax).
    enum Distribution { Uniform = "uniform", Normal = "normal", Exponential = "exponential", Pareto = "pareto" }
}

parameters! {
    struct Settings {
        spread: Option<Duration> = Kind::Duration(Duration::ZERO, LONGEST), "", "mean of the delay added to the link's own";
        deviation: Option<Duration> = Kind::Duration(Duration::ZERO, LONGEST), "",
            "standard deviation, apart from the mean: delays are then on both sides of the link's own and spread, which may \
             be left out, and none is below zero";
        distribution: Distribution = Distribution::KIND, "uniform",
            "without deviation: from 0 to twice spread; or normal with a third of spread as deviation, cut at 0; or one \
             with a longer tail. With it: of this shape around the mean";
        keeps_order: bool = Kind::Flag, "true", "packets wait for those before them; else they may overtake";
        correlation: f64 = Kind::Number(0.0, 0.999_999), "0", "of a packet's delay with that before it";
    }
}

pub(super) const ENTRY: Entry<super::Build> = Entry {
    name: "jitter",
    aliases: &[],
    title: "Jitter",
    source: "delay variation as RFC 3393 defines it; distributions as netem's",
    help: "a random delay on top of a link's own: jitter = \"5 ms\"; or around it: jitter = { deviation = \"5 ms\", distribution = \"normal\" }",
    parameters: Settings::PARAMETERS,
    build: super::Build::Delay(|p, stream, wire| {
        wire.jitter = Some(Jitter::new(p, stream)?);
        Ok(())
    }),
};

/// Longest mean and deviation.
const LONGEST: Duration = Duration::from_secs(3600);

/// No delay is longer than a day, in nanoseconds: the tail of some distributions has no end.
const MOST: f64 = 86_400e9;

/// The shape of the Pareto distribution, as in netem's table.
const SHAPE: f64 = 3.0;

/// A random delay for each packet.
///
/// Correlated delays follow a normal autoregressive process whose values are mapped to the distribution, so that it keeps its
/// shape (netem's correlation does not).
///
/// With a deviation it is the standard deviation of each distribution. The second number of netem (`delay 50ms 10ms`) is
/// that of its normal distribution alone: its uniform one reaches so far to both sides, which is the square root of 3 times
/// the deviation, and its Pareto table is scaled by 4/3 and cut at 4, where a deviation of one would ask for 1.155.
#[derive(Clone, Debug)]
pub struct Jitter {
    spread: f64,
    deviation: Option<f64>,
    distribution: Distribution,
    /// Whether packets wait for those before them.
    pub keeps_order: bool,
    correlation: f64,
    state: Option<f64>,
    stream: RandomStream,
}

impl Jitter {
    /// Jitter with the registry's parameters.
    ///
    /// # Errors
    /// It has neither a mean nor a deviation.
    pub fn new(p: &Parameters, stream: RandomStream) -> Result<Jitter, ParameterError> {
        let Settings { spread, deviation, distribution, keeps_order, correlation } = p.into();
        if spread.is_none() && deviation.is_none() {
            let problem = "is missing; write the mean of what is added as spread, or deviation, or both";
            return Err(ParameterError::new(&["spread"], problem));
        }
        let [spread, deviation] = [spread, deviation].map(|span| span.map(|span| span.as_nanos() as f64));
        let spread = spread.unwrap_or(0.0);
        Ok(Jitter { spread, deviation, distribution, keeps_order, correlation, state: None, stream })
    }

    /// Returns what the next packet's delay differs by from the link's own, in nanoseconds.
    pub fn delay(&mut self) -> i64 {
        let fresh = self.stream.normal();
        let rest = libm::sqrt(1.0 - self.correlation * self.correlation);
        let normal = self.state.map_or(fresh, |last| self.correlation * last + rest * fresh);
        self.state = Some(normal);
        let delay = match self.deviation {
            None => self.spread * self.distribution.above_zero(normal),
            Some(deviation) => self.spread + deviation * self.distribution.standard(normal),
        };
        delay.clamp(-MOST, MOST) as i64
    }
}

impl Distribution {
    /// Maps a standard normal number to one of this distribution that is not negative and has a mean of one.
    fn above_zero(self, normal: f64) -> f64 {
        match self {
            Distribution::Uniform => 2.0 * (1.0 - part_above(normal)),
            Distribution::Normal => (1.0 + normal / 3.0).max(0.0),
            Distribution::Exponential => -libm::log(part_above(normal)),
            Distribution::Pareto => (SHAPE - 1.0) * (libm::pow(part_above(normal), -1.0 / SHAPE) - 1.0),
        }
    }

    /// Maps a standard normal number to one of this distribution with a mean of zero and a deviation of one.
    fn standard(self, normal: f64) -> f64 {
        // Deviations in means: of the uniform distribution from 0 to 2, the exponential, and Pareto's from 0 on.
        let deviation = match self {
            Distribution::Normal => return normal,
            Distribution::Uniform => libm::sqrt(1.0 / 3.0),
            Distribution::Exponential => 1.0,
            Distribution::Pareto => libm::sqrt(SHAPE / (SHAPE - 2.0)),
        };
        (self.above_zero(normal) - 1.0) / deviation
    }
}

/// Returns the part of all normal numbers that are above this one.
fn part_above(normal: f64) -> f64 {
    (0.5 * libm::erfc(normal * std::f64::consts::FRAC_1_SQRT_2)).clamp(1e-300, 1.0)
}
