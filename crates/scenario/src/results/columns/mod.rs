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
