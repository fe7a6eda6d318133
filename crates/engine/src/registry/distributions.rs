//! Distributions by name, and how a user writes them.

use super::{Entry, Kind, Parameter, ParameterError, Parameters, Raw, Value, find};
use crate::distribution::{Dimension, Law};
use crate::{Bytes, Duration};
use std::collections::BTreeMap;
use std::fmt;

/// Returns a quantity of a law, in the unit of its dimension.
fn quantity(p: &Parameters, name: &str) -> f64 {
    match p.get(name) {
        Some(Value::Duration(x)) => x.as_nanos() as f64,
        Some(Value::Size(x)) => x.get() as f64,
        other => unreachable!("parameter {name} is {other:?}, not a quantity"),
    }
}

/// Makes a law from its parameters, or says what is wrong with them together.
pub type Build = fn(&Parameters) -> Result<Law, &'static str>;

const SHAPE: Kind = Kind::Number(0.05, 100.0);

/// All distributions.
pub const DISTRIBUTIONS: &[Entry<Build>] = &[
    Entry {
        name: "constant",
        aliases: &["deterministic"],
        title: "Constant",
        source: "",
        help: "always the same value",
        parameters: &[Parameter::required("value", Kind::Quantity, "the value")],
        build: |p| Ok(Law::Constant(quantity(p, "value"))),
    },
    Entry {
        name: "uniform",
        aliases: &[],
        title: "Uniform",
        source: "",
        help: "anything between two bounds, all equally likely",
        parameters: &[
            Parameter::required("min", Kind::Quantity, "the least value"),
            Parameter::required("max", Kind::Quantity, "the largest value"),
        ],
        build: |p| match (quantity(p, "min"), quantity(p, "max")) {
            (low, high) if low <= high => Ok(Law::Uniform(low, high)),
            _ => Err("its min is above its max"),
        },
    },
    Entry {
        name: "exponential",
        aliases: &["poisson"],
        title: "Exponential",
        source: "the gaps of a Poisson process",
        help: "P(X > x) = exp(-x / mean)",
        parameters: &[Parameter::required("mean", Kind::Quantity, "the mean")],
        build: |p| Ok(Law::Exponential(quantity(p, "mean"))),
    },
    Entry {
        name: "pareto",
        aliases: &[],
        title: "Pareto",
        source: "heavy tails of file sizes and of on and off times (Willinger et al., SIGCOMM 1995)",
        help: "P(X > x) = (scale / x)^shape above the scale, which the mean decides",
        parameters: &[
            Parameter::required("mean", Kind::Quantity, "the mean: shape / (shape - 1) times the least value"),
            Parameter::new(
                "shape",
                Kind::Number(1.001, 100.0),
                "1.5",
                "the tail's exponent; up to 2 the variance is infinite",
            ),
        ],
        build: |p| {
            let shape = p.number("shape");
            Ok(Law::Pareto { shape, scale: quantity(p, "mean") * (shape - 1.0) / shape })
        },
    },
    Entry {
        name: "normal",
        aliases: &["gaussian"],
        title: "Normal",
        source: "",
        help: "mean and standard deviation; what is drawn below zero counts as zero",
        parameters: &[
            Parameter::required("mean", Kind::Quantity, "the mean"),
            Parameter::required("deviation", Kind::Quantity, "the standard deviation"),
        ],
        build: |p| Ok(Law::Normal(quantity(p, "mean"), quantity(p, "deviation"))),
    },
    Entry {
        name: "lognormal",
        aliases: &[],
        title: "Lognormal",
        source: "",
        help: "its logarithm is normal",
        parameters: &[
            Parameter::required("mean", Kind::Quantity, "the mean of the quantity itself"),
            Parameter::new("sigma", SHAPE, "1", "the standard deviation of its natural logarithm"),
        ],
        build: |p| {
            let (mean, sigma) = (quantity(p, "mean"), p.number("sigma"));
            Ok(Law::Lognormal(libm::log(mean) - sigma * sigma / 2.0, sigma))
        },
    },
    Entry {
        name: "empirical",
        aliases: &["cdf"],
        title: "Empirical",
        source: "",
        help: "points of a cumulative distribution, straight lines between them; a list of points alone says the same",
        parameters: &[Parameter::required("points", Kind::Points, "values and the probability of at most that")],
        build: |p| match p.get("points") {
            Some(Value::Points(points)) => Ok(Law::Empirical(points.clone())),
            other => unreachable!("points are {other:?}"),
        },
    },
    Entry {
        name: "web-search",
        aliases: &[],
        title: "Flows of a web search cluster",
        source: "Alizadeh et al., Data Center TCP, SIGCOMM 2010, figure 4, as points of 1460-byte packets",
        help: "flow sizes from 1 to 20 000 packets, 1.7 MB on average: half are below 80 kB, most bytes are in the largest",
        parameters: &[],
        build: |_| Ok(of_packets(WEB_SEARCH)),
    },
    Entry {
        name: "data-mining",
        aliases: &[],
        title: "Flows of a data mining cluster",
        source: "Greenberg et al., VL2, SIGCOMM 2009, figure 2, as points of 1460-byte packets",
        help: "flow sizes from 1 to 666 667 packets, 7.5 MB on average: half are one packet, nearly all bytes are in the largest",
        parameters: &[],
        build: |_| Ok(of_packets(DATA_MINING)),
    },
];

