use vazao_engine::registry::{Entry, Kind, Parameters, choice, parameters};
use vazao_engine::{Duration, RandomStream};

choice! {
    /// Pareto's is shifted to begin at 0 (Lomax).
    enum Distribution { Uniform = "uniform", Normal = "normal", Exponential = "exponential", Pareto = "pareto" }
}

parameters! {
    struct Settings {
        spread: Duration = Kind::Duration(Duration::ZERO, Duration::from_secs(3600)), "mean of the delay added";
        distribution: Distribution = Distribution::KIND, "uniform",
            "from 0 to twice spread; or normal with a third of spread as deviation, cut at 0; or one with a longer tail";
        keeps_order: bool = Kind::Flag, "true", "packets wait for those before them; else they may overtake";
        correlation: f64 = Kind::Number(0.0, 0.999_999), "0", "of a packet's delay with that before it";
    }
}

pub(super) const ENTRY: Entry<super::Build> = Entry {
    name: "jitter",
    aliases: &[],
    title: "Jitter",
    source: "delay variation as RFC 3393 defines it; distributions as netem's",
    help: "a random delay on top of a link's own: jitter = \"5 ms\", or a table",
    parameters: Settings::PARAMETERS,
    build: super::Build::Delay(|p, stream, wire| wire.jitter = Some(Jitter::from(p, stream))),
};

/// The shape of the Pareto distribution, as in netem's table.
const SHAPE: f64 = 3.0;

/// A random delay for each packet.
///
/// Correlated delays follow a normal autoregressive process whose values are mapped to the distribution, so that it keeps its
/// shape (netem's correlation does not).
#[derive(Clone, Debug)]
pub struct Jitter {
    spread: f64,
    distribution: Distribution,
    /// Whether packets wait for those before them.
    pub keeps_order: bool,
    correlation: f64,
    state: Option<f64>,
    stream: RandomStream,
}

impl Jitter {
    /// Jitter with the registry's parameters.
    pub fn from(p: &Parameters, stream: RandomStream) -> Jitter {
        let Settings { spread, distribution, keeps_order, correlation } = p.into();
        Jitter { spread: spread.as_nanos() as f64, distribution, keeps_order, correlation, state: None, stream }
    }

    /// Returns the next packet's delay in nanoseconds.
    pub fn delay(&mut self) -> u64 {
        let fresh = self.stream.normal();
        let rest = libm::sqrt(1.0 - self.correlation * self.correlation);
        let normal = self.state.map_or(fresh, |last| self.correlation * last + rest * fresh);
        self.state = Some(normal);
        // The part of all values that are above this one.
        let above = (0.5 * libm::erfc(normal * std::f64::consts::FRAC_1_SQRT_2)).clamp(1e-300, 1.0);
        let relative = match self.distribution {
            Distribution::Uniform => 2.0 * (1.0 - above),
            Distribution::Normal => (1.0 + normal / 3.0).max(0.0),
            Distribution::Exponential => -libm::log(above),
            Distribution::Pareto => (SHAPE - 1.0) * (libm::pow(above, -1.0 / SHAPE) - 1.0),
        };
        // No delay is longer than a day: the tail of some distributions has no end.
        (self.spread * relative).min(86_400e9) as u64
    }
}
