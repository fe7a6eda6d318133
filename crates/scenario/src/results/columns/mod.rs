//! Columns of the tables of results, each declared once for rows, documentation and reserved names.
//!
//! A column is either counted under its own name by the machine or the guest that plays an end of a flow
//! ([`Tally`](crate::measures::counts::Tally)), or found from the state of a run.

mod flows;
mod links;
mod paths;
mod runs;

pub use flows::FLOWS;
pub(crate) use flows::FlowRow;
pub use links::LINKS;
pub(crate) use links::LinkRow;
pub use paths::PATHS;
pub(crate) use paths::PathRow;
pub use runs::RUNS;
pub(crate) use runs::RunRow;

use crate::measures::counts::{Combine, Count, Tally};
use crate::measures::table::{Cell, Row};

/// Table of results.
pub trait Rows {
    /// Source of a row.
    type Row<'a>;
}

/// Column of a table.
pub struct ColumnSpec<T: Rows> {
    /// Name; the suffixes `_s`, `_bps` and `_bytes` are its unit, any other is a count, a ratio or a text.
    pub name: &'static str,
    /// Meaning, and when it is NULL.
    pub help: &'static str,
    value: Value<T>,
}

/// Source of a column's values.
enum Value<T: Rows> {
    /// Count, with the rule that combines several connections.
    Counted(Combine),
    /// Measurement in seconds or another unit, with the rule that combines several connections.
    Measured(Combine),
    /// Function of the row's source.
    Found(fn(&T::Row<'_>) -> Cell),
}

/// Declares the columns of a table in their order, each with its help: found by an expression of the row's source, or counted
/// or measured under the column's name.
macro_rules! columns {
    (
        $(#[$doc:meta])* $all:ident, $table:ident, $source:ident: $row:ident =>
        $($name:literal $(= $found:expr)? $(=> $kind:ident($combine:ident))?, $help:literal;)+
    ) => {
        /// Table whose rows are made from their source.
        pub enum $table {}

        impl super::Rows for $table {
            type Row<'a> = $source<'a>;
        }

        $(#[$doc])*
        pub const $all: &[super::ColumnSpec<$table>] = &[$(super::ColumnSpec {
            name: $name,
            help: $help,
            value: $(super::Value::Found(|$row| $found.into()))?
                $(super::Value::$kind(crate::measures::counts::Combine::$combine))?,
        }),+];
    };
}
use columns;

impl<T: Rows> ColumnSpec<T> {
    fn cell(&self, row: &T::Row<'_>, tally: &[&Tally]) -> Cell {
        let count = || tally.iter().find_map(|tally| tally.get(self.name));
        match self.value {
            Value::Found(find) => find(row),
            Value::Counted(_) => match count() {
                Some(Count::Integer(count)) => Some(count).into(),
                _ => Cell::Integer(None),
            },
            Value::Measured(_) => match count() {
                Some(Count::Number(value)) => Some(value).into(),
                Some(Count::Span(span)) => Some(span.as_secs()).into(),
                _ => Cell::Number(None),
            },
        }
    }
}

/// Makes a row of a table from its source and what was counted.
pub(crate) fn row<T: Rows>(columns: &[ColumnSpec<T>], row: &T::Row<'_>, tally: &[&Tally]) -> Row {
    columns.iter().map(|column| (column.name, column.cell(row, tally))).collect()
}

/// Returns the rule that combines a counted column of several connections of a visit.
pub(crate) fn combine(name: &str) -> Combine {
    let column = FLOWS.iter().find(|column| column.name == name).expect("what is counted has a column");
    match column.value {
        Value::Counted(combine) | Value::Measured(combine) => combine,
        Value::Found(_) => unreachable!("{name} is not counted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vazao_engine::Duration;
    use vazao_transport::common::counters;

    counters! {
        /// Counters of an endpoint that is only here.
        struct Stats {
            /// Counted, but shown nowhere.
            quiet: u64,
            /// Shown as a sender's.
            scratched: u64 = "scratched",
            /// Shown as a receiver's.
            seen: u64 = receiver "seen",
        }
    }

    /// Source of rows.
    pub struct Source<'a>(&'a str);

    columns! {
        /// Columns of a table that is only here.
        SCRATCH, Scratch, Source: source =>
        "name" = source.0, "its name";
        "scratched" => Counted(Sum), "sent again";
        "seen" => Counted(Sum), "brought nothing new";
        "span_s" => Measured(Sum), "time with something to do";
        "absent" => Counted(Sum), "what nobody counts";
    }

    /// Whatever a counter or a line of a table declares is in the rows, in the order of the columns, under its name.
    #[test]
    fn a_counter_and_a_line_make_a_column() {
        let stats = Stats { quiet: 7, scratched: 3, seen: 5 };
        assert_eq!(stats.quiet, 7);
        let sender = Tally::of(stats.counts()).with("span_s", Duration::from_millis(250));
        let made = row(SCRATCH, &Source("a"), &[&sender, &Tally::of(stats.arrivals())]);
        let expected = [
            ("name", Cell::from("a")),
            ("scratched", Cell::from(3)),
            ("seen", Cell::from(5)),
            ("span_s", Cell::from(0.25)),
            ("absent", Cell::Integer(None)),
        ];
        assert_eq!(made, expected);
        assert!(SCRATCH.iter().all(|column| !column.help.is_empty()));
    }

    /// A counter without a column would be lost without a word.
    #[test]
    fn every_counter_of_a_transport_has_its_column() {
        use vazao_transport::{dccp, icmp, library, mptcp, quic, sctp, tcp, udp};
        let names = FLOWS.iter().map(|column| column.name).chain(PATHS.iter().map(|column| column.name));
        let known: Vec<_> = names.collect();
        let check = |counts: &mut dyn Iterator<Item = (&'static str, u64)>| {
            counts.for_each(|(name, _)| assert!(known.contains(&name), "{name}"));
        };
        macro_rules! check {
            ($($stats:ty),+) => {$(
                check(&mut <$stats>::default().counts());
                check(&mut <$stats>::default().arrivals());
            )+};
        }
        check!(tcp::Stats, udp::Stats, dccp::Stats, icmp::Stats, mptcp::Stats, library::Report);
        check!(sctp::Stats, sctp::PathStats, quic::Stats, quic::PathStats);
    }
}
