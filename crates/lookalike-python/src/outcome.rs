//! Runs on records of Python, and what they found.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::contents::Column;
use crate::decides::Decides;
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
        let mut rows = room_for(self.0.count_pairs())?;
        py.detach(|| rows.extend(self.0.pairs().map(|pair| (pair.left, pair.right, pair.similarity))));
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

#[pymethods]
impl Plan {
    /// Runs the plan on these records, against old ones; the two columns of each decide which are kept and compared. Every pair is
    /// found, or only who is kept.
    #[pyo3(signature = (
        records, *, keep=None, within=None, old=None, old_within=None, pairs=true, threads=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn run(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        keep: Option<&Bound<'_, PyAny>>,
        within: Option<&Bound<'_, PyAny>>,
        old: Option<&Bound<'_, PyAny>>,
        old_within: Option<&Bound<'_, PyAny>>,
        pairs: bool,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let (new, old) = (Column::of(records)?, old.map(Column::of).transpose()?);
        let new = new.contents()?;
        let old = old.as_ref().map(Column::contents).transpose()?.unwrap_or_default();
        let decides = Decides::of(keep, within, new.len())?;
        let decides_old = Decides::of(None, old_within, old.len())?;
        let (old, new) = (decides_old.held(&old), decides.held(&new));
        work(py, threads, progress.as_ref(), |watch| self.0.run_held(old, new, pairs, watch)).map(Outcome)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Outcome>()
}

/// Room for so many pairs. Refused if it would take more memory than there is: the system would end the program for it later.
fn room_for(pairs: u64) -> PyResult<Vec<(usize, usize, f64)>> {
    /// What a pair takes as a row and in columns.
    const PAIR_BYTES: u64 = 48;
    let needed = pairs.saturating_mul(PAIR_BYTES);
    let mut rows = Vec::new();
    let fits = available_memory().is_none_or(|available| needed <= available);
    if !fits || rows.try_reserve_exact(pairs as usize).is_err() {
        return Err(PyMemoryError::new_err(format!(
            "{pairs} pairs take {:.1} GB, more than there is; groups and dropped are never larger than the input, a higher \
             threshold has fewer pairs, and `lookalike pairs` writes them to a file",
            needed as f64 / 1e9
        )));
    }
    Ok(rows)
}

/// The memory that is free or can be freed, where the system tells.
fn available_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
