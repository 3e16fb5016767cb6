//! From elements of Python to hashes: without Python where the hash function is known and the element is bytes, else by
//! calling what the user gave.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList};

use super::byte_elements::{ByteElements, Sequence, bytes_of};
use super::hashing::Known;
use super::scheme::{Numbers, Permutations, Scheme};

/// Elements that are hashed and permuted at a time, so that a long iterator is never held as a whole.
const AT_ONCE: usize = 4096;
/// Elements of a list that are hashed where they are at a time.
pub(super) const IN_PLACE: usize = 256;
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
            && let Some(bytes) = bytes_of(element)
        {
            return fitting(scheme, known.hash(bytes));
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
        let py = elements.py();
        let mut lowering = Lowering { hash: self, permutations, bytes: ByteElements::default(), lowered: None };
        let Some(known) = self.known else {
            lowering.by_each(py, elements.try_iter()?)?;
            return Ok(lowering.lowered);
        };
        if let Some((numbers, size)) = numbers_of_array(elements)? {
            lowering.bytes = ByteElements::of_width(numbers.as_bytes(), size);
            lowering.by_bytes(py, known)?;
            return Ok(lowering.lowered);
        }
        let mut taken = 0;
        if let Some(sequence) = Sequence::of(elements) {
            // Most sets are small, and xxHash is quick: those are hashed where they are, the others without Python.
            loop {
                let is_in_place = taken == 0 || known.is_quick();
                let some = if is_in_place {
                    lowering.in_place(known, &sequence, taken)?
                } else {
                    let some = lowering.bytes.take(&sequence, taken..taken + AT_ONCE);
                    lowering.by_bytes(py, known)?;
                    some
                };
                taken += some;
                if some < if is_in_place { IN_PLACE } else { AT_ONCE } {
                    break;
                }
            }
            if taken >= sequence.len() {
                return Ok(lowering.lowered);
            }
        }
        lowering.by_each(py, elements.try_iter()?.skip(taken))?;
        Ok(lowering.lowered)
    }
}

/// The hashes of the next elements of a sequence, but only up to the first that is not bytes, and of no more than there is room for.
pub(super) fn hash_in_place<'a>(
    known: Known,
    scheme: Scheme,
    sequence: &Sequence<'_, '_>,
    from: usize,
    room: &'a mut [u64; IN_PLACE],
) -> PyResult<&'a [u64]> {
    let mut all = room.iter_mut();
    let taken = sequence.visit_bytes(from..from + IN_PLACE, |element| {
        if let Some(hash) = all.next() {
            *hash = known.hash(element);
        }
    });
    let hashes = &room[..taken];
    // All bits of all hashes tell at once whether one of them is too wide.
    if fitting(scheme, hashes.iter().fold(0, |all, hash| all | hash)).is_err() {
        hashes.iter().try_for_each(|hash| fitting(scheme, *hash).map(drop))?;
    }
    Ok(hashes)
}

/// Elements on their way into slots.
struct Lowering<'a> {
    hash: &'a HashFunction,
    permutations: &'a Permutations,
    bytes: ByteElements,
    lowered: Option<Numbers>,
}

impl Lowering<'_> {
    /// Takes the next elements of a sequence, but only up to the first that is not bytes, and tells how many.
    fn in_place(&mut self, known: Known, sequence: &Sequence<'_, '_>, from: usize) -> PyResult<usize> {
        let mut room = [0; IN_PLACE];
        let hashes = hash_in_place(known, self.permutations.scheme(), sequence, from, &mut room)?;
        if !hashes.is_empty() {
            self.permutations.lower(hashes, self.slots());
        }
        Ok(hashes.len())
    }

    /// Takes the elements one at a time. Bytes are only gathered, if it is known how to hash them.
    fn by_each<'py>(
        &mut self,
        py: Python<'py>,
        elements: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<()> {
        let mut hashes = Vec::new();
        for element in elements {
            let element = element?;
            match (self.hash.known, bytes_of(&element)) {
                (Some(known), Some(bytes)) => {
                    self.bytes.push(bytes);
                    if self.bytes.len() == AT_ONCE {
                        self.by_bytes(py, known)?;
                    }
                }
                _ => {
                    hashes.push(self.hash.hash(self.permutations.scheme(), &element)?);
                    if hashes.len() == AT_ONCE {
                        self.permutations.lower(&hashes, self.slots());
                        hashes.clear();
                    }
                }
            }
        }
        if !hashes.is_empty() {
            self.permutations.lower(&hashes, self.slots());
        }
        match self.hash.known {
            Some(known) => self.by_bytes(py, known),
            None => Ok(()),
        }
    }

    /// Hashes and permutes what was gathered, without Python if it takes long.
    fn by_bytes(&mut self, py: Python<'_>, known: Known) -> PyResult<()> {
        if self.bytes.len() == 0 {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        // A permuted hash costs about as much as a byte for each sixteen slots.
        let work = bytes.total() + bytes.len() * self.permutations.len() / 16;
        let permutations = self.permutations;
        let slots = self.slots();
        let done = if work > WORTH_STEPPING_ASIDE {
            py.detach(|| lower_alone(known, permutations, bytes.range(0..bytes.len()), slots))
        } else {
            lower_alone(known, permutations, bytes.range(0..bytes.len()), slots)
        };
        self.bytes = bytes;
        self.bytes.truncate(0);
        done
    }

    fn slots(&mut self) -> &mut Numbers {
        let permutations = self.permutations;
        self.lowered.get_or_insert_with(|| Numbers::empty(permutations.scheme(), permutations.len()))
    }
}

/// Hashes and permutes; needs nothing of Python.
pub(super) fn lower_alone<'a>(
    known: Known,
    permutations: &Permutations,
    elements: impl Iterator<Item = &'a [u8]>,
    slots: &mut Numbers,
) -> PyResult<()> {
    const BLOCK: usize = 128;
    let mut hashes = [0; BLOCK];
    let mut filled = 0;
    for element in elements {
        hashes[filled] = fitting(permutations.scheme(), known.hash(element))?;
        filled += 1;
        if filled == BLOCK {
            permutations.lower(&hashes, slots);
            filled = 0;
        }
    }
    permutations.lower(&hashes[..filled], slots);
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