/// Packets, and the probability of at most so many.
type Packets = &'static [(u32, f64)];

const WEB_SEARCH: Packets = &[
    (1, 0.0),
    (6, 0.15),
    (13, 0.2),
    (19, 0.3),
    (33, 0.4),
    (53, 0.53),
    (133, 0.6),
    (667, 0.7),
    (1333, 0.8),
    (3333, 0.9),
    (6667, 0.97),
    (20_000, 1.0),
];
const DATA_MINING: Packets =
    &[(1, 0.5), (2, 0.6), (3, 0.7), (7, 0.8), (267, 0.9), (2107, 0.95), (66_667, 0.99), (666_667, 1.0)];

fn of_packets(points: Packets) -> Law {
    Law::Empirical(points.iter().map(|&(packets, p)| (1460.0 * f64::from(packets), p)).collect())
}

impl Dimension {
    /// Reads a distribution: a value, a name, a name and a mean, a list of points, or a table with its kind.
    pub(crate) fn read(self, raw: &Raw) -> Result<Distribution, String> {
        match raw {
            Raw::Text(text) => self.read_text(raw, text),
            Raw::Number(x) => Err(format!("{x} has no unit; write {}", self.expected())),
            Raw::List(_) => self.read_table("empirical", &[("points".to_owned(), raw.clone())]),
            Raw::Table(entries) => {
                let kind = entries.iter().find(|(key, _)| key == "kind").map(|(_, value)| value);
                let Some(Raw::Text(kind)) = kind else {
                    return Err(format!("a table is a distribution only with its kind; write {}", self.expected()));
                };
                let rest: Vec<_> = entries.iter().filter(|(key, _)| key != "kind").cloned().collect();
                self.read_table(kind, &rest)
            }
            _ => Err(format!("{raw} is not {}", self.expected())),
        }
    }

    /// `"10 ms"`, `"web-search"`, or `"exponential 10 ms"`: the name and its first parameter.
    fn read_text(self, raw: &Raw, text: &str) -> Result<Distribution, String> {
        let word = text.split_whitespace().next().unwrap_or_default();
        if !word.starts_with(|first: char| first.is_ascii_alphabetic()) {
            match self {
                Dimension::Time => text.parse::<Duration>().map(drop),
                Dimension::Size => text.parse::<Bytes>().map(drop),
            }
            .map_err(|e| e.to_string())?;
            return self.read_table("constant", &[("value".to_owned(), raw.clone())]);
        }
        let rest = text.trim_start()[word.len()..].trim();
        let entry = find("distribution", DISTRIBUTIONS, word)?;
        match entry.parameters.first() {
            Some(first) if !rest.is_empty() => self.read_table(word, &[(first.name.into(), Raw::Text(rest.into()))]),
            _ if !rest.is_empty() => Err(format!("{raw} is not {}", self.expected())),
            _ => self.read_table(word, &[]),
        }
    }

