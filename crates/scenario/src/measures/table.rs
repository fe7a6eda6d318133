//! Results as tables of named columns.

use std::collections::BTreeMap;

/// Column of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Texts from a short list; `None` is missing.
    Label {
        /// Index into `names`, one a row.
        codes: Vec<Option<u32>>,
        /// Texts.
        names: Vec<String>,
    },
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Numbers without missing values.
    Dense(Vec<f64>),
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

/// Builds a table from rows of names and values; all rows have the same names in the same order.
pub(crate) fn table(rows: impl IntoIterator<Item = Vec<(&'static str, Cell)>>) -> Table {
    let mut table = Table::new();
    let mut known: Vec<BTreeMap<String, u32>> = Vec::new();
    for row in rows {
        if table.is_empty() {
            table = row.iter().map(|(name, cell)| (*name, Column::of(cell))).collect();
            known.resize_with(table.len(), BTreeMap::new);
        }
        for (((_, column), known), (name, cell)) in table.iter_mut().zip(&mut known).zip(row) {
            column.push(cell, known).unwrap_or_else(|()| unreachable!("column {name} has one type"));
        }
    }
    table
}

impl Column {
    /// Creates an empty column of a cell's type.
    fn of(cell: &Cell) -> Column {
        match cell {
            Cell::Text(_) => Column::Label { codes: Vec::new(), names: Vec::new() },
            Cell::Integer(_) => Column::Integer(Vec::new()),
            Cell::Number(_) => Column::Number(Vec::new()),
            Cell::Flag(_) => Column::Flag(Vec::new()),
        }
    }

    /// Appends a cell of the column's type; `known` holds the codes of its texts.
    fn push(&mut self, cell: Cell, known: &mut BTreeMap<String, u32>) -> Result<(), ()> {
        match (self, cell) {
            (Column::Label { codes, .. }, Cell::Text(None)) => codes.push(None),
            (Column::Label { codes, names }, Cell::Text(Some(text))) => {
                let code = known.get(&text).copied().unwrap_or_else(|| {
                    let code = names.len() as u32;
                    names.push(text.clone());
                    known.insert(text, code);
                    code
                });
                codes.push(Some(code));
            }
            (Column::Integer(values), Cell::Integer(x)) => values.push(x.map(|x| x as i64)),
            (Column::Number(values), Cell::Number(x)) => values.push(x),
            (Column::Flag(values), Cell::Flag(x)) => values.push(x),
            _ => return Err(()),
        }
        Ok(())
    }
}
