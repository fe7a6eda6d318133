//! Results as tables: named columns, one value a row.

use std::collections::BTreeMap;

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
    Text(Option<String>),
    Integer(Option<u64>),
    Number(Option<f64>),
    Flag(Option<bool>),
}

impl From<&str> for Cell {
    fn from(x: &str) -> Cell {
        Cell::Text(Some(x.into()))
    }
}
impl From<String> for Cell {
    fn from(x: String) -> Cell {
        Cell::Text(Some(x))
    }
}
impl From<Option<String>> for Cell {
    fn from(x: Option<String>) -> Cell {
        Cell::Text(x)
    }
}
impl From<Option<&str>> for Cell {
    fn from(x: Option<&str>) -> Cell {
        Cell::Text(x.map(str::to_owned))
    }
}
impl From<u64> for Cell {
    fn from(x: u64) -> Cell {
        Cell::Integer(Some(x))
    }
}
impl From<Option<u64>> for Cell {
    fn from(x: Option<u64>) -> Cell {
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

/// A column being filled.
enum Filling {
    Label { codes: Vec<Option<u32>>, names: Vec<String>, known: BTreeMap<String, u32> },
    Integer(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
}

/// Puts rows of (name, value) together; all rows have the same names in the same order.
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
