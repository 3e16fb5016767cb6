//! The engine's refusals as Python exceptions: one class a kind, all under `lookalike.Error`.

use lookalike::ErrorKind;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The Python class of each kind. The classes are written in Python, where they can have two parents.
fn class_name(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Setting => "SettingError",
        ErrorKind::Unavailable => "UnavailableError",
        ErrorKind::TooLarge => "TooLargeError",
        ErrorKind::Work => "WorkError",
        ErrorKind::Memory => "MemoryLimitError",
        ErrorKind::Supply => "SupplyError",
        ErrorKind::Changed => "ChangedError",
        ErrorKind::Index => "IndexFileError",
        ErrorKind::Locked => "LockedError",
        _ => return None,
    })
}

/// The exception for an error of the engine.
pub(crate) fn raise(py: Python<'_>, error: &lookalike::Error) -> PyErr {
    if error.kind() == ErrorKind::Cancelled {
        return PyKeyboardInterrupt::new_err(());
    }
    new(py, class_name(error.kind()).unwrap_or("Error"), &error.to_string())
}

/// An exception of a class of the package.
fn new(py: Python<'_>, class: &str, message: &str) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("lookalike._errors").map(Bound::unbind));
    let class = module.and_then(|module| module.bind(py).getattr(class)?.cast_into::<PyType>().map_err(PyErr::from));
    match class {
        Ok(class) => PyErr::from_type(class, message.to_string()),
        Err(_) => PyRuntimeError::new_err(message.to_string()),
    }
}

/// Results of the engine as results of Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for lookalike::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

/// The exception for a setting that is not understood.
pub(crate) fn setting(py: Python<'_>, message: &str) -> PyErr {
    new(py, "SettingError", message)
}

/// The exception for an index that somebody else has.
pub(crate) fn locked(py: Python<'_>, message: &str) -> PyErr {
    new(py, "LockedError", message)
}
