//! Two records side by side, and sketches.

use lookalike::{Characters, Content, Passage};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::contents::{One, text_of};
use crate::errors::{self, OrRaise};
use crate::plan::Plan;
use crate::watching::unless_interrupted;

/// Texts of so many bytes take a moment to compare: long enough that Ctrl-C should be heard meanwhile.
const WORTH_HEARING: usize = 1 << 18;

#[pymethods]
impl Plan {
    /// How alike two texts are, and where: a dictionary with the names of the service's answer.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        left: &Bound<'py, PyString>,
        right: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (left, right) = (text_of("the left text", left)?, text_of("the right text", right)?);
        let found = if left.len() + right.len() < WORTH_HEARING {
            py.detach(|| self.0.compare(left, right))
        } else {
            let (plan, left, right) = (self.0.clone(), left.to_owned(), right.to_owned());
            unless_interrupted(py, move || plan.compare(&left, &right))?
        };
        let (in_left, in_right) = (Characters::of(left), Characters::of(right));
        let spans = |passages: &[Passage]| -> Vec<_> {
            let span = |passage: &Passage| {
                (passage.tokens, passage.similarity, in_left.span(&passage.left), in_right.span(&passage.right))
            };
            passages.iter().map(span).collect()
        };
        let answer = PyDict::new(py);
        answer.set_item("jaccard", found.jaccard())?;
        answer.set_item("left_in_right", found.left_in_right())?;
        answer.set_item("right_in_left", found.right_in_left())?;
        answer.set_item("shared", found.shared)?;
        answer.set_item("left_shingles", found.left_shingles)?;
        answer.set_item("right_shingles", found.right_shingles)?;
        answer.set_item("estimate", found.estimate.map(|estimate| estimate.similarity))?;
        answer.set_item("standard_error", found.estimate.map(|estimate| estimate.standard_error))?;
        answer.set_item("passages", spans(&found.passages))?;
        answer.set_item("reworded", spans(&found.reworded))?;
        Ok(answer)
    }

    /// How alike two records are, exactly.
    fn similarity(&self, py: Python<'_>, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<f64> {
        let (left, right) = (One::of(left)?, One::of(right)?);
        let (left, right) = (left.content(), right.content());
        Ok(py.detach(|| self.0.similarity(left, right)))
    }

    /// The sketch of a record.
    fn sketch(&self, py: Python<'_>, record: &Bound<'_, PyAny>) -> PyResult<Sketch> {
        let record = One::of(record)?;
        let content = record.content();
        let sketch = py.detach(|| match content {
            Content::Text(text) => self.0.sketch_text(text),
            Content::Set(items) => self.0.sketch_set(items),
        });
        sketch.or_raise(py).map(Sketch)
    }
}

/// What stands for a record: its MinHash values.
#[pyclass(module = "lookalike._native", name = "Sketch", frozen, eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct Sketch(pub(crate) lookalike::Sketch);

#[pymethods]
impl Sketch {
    fn __len__(&self) -> usize {
        self.0.slots().len()
    }

    /// The MinHash values.
    #[getter]
    fn values(&self) -> Vec<u32> {
        self.0.slots().to_vec()
    }

    /// Whether it is the sketch of nothing.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The estimated Jaccard similarity.
    fn similarity(&self, py: Python<'_>, other: &Self) -> PyResult<f64> {
        self.0.similarity(&other.0).map_err(|mismatch| errors::setting(py, &mismatch.to_string()))
    }

    /// The sketch of all that is in either record.
    fn union(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let mut union = self.0.clone();
        union.merge(&other.0).map_err(|mismatch| errors::setting(py, &mismatch.to_string()))?;
        Ok(Self(union))
    }

    /// The sketch as bytes, the same on every machine.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// Reads what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        lookalike::Sketch::from_bytes(data).map(Self).map_err(|damage| PyValueError::new_err(damage.to_string()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(py),)))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Sketch>()
}
