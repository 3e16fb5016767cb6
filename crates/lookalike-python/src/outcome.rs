//! Runs on records of Python, and what they found.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use lookalike::{Content, Held, KeepValue, hash_item};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyString};

use crate::contents::Column;
use crate::errors::OrRaise;
use crate::plan::Plan;
use crate::table::Table;
use crate::watching::work;

/// What a run found. Records are called by their positions; old ones come first.
#[pyclass(module = "lookalike._native", name = "Outcome", frozen)]
pub(crate) struct Outcome(lookalike::Outcome);

#[pymethods]
impl Outcome {
    fn __len__(&self) -> usize {
        self.0.len() - self.0.old()
    }

    /// How many old records there are.
    #[getter]
    fn old(&self) -> usize {
        self.0.old()
    }

    /// The positions of the records that are kept.
    fn kept(&self) -> Vec<usize> {
        self.0.kept().map(|record| record - self.0.old()).collect()
    }

    /// A byte for each record: 1 if it is kept, 0 if not.
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mask: Vec<u8> = (self.0.old()..self.0.len()).map(|record| self.0.is_kept(record).into()).collect();
        PyBytes::new(py, &mask)
    }

    /// The record that another one was dropped for, and how alike they are.
    fn original_of(&self, record: usize) -> PyResult<Option<(usize, f64)>> {
        if record >= self.0.len() {
            return Err(PyIndexError::new_err(format!("there are {} records, so there is no {record}", self.0.len())));
        }
        Ok(self.0.original_of(record))
    }

    /// The groups of two or more, the keeper first.
    fn groups(&self) -> Vec<Vec<usize>> {
        let group = |group: lookalike::Group| {
            std::iter::once(group.keeper).chain(group.members.iter().map(|(member, _)| *member)).collect()
        };
        self.0.groups().into_iter().map(group).collect()
    }

    /// How many pairs there are.
    fn count_pairs(&self) -> u64 {
        self.0.count_pairs()
    }

    /// Every pair: left, right, similarity.
    fn pairs(&self, py: Python<'_>) -> PyResult<Table> {
        let rows = py.detach(|| self.0.pairs().map(|pair| (pair.left, pair.right, pair.similarity)).collect());
        table(["left", "right", "similarity"], rows)
    }

    /// Every record that was dropped: record, kept, similarity.
    fn dropped(&self, py: Python<'_>) -> PyResult<Table> {
        let rows = py.detach(|| {
            let dropped = (self.0.old()..self.0.len())
                .filter_map(|record| self.0.original_of(record).map(|(kept, similarity)| (record, kept, similarity)));
            dropped.collect()
        });
        table(["record", "kept", "similarity"], rows)
    }

    /// What the run counted.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = PyDict::new(py);
        let counted =
            serde_json::to_value(self.0.summary()).map_err(|error| PyValueError::new_err(error.to_string()))?;
        for (name, count) in counted.as_object().into_iter().flatten() {
            summary.set_item(name, count.as_u64())?;
        }
        Ok(summary)
    }

    /// What a run at a higher threshold would have found.
    fn at_threshold(&self, py: Python<'_>, threshold: f64) -> PyResult<Self> {
        py.detach(|| self.0.at_threshold(threshold)).or_raise(py).map(Self)
    }
}

/// A table of two records and their similarity in each row.
fn table(names: [&'static str; 3], rows: Vec<(usize, usize, f64)>) -> PyResult<Table> {
    let whole = |column: fn(&(usize, usize, f64)) -> usize| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| column(row) as u64)))
    };
    let similarity = Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2)));
    Table::new(names, [whole(|row| row.0), whole(|row| row.1), similarity])
}

/// Stands for a missing value of what records must share: it is a value of its own, which no text hashes to but by chance.
pub(crate) const NO_VALUE: u64 = 0x6e6f_7661_6c75_6521;

/// What decides about records beside what they are made of.
struct Decides {
    keep: Vec<KeepValue>,
    within: Vec<u64>,
}

impl Decides {
    fn of(keep: Option<&Bound<'_, PyAny>>, within: Option<&Bound<'_, PyAny>>, records: usize) -> PyResult<Self> {
        let keep: Vec<KeepValue> = values(keep, keep_value)?;
        let within = values(within, hash_of_within)?;
        for (name, length) in [("keep", keep.len()), ("within", within.len())] {
            if length != 0 && length != records {
                return Err(PyValueError::new_err(format!(
                    "the column of {name} has {length} values, and there are {records} records"
                )));
            }
        }
        Ok(Self { keep, within })
    }

    fn held<'a>(&'a self, contents: &'a [Content<'a>]) -> Held<'a> {
        Held { contents, keep: &self.keep, within: &self.within }
    }
}

fn values<'py, T>(
    column: Option<&Bound<'py, PyAny>>,
    value: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    match column {
        Some(column) => column.try_iter()?.map(|item| value(&item?)).collect(),
        None => Ok(Vec::new()),
    }
}

/// The hash of a value that records must share.
fn hash_of_within(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if value.is_none() {
        return Ok(NO_VALUE);
    }
    Ok(hash_item(value.str()?.to_str()?.as_bytes()))
}

fn keep_value(value: &Bound<'_, PyAny>) -> PyResult<KeepValue> {
    if value.is_none() {
        return Ok(KeepValue::Missing);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(KeepValue::Text(text.to_str()?.into()));
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        return Ok(if number.is_finite() { KeepValue::Number(number) } else { KeepValue::Missing });
    }
    // Times, and days.
    if value.hasattr("timestamp")? {
        let seconds: f64 = value.call_method0("timestamp")?.extract()?;
        return Ok(if seconds.is_finite() { KeepValue::Number(seconds) } else { KeepValue::Missing });
    }
    if value.hasattr("toordinal")? {
        return Ok(KeepValue::Integer(value.call_method0("toordinal")?.extract()?));
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? || value.hasattr("__float__")? {
        let written = value.str()?;
        return Ok(match written.to_str()? {
            "False" => KeepValue::Integer(0),
            "True" => KeepValue::Integer(1),
            number => KeepValue::parse_number(number).unwrap_or(KeepValue::Missing),
        });
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "records cannot be ordered by a value of type {kind}; give numbers, texts or times"
    )))
}

#[pymethods]
impl Plan {
    /// Runs the plan on these records, against old ones; the two columns of each decide which are kept and compared.
    #[pyo3(signature = (records, *, keep=None, within=None, old=None, old_within=None, threads=None, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn run(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        keep: Option<&Bound<'_, PyAny>>,
        within: Option<&Bound<'_, PyAny>>,
        old: Option<&Bound<'_, PyAny>>,
        old_within: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let (new, old) = (Column::of(records)?, old.map(Column::of).transpose()?);
        let new = new.contents()?;
        let old = old.as_ref().map(Column::contents).transpose()?.unwrap_or_default();
        let decides = Decides::of(keep, within, new.len())?;
        let decides_old = Decides::of(None, old_within, old.len())?;
        let (old, new) = (decides_old.held(&old), decides.held(&new));
        work(py, threads, progress.as_ref(), |watch| self.0.run_held(old, new, watch)).map(Outcome)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Outcome>()
}
