//! Bands that are called by what a function of the user makes of their bytes. The names are numbered, and the tables of an
//! index hold the numbers.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::signature::Signature;

/// Values of all bands as they are in the tables, and which of the bands can have a bucket at all.
pub(super) struct Bands {
    pub(super) bytes: Vec<u8>,
    /// Nothing if all can.
    pub(super) known: Option<Vec<bool>>,
}

/// The function, and the names that it has given so far.
pub(super) struct Compression {
    function: Py<PyAny>,
    numbers: Py<PyDict>,
    names: Py<PyList>,
}

impl Compression {
    /// Bytes of a number.
    pub(super) const WIDTH: usize = size_of::<u32>();

    pub(super) fn new(py: Python<'_>, function: Py<PyAny>) -> Self {
        Self { function, numbers: PyDict::new(py).unbind(), names: PyList::empty(py).unbind() }
    }

    /// The same function and names; an index is not borrowed while the function is called.
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            function: self.function.clone_ref(py),
            numbers: self.numbers.clone_ref(py),
            names: self.names.clone_ref(py),
        }
    }

    /// All names, by number.
    pub(super) fn names(&self, py: Python<'_>) -> Py<PyList> {
        self.names.clone_ref(py)
    }

    /// The name with a number, given as bytes.
    pub(super) fn name<'py>(&self, py: Python<'py>, number: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let number = number.try_into().map(u32::from_ne_bytes).unwrap_or_default();
        self.names.bind(py).get_item(number as usize)
    }

    /// The number of a name, if it has one.
    pub(super) fn number(&self, name: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        self.numbers.bind(name.py()).get_item(name)?.map(|number| number.extract()).transpose()
    }

    /// The number of a name, which is given one if it has none.
    fn number_or_add(&self, name: &Bound<'_, PyAny>) -> PyResult<u32> {
        if let Some(number) = self.number(name)? {
            return Ok(number);
        }
        let names = self.names.bind(name.py());
        let number = u32::try_from(names.len())?;
        self.numbers.bind(name.py()).set_item(name, number)?;
        names.append(name)?;
        Ok(number)
    }

    /// The numbers of the bands of a sketch. New names are given numbers only if that is wanted.
    pub(super) fn compress(
        &self,
        py: Python<'_>,
        signature: &Signature,
        bands: usize,
        rows: usize,
        adds: bool,
    ) -> PyResult<Bands> {
        let band_bytes = rows * signature.layout.value;
        let (mut bytes, mut known) = (Vec::with_capacity(bands * Self::WIDTH), Vec::with_capacity(bands));
        for band in signature.bytes.chunks_exact(band_bytes).take(bands) {
            let values = PyBytes::new(py, &signature.layout.swapped(band));
            let name = self.function.bind(py).call1((values,))?;
            let number = if adds { Some(self.number_or_add(&name)?) } else { self.number(&name)? };
            known.push(number.is_some());
            bytes.extend_from_slice(&number.unwrap_or_default().to_ne_bytes());
        }
        Ok(Bands { bytes, known: Some(known) })
    }

    /// The numbers that another index's names have here.
    pub(super) fn translate(&self, others: &Bound<'_, PyList>) -> PyResult<Vec<u32>> {
        others.iter().map(|name| self.number_or_add(&name)).collect()
    }
}
