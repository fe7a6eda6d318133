//! What the two ends of a flow counted, each number under the name of the column that shows it.

use std::borrow::Cow;
use vazao_engine::{Duration, Histogram};

/// A value that was counted.
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

/// How a column's values of several connections become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    /// Their sum, if each has one.
    Sum,
    /// The largest.
    Most,
    /// The first connection's.
    First,
    /// Nothing: several connections have none in common.
    None,
}

/// Values by the names of their columns. What is not there was not counted: its protocol has none, or its stack does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Vec<(&'static str, Count)>);

impl Tally {
    /// With one value more, if there is one.
    pub fn and(mut self, column: &'static str, count: Option<impl Into<Count>>) -> Tally {
        self.0.extend(count.map(|count| (column, count.into())));
        self
    }

    /// With one value more.
    pub fn with(self, column: &'static str, count: impl Into<Count>) -> Tally {
        self.and(column, Some(count))
    }

    /// Several of one kind together, each column the sum of theirs.
    pub fn sum(all: impl Iterator<Item = Tally>) -> Tally {
        all.reduce(|mut whole, part| {
            whole.join(&part, |_| Combine::Sum);
            whole
        })
        .unwrap_or_default()
    }

    /// The value of a column.
    pub fn get(&self, column: &str) -> Option<Count> {
        self.0.iter().find(|(known, _)| *known == column).map(|(_, count)| *count)
    }

    /// Takes in what another connection of the same visit counted, each column as `combine` says.
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

/// What a sender counted.
#[derive(Clone, Default)]
pub(crate) struct Counts<'a> {
    pub tally: Tally,
    /// The round-trip times that it measured.
    pub rtt: Cow<'a, Histogram>,
    pub srtt: Option<Duration>,
    /// Whether its connection has ended, so that it has no window any more.
    pub is_over: bool,
}

/// What is told of a path. `None`: its stack does not say.
#[derive(Clone, Default)]
pub(crate) struct PathReport {
    /// Which of the flow's ways it goes by.
    pub way: Option<usize>,
    pub tally: Tally,
}
