//! Counts of the two ends of a flow, each under the name of the column that shows it.

use std::borrow::Cow;
use vazao_engine::{Duration, Histogram};

/// Counted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Count {
    Integer(u64),
    Number(f64),
    Span(Duration),
}

impl From<u64> for Count {
    fn from(count: u64) -> Count {
        Count::Integer(count)
    }
}
impl From<f64> for Count {
    fn from(count: f64) -> Count {
        Count::Number(count)
    }
}
impl From<Duration> for Count {
    fn from(span: Duration) -> Count {
        Count::Span(span)
    }
}

/// Rule that combines a column's values of several connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// Sum, if each connection has a value.
    Sum,
    /// Largest value.
    Most,
    /// Value of the first connection.
    First,
    /// No value.
    None,
}

/// Values by column name. A column without a value was not counted: the protocol has none, or the stack does not report it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Vec<(&'static str, Count)>);

impl Tally {
    /// Tallies counters under their columns.
    pub fn of(counters: impl Iterator<Item = (&'static str, u64)>) -> Tally {
        Tally::default().with_all(counters)
    }

    /// Adds counters.
    pub fn with_all(self, counters: impl Iterator<Item = (&'static str, u64)>) -> Tally {
        counters.fold(self, |tally, (column, count)| tally.with(column, count))
    }

    /// Adds a value, if there is one.
    pub fn and(mut self, column: &'static str, count: Option<impl Into<Count>>) -> Tally {
        self.0.extend(count.map(|count| (column, count.into())));
        self
    }

    /// Adds a value.
    pub fn with(self, column: &'static str, count: impl Into<Count>) -> Tally {
        self.and(column, Some(count))
    }

    /// Sums several tallies column by column.
    pub fn sum(all: impl Iterator<Item = Tally>) -> Tally {
        all.reduce(|mut whole, part| {
            whole.join(&part, |_| Combine::Sum);
            whole
        })
        .unwrap_or_default()
    }

    /// Returns the value of a column.
    pub fn get(&self, column: &str) -> Option<Count> {
        self.0.iter().find(|(known, _)| *known == column).map(|(_, count)| *count)
    }

    /// Adds the counts of another connection of the same visit, each column by the rule of `combine`.
    pub fn join(&mut self, other: &Tally, combine: impl Fn(&str) -> Combine) {
        let joined = |(column, own): &(&'static str, Count)| {
            let theirs = other.get(column);
            let count = match (combine(column), *own, theirs) {
                (Combine::Sum, Count::Integer(own), Some(Count::Integer(theirs))) => Some(Count::Integer(own + theirs)),
                (Combine::Sum, Count::Number(own), Some(Count::Number(theirs))) => Some(Count::Number(own + theirs)),
                (Combine::Sum, Count::Span(own), Some(Count::Span(theirs))) => Some(Count::Span(own + theirs)),
                (Combine::Most, Count::Integer(own), Some(Count::Integer(theirs))) => {
                    Some(Count::Integer(own.max(theirs)))
                }
                (Combine::First, own, _) | (Combine::Most, own, _) => Some(own),
                (Combine::Sum | Combine::None, ..) => None,
            };
            count.map(|count| (*column, count))
        };
        self.0 = self.0.iter().filter_map(joined).collect();
    }
}

/// Counts of a sender.
#[derive(Clone, Default)]
pub(crate) struct Counts<'a> {
    pub tally: Tally,
    /// Round-trip times that it measured.
    pub rtt: Cow<'a, Histogram>,
    pub srtt: Option<Duration>,
    /// Whether its connection has ended and has no window any more.
    pub is_over: bool,
}

/// Report about one path of a flow.
#[derive(Clone, Default)]
pub(crate) struct PathReport {
    /// Index among the flow's ways; `None`: the stack does not report it.
    pub way: Option<usize>,
    pub tally: Tally,
}
