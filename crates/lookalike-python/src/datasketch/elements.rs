//! From elements of Python to hashes: without Python where the hash function is known and the element is bytes, else by
//! calling what the user gave.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyTuple};

use super::hashing::Known;
use super::scheme::{Numbers, Permutations, Scheme};

/// Elements that are hashed and permuted at a time, so that a long iterator is never held as a whole.
const AT_ONCE: usize = 4096;
/// So many are hashed as they come, before.
const FIRST: usize = 512;
/// More bytes than this are hashed while other threads of Python may run; for less, stepping aside costs more than it gives.
const WORTH_STEPPING_ASIDE: usize = 1 << 15;

/// The hash function of a sketch.
pub(super) struct HashFunction {
    /// What it computes, if that is known here.
    pub(super) known: Option<Known>,
    /// As Python gave it.
    pub(super) callable: Py<PyAny>,
}

impl HashFunction {
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { known: self.known, callable: self.callable.clone_ref(py) }
    }

    /// The hash of one element, as a number that fits into the scheme.
    pub(super) fn hash(&self, scheme: Scheme, element: &Bound<'_, PyAny>) -> PyResult<u64> {
        if let Some(known) = self.known
            && let Ok(bytes) = element.cast_exact::<PyBytes>()
        {
            return fitting(scheme, known.hash(bytes.as_bytes()));
        }
        let hash = self.callable.bind(element.py()).call1((element,))?;
        match hash.cast_exact::<PyInt>().map(|number| number.extract::<u64>()) {
            Ok(Ok(number)) if !scheme.is_narrow() || number <= u64::from(u32::MAX) => Ok(number),
            _ => converted(scheme, &hash),
        }
    }

    /// What all elements together make of slots that were empty; nothing if there are no elements.
    pub(super) fn lower_by_all(
        &self,
        permutations: &Permutations,
        elements: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Numbers>> {
        if let (Some(known), Some((bytes, size))) = (self.known, numbers_of_array(elements)?) {
            let mut lowered = Numbers::empty(permutations.scheme(), permutations.len());
            let elements: Vec<&[u8]> = bytes.as_bytes().chunks_exact(size).collect();
            lower_by_bytes(bytes.py(), known, permutations, &elements, &mut lowered)?;
            return Ok((!elements.is_empty()).then_some(lowered));
        }
        if let Ok(list) = elements.cast_exact::<PyList>() {
            self.lower_by_each(permutations, elements.py(), list.iter().map(Ok))
        } else if let Ok(tuple) = elements.cast_exact::<PyTuple>() {
            self.lower_by_each(permutations, elements.py(), tuple.iter().map(Ok))
        } else {
            self.lower_by_each(permutations, elements.py(), elements.try_iter()?)
        }
    }

    fn lower_by_each<'py>(
        &self,
        permutations: &Permutations,
        py: Python<'py>,
        mut elements: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Option<Numbers>> {
        let mut lowered: Option<Numbers> = None;
        let mut some: Vec<Bound<'py, PyAny>> = Vec::new();
        let mut hashes: Vec<u64> = Vec::with_capacity(elements.size_hint().0.min(FIRST));
        // The first are hashed as they come, and most sets have no more. Those after them are taken first, so that they can be
        // hashed without Python; a known function has no side effects that would tell.
        let mut takes_first = false;
        loop {
            some.clear();
            hashes.clear();
            if takes_first {
                for element in elements.by_ref().take(AT_ONCE) {
                    some.push(element?);
                }
            } else {
                for element in elements.by_ref().take(FIRST) {
                    let element = element?;
                    let hash = match (self.known, element.cast_exact::<PyBytes>()) {
                        (Some(known), Ok(bytes)) => known.hash(bytes.as_bytes()),
                        _ => self.hash(permutations.scheme(), &element)?,
                    };
                    hashes.push(hash);
                }
                hashes.iter().try_for_each(|hash| fitting(permutations.scheme(), *hash).map(drop))?;
            }
            takes_first = self.known.is_some();
            if some.is_empty() && hashes.is_empty() {
                return Ok(lowered);
            }
            let slots = lowered.get_or_insert_with(|| Numbers::empty(permutations.scheme(), permutations.len()));
            let slices = self.known.and_then(|known| Some((known, all_bytes(&some)?)));
            if let Some((known, slices)) = slices.filter(|(_, slices)| !slices.is_empty()) {
                lower_by_bytes(py, known, permutations, &slices, slots)?;
                continue;
            }
            for element in &some {
                hashes.push(self.hash(permutations.scheme(), element)?);
            }
            permutations.lower(&hashes, slots);
        }
    }
}

