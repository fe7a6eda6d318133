//! Tables to Arrow, without copying numbers.

use crate::spill::Spilled;
use arrow_array::builder::BooleanBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, DictionaryArray, Int32Array, PrimitiveArray, RecordBatch, RecordBatchOptions,
    RecordBatchReader, StringArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vazao_scenario::{Builder, Column, Table, Values};

/// A table that Arrow libraries can take: `pyarrow.table(x)`, `polars.DataFrame(x)`; batch by batch, for one that is on disk,
/// `pyarrow.RecordBatchReader.from_stream(x)`.
#[pyclass(frozen, name = "Table", module = "vazao._core")]
#[derive(Clone)]
pub struct PyTable {
    /// Rows on disk come first.
    spilled: Option<Arc<Spilled>>,
    last: Arc<Mutex<Rows>>,
}

/// Rows in memory: as the engine made them until somebody asks for Arrow's, which take as long to make as a short run.
enum Rows {
    Made(Table),
    Arrow(RecordBatch),
}

impl PyTable {
    pub fn new(rows: Table) -> Self {
        PyTable { spilled: None, last: Arc::new(Mutex::new(Rows::Made(rows))) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rows in memory as Arrow's.
    fn batch(&self) -> RecordBatch {
        let mut rows = self.rows();
        if let Rows::Made(table) = &mut *rows {
            *rows = Rows::Arrow(batch(std::mem::take(table)));
        }
        match &*rows {
            Rows::Arrow(batch) => batch.clone(),
            Rows::Made(_) => unreachable!("just replaced"),
        }
    }

    /// Puts rows on disk in front of it.
    pub fn behind(self, spilled: Option<Spilled>) -> Self {
        PyTable { spilled: spilled.map(Arc::new), ..self }
    }
}

fn batch(table: Table) -> RecordBatch {
    let columns: Vec<(Field, ArrayRef)> = table
        .into_iter()
        .map(|(name, column)| {
            let array = array(column);
            (Field::new(name, array.data_type().clone(), true), array)
        })
        .collect();
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
    batch.expect("columns of one length")
}

/// The batches of a table; those on disk are read as they are asked for.
struct Batches {
    spilled: Option<Arc<Spilled>>,
    last: RecordBatch,
    next: Option<u64>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.next?;
        self.next = Some(number + 1);
        match self.spilled.as_ref().and_then(|spilled| spilled.chunk(number)) {
            Some(chunk) => Some(chunk.map(batch).map_err(|error| ArrowError::IoError(error.to_string(), error))),
            None => {
                self.next = None;
                Some(Ok(self.last.clone()))
            }
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.last.schema()
    }
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Label { codes, names } => {
            let keys: Int32Array = codes.iter().map(|code| code.map(|c| c as i32)).collect();
            let values = Arc::new(StringArray::from(names));
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("codes index names"))
        }
        Column::Integer(values) => Arc::new(numbers::<Int64Type>(values)),
        Column::Number(values) => Arc::new(numbers::<Float64Type>(values)),
        Column::Flag(values) => {
            let mut builder = BooleanBuilder::with_capacity(values.len());
            values.into_iter().for_each(|x| builder.append_option(x));
            Arc::new(builder.finish())
        }
    }
}

fn numbers<T: ArrowPrimitiveType<Native: Default>>(values: Values<T::Native>) -> PrimitiveArray<T> {
    let rows = values.len();
    let (values, present) = values.into_parts();
    let nulls = present.map(|bits| NullBuffer::new(BooleanBuffer::new(bits.into(), 0, rows)));
    PrimitiveArray::new(values.into(), nulls)
}

#[pymethods]
impl PyTable {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // The consumer casts, as the interface allows.
        let batches = Batches { spilled: self.spilled.clone(), last: self.batch(), next: Some(0) };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        let last = match &*self.rows() {
            Rows::Made(table) => table.first().map_or(0, |(_, column)| column.rows()),
            Rows::Arrow(batch) => batch.num_rows(),
        };
        self.spilled.as_ref().map_or(0, |spilled| spilled.rows() as usize) + last
    }
}

/// Rows up to which tables are joined: more of them are made Arrow's as fast one by one.
const ROWS: usize = 1 << 16;

/// Joins neighbours that have the same columns and that nobody has asked for as Arrow's; others, which may be of other
/// libraries, stay as they are.
#[pyfunction]
pub fn merged<'py>(py: Python<'py>, tables: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut groups: Vec<Vec<Bound<'py, PyAny>>> = Vec::new();
    let mut rows = 0;
    for table in tables {
        let more = table.len()?;
        match groups.last_mut() {
            Some(group) if rows + more <= ROWS && can_join(&group[0], &table) => group.push(table),
            _ => {
                groups.push(vec![table]);
                rows = 0;
            }
        }
        rows += more;
    }
    groups.into_iter().map(|group| if group.len() == 1 { Ok(group[0].clone()) } else { join(py, &group) }).collect()
}

fn can_join(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let names = |table: &Bound<'_, PyAny>| {
        let table = table.cast::<PyTable>().ok()?.get();
        let Rows::Made(rows) = &*table.rows() else { return None };
        table.spilled.is_none().then(|| rows.iter().map(|(name, _)| *name).collect::<Vec<_>>())
    };
    names(one).is_some_and(|columns| names(other) == Some(columns))
}

fn join<'py>(py: Python<'py>, group: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
    let mut joined = Builder::default();
    for table in group {
        if let Rows::Made(rows) = &*table.cast::<PyTable>()?.get().rows() {
            joined.append(rows);
        }
    }
    Ok(Bound::new(py, PyTable::new(joined.finish()))?.into_any())
}
