//! The columns of the tables of results, each declared once: rows, documents and reserved names follow from here.
//!
//! A column is either counted, by the machine or by the guest that plays an end of a flow and under the column's own name
//! ([`Tally`](crate::measures::counts::Tally)), or it is found from what a run left behind.

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
use crate::measures::table::Cell;

/// A table of results, by what its rows are made from.
pub trait Rows {
    /// What a row is made from.
    type Row<'a>;
}

/// A column of a table.
pub struct Column<T: Rows> {
    /// Its name; the suffixes `_s`, `_bps` and `_bytes` are its unit, any other is a count, a ratio or a text.
    pub name: &'static str,
    /// What it says, and when it is NULL.
    pub help: &'static str,
    value: Value<T>,
}

/// Where a column's values come from.
enum Value<T: Rows> {
    /// They were counted, as whole numbers; how those of several connections become one.
    Counted(Combine),
    /// The same in seconds, or as other numbers.
    Measured(Combine),
    /// They are found.
    Found(fn(&T::Row<'_>) -> Cell),
}

impl<T: Rows> Column<T> {
    pub(super) const fn counted(name: &'static str, combine: Combine, help: &'static str) -> Column<T> {
        Column { name, help, value: Value::Counted(combine) }
    }
    pub(super) const fn measured(name: &'static str, combine: Combine, help: &'static str) -> Column<T> {
        Column { name, help, value: Value::Measured(combine) }
    }
    pub(super) const fn found(name: &'static str, find: fn(&T::Row<'_>) -> Cell, help: &'static str) -> Column<T> {
        Column { name, help, value: Value::Found(find) }
    }

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

/// A row of a table with these columns.
fn row<T: Rows>(columns: &[Column<T>], row: &T::Row<'_>, tally: &[&Tally]) -> Vec<(&'static str, Cell)> {
    columns.iter().map(|column| (column.name, column.cell(row, tally))).collect()
}

/// How the values of a counted column of several connections of a visit become one.
pub(crate) fn combine(name: &str) -> Combine {
    let column = FLOWS.iter().find(|column| column.name == name).expect("what is counted has a column");
    match column.value {
        Value::Counted(combine) | Value::Measured(combine) => combine,
        Value::Found(_) => unreachable!("{name} is not counted"),
    }
}
