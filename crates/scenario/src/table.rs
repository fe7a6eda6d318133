//! Results as tables: named columns, one value a row.

/// A column of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Texts of a few kinds: `codes` index `names`; `None` is missing.
    Label {
        /// One index a row.
        codes: Vec<Option<u32>>,
        /// The texts.
        names: Vec<String>,
    },
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
    /// Numbers of which none is missing.
    Dense(Vec<f64>),
    /// Truth values.
    Flag(Vec<Option<bool>>),
}

/// A table.
pub type Table = Vec<(&'static str, Column)>;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    Integer(u64),
    Number(Option<f64>),
    Flag(Option<bool>),
}

impl From<&str> for Cell {
    fn from(x: &str) -> Cell {
        Cell::Text(x.into())
    }
}
impl From<u64> for Cell {
    fn from(x: u64) -> Cell {
        Cell::Integer(x)
    }
}
impl From<f64> for Cell {
    fn from(x: f64) -> Cell {
        Cell::Number(Some(x))
    }
}
impl From<Option<f64>> for Cell {
    fn from(x: Option<f64>) -> Cell {
        Cell::Number(x)
    }
}
impl From<bool> for Cell {
    fn from(x: bool) -> Cell {
        Cell::Flag(Some(x))
    }
}
impl From<Option<bool>> for Cell {
    fn from(x: Option<bool>) -> Cell {
        Cell::Flag(x)
    }
}

/// Puts rows of (name, value) together; all rows have the same names in the same order.
pub(crate) fn table(rows: Vec<Vec<(&'static str, Cell)>>) -> Table {
    let mut columns: Table = Vec::new();
    for row in rows {
        if columns.is_empty() {
            columns = row.iter().map(|(name, cell)| (*name, empty(cell))).collect();
        }
        for ((_, column), (name, cell)) in columns.iter_mut().zip(row) {
            push(column, cell).unwrap_or_else(|()| unreachable!("column {name} has one type"));
        }
    }
    columns
}

fn empty(cell: &Cell) -> Column {
    match cell {
        Cell::Text(_) => Column::Label { codes: Vec::new(), names: Vec::new() },
        Cell::Integer(_) => Column::Integer(Vec::new()),
        Cell::Number(_) => Column::Number(Vec::new()),
        Cell::Flag(_) => Column::Flag(Vec::new()),
    }
}

fn push(column: &mut Column, cell: Cell) -> Result<(), ()> {
    match (column, cell) {
        (Column::Label { codes, names }, Cell::Text(text)) => {
            // Texts of neighbouring rows are often alike; the rest are few.
            let known = names.iter().rposition(|n| *n == text);
            codes.push(Some(known.unwrap_or(names.len()) as u32));
            if known.is_none() {
                names.push(text);
            }
        }
        (Column::Integer(values), Cell::Integer(x)) => values.push(Some(x as i64)),
        (Column::Number(values), Cell::Number(x)) => values.push(x),
        (Column::Flag(values), Cell::Flag(x)) => values.push(x),
        _ => return Err(()),
    }
    Ok(())
}
