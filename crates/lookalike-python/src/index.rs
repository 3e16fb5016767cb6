//! A lasting index, for Python: one writer at a time, any number of readers.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lookalike::{IndexOptions, Measure, Query, Snapshot};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::compare::Sketch;
use crate::contents::{One, text_of};
use crate::errors::OrRaise;
use crate::plan::Plan;

/// An index on disk. Queries see what was committed last.
#[pyclass(module = "lookalike._native", name = "Index", frozen)]
pub(crate) struct Index {
    /// Who writes; nobody if it was opened for reading, or closed. Whoever holds it also decides what is shown.
    writer: Mutex<Option<lookalike::Index>>,
    /// What queries see; nothing if it was closed.
    shown: Mutex<Option<Snapshot>>,
    /// The process that opened it. Those that it forks have the lock too, and would write to the same log.
    opened_by: u32,
}

/// What matches: id, similarity, sequence, time in milliseconds, text.
type Match = (String, f64, u64, u64, Option<String>);
/// An item: id, sequence, time in milliseconds, shingles, text.
type Item = (String, u64, u64, u64, Option<String>);

#[pymethods]
impl Index {
    /// Makes a new index in a folder that is not there yet, or is empty.
    #[staticmethod]
    fn create(py: Python<'_>, path: PathBuf, plan: &Plan, store_text: bool) -> PyResult<Self> {
        let options = IndexOptions { store_text };
        let index = py.detach(|| lookalike::Index::create_with(&path, &plan.0, &options)).or_raise(py)?;
        Ok(Self::new(index.snapshot(), Some(index)))
    }

    /// Opens an index for writing, or only for reading.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, read_only: bool) -> PyResult<Self> {
        if read_only {
            let snapshot = py.detach(|| Snapshot::open(&path)).or_raise(py)?;
            return Ok(Self::new(snapshot, None));
        }
        let index = py.detach(|| lookalike::Index::open(&path)).or_raise(py)?;
        Ok(Self::new(index.snapshot(), Some(index)))
    }

    /// The plan that the index was made for.
    #[getter]
    fn plan(&self) -> PyResult<Plan> {
        Ok(Plan(self.snapshot()?.plan().clone()))
    }

    /// Whether it was closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.shown().is_none()
    }

    /// Puts a record into the index, in place of one with the same id. To be committed.
    #[pyo3(signature = (id, record, time=None))]
    fn insert(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyString>,
        record: &Bound<'_, PyAny>,
        time: Option<u64>,
    ) -> PyResult<()> {
        let (id, record) = (text_of("the id", id)?, One::named(id, record)?);
        let content = record.content();
        self.write(py, |index| index.insert(id, content, time))
    }

    /// Puts these records into the index and commits, with what was to be committed before: all of them, or none.
    fn update(&self, py: Python<'_>, records: Vec<(Bound<'_, PyString>, Bound<'_, PyAny>)>) -> PyResult<u64> {
        let looked_at = records.iter().map(|(id, record)| Ok((text_of("the id", id)?, One::named(id, record)?)));
        let looked_at: Vec<(&str, One<'_>)> = looked_at.collect::<PyResult<_>>()?;
        let contents: Vec<_> = looked_at.iter().map(|(id, record)| (*id, record.content())).collect();
        self.write(py, |index| {
            // What others inserted comes first, so that only these records are rolled back if they cannot be written.
            self.commit_and_show(index)?;
            let mut records = contents.into_iter();
            let inserted = records.try_for_each(|(id, content)| index.insert(id, content, None));
            let written = inserted.and_then(|()| self.commit_and_show(index));
            if written.is_err() {
                index.rollback();
            }
            written
        })
    }

    /// Takes a record out of the index. To be committed. Whether it was there.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyString>) -> PyResult<bool> {
        let id = text_of("the id", id)?;
        self.write(py, |index| index.remove(id))
    }

    /// Takes a record out of the index and commits, if it was there. Whether it was.
    fn delete(&self, py: Python<'_>, id: &Bound<'_, PyString>) -> PyResult<bool> {
        let id = text_of("the id", id)?;
        self.write(py, |index| {
            let was_there = index.remove(id)?;
            if was_there {
                self.commit_and_show(index)?;
            }
            Ok(was_there)
        })
    }

    /// Takes what was written before a time, in milliseconds since 1970, out of the index, and commits. How many.
    fn remove_older_than(&self, py: Python<'_>, time: u64) -> PyResult<u64> {
        self.write(py, |index| {
            let removed = index.remove_older_than(time)?;
            self.commit_and_show(index)?;
            Ok(removed)
        })
    }

    /// Makes what was written since the last commit durable, and shows it.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.write(py, |index| self.commit_and_show(index))
    }

    /// Forgets what was written since the last commit.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |index| {
            index.rollback();
            Ok(())
        })
    }

    /// Merges everything into one segment, and gives back the room of what was removed.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |index| {
            index.compact()?;
            self.show(index);
            Ok(())
        })
    }

    /// Lets go of the index, so that others can write. What was not committed is forgotten.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut writer = self.writer();
            *self.shown() = None;
            self.let_go(writer.take());
        });
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.snapshot()?.len() as usize)
    }

    /// The item with this id.
    fn get(&self, py: Python<'_>, id: &Bound<'_, PyString>) -> PyResult<Option<Item>> {
        let item = self.snapshot()?.get(text_of("the id", id)?).or_raise(py)?;
        Ok(item.map(|item| (item.id, item.sequence, item.time, item.shingles, item.text)))
    }

    /// All ids, in no order.
    fn ids(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let snapshot = self.snapshot()?;
        py.detach(|| snapshot.items().map(|item| item.map(|item| item.id)).collect::<lookalike::Result<_>>())
            .or_raise(py)
    }

    /// What is like this record, or the record of this sketch: the matches, and the least probability with which one at the
    /// threshold is found.
    #[pyo3(signature = (record, *, threshold=None, limit=None, measure=None, with_text=false))]
    fn query(
        &self,
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        threshold: Option<f64>,
        limit: Option<usize>,
        measure: Option<&str>,
        with_text: bool,
    ) -> PyResult<(Vec<Match>, Option<f64>)> {
        let measure = match measure {
            None => None,
            Some("jaccard") => Some(Measure::Jaccard),
            Some("containment") => Some(Measure::Containment),
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "\"{other}\" is no measure; choose \"jaccard\" or \"containment\""
                )));
            }
        };
        let (snapshot, query) = (self.snapshot()?, Query { threshold, limit, measure, with_text });
        let answer = if let Ok(sketch) = record.cast::<Sketch>() {
            let sketch = sketch.get();
            py.detach(|| snapshot.query_sketch(&sketch.0, &query))
        } else {
            let record = One::of(record)?;
            let content = record.content();
            py.detach(|| snapshot.query(content, &query))
        };
        let answer = answer.or_raise(py)?;
        let matches = answer.matches.into_iter();
        let matches = matches.map(|found| (found.id, found.similarity, found.sequence, found.time, found.text));
        Ok((matches.collect(), answer.promise))
    }

    /// What the index consists of.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.snapshot()?.info();
        let answer = PyDict::new(py);
        let counts = [
            ("items", info.items),
            ("deleted", info.deleted),
            ("segments", info.segments),
            ("bytes", info.bytes),
            ("log_bytes", info.log_bytes),
            ("sequence", info.sequence),
        ];
        counts.iter().try_for_each(|(name, count)| answer.set_item(name, count))?;
        answer.set_item("stores_text", info.stores_text)?;
        Ok(answer)
    }

    /// Looks at every byte. How many items are fine.
    fn check(&self, py: Python<'_>) -> PyResult<u64> {
        let snapshot = self.snapshot()?;
        py.detach(|| snapshot.check()).or_raise(py)
    }
}

