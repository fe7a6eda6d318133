//! Registries of what a user can name: algorithms with their parameters.
//!
//! A congestion control, a queue, a loss model, an application or a transport is one [`Entry`]: name, aliases, source,
//! parameters with unit, default and range, one line of help. All else follows from them: TOML, messages, pages, docs.

mod distributions;
mod entry;
mod settings;

use crate::distribution::Dimension;
pub use crate::problem::{ParameterError, Problem, is_misspelt, unknown};
use crate::units::{QuantityError, nearest, number_in};
use crate::{Bytes, Capacity, Duration, Rate};
pub use crate::{choice, parameters};
use distributions::read_points;
pub use distributions::{DISTRIBUTIONS, Distribution};
pub use entry::{Entry, find};
pub use settings::{Elsewhere, FromValue};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

/// The type and range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A real number in `min..=max`.
    Number(f64, f64),
    /// A whole number in `min..=max`.
    Integer(i64, i64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A span of time in `min..=max`.
    Duration(Duration, Duration),
    /// A rate with its unit.
    Rate,
    /// A list of rates, each above the one before.
    Rates,
    /// An amount of data in `min..=max`, in bytes; [`u64::MAX`] is no bound.
    Size(u64, u64),
    /// An amount of data of at least this many bytes, or `"auto"`.
    SizeOrAuto(u64),
    /// Capacity: packets, bytes, a time or bandwidth-delay products.
    Capacity,
    /// A list of whole numbers, each at least 1.
    Integers,
    /// A duration or a size, as what it is for wants it.
    Quantity,
    /// A time or a size that may be random.
    Distribution(Dimension),
    /// Points of a distribution of sizes.
    Points,
    /// A list of names.
    Names,
    /// A list of tables, each with a time (`at`) and one of these words with a whole number: what happens when to which.
    Schedule(&'static [&'static str]),
    /// A list of tables, each with these parameters.
    Tables(&'static [Parameter]),
    /// Any text.
    Text,
    /// The name of another registry's entry, or a table with `kind` and that entry's parameters.
    Entry(&'static str),
}

/// One parameter of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in kebab or snake case, as the user types it.
    pub name: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// The default as a user would type it; empty where there is none.
    pub default: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// One line: what it is, with its source's section where there is one.
    pub help: &'static str,
    /// Value that a page begins with where there is no default.
    pub example: &'static str,
}

impl Parameter {
    /// Creates a parameter that has a default.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Parameter {
        Parameter { name, kind, default, required: false, help, example: "" }
    }
    /// Returns a parameter that must be given.
    pub const fn required(name: &'static str, kind: Kind, help: &'static str) -> Parameter {
        Parameter { required: true, ..Parameter::new(name, kind, "", help) }
    }

    fn read(&self, raw: &Raw) -> Result<Value, ParameterError> {
        match self.kind {
            Kind::Tables(each) => read_tables(each, raw).map_err(|error| error.within(self.name)),
            kind => kind.read(raw).map_err(|problem| ParameterError::new(&[self.name], problem)),
        }
    }
}

/// A value of a parameter, typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number or whole number.
    Number(f64),
    /// A flag.
    Flag(bool),
    /// A word or text.
    Text(String),
    /// A span of time.
    Duration(Duration),
    /// A rate.
    Rate(Rate),
    /// Rates.
    Rates(Vec<Rate>),
    /// An amount of data.
    Size(Bytes),
    /// Capacity.
    Capacity(Capacity),
    /// A list of whole numbers.
    Integers(Vec<u64>),
    /// A time or a size that may be random.
    Distribution(Distribution),
    /// Sizes in bytes, and the probability of at most that.
    Points(Vec<(f64, f64)>),
    /// Names.
    Names(Vec<String>),
    /// Schedule of changes.
    Schedule(Vec<Change>),
    /// Tables of parameters.
    Tables(Vec<Parameters>),
    /// Another registry's entry, by its name, with its parameters.
    Entry(String, Parameters),
}

/// One thing that happens: when, what (a word of [`Kind::Schedule`]), to which.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Change {
    pub at: Duration,
    pub what: &'static str,
    pub which: u64,
}

