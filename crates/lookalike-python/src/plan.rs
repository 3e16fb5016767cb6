//! Plans: settings checked and resolved.

use lookalike::{Method, Scheme, Settings};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::errors::OrRaise;

/// Settings, checked and resolved: what a run will do.
#[pyclass(module = "lookalike._native", name = "Plan", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct Plan(pub(crate) lookalike::Plan);

/// What is wrong; where in the JSON, which nobody has seen, is left out.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].into()
}

#[pymethods]
impl Plan {
    /// The plan of settings, given as JSON.
    #[new]
    fn new(py: Python<'_>, settings: &str) -> PyResult<Self> {
        let settings: Settings =
            serde_json::from_str(settings).map_err(|error| crate::errors::setting(py, &without_place(&error)))?;
        Ok(Self(settings.plan().or_raise(py)?))
    }

    /// The probability with which a pair of this similarity is found.
    fn finds(&self, similarity: f64) -> f64 {
        self.0.finds(similarity)
    }

    /// The settings, as JSON.
    #[getter]
    fn settings(&self) -> String {
        serde_json::to_string(self.0.settings()).unwrap_or_default()
    }

    /// How alike two records must be.
    #[getter]
    fn threshold(&self) -> f64 {
        self.0.settings().threshold
    }

    /// What tells this plan's sketches from others.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint()
    }

    /// How many MinHash values a record gets; none without sketches.
    #[getter]
    fn hashes(&self) -> Option<u32> {
        self.scheme().map(|scheme| scheme.slots)
    }

    /// The banding; none without sketches.
    #[getter]
    fn bands(&self) -> Option<String> {
        self.scheme().map(|scheme| scheme.bands.to_string())
    }

    /// Which members of a bucket are compared: up to so many classes, every pair; above that, each with so many first ones.
    #[getter]
    fn bucket_rule(&self) -> (usize, usize) {
        let rule = self.0.bucket_rule();
        (rule.every_pair_up_to, rule.first)
    }

    fn __repr__(&self) -> String {
        format!("Plan({:?})", self.settings())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().settings(),))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}

impl Plan {
    fn scheme(&self) -> Option<Scheme> {
        match self.0.method() {
            Method::Sketches(scheme) => Some(scheme),
            _ => None,
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Plan>()
}