/// The bytes of all elements, if all are bytes.
pub(super) fn all_bytes<'a>(elements: &'a [Bound<'_, PyAny>]) -> Option<Vec<&'a [u8]>> {
    elements.iter().map(|element| element.cast_exact::<PyBytes>().ok().map(|bytes| bytes.as_bytes())).collect()
}

/// Hashes and permutes, without Python if it takes long.
fn lower_by_bytes(
    py: Python<'_>,
    known: Known,
    permutations: &Permutations,
    elements: &[&[u8]],
    slots: &mut Numbers,
) -> PyResult<()> {
    let bytes: usize = elements.iter().map(|element| element.len()).sum();
    // A permuted hash costs about as much as a byte for each sixteen slots.
    let work = bytes + elements.len() * permutations.len() / 16;
    if work > WORTH_STEPPING_ASIDE {
        py.detach(|| lower_alone(known, permutations, elements, slots))
    } else {
        lower_alone(known, permutations, elements, slots)
    }
}

/// Hashes and permutes; needs nothing of Python.
pub(super) fn lower_alone(
    known: Known,
    permutations: &Permutations,
    elements: &[&[u8]],
    slots: &mut Numbers,
) -> PyResult<()> {
    const BLOCK: usize = 128;
    let mut hashes = [0; BLOCK];
    for elements in elements.chunks(BLOCK) {
        let hashes = &mut hashes[..elements.len()];
        for (hash, element) in hashes.iter_mut().zip(elements) {
            *hash = fitting(permutations.scheme(), known.hash(element))?;
        }
        permutations.lower(hashes, slots);
    }
    Ok(())
}

/// The bytes of each number of a one-dimensional array, and how many each has: hashing an element of such an array, Python
/// would hash just these.
fn numbers_of_array<'py>(elements: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyBytes>, usize)>> {
    use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
    if elements.is_exact_instance_of::<PyList>() {
        return Ok(None);
    }
    let Ok(array) = elements.cast_exact::<PyUntypedArray>() else { return Ok(None) };
    let descriptor = array.dtype();
    let (kind, size) = (descriptor.kind(), descriptor.itemsize());
    let is_plain = matches!(kind, b'i' | b'u' | b'f') && (1..=8).contains(&size);
    if array.ndim() != 1 || !is_plain || descriptor.is_native_byteorder() == Some(false) {
        return Ok(None);
    }
    let bytes = elements.call_method0(pyo3::intern!(elements.py(), "tobytes"))?;
    Ok(Some((bytes.cast_into::<PyBytes>()?, size)))
}

/// Refuses a hash that is too wide for the scheme.
#[inline(always)]
fn fitting(scheme: Scheme, hash: u64) -> PyResult<u64> {
    if scheme.is_narrow() && hash > u64::from(u32::MAX) { Err(too_wide(&hash.to_string())) } else { Ok(hash) }
}

#[cold]
fn too_wide(hash: &str) -> PyErr {
    PyValueError::new_err(format!(
        "the hash function gave {hash}, which does not fit into the 32 bits of the scheme 'affine32'; take a hash function of \
         32 bits, or scheme='affine64'"
    ))
}

/// What numpy makes of a hash that is no plain integer in range, or its refusal.
fn converted(scheme: Scheme, hash: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = hash.py();
    static ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let options = PyDict::new(py);
    options.set_item("dtype", if scheme.is_narrow() { "uint32" } else { "uint64" })?;
    let hashes = PyList::new(py, [hash])?;
    match ARRAY.import(py, "numpy", "array")?.call((hashes,), Some(&options)) {
        Ok(array) => array.call_method1("item", (0,))?.extract(),
        Err(error) if scheme != Scheme::Legacy && error.is_instance_of::<PyOverflowError>(py) => {
            let refusal = if scheme.is_narrow() {
                too_wide(&hash.repr()?.to_string())
            } else {
                PyValueError::new_err(format!(
                    "the hash function gave {}, which is no number of 64 bits without a sign",
                    hash.repr()?
                ))
            };
            refusal.set_cause(py, Some(error));
            Err(refusal)
        }
        Err(error) => Err(error),
    }
}
