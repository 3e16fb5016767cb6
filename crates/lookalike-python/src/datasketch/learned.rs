//! What an index learns from the first sketch that it takes, and holds all others to.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::minhash::MinHashState;

/// The scheme of the sketches in an index, as Python says it.
#[derive(Default)]
pub(super) struct LearnedScheme(Option<Py<PyAny>>);

impl LearnedScheme {
    pub(super) fn get(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.0.as_ref().map(|scheme| scheme.clone_ref(py))
    }

    pub(super) fn set(&mut self, scheme: Option<Py<PyAny>>) {
        self.0 = scheme;
    }
}

/// The scheme of a sketch; weighted ones have none.
pub(super) fn scheme_of(sketch: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    let py = sketch.py();
    if let Ok(state) = sketch.cast::<MinHashState>() {
        return Ok(Some(state.borrow().scheme.name(py).clone().into_any().unbind()));
    }
    let scheme = sketch.getattr_opt(pyo3::intern!(py, "scheme"))?;
    Ok(scheme.filter(|scheme| !scheme.is_none()).map(Bound::unbind))
}

/// Refuses a sketch of another scheme than the index knows: hash values do not tell it, and answers would be wrong.
pub(super) fn refuse_other_scheme(
    py: Python<'_>,
    known: Option<&Py<PyAny>>,
    scheme: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let (Some(known), Some(scheme)) = (known, scheme) else { return Ok(()) };
    let (known, scheme) = (known.bind(py), scheme.bind(py));
    if scheme.is(known) || scheme.eq(known)? {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "the MinHash has the scheme {}, but this index holds {}; sketches of different schemes cannot be compared, so make \
         them all with one",
        scheme.repr()?,
        known.repr()?
    )))
}

/// How many hash values a sketch has.
pub(super) fn length_of(sketch: &Bound<'_, PyAny>) -> PyResult<usize> {
    match sketch.cast::<MinHashState>() {
        Ok(state) => MinHashState::length(state),
        Err(_) => sketch.len(),
    }
}
