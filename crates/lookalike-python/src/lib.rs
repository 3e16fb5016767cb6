//! The Python module `lookalike._native`: glue around the engine and the program. What it does not have, the Python package
//! around it does not need from Rust.

mod compare;
mod contents;
mod datasketch;
mod decides;
mod errors;
mod index;
mod outcome;
mod plan;
mod program;
mod stages;
mod table;
mod watching;

use pyo3::prelude::*;

/// What the Python package is built on. Import `lookalike` instead.
// Lists are read in place, which nobody else may change meanwhile.
#[pymodule(gil_used = true)]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    plan::register(module)?;
    compare::register(module)?;
    outcome::register(module)?;
    index::register(module)?;
    stages::register(module)?;
    table::register(module)?;
    datasketch::register(module)?;
    program::register(module)
}