impl Change {
    fn read(words: &'static [&'static str], raw: &Raw) -> Option<Change> {
        let Raw::Table(entries) = raw else { return None };
        let (mut at, mut what) = (None, None);
        for (key, value) in entries {
            match (key.as_str(), value) {
                ("at", Raw::Text(text)) => at = Some(text.parse().ok()?),
                (key, Raw::Number(which)) if *which >= 1.0 && which.fract() == 0.0 && what.is_none() => {
                    what = Some((*words.iter().find(|word| **word == key)?, *which as u64));
                }
                _ => return None,
            }
        }
        let (what, which) = what?;
        Some(Change { at: at?, what, which })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::Flag(x) => write!(f, "{x}"),
            Value::Text(x) => write!(f, "{x}"),
            Value::Duration(x) => write!(f, "{x}"),
            Value::Rate(x) => write!(f, "{x}"),
            Value::Size(x) => write!(f, "{x}"),
            Value::Capacity(x) => write!(f, "{x}"),
            Value::Integers(x) => write!(f, "{x:?}"),
            Value::Distribution(x) => write!(f, "{x}"),
            Value::Points(x) => write!(f, "{x:?}"),
            Value::Names(x) => write!(f, "{x:?}"),
            Value::Rates(x) => {
                write!(f, "[{}]", x.iter().map(|rate| format!("\"{rate}\"")).collect::<Vec<_>>().join(", "))
            }
            Value::Entry(kind, parameters) => {
                let own: String = parameters.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
                write!(f, "{{ kind = {kind}{own} }}")
            }
            Value::Tables(tables) => {
                let own =
                    |p: &Parameters| p.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>();
                let each = |p| format!("{{ {} }}", own(p).join(", "));
                write!(f, "[{}]", tables.iter().map(each).collect::<Vec<_>>().join(", "))
            }
            Value::Schedule(changes) => {
                let each = |c: &Change| format!("{{ at = \"{}\", {} = {} }}", c.at, c.what, c.which);
                write!(f, "[{}]", changes.iter().map(each).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// Value as a user typed it.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// A bare number.
    Number(f64),
    /// `true` or `false`.
    Flag(bool),
    /// A string.
    Text(String),
    /// A list of bare numbers.
    Numbers(Vec<f64>),
    /// Any other list.
    List(Vec<Raw>),
    /// A table.
    Table(Vec<(String, Raw)>),
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Number(x) => write!(f, "{x}"),
            Raw::Flag(x) => write!(f, "{x}"),
            Raw::Text(x) => write!(f, "{x:?}"),
            Raw::Numbers(x) => write!(f, "{x:?}"),
            Raw::List(x) => write!(f, "a list of {}", x.len()),
            Raw::Table(_) => write!(f, "a table"),
        }
    }
}