    fn read_table(self, kind: &str, given: &[(String, Raw)]) -> Result<Distribution, String> {
        let entry = find("distribution", DISTRIBUTIONS, kind)?;
        let named = |ParameterError { path, problem }| match path.join(".").as_str() {
            "value" => problem.text,
            key => format!("{key}: {}", problem.text.replacen("unknown parameter", "unknown key", 1)),
        };
        let p =
            Parameters::resolve(entry.parameters, &given.iter().cloned().collect::<BTreeMap<_, _>>()).map_err(named)?;
        for (name, value) in p.iter() {
            let fits = match value {
                Value::Duration(_) => self == Dimension::Time,
                Value::Size(_) | Value::Points(_) => self == Dimension::Size,
                _ => true,
            };
            if !fits {
                let place = if name == "value" { String::new() } else { format!("{name}: ") };
                return Err(format!("{place}\"{value}\" is not {}", self.expected()));
            }
        }
        if self == Dimension::Time && entry.parameters.is_empty() {
            return Err(format!("{kind} is a distribution of sizes; write {}", self.expected()));
        }
        let law = (entry.build)(&p).map_err(str::to_owned)?;
        Ok(Distribution { law, kind: entry.name, parameters: p })
    }
}

/// A random quantity as described.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Law in the unit of its dimension.
    pub law: Law,
    /// Name in [`DISTRIBUTIONS`].
    pub kind: &'static str,
    /// Parameters.
    pub parameters: Parameters,
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<_> = self.parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
        match self.kind {
            "constant" => f.write_str(settings[0].trim_start_matches("value ")),
            name if settings.is_empty() => f.write_str(name),
            name => write!(f, "{name} ({})", settings.join(", ")),
        }
    }
}

