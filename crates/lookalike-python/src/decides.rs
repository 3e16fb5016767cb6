//! What decides about records beside what they are made of: by which value one is kept, and which value records must share.

use lookalike::{Content, Held, KeepValue, hash_item};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};

use crate::contents::text_of;

/// Stands for a missing value of what records must share: it is a value of its own, which no text hashes to but by chance.
pub(crate) const NO_VALUE: u64 = 0x6e6f_7661_6c75_6521;

/// What decides about records beside what they are made of.
pub(crate) struct Decides {
    keep: Vec<KeepValue>,
    within: Vec<u64>,
}

impl Decides {
    pub(crate) fn of(
        keep: Option<&Bound<'_, PyAny>>,
        within: Option<&Bound<'_, PyAny>>,
        records: usize,
    ) -> PyResult<Self> {
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

    pub(crate) fn held<'a>(&'a self, contents: &'a [Content<'a>]) -> Held<'a> {
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
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(hash_item(text_of("a value of within", text)?.as_bytes()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(hash_item(value.str()?.to_str()?.as_bytes()));
    }
    match plain(value, "shared")?.cast::<PyString>() {
        Ok(text) => Ok(hash_item(text_of("a value of within", text)?.as_bytes())),
        Err(_) => Ok(NO_VALUE),
    }
}

fn keep_value(value: &Bound<'_, PyAny>) -> PyResult<KeepValue> {
    match plain_keep_value(value)? {
        Some(found) => Ok(found),
        None => Ok(plain_keep_value(&plain(value, "ordered")?)?.unwrap_or_default()),
    }
}

/// The value of what Python itself has for texts and numbers.
fn plain_keep_value(value: &Bound<'_, PyAny>) -> PyResult<Option<KeepValue>> {
    if value.is_none() {
        return Ok(Some(KeepValue::Missing));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(KeepValue::Text(text_of("a value of keep", text)?.into())));
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        return Ok(Some(if number.is_nan() { KeepValue::Missing } else { KeepValue::Number(number) }));
    }
    if value.is_instance_of::<PyInt>() {
        let written = value.str()?;
        return Ok(Some(match written.to_str()? {
            "False" => KeepValue::from_integer(0),
            "True" => KeepValue::from_integer(1),
            number => KeepValue::parse_number(number).unwrap_or_default(),
        }));
    }
    Ok(None)
}

/// A value of another kind, such as a time, as one that Python itself has; the package knows how.
fn plain<'py>(value: &Bound<'py, PyAny>, how: &str) -> PyResult<Bound<'py, PyAny>> {
    value.py().import("lookalike._values")?.call_method1(how, (value,))
}
