//! Results as tables of named columns.

use super::values::Values;
use indexmap::IndexSet;

/// Column of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Texts from a short list; `None` is missing.
    Label {
        /// Index into `names`, one a row.
        codes: Values<u32>,
        /// Texts.
        names: Vec<String>,
    },
    /// Whole numbers.
    Integer(Values<i64>),
    /// Numbers.
    Number(Values<f64>),
    /// Truth values.
    Flag(Vec<Option<bool>>),
}

/// Table.
pub type Table = Vec<(&'static str, Column)>;

/// Value in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(Option<String>),
    Integer(Option<u64>),
    Number(Option<f64>),
    Flag(Option<bool>),
}

/// Makes cells from values, and from values that may be missing.
macro_rules! cells {
    ($($kind:ident: $($type:ty),+;)+) => {$($(
        impl From<$type> for Cell {
            fn from(value: $type) -> Cell {
                Cell::$kind(Some(value.into()))
            }
        }
        impl From<Option<$type>> for Cell {
            fn from(value: Option<$type>) -> Cell {
                Cell::$kind(value.map(Into::into))
            }
        }
    )+)+};
}

cells! { Text: &str, String; Integer: u64; Number: f64; Flag: bool; }

/// Names and values of a row.
pub(crate) type Row = Vec<(&'static str, Cell)>;

/// Table that grows row by row; all rows have the same names in the same order.
#[derive(Default)]
pub(crate) struct Builder {
    table: Table,
    /// Texts of each column, by their codes.
    texts: Vec<IndexSet<String>>,
    /// Expected number of rows: a list that doubles as it grows holds half its memory for nothing.
    expected: usize,
}

impl Builder {
    pub fn with_rows(expected: usize) -> Builder {
        Builder { expected, ..Builder::default() }
    }

    pub fn push(&mut self, row: Row) {
        if self.table.is_empty() {
            self.table = row.iter().map(|(name, cell)| (*name, Column::of(cell, self.expected))).collect();
            self.texts.resize_with(self.table.len(), IndexSet::new);
        }
        for (((_, column), texts), (name, cell)) in self.table.iter_mut().zip(&mut self.texts).zip(row) {
            column.push(cell, texts).unwrap_or_else(|()| unreachable!("column {name} has one type"));
        }
    }

    pub fn finish(mut self) -> Table {
        for ((_, column), texts) in self.table.iter_mut().zip(self.texts) {
            if let Column::Label { names, .. } = column {
                *names = texts.into_iter().collect();
            }
        }
        self.table
    }
}

impl Column {
    /// Creates an empty column of a cell's type with room for so many rows.
    fn of(cell: &Cell, rows: usize) -> Column {
        match cell {
            Cell::Text(_) => Column::Label { codes: Values::with_capacity(rows), names: Vec::new() },
            Cell::Integer(_) => Column::Integer(Values::with_capacity(rows)),
            Cell::Number(_) => Column::Number(Values::with_capacity(rows)),
            Cell::Flag(_) => Column::Flag(Vec::with_capacity(rows)),
        }
    }

    /// Appends a cell of the column's type; `texts` holds the texts by their codes.
    fn push(&mut self, cell: Cell, texts: &mut IndexSet<String>) -> Result<(), ()> {
        match (self, cell) {
            (Column::Label { codes, .. }, Cell::Text(None)) => codes.push(None),
            (Column::Label { codes, .. }, Cell::Text(Some(text))) => {
                // Most rows repeat the text of the row before.
                let last = codes.len().checked_sub(1).and_then(|row| codes.get(row));
                let again = last.filter(|&code| texts[code as usize] == text);
                codes.push(Some(again.unwrap_or_else(|| texts.insert_full(text).0 as u32)));
            }
            (Column::Integer(values), Cell::Integer(x)) => values.push(x.map(|x| x as i64)),
            (Column::Number(values), Cell::Number(x)) => values.push(x),
            (Column::Flag(values), Cell::Flag(x)) => values.push(x),
            _ => return Err(()),
        }
        Ok(())
    }
}