/// Reads `[[value, probability], …]`: sizes with probabilities that grow up to 1.
pub(crate) fn read_points(raw: &Raw) -> Result<Vec<(f64, f64)>, String> {
    let Raw::List(rows) = raw else { return Err(format!("{raw} is not {}", Kind::Points.expected())) };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for row in rows {
        let Raw::List(pair) = row else { return Err(format!("{row} is not a pair such as [\"10 kB\", 0.5]")) };
        let [Raw::Text(size), Raw::Number(p)] = pair.as_slice() else {
            return Err("each point is a size and a probability, such as [\"10 kB\", 0.5]".into());
        };
        let size: Bytes = size.parse().map_err(|e: crate::units::QuantityError| e.to_string())?;
        let point = (size.get() as f64, *p);
        if !(0.0..=1.0).contains(p) || points.last().is_some_and(|last| last.0 > point.0 || last.1 > point.1) {
            return Err(format!("[\"{size}\", {p}]: sizes and probabilities must not fall, and these go from 0 to 1"));
        }
        points.push(point);
    }
    match points.last() {
        Some((_, p)) if *p == 1.0 => Ok(points),
        _ => Err("the last point's probability must be 1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomStream;

    fn text(text: &str) -> Raw {
        Raw::Text(text.into())
    }

    fn law(raw: &str, dimension: Dimension) -> Law {
        dimension.read(&text(raw)).expect(raw).law
    }

    /// The sample mean of n draws is within four standard errors of the mean in a closed form.
    #[test]
    fn means_are_what_they_should_be() {
        let n = 100_000;
        // (law, mean, standard deviation)
        let cases = [
            (Law::Uniform(2.0, 8.0), 5.0, 6.0 / libm::sqrt(12.0)),
            (Law::Exponential(3.0), 3.0, 3.0),
            (Law::Pareto { shape: 3.0, scale: 2.0 }, 3.0, libm::sqrt(3.0)),
            (Law::Normal(50.0, 4.0), 50.0, 4.0),
            (Law::Lognormal(0.0, 0.5), libm::exp(0.125), libm::sqrt((libm::exp(0.25) - 1.0) * libm::exp(0.25))),
        ];
        for (law, mean, deviation) in cases {
            let mut stream = RandomStream::new(1, "means");
            let got = (0..n).map(|_| law.draw(&mut stream)).sum::<f64>() / f64::from(n);
            let bound = 4.0 * deviation / libm::sqrt(f64::from(n));
            assert!((got - mean).abs() < bound, "{law:?}: {got}");
            assert!((law.mean() - mean).abs() < 1e-9 * mean, "{law:?}: {}", law.mean());
        }
    }

    /// Kolmogorov and Smirnov: n draws stay within 1.63 / sqrt(n) of their distribution, 99 times in 100.
    #[test]
    fn empirical_draws_and_pareto_tails_keep_to_their_distribution() {
        let n = 20_000;
        let web = law("web-search", Dimension::Size);
        let Law::Empirical(points) = web.clone() else { panic!("{web:?}") };
        let by_points = move |x: f64| {
            let above = points.partition_point(|&(value, _)| value <= x);
            let Some(&(x1, p1)) = points.get(above) else { return 1.0 };
            let (x0, p0) = points[above - 1];
            p0 + (p1 - p0) * (x - x0) / (x1 - x0)
        };
        let tail = |x: f64| 1.0 - libm::pow(10.0 / x, 1.2);
        let cases: [(Law, &dyn Fn(f64) -> f64); 2] =
            [(web, &by_points), (Law::Pareto { shape: 1.2, scale: 10.0 }, &tail)];
        for (law, cdf) in cases {
            let mut stream = RandomStream::new(5, "draws");
            let mut draws: Vec<f64> = (0..n).map(|_| law.draw(&mut stream)).collect();
            draws.sort_unstable_by(f64::total_cmp);
            let distance = draws.iter().enumerate().map(|(i, &x)| {
                let (below, above) = (i as f64 / f64::from(n), (i + 1) as f64 / f64::from(n));
                (cdf(x) - below).abs().max((cdf(x) - above).abs())
            });
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < 1.63 / libm::sqrt(f64::from(n)), "{law:?}: {distance}");
        }
    }

    /// The means that the literature gives for the two clusters: about 1.6 MB and 7.4 MB.
    #[test]
    fn built_in_sizes_have_their_published_means() {
        for (name, mean) in [("web-search", 1.6e6), ("data-mining", 7.4e6)] {
            let got = law(name, Dimension::Size).mean();
            assert!((got / mean - 1.0).abs() < 0.06, "{name}: {got}");
        }
    }

    #[test]
    fn short_and_long_forms_say_the_same() {
        let table = |entries: &[(&str, Raw)]| {
            Raw::Table(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
        };
        let long =
            Dimension::Time.read(&table(&[("kind", text("exponential")), ("mean", text("10 ms"))])).expect("it is one");
        assert_eq!(long, Dimension::Time.read(&text("exponential 10 ms")).expect("it is one"));
        assert_eq!(long.law, Law::Exponential(1e7));
        assert_eq!(long.to_string(), "exponential (mean 10 ms)");
        assert_eq!(law("2 kB", Dimension::Size), Law::Constant(2000.0));
        let points = |rows: &[(&str, f64)]| {
            Raw::List(rows.iter().map(|(size, p)| Raw::List(vec![text(size), Raw::Number(*p)])).collect())
        };
        let read = |rows: &[(&str, f64)]| Dimension::Size.read(&points(rows));
        assert_eq!(read(&[("1 kB", 0.5), ("1 MB", 1.0)]).expect("two points").law.mean(), 500.0 + 0.5 * 500_500.0);
        assert!(read(&[("1 kB", 0.5)]).unwrap_err().contains("must be 1"));
        assert!(read(&[("1 MB", 0.5), ("1 kB", 1.0)]).unwrap_err().contains("must not fall"));
    }

    #[test]
    fn mistakes_say_what_would_be_accepted() {
        let message = |raw: &str, dimension: Dimension| dimension.read(&text(raw)).unwrap_err();
        assert!(message("10", Dimension::Time).contains("no unit"), "{}", message("10", Dimension::Time));
        assert!(message("expnential 1 ms", Dimension::Time).contains("did you mean \"exponential\"?"));
        assert!(message("exponential 1 kB", Dimension::Time).contains("mean: \"1 kB\" is not a duration"));
        assert!(message("pareto", Dimension::Size).contains("mean: is missing"));
        assert!(message("web-search", Dimension::Time).contains("distribution of sizes"));
        assert!(message("uniform 3 kB", Dimension::Size).contains("max: is missing"));
    }
}