impl Kind {
    /// Returns the accepted values, for messages and documentation.
    pub fn expected(&self) -> String {
        match self {
            Kind::Number(min, max) if *max == f64::INFINITY => format!("a number of at least {min}"),
            Kind::Number(min, max) => format!("a number from {min} to {max}"),
            Kind::Integer(min, i64::MAX) => format!("a whole number of at least {min}"),
            Kind::Integer(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Flag => "true or false".into(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Duration(min, max) if *max == Duration::MAX => format!("a duration of at least {min}"),
            Kind::Duration(min, max) => format!("a duration from {min} to {max}"),
            Kind::Rate => "a rate such as \"10 Mbps\"".into(),
            Kind::Rates => "a list of rates, each above the one before, such as [\"1 Mbps\", \"2 Mbps\"]".into(),
            Kind::Size(min, u64::MAX) => format!("a size of at least {} such as \"10 MB\"", Bytes::new(*min)),
            Kind::Size(min, max) => format!("a size from {} to {}", Bytes::new(*min), Bytes::new(*max)),
            Kind::SizeOrAuto(min) => format!("\"auto\" or a size of at least {} such as \"6 MB\"", Bytes::new(*min)),
            Kind::Capacity => format!("a queue limit: {}", Capacity::EXAMPLES),
            Kind::Integers => "a list of whole numbers of at least 1, such as [3, 17]".into(),
            Kind::Quantity => "a duration such as \"10 ms\" or a size such as \"1 kB\"".into(),
            Kind::Distribution(dimension) => dimension.expected(),
            Kind::Points => {
                "a list of sizes with the probability of at most that, such as [[\"1 kB\", 0.5], [\"1 MB\", 1]]".into()
            }
            Kind::Names => "a list of names such as [\"r1\", \"r2\"]".into(),
            Kind::Schedule(words) => {
                let example = words.first().unwrap_or(&"");
                let words = words.join(", ");
                format!(
                    "a list such as [{{ at = \"5 s\", {example} = 1 }}], in each a time and one of {words} with a number from 1 on"
                )
            }
            Kind::Tables(each) => {
                let names: Vec<_> = each.iter().map(|p| p.name).collect();
                format!("a list of tables, each with {}", names.join(" and "))
            }
            Kind::Text => "a text".into(),
            Kind::Entry(registry) => format!("the name of a {registry}, or a table with its kind and parameters"),
        }
    }

    /// Converts `raw` to a value of this kind.
    ///
    /// # Errors
    /// A sentence that names the value and what would be accepted in its place.
    pub fn read(&self, raw: &Raw) -> Result<Value, String> {
        let refuse = || Err(format!("{raw} is not {}", self.expected()));
        let size = |text: &str, range: RangeInclusive<u64>| {
            let size: Bytes = text.parse().map_err(|e: QuantityError| e.to_string())?;
            if range.contains(&size.get()) { Ok(Value::Size(size)) } else { refuse() }
        };
        match (self, raw) {
            (Kind::Number(min, max), Raw::Number(x)) if (*min..=*max).contains(x) => Ok(Value::Number(*x)),
            (Kind::Integer(min, max), Raw::Number(x))
                if x.fract() == 0.0 && (*min as f64..=*max as f64).contains(x) =>
            {
                Ok(Value::Number(*x))
            }
            (Kind::Flag, Raw::Flag(x)) => Ok(Value::Flag(*x)),
            (Kind::Choice(words), Raw::Text(x)) => match words.iter().find(|w| *w == x) {
                Some(word) => Ok(Value::Text((*word).into())),
                None => Err(match nearest(x, words.iter().copied()) {
                    Some(near) => format!("{raw} is not accepted; did you mean {near:?}? ({})", self.expected()),
                    None => format!("{raw} is not accepted; write {}", self.expected()),
                }),
            },
            (Kind::Duration(min, max), Raw::Text(x)) => {
                let span: Duration = x.parse().map_err(|e: QuantityError| e.to_string())?;
                if (*min..=*max).contains(&span) { Ok(Value::Duration(span)) } else { refuse() }
            }
            (Kind::Rate, Raw::Text(x)) => x.parse().map(Value::Rate).map_err(|e: QuantityError| e.to_string()),
            (Kind::SizeOrAuto(_), Raw::Text(x)) if x == "auto" => Ok(Value::Text("auto".into())),
            (Kind::Size(min, max), Raw::Text(x)) => size(x, *min..=*max),
            (Kind::SizeOrAuto(min), Raw::Text(x)) => size(x, *min..=u64::MAX),
            (Kind::Capacity, Raw::Text(x)) => x.parse().map(Value::Capacity),
            (Kind::Integers, Raw::Numbers(x)) if x.iter().all(|n| n.fract() == 0.0 && (1.0..9e15).contains(n)) => {
                Ok(Value::Integers(x.iter().map(|n| *n as u64).collect()))
            }
            (Kind::Quantity, Raw::Text(x)) => match (x.parse::<Duration>(), x.parse::<Bytes>()) {
                (Ok(span), _) => Ok(Value::Duration(span)),
                (_, Ok(size)) => Ok(Value::Size(size)),
                _ => refuse(),
            },
            (Kind::Distribution(dimension), raw) => dimension.read(raw).map(Value::Distribution),
            (Kind::Points, raw) => read_points(raw).map(Value::Points),
            (Kind::Names | Kind::Rates | Kind::Schedule(_), Raw::List(list)) => {
                self.read_list(list).map_or_else(refuse, Ok)
            }
            (Kind::Tables(each), raw) => read_tables(each, raw).map_err(|error| error.to_string()),
            (Kind::Text, Raw::Text(x)) => Ok(Value::Text(x.clone())),
            (
                Kind::Duration(..) | Kind::Rate | Kind::Size(..) | Kind::SizeOrAuto(_) | Kind::Capacity,
                Raw::Number(x),
            ) => Err(format!("{x} has no unit; write {}", self.expected())),
            (Kind::Number(..) | Kind::Integer(..), Raw::Text(x)) => {
                let meant = number_in(x).map(Raw::Number).filter(|number| self.read(number).is_ok());
                meant.map_or_else(refuse, |number| Err(format!("{raw} is a text; write {number}")))
            }
            _ => refuse(),
        }
    }

    /// Reads a list of names, rates or changes.
    fn read_list(&self, list: &[Raw]) -> Option<Value> {
        match self {
            Kind::Names => {
                let name = |raw: &Raw| if let Raw::Text(name) = raw { Some(name.clone()) } else { None };
                list.iter().map(name).collect::<Option<_>>().map(Value::Names)
            }
            Kind::Rates => {
                let rate = |raw: &Raw| if let Raw::Text(rate) = raw { rate.parse::<Rate>().ok() } else { None };
                let rates = list.iter().map(rate).collect::<Option<Vec<_>>>()?;
                (!rates.is_empty() && rates.is_sorted_by(|a, b| a < b)).then_some(Value::Rates(rates))
            }
            Kind::Schedule(words) => {
                list.iter().map(|raw| Change::read(words, raw)).collect::<Option<_>>().map(Value::Schedule)
            }
            _ => None,
        }
    }

    /// Gives a default, written as a user would type it, its type.
    fn read_default(&self, text: &str) -> Value {
        let raw = match self {
            Kind::Number(..) | Kind::Integer(..) => Raw::Number(text.parse().expect("a numeric default")),
            Kind::Flag => Raw::Flag(text == "true"),
            Kind::Entry(_) => return Value::Text(text.into()),
            Kind::Rates => Raw::List(text.split(", ").map(|rate| Raw::Text(rate.into())).collect()),
            _ => Raw::Text(text.into()),
        };
        self.read(&raw).expect("a default within its own range")
    }
}

/// Reads a list of tables with these parameters each; a table alone is a list of one.
fn read_tables(each: &[Parameter], raw: &Raw) -> Result<Value, ParameterError> {
    let table = |raw: &Raw| match raw {
        Raw::Table(entries) => Parameters::resolve(each, &entries.iter().cloned().collect()),
        other => Err(ParameterError::new(&[], format!("{other} is not a table"))),
    };
    let tables = match raw {
        Raw::List(list) => {
            let table = |(i, raw)| table(raw).map_err(|error| error.within(i));
            list.iter().enumerate().map(table).collect::<Result<_, _>>()?
        }
        Raw::Numbers(numbers) => match numbers.first() {
            Some(first) => return Err(ParameterError::new(&["0"], format!("{first} is not a table"))),
            None => Vec::new(),
        },
        other => vec![table(other)?],
    };
    Ok(Value::Tables(tables))
}

/// The parameters of one algorithm, every default filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(BTreeMap<&'static str, Value>);

impl Parameters {
    /// Returns all of `known` with the values in `given`, defaults elsewhere.
    ///
    /// # Errors
    /// The first unknown or unacceptable parameter, or the first required one that is missing.
    pub fn resolve(known: &[Parameter], given: &BTreeMap<String, Raw>) -> Result<Parameters, ParameterError> {
        for name in given.keys() {
            if !known.iter().any(|p| p.name == name) {
                let problem = unknown("parameter", name, known.iter().map(|p| p.name));
                return Err(ParameterError::new(&[name], problem));
            }
        }
        let mut values = BTreeMap::new();
        for parameter in known {
            let value = match given.get(parameter.name) {
                Some(raw) => parameter.read(raw)?,
                None if parameter.required => {
                    let problem = format!("is missing; write {}", parameter.kind.expected());
                    return Err(ParameterError::new(&[parameter.name], problem));
                }
                None if parameter.default.is_empty() => continue,
                None => parameter.kind.read_default(parameter.default),
            };
            values.insert(parameter.name, value);
        }
        Ok(Parameters(values))
    }

    /// Returns all of `known` at their defaults.
    ///
    /// # Panics
    /// When a parameter is required.
    pub fn defaults(known: &[Parameter]) -> Parameters {
        Parameters::resolve(known, &BTreeMap::new()).expect("parameters that all have defaults")
    }

    /// Returns the value of `name`, if it has one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
    /// Replaces a value that is already of the parameter's type (a nested entry resolved by its own registry).
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }
    /// Every parameter that has a value, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Returns a number. Panics (a bug in the registry entry, never a user's mistake) when `name` is not one.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(x)) => *x,
            other => panic!("parameter {name} is {other:?}, not a number"),
        }
    }
    /// Returns a whole number, at least zero. Panics when `name` is not one.
    pub fn integer(&self, name: &str) -> u64 {
        self.number(name) as u64
    }
    /// Returns a flag. Panics when `name` is not one.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Flag(x)) => *x,
            other => panic!("parameter {name} is {other:?}, not a flag"),
        }
    }
    /// Returns a word. Panics when `name` is not one.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Text(x)) => x,
            other => panic!("parameter {name} is {other:?}, not a text"),
        }
    }
    /// Returns a span of time, if `name` has a value. Panics when it is something else.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            None => None,
            Some(Value::Duration(x)) => Some(*x),
            other => panic!("parameter {name} is {other:?}, not a duration"),
        }
    }
    /// Returns an amount of data; `None` when it has no value or is `"auto"`. Panics when it is something else.
    pub fn size(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            None | Some(Value::Text(_)) => None,
            Some(Value::Size(x)) => Some(x.get()),
            other => panic!("parameter {name} is {other:?}, not a size"),
        }
    }
    /// Returns a rate, if `name` has a value. Panics when it is something else.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            None => None,
            Some(Value::Rate(x)) => Some(*x),
            other => panic!("parameter {name} is {other:?}, not a rate"),
        }
    }
    /// Returns how much may wait, if `name` has a value. Panics when it is something else.
    pub fn capacity(&self, name: &str) -> Option<Capacity> {
        match self.get(name) {
            None => None,
            Some(Value::Capacity(x)) => Some(*x),
            other => panic!("parameter {name} is {other:?}, not a queue limit"),
        }
    }
    /// Names, if `name` has a value. Panics when it is something else.
    pub fn names(&self, name: &str) -> &[String] {
        match self.get(name) {
            None => &[],
            Some(Value::Names(x)) => x,
            other => panic!("parameter {name} is {other:?}, not a list of names"),
        }
    }
    /// Returns a schedule, if `name` has a value. Panics when it is something else.
    pub fn schedule(&self, name: &str) -> &[Change] {
        match self.get(name) {
            None => &[],
            Some(Value::Schedule(x)) => x,
            other => panic!("parameter {name} is {other:?}, not a schedule"),
        }
    }
    /// Whole numbers, if `name` has a value. Panics when it is something else.
    pub fn integers(&self, name: &str) -> &[u64] {
        match self.get(name) {
            None => &[],
            Some(Value::Integers(x)) => x,
            other => panic!("parameter {name} is {other:?}, not a list"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Parameter] = &[
        Parameter::new("beta", Kind::Number(0.0, 1.0), "0.7", "what is kept of the window on loss"),
        Parameter::new("min-rto", Kind::Duration(Duration::ZERO, Duration::MAX), "200 ms", "least timeout"),
        Parameter::new("profile", Kind::Choice(&["rfc", "linux"]), "rfc", "whose rules"),
        Parameter::new("buffer", Kind::SizeOrAuto(1), "auto", "how much is stored"),
    ];

    fn resolve(name: &str, raw: Raw) -> Result<Parameters, ParameterError> {
        Parameters::resolve(KNOWN, &BTreeMap::from([(name.to_owned(), raw)]))
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let got = resolve("beta", Raw::Number(0.5)).unwrap();
        assert_eq!(got.number("beta"), 0.5);
        assert_eq!(got.duration("min-rto"), Some(Duration::from_millis(200)));
        assert_eq!((got.text("profile"), got.size("buffer")), ("rfc", None));
    }

    #[test]
    fn a_schedule_says_what_happens_when_to_which() {
        let kind = Kind::Schedule(&["remove", "add"]);
        let table = |entries: &[(&str, Raw)]| {
            Raw::Table(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
        };
        let at = |text: &str| ("at", Raw::Text(text.into()));
        let change = Raw::List(vec![table(&[at("5 s"), ("remove", Raw::Number(2.0))])]);
        let expected = Change { at: Duration::from_secs(5), what: "remove", which: 2 };
        assert_eq!(kind.read(&change), Ok(Value::Schedule(vec![expected])));
        let wrong = [
            table(&[("remove", Raw::Number(2.0))]),
            table(&[at("5 s")]),
            table(&[at("5"), ("remove", Raw::Number(2.0))]),
            table(&[at("5 s"), ("remove", Raw::Number(0.0))]),
            table(&[at("5 s"), ("forget", Raw::Number(1.0))]),
            table(&[at("5 s"), ("add", Raw::Number(1.0)), ("remove", Raw::Number(2.0))]),
        ];
        for wrong in wrong {
            let told = kind.read(&Raw::List(vec![wrong])).unwrap_err();
            assert!(told.contains("one of remove, add with a number from 1 on"));
        }
    }

    #[test]
    fn errors_name_the_parameter_and_what_would_be_accepted() {
        let message = |name, raw| resolve(name, raw).unwrap_err().to_string();
        assert_eq!(message("beta", Raw::Number(1.5)), "beta: 1.5 is not a number from 0 to 1");
        assert_eq!(message("beta", Raw::Text("5%".into())), "beta: \"5%\" is a text; write 0.05");
        assert!(message("bet", Raw::Number(0.5)).contains("did you mean \"beta\"?"));
        assert!(message("min-rto", Raw::Number(3.0)).contains("3 has no unit"));
        assert!(message("profile", Raw::Text("linus".into())).contains("did you mean \"linux\"?"));
        assert!(message("buffer", Raw::Text("huge".into())).contains("is not a size"));
    }
}
