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
pub struct Builder {
    table: Table,
    /// Texts of each column, by their codes.
    texts: Vec<IndexSet<String>>,
    /// Expected number of rows: a list that doubles as it grows holds half its memory for nothing.
    expected: usize,
}

impl Builder {
    pub(crate) fn with_rows(expected: usize) -> Builder {
        Builder { expected, ..Builder::default() }
    }

    pub(crate) fn push(&mut self, row: Row) {
        if self.table.is_empty() {
            self.begin(row.iter().map(|(name, cell)| (*name, Column::of(cell, self.expected))).collect());
        }
        for (((_, column), texts), (name, cell)) in self.table.iter_mut().zip(&mut self.texts).zip(row) {
            column.push(cell, texts).unwrap_or_else(|()| unreachable!("column {name} has one type"));
        }
    }

    /// Appends the rows of a table with the same columns.
    pub fn append(&mut self, table: &Table) {
        if self.table.is_empty() {
            self.begin(table.iter().map(|(name, column)| (*name, column.emptied())).collect());
        }
        for (((_, column), texts), (name, other)) in self.table.iter_mut().zip(&mut self.texts).zip(table) {
            column.append(other, texts).unwrap_or_else(|()| unreachable!("column {name} has one type"));
        }
    }

    /// Sets the columns, which have no rows yet.
    fn begin(&mut self, table: Table) {
        self.texts.resize_with(table.len(), IndexSet::new);
        self.table = table;
    }

    /// Returns the table.
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

    /// Returns a column of the same type without rows.
    fn emptied(&self) -> Column {
        match self {
            Column::Label { .. } => Column::Label { codes: Values::default(), names: Vec::new() },
            Column::Integer(_) => Column::Integer(Values::default()),
            Column::Number(_) => Column::Number(Values::default()),
            Column::Flag(_) => Column::Flag(Vec::new()),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Column::Label { codes, .. } => codes.len(),
            Column::Integer(values) => values.len(),
            Column::Number(values) => values.len(),
            Column::Flag(values) => values.len(),
        }
    }

    /// Appends the rows of a column of the same type; `texts` holds the texts by their codes.
    fn append(&mut self, other: &Column, texts: &mut IndexSet<String>) -> Result<(), ()> {
        match (self, other) {
            (Column::Label { codes, .. }, Column::Label { codes: others, names }) => {
                let known: Vec<u32> = names.iter().map(|name| texts.insert_full(name.clone()).0 as u32).collect();
                others.iter().for_each(|code| codes.push(code.map(|code| known[code as usize])));
            }
            (Column::Integer(values), Column::Integer(others)) => others.iter().for_each(|value| values.push(value)),
            (Column::Number(values), Column::Number(others)) => others.iter().for_each(|value| values.push(value)),
            (Column::Flag(values), Column::Flag(others)) => values.extend_from_slice(others),
            _ => return Err(()),
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows with a cell of each type.
    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (
            prop::option::of("[ab]?"),
            prop::option::of(0..9_u64),
            prop::option::of(-1.0..1.0),
            prop::option::of(any::<bool>()),
        );
        let named = row.prop_map(|(text, integer, number, flag)| {
            vec![
                ("text", Cell::Text(text)),
                ("integer", integer.into()),
                ("number", number.into()),
                ("flag", flag.into()),
            ]
        });
        prop::collection::vec(named, 1..20)
    }

    fn table(rows: &[Row]) -> Table {
        let mut table = Builder::default();
        rows.iter().for_each(|row| table.push(row.clone()));
        table.finish()
    }

    proptest! {
        /// A text's code is the number of its first row, so the tables are equal whatever was joined.
        #[test]
        fn joined_tables_are_the_table_of_all_rows(parts in prop::collection::vec(rows(), 1..5)) {
            let tables: Vec<Table> = parts.iter().map(|rows| table(rows)).collect();
            let mut joined = Builder::default();
            tables.iter().for_each(|table| joined.append(table));
            prop_assert_eq!(joined.finish(), table(&parts.concat()));
        }
    }
}