impl Index {
    fn new(shown: Snapshot, writer: Option<lookalike::Index>) -> Self {
        Self { writer: Mutex::new(writer), shown: Mutex::new(Some(shown)), opened_by: std::process::id() }
    }

    fn is_forked(&self) -> bool {
        std::process::id() != self.opened_by
    }

    /// Closes the index, if it is this process's to close.
    fn let_go(&self, writer: Option<lookalike::Index>) {
        if self.is_forked() { std::mem::forget(writer) } else { drop(writer) }
    }

    fn snapshot(&self) -> PyResult<Snapshot> {
        self.shown().clone().ok_or_else(closed)
    }

    fn shown(&self) -> MutexGuard<'_, Option<Snapshot>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Option<lookalike::Index>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what was committed. Only for who holds the writer: others may have committed since, and must not be hidden.
    fn show(&self, index: &lookalike::Index) {
        *self.shown() = Some(index.snapshot());
    }

    fn commit_and_show(&self, index: &mut lookalike::Index) -> lookalike::Result<u64> {
        let sequence = index.commit()?;
        self.show(index);
        Ok(sequence)
    }

    /// Changes the index; nobody else does meanwhile.
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut lookalike::Index) -> lookalike::Result<T> + Send,
    ) -> PyResult<T> {
        if self.is_forked() {
            return Err(crate::errors::locked(
                py,
                "the index was opened by the process that this one was forked from, which may write to it; open it in this \
                 process, once the other has closed it",
            ));
        }
        // Without the GIL: whoever holds the writer may be waiting for the disk.
        let changed = py.detach(|| self.writer().as_mut().map(change));
        let refusal =
            || if self.is_closed() { closed() } else { PyValueError::new_err("the index is open only for reading") };
        changed.ok_or_else(refusal)?.or_raise(py)
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the index is closed; open it again")
}

impl Drop for Index {
    fn drop(&mut self) {
        let writer = self.writer().take();
        self.let_go(writer);
    }
}

/// Whether there is an index in a folder.
#[pyfunction]
fn is_index(path: &Bound<'_, PyString>) -> PyResult<bool> {
    Ok(lookalike::index::is_index(path.to_str()?.as_ref()))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Index>()?;
    module.add_function(wrap_pyfunction!(is_index, module)?)
}
