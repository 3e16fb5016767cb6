//! Columns for Python, handed over as Arrow without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};

/// A table, row by row as tuples or as Arrow.
#[pyclass(module = "lookalike._native", name = "Table", frozen)]
pub(crate) struct Table(RecordBatch);

impl Table {
    pub(crate) fn new<const N: usize>(names: [&'static str; N], columns: [ArrayRef; N]) -> PyResult<Self> {
        let fields: Vec<Field> = names
            .iter()
            .zip(&columns)
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), false))
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into());
        batch.map(Self).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A row.
    fn row<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyTuple>> {
        if at >= self.0.num_rows() {
            return Err(PyIndexError::new_err("there is no such row"));
        }
        let cells = self.0.columns().iter().map(|column| match column.data_type() {
            DataType::UInt64 => Ok(column.as_primitive::<UInt64Type>().value(at).into_pyobject(py)?.into_any()),
            _ => Ok(column.as_primitive::<Float64Type>().value(at).into_pyobject(py)?.into_any()),
        });
        PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)
    }

    /// The type of a column, as NumPy calls it, and its bytes.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> Option<(&'static str, Bound<'py, PyBytes>)> {
        let column = self.0.column_by_name(name)?;
        let kind = if *column.data_type() == DataType::UInt64 { "uint64" } else { "float64" };
        let data = column.to_data();
        let bytes = &data.buffers()[0].as_slice()[..column.len() * 8];
        Some((kind, PyBytes::new(py, bytes)))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let field = Field::new_struct("", self.0.schema().fields().clone(), false);
        let rows: ArrayRef = Arc::new(StructArray::from(self.0.clone()));
        let reader = ArrayIterator::new([Ok(rows)], field.into());
        Ok(to_stream_pycapsule(py, Box::new(reader), requested_schema)?)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()
}
