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

/// Column being filled.
enum Filling {
    Label { codes: Vec<Option<u32>>, names: Vec<String>, known: BTreeMap<String, u32> },
    Integer(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
}

/// Builds a table from rows of names and values; all rows have the same names in the same order.
pub(crate) fn table(rows: impl IntoIterator<Item = Vec<(&'static str, Cell)>>) -> Table {
    let mut columns: Vec<(&'static str, Filling)> = Vec::new();
    for row in rows {
        if columns.is_empty() {
            columns = row.iter().map(|(name, cell)| (*name, Filling::new(cell))).collect();
        }
        for ((_, column), (name, cell)) in columns.iter_mut().zip(row) {
            column.push(cell).unwrap_or_else(|()| unreachable!("column {name} has one type"));
        }
    }
    columns.into_iter().map(|(name, column)| (name, column.finish())).collect()
}

impl Filling {
    fn new(cell: &Cell) -> Filling {
        match cell {
            Cell::Text(_) => Filling::Label { codes: Vec::new(), names: Vec::new(), known: BTreeMap::new() },
            Cell::Integer(_) => Filling::Integer(Vec::new()),
            Cell::Number(_) => Filling::Number(Vec::new()),
            Cell::Flag(_) => Filling::Flag(Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell) -> Result<(), ()> {
        match (self, cell) {
            (Filling::Label { codes, .. }, Cell::Text(None)) => codes.push(None),
            (Filling::Label { codes, names, known }, Cell::Text(Some(text))) => {
                let code = known.get(&text).copied().unwrap_or_else(|| {
                    let code = names.len() as u32;
                    names.push(text.clone());
                    known.insert(text, code);
                    code
                });
                codes.push(Some(code));
            }
            (Filling::Integer(values), Cell::Integer(x)) => values.push(x.map(|x| x as i64)),
            (Filling::Number(values), Cell::Number(x)) => values.push(x),
            (Filling::Flag(values), Cell::Flag(x)) => values.push(x),
            _ => return Err(()),
        }
        Ok(())
    }

    fn finish(self) -> Column {
        match self {
            Filling::Label { codes, names, .. } => Column::Label { codes, names },
            Filling::Integer(values) => Column::Integer(values),
            Filling::Number(values) => Column::Number(values),
            Filling::Flag(values) => Column::Flag(values),
        }
    }
}
