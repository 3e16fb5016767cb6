//! The permutation schemes of datasketch 2, and permutations of one of them.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use super::kernel;

/// How a hash becomes one value for each slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// `a * h + b` in 32 bits.
    Affine32,
    /// `a * h + b` in 64 bits.
    Affine64,
    /// What datasketch did before version 2.
    Legacy,
}

impl Scheme {
    pub(super) fn named(name: &str) -> PyResult<Self> {
        match name {
            "affine32" => Ok(Self::Affine32),
            "affine64" => Ok(Self::Affine64),
            "legacy" => Ok(Self::Legacy),
            _ => Err(PyValueError::new_err(format!("scheme must be one of affine32, affine64, legacy, got '{name}'"))),
        }
    }

    /// The name, the same object each time.
    pub(super) fn name(self, py: Python<'_>) -> &Bound<'_, PyString> {
        match self {
            Self::Affine32 => pyo3::intern!(py, "affine32"),
            Self::Affine64 => pyo3::intern!(py, "affine64"),
            Self::Legacy => pyo3::intern!(py, "legacy"),
        }
    }

    /// Whether values are kept in 32 bits.
    pub(super) fn is_narrow(self) -> bool {
        self == Self::Affine32
    }

    /// The value of a slot that no element has lowered.
    pub(super) fn greatest(self) -> u64 {
        match self {
            Self::Affine32 | Self::Legacy => u64::from(u32::MAX),
            Self::Affine64 => u64::MAX,
        }
    }
}

/// Numbers in the width of a scheme.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    /// For the scheme "affine32".
    Narrow(Vec<u32>),
    /// For the others.
    Wide(Vec<u64>),
}

impl Numbers {
    /// What no element has lowered yet.
    pub(super) fn empty(scheme: Scheme, length: usize) -> Self {
        if scheme.is_narrow() {
            Self::Narrow(vec![u32::MAX; length])
        } else {
            Self::Wide(vec![scheme.greatest(); length])
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    /// Bytes of one number.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Narrow(_) => size_of::<u32>(),
            Self::Wide(_) => size_of::<u64>(),
        }
    }

    /// Makes each number the lesser of two.
    pub(super) fn lower_to(&mut self, other: &Self) {
        match (self, other) {
            (Self::Narrow(own), Self::Narrow(other)) => lower_each(own, other),
            (Self::Wide(own), Self::Wide(other)) => lower_each(own, other),
            _ => unreachable!("numbers of one scheme have one width"),
        }
    }

    /// How many numbers are equal to their counterparts.
    pub(super) fn agreeing(&self, other: &Self) -> usize {
        match (self, other) {
            (Self::Narrow(own), Self::Narrow(other)) => count_equal(own, other),
            (Self::Wide(own), Self::Wide(other)) => count_equal(own, other),
            _ => 0,
        }
    }

    /// Their bytes, as they are in memory.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Narrow(numbers) => bytemuck::cast_slice(numbers),
            Self::Wide(numbers) => bytemuck::cast_slice(numbers),
        }
    }

    /// An array of numpy that takes their memory over.
    pub(super) fn into_array(self, py: Python<'_>) -> Bound<'_, PyAny> {
        match self {
            Self::Narrow(numbers) => PyArray1::from_vec(py, numbers).into_any(),
            Self::Wide(numbers) => PyArray1::from_vec(py, numbers).into_any(),
        }
    }

    /// The numbers of anything that numpy makes an array of; an array of the right type is only copied.
    pub(super) fn from_python(scheme: Scheme, numbers: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(copied) = Self::copy_of_array(scheme, numbers) {
            return Ok(copied);
        }
        let py = numbers.py();
        static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let as_array = AS_ARRAY.import(py, "numpy", "ascontiguousarray")?;
        let options = PyDict::new(py);
        options.set_item("dtype", if scheme.is_narrow() { "uint32" } else { "uint64" })?;
        let array = as_array.call((numbers,), Some(&options))?;
        Self::copy_of_array(scheme, &array)
            .ok_or_else(|| PyValueError::new_err("hash values and permutation parameters must be one-dimensional"))
    }

    fn copy_of_array(scheme: Scheme, array: &Bound<'_, PyAny>) -> Option<Self> {
        if scheme.is_narrow() {
            array.cast::<PyArray1<u32>>().ok()?.to_vec().ok().map(Self::Narrow)
        } else {
            array.cast::<PyArray1<u64>>().ok()?.to_vec().ok().map(Self::Wide)
        }
    }
}

fn lower_each<T: Copy + Ord>(own: &mut [T], other: &[T]) {
    own.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).min(*other));
}

fn count_equal<T: PartialEq>(own: &[T], other: &[T]) -> usize {
    own.iter().zip(other).filter(|(own, other)| own == other).count()
}

/// The parameters of all permutations, drawn once and shared by all sketches that use them.
#[pyclass(module = "lookalike._native", name = "Permutations", frozen)]
pub(crate) struct Permutations {
    scheme: Scheme,
    multipliers: Numbers,
    addends: Numbers,
    /// As Python gave them, and sees them.
    given: Py<PyAny>,
}

#[pymethods]
impl Permutations {
    /// Takes two rows of numbers: the multipliers and the addends.
    #[new]
    pub(super) fn new(scheme: &str, given: Bound<'_, PyAny>) -> PyResult<Self> {
        let scheme = Scheme::named(scheme)?;
        let multipliers = Numbers::from_python(scheme, &given.get_item(0)?)?;
        let addends = Numbers::from_python(scheme, &given.get_item(1)?)?;
        if multipliers.len() != addends.len() {
            return Err(PyValueError::new_err("there must be as many multipliers as addends in `permutations`"));
        }
        Ok(Self { scheme, multipliers, addends, given: given.unbind() })
    }

    /// As they were given.
    #[getter]
    pub(super) fn given(&self, py: Python<'_>) -> Py<PyAny> {
        self.given.clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.multipliers.len()
    }
}

impl Permutations {
    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(super) fn len(&self) -> usize {
        self.multipliers.len()
    }

    /// Lowers the slots by some hashes, which must fit into the scheme's width.
    #[inline]
    pub(super) fn lower(&self, hashes: &[u64], slots: &mut Numbers) {
        match (&self.multipliers, &self.addends, slots) {
            (Numbers::Narrow(multipliers), Numbers::Narrow(addends), Numbers::Narrow(slots)) => {
                kernel::affine32_kernel::fastest()(hashes, multipliers, addends, slots);
            }
            (Numbers::Wide(multipliers), Numbers::Wide(addends), Numbers::Wide(slots)) => {
                let lower = match self.scheme {
                    Scheme::Legacy => kernel::legacy_kernel::fastest(),
                    _ => kernel::affine64_kernel::fastest(),
                };
                lower(hashes, multipliers, addends, slots);
            }
            _ => unreachable!("numbers of one scheme have one width"),
        }
    }
}
