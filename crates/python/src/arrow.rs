//! Tables to Arrow, without copying numbers that have no gaps.

use arrow_array::builder::BooleanBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray,
};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;
use vazao_scenario::{Column, Table};

/// A table that Arrow libraries can take: `pyarrow.table(x)`, `polars.DataFrame(x)`.
#[pyclass(frozen, name = "Table", module = "vazao._core")]
#[derive(Clone)]
pub struct PyTable(RecordBatch);

impl PyTable {
    pub fn new(table: Table) -> Self {
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
        PyTable(batch.expect("columns of one length"))
    }
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Label { codes, names } => {
            let keys: Int32Array = codes.into_iter().map(|code| code.map(|c| c as i32)).collect();
            let values = Arc::new(StringArray::from(names));
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("codes index names"))
        }
        Column::Integer(values) => Arc::new(Int64Array::from(values)),
        Column::Number(values) => Arc::new(Float64Array::from(values)),
        Column::Dense(values) => Arc::new(Float64Array::from(values)),
        Column::Flag(values) => {
            let mut builder = BooleanBuilder::with_capacity(values.len());
            values.into_iter().for_each(|x| builder.append_option(x));
            Arc::new(builder.finish())
        }
    }
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
        let schema = self.0.schema();
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }
}
