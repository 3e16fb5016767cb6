//! The program, carried by the package.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Does what the program `lookalike` does with these arguments, and returns its exit status.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| lookalike_cli::run(std::iter::once(OsString::from("lookalike")).chain(arguments)))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_program, module)?)
}
