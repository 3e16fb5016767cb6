//! The hash values of a sketch as bytes, whoever made it: what indexes cut into bands.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::minhash::MinHashState;

/// How the bytes of hash values are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of one hash value: 4 or 8, or 16 for the two numbers of a weighted one.
    pub(super) value: usize,
    /// Bytes of one number.
    pub(super) number: usize,
}

impl Layout {
    /// Turns the bytes of each number around: datasketch's buckets are called by such bytes.
    pub(super) fn swapped(self, bytes: &[u8]) -> Vec<u8> {
        let mut swapped = bytes.to_vec();
        swapped.chunks_exact_mut(self.number).for_each(<[u8]>::reverse);
        swapped
    }
}

/// The hash values of one sketch.
pub(super) struct Signature {
    pub(super) bytes: Vec<u8>,
    pub(super) layout: Layout,
}

impl Signature {
    /// The hash values of a MinHash of this package or datasketch's, lean or weighted or not.
    pub(super) fn of(sketch: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(sketch) = sketch.cast::<MinHashState>() {
            let numbers = MinHashState::numbers(sketch)?;
            let width = numbers.width();
            return Ok(Self { bytes: numbers.bytes().to_vec(), layout: Layout { value: width, number: width } });
        }
        let py = sketch.py();
        let values = sketch.getattr(pyo3::intern!(py, "hashvalues"))?;
        let length = values.len()?;
        let number = values.getattr(pyo3::intern!(py, "itemsize"))?.extract()?;
        let bytes = values.call_method0(pyo3::intern!(py, "tobytes"))?.cast_into::<PyBytes>()?;
        let bytes = bytes.as_bytes().to_vec();
        if length == 0 || number == 0 || !bytes.len().is_multiple_of(length * number) {
            return Err(PyValueError::new_err(
                "a sketch without hash values cannot be put into an index or looked for",
            ));
        }
        Ok(Self { layout: Layout { value: bytes.len() / length, number }, bytes })
    }
}
