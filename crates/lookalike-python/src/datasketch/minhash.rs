//! The state of a MinHash, and what changes it. The Python class `MinHash` is derived from it, and adds arguments, checks
//! and pickling.

use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use super::byte_elements::Sequence;
use super::elements::{HashFunction, IN_PLACE, hash_in_place};
use super::hashing::Known;
use super::scheme::{Numbers, Permutations, Scheme};

/// The hash values, and who has seen them.
pub(super) enum Values {
    /// Only this sketch has them.
    Own(Numbers),
    /// Python has the array, and may change it: the array is what counts. An update leaves the array alone and goes on
    /// with numbers of its own, as datasketch does.
    Shown(Py<PyAny>),
}

/// What a MinHash consists of. An attribute that was never set is missing, as in Python.
#[pyclass(module = "lookalike._native", name = "MinHashState", subclass)]
pub(crate) struct MinHashState {
    pub(super) scheme: Scheme,
    pub(super) values: Values,
    pub(super) permutations: Option<Py<Permutations>>,
    pub(super) hash: Option<HashFunction>,
    seed: Option<Py<PyAny>>,
    num_perm: Option<Py<PyAny>>,
    gpu_mode: Option<Py<PyAny>>,
}

#[pymethods]
impl MinHashState {
    /// Empty; the Python class fills it in.
    #[new]
    #[pyo3(signature = (*_arguments, **_options))]
    fn new(_arguments: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            scheme: Scheme::Affine32,
            values: Values::Own(Numbers::Narrow(Vec::new())),
            permutations: None,
            hash: None,
            seed: None,
            num_perm: None,
            gpu_mode: None,
        }
    }

    /// Sets everything at once. Without hash values, the sketch is empty.
    #[allow(clippy::too_many_arguments)]
    fn _prepare(
        &mut self,
        scheme: &str,
        seed: Py<PyAny>,
        num_perm: Py<PyAny>,
        gpu_mode: Py<PyAny>,
        hashfunc: Py<PyAny>,
        known: Option<&str>,
        hashvalues: Option<Py<PyAny>>,
        permutations: Py<Permutations>,
    ) -> PyResult<()> {
        self.scheme = Scheme::named(scheme)?;
        self.values = match hashvalues {
            Some(array) => Values::Shown(array),
            None => Values::Own(Numbers::empty(self.scheme, permutations.get().len())),
        };
        self.hash = Some(HashFunction { known: known.and_then(Known::named), callable: hashfunc });
        self.permutations = Some(permutations);
        (self.seed, self.num_perm, self.gpu_mode) = (Some(seed), Some(num_perm), Some(gpu_mode));
        Ok(())
    }

    /// Sets what a sketch without permutations has.
    fn _prepare_lean(&mut self, scheme: &str, seed: Py<PyAny>, hashvalues: Py<PyAny>) -> PyResult<()> {
        self.scheme = Scheme::named(scheme)?;
        (self.seed, self.values) = (Some(seed), Values::Shown(hashvalues));
        Ok(())
    }

    /// A sketch of its own with the same state.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let made = Self::unprepared(CLASS.import(slf.py(), "lookalike.datasketch.minhash", "MinHash")?)?;
        Self::copy_into(slf, &made)?;
        Ok(made)
    }

    /// The least values so far, as an array of numpy.
    #[getter]
    fn hashvalues(&mut self, py: Python<'_>) -> Py<PyAny> {
        if let Values::Own(numbers) = &mut self.values {
            let numbers = std::mem::replace(numbers, Numbers::Narrow(Vec::new()));
            self.values = Values::Shown(numbers.into_array(py).unbind());
        }
        match &self.values {
            Values::Shown(array) => array.clone_ref(py),
            Values::Own(_) => unreachable!("they were just shown"),
        }
    }

    #[setter]
    fn set_hashvalues(&mut self, hashvalues: Py<PyAny>) {
        self.values = Values::Shown(hashvalues);
    }

    /// The parameters of the permutations: an array of two rows.
    #[getter]
    fn permutations(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.permutations.as_ref().map(|own| own.get().given(py)).ok_or_else(|| missing("permutations"))
    }

    #[setter]
    fn set_permutations(&mut self, py: Python<'_>, permutations: Bound<'_, PyAny>) -> PyResult<()> {
        let given = Permutations::new(self.scheme.name(py).to_str()?, permutations)?;
        self.permutations = Some(Py::new(py, given)?);
        Ok(())
    }

    /// The hash function of the elements.
    #[getter]
    fn hashfunc(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.hash.as_ref().map(|hash| hash.callable.clone_ref(py)).ok_or_else(|| missing("hashfunc"))
    }

    #[setter]
    fn set_hashfunc(&mut self, hashfunc: Py<PyAny>) {
        self.hash = Some(HashFunction { known: None, callable: hashfunc });
    }

    /// The permutation scheme: "affine32", "affine64" or "legacy".
    #[getter]
    fn scheme<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.scheme.name(py).clone()
    }

    #[setter]
    fn set_scheme(&mut self, scheme: &str) -> PyResult<()> {
        self.scheme = Scheme::named(scheme)?;
        Ok(())
    }

    /// What the permutations were drawn with.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.seed.as_ref().map(|seed| seed.clone_ref(py)).ok_or_else(|| missing("seed"))
    }

    #[setter]
    fn set_seed(&mut self, seed: Py<PyAny>) {
        self.seed = Some(seed);
    }

    /// How many permutations there are.
    #[getter]
    fn num_perm(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.num_perm.as_ref().map(|number| number.clone_ref(py)).ok_or_else(|| missing("num_perm"))
    }

    #[setter]
    fn set_num_perm(&mut self, number: Py<PyAny>) {
        self.num_perm = Some(number);
    }

    #[getter(_gpu_mode)]
    fn gpu_mode(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.gpu_mode.as_ref().map(|mode| mode.clone_ref(py)).ok_or_else(|| missing("_gpu_mode"))
    }

    #[setter(_gpu_mode)]
    fn set_gpu_mode(&mut self, mode: Py<PyAny>) {
        self.gpu_mode = Some(mode);
    }

    /// Adds an element, hashed by `hashfunc`; the default takes bytes.
    fn update(slf: &Bound<'_, Self>, b: &Bound<'_, PyAny>) -> PyResult<()> {
        let (hash, permutations) = Self::means_of_update(slf)?;
        let permutations = permutations.get();
        let hash = hash.hash(permutations.scheme(), b)?;
        Self::change(slf, permutations.len(), |slots| permutations.lower(&[hash], slots))
    }

    /// Adds many elements: all of them, or none if one cannot be hashed.
    fn update_batch(slf: &Bound<'_, Self>, b: &Bound<'_, PyAny>) -> PyResult<()> {
        if Self::update_by_few(slf, b)? {
            return Ok(());
        }
        let (hash, permutations) = Self::means_of_update(slf)?;
        let permutations = permutations.get();
        match hash.lower_by_all(permutations, b)? {
            None => Ok(()),
            Some(lowered) => {
                Self::refuse_gpu(slf)?;
                Self::change(slf, lowered.len(), |slots| slots.lower_to(&lowered))
            }
        }
    }

    /// Estimates the Jaccard similarity of two sets: the part of the hash values that are equal.
    fn jaccard(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<f64> {
        if let Some(similarity) = Self::jaccard_of_own(slf, other) {
            return Ok(similarity);
        }
        let (own, other) = Self::comparable(slf, other, "compare")?;
        if own.len() == 0 {
            return Err(PyZeroDivisionError::new_err("a MinHash without hash values has no similarity"));
        }
        Ok(own.agreeing(&other) as f64 / own.len() as f64)
    }

    /// Makes this the MinHash of the union of both sets.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let (_, other) = Self::comparable(slf, other, "merge")?;
        Self::change(slf, other.len(), |slots| slots.lower_to(&other))
    }

    /// Whether nothing was added yet.
    fn is_empty(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let (numbers, greatest) = (Self::numbers(slf)?, slf.borrow().scheme.greatest());
        Ok(match numbers {
            Numbers::Narrow(numbers) => numbers.iter().all(|number| u64::from(*number) == greatest),
            Numbers::Wide(numbers) => numbers.iter().all(|number| *number == greatest),
        })
    }

    /// Forgets everything that was added.
    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let length = Self::length(slf)?;
        let mut state = slf.borrow_mut();
        state.values = Values::Own(Numbers::empty(state.scheme, length));
        Ok(())
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Self::length(slf)
    }
}

impl MinHashState {
    /// An object of a class derived from this one, as `__new__` makes it. To look that up and call it takes as long as all the rest of
    /// a copy.
    #[allow(unsafe_code)]
    pub(super) fn unprepared<'py>(class: &Bound<'py, PyType>) -> PyResult<Bound<'py, Self>> {
        let py = class.py();
        let nothing = PyTuple::empty(py);
        // SAFETY: a class derived from one of ours has this slot, which holds a function of this type. It is called as Python
        // calls it, with the class, a tuple and no dictionary, and gives an object that is ours, or raises.
        let made = unsafe {
            let slot = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_new);
            let new = std::mem::transmute::<*mut std::ffi::c_void, ffi::newfunc>(slot);
            Bound::from_owned_ptr_or_err(py, new(class.as_type_ptr(), nothing.as_ptr(), std::ptr::null_mut()))?
        };
        Ok(made.cast_into()?)
    }

    /// Makes another sketch equal to this one, with hash values of its own.
    pub(super) fn copy_into(slf: &Bound<'_, Self>, target: &Bound<'_, Self>) -> PyResult<()> {
        let values = Self::numbers(slf)?;
        let py = slf.py();
        let state = slf.borrow();
        let mut copy = target.borrow_mut();
        copy.scheme = state.scheme;
        copy.values = Values::Own(values);
        copy.permutations = state.permutations.as_ref().map(|permutations| permutations.clone_ref(py));
        copy.hash = state.hash.as_ref().map(|hash| hash.clone_ref(py));
        copy.seed = state.seed.as_ref().map(|seed| seed.clone_ref(py));
        copy.num_perm = state.num_perm.as_ref().map(|number| number.clone_ref(py));
        copy.gpu_mode = state.gpu_mode.as_ref().map(|mode| mode.clone_ref(py));
        Ok(())
    }

    /// The usual case of [`Self::update_batch`], in which nothing needs to be asked of Python or put together before: few elements,
    /// all of them bytes, for a sketch that has its numbers. Tells whether it is that.
    fn update_by_few(slf: &Bound<'_, Self>, elements: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut state = slf.borrow_mut();
        let Self { hash: Some(hash), permutations: Some(permutations), gpu_mode: Some(gpu_mode), values, .. } =
            &mut *state
        else {
            return Ok(false);
        };
        let (Some(known), Values::Own(numbers), permutations) = (hash.known, values, permutations.get()) else {
            return Ok(false);
        };
        let Some(sequence) = Sequence::of(elements).filter(|sequence| sequence.len() <= IN_PLACE) else {
            return Ok(false);
        };
        let has_gpu = !gpu_mode.is(pyo3::intern!(slf.py(), "disable"));
        if has_gpu || numbers.len() != permutations.len() {
            return Ok(false);
        }
        let mut room = [0; IN_PLACE];
        let hashes = hash_in_place(known, permutations.scheme(), &sequence, 0, &mut room)?;
        let are_all = hashes.len() == sequence.len();
        if are_all {
            permutations.lower(hashes, numbers);
        }
        Ok(are_all)
    }

    /// How to hash and permute, held without borrowing the sketch: hashing may call Python, which may ask the sketch.
    pub(super) fn means_of_update(slf: &Bound<'_, Self>) -> PyResult<(HashFunction, Py<Permutations>)> {
        let (py, state) = (slf.py(), slf.borrow());
        let hash = state.hash.as_ref().ok_or_else(|| missing("hashfunc"))?;
        let permutations = state.permutations.as_ref().ok_or_else(|| missing("permutations"))?;
        Ok((hash.clone_ref(py), permutations.clone_ref(py)))
    }

    /// The hash values, copied.
    pub(super) fn numbers(slf: &Bound<'_, Self>) -> PyResult<Numbers> {
        let state = slf.borrow();
        let array = match &state.values {
            Values::Own(numbers) => return Ok(numbers.clone()),
            Values::Shown(array) => array.clone_ref(slf.py()),
        };
        let scheme = state.scheme;
        drop(state);
        Numbers::from_python(scheme, array.bind(slf.py()))
    }

    /// How many hash values there are.
    pub(super) fn length(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let state = slf.borrow();
        let array = match &state.values {
            Values::Own(numbers) => return Ok(numbers.len()),
            Values::Shown(array) => array.clone_ref(slf.py()),
        };
        drop(state);
        array.bind(slf.py()).len()
    }

    /// Changes the hash values, of which there must be so many.
    fn change(slf: &Bound<'_, Self>, length: usize, change: impl FnOnce(&mut Numbers)) -> PyResult<()> {
        if !matches!(slf.borrow().values, Values::Own(_)) {
            let numbers = Self::numbers(slf)?;
            slf.borrow_mut().values = Values::Own(numbers);
        }
        match &mut slf.borrow_mut().values {
            Values::Own(numbers) if numbers.len() == length => change(numbers),
            _ => {
                return Err(PyValueError::new_err(
                    "there are not as many hash values as permutations; `hashvalues` was set to something else",
                ));
            }
        }
        Ok(())
    }

    /// The similarity where nothing needs to be copied or converted: both have their numbers, and the same seed.
    fn jaccard_of_own(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> Option<f64> {
        let (one, two) = (slf.borrow(), other.cast::<Self>().ok()?.borrow());
        let (Values::Own(left), Values::Own(right)) = (&one.values, &two.values) else { return None };
        let has_same_seed = matches!((&one.seed, &two.seed), (Some(own), Some(other)) if own.is(other));
        let is_plain = one.scheme == two.scheme && has_same_seed && left.len() == right.len() && left.len() > 0;
        is_plain.then(|| left.agreeing(right) as f64 / left.len() as f64)
    }

    /// The hash values of both, if they can be compared. The other may be a sketch of datasketch.
    fn comparable(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, verb: &str) -> PyResult<(Numbers, Numbers)> {
        let py = slf.py();
        let refuse = |what: &str| Err(PyValueError::new_err(format!("cannot {verb} MinHash with different {what}")));
        let scheme = slf.borrow().scheme;
        let other_scheme = other.getattr_opt(pyo3::intern!(py, "scheme"))?;
        if !matches!(other_scheme, Some(other) if other.eq(scheme.name(py))?) {
            return refuse("permutation schemes");
        }
        let seed = slf.borrow().seed(py)?;
        let other_seed = other.getattr(pyo3::intern!(py, "seed"))?;
        if !other_seed.is(&seed) && other_seed.ne(seed)? {
            return refuse("seeds");
        }
        let numbers = Self::numbers(slf)?;
        let other = match other.cast::<Self>() {
            Ok(other) => Self::numbers(other)?,
            Err(_) if !other.hasattr(pyo3::intern!(py, "__len__"))? => {
                let kind = other.get_type().name()?;
                return Err(PyTypeError::new_err(format!("cannot {verb} MinHash with an object of type {kind}")));
            }
            Err(_) => Numbers::from_python(scheme, &other.getattr(pyo3::intern!(py, "hashvalues"))?)?,
        };
        if numbers.len() != other.len() {
            return refuse("numbers of permutations");
        }
        Ok((numbers, other))
    }

    /// There is no code for GPUs here: what insists on one is refused.
    fn refuse_gpu(slf: &Bound<'_, Self>) -> PyResult<()> {
        match &slf.borrow().gpu_mode {
            Some(mode) if mode.bind(slf.py()).eq(pyo3::intern!(slf.py(), "always"))? => Err(PyRuntimeError::new_err(
                "gpu_mode='always' asks for a GPU, which is not used here; take 'detect' or 'disable'",
            )),
            _ => Ok(()),
        }
    }
}

fn missing(attribute: &str) -> PyErr {
    PyAttributeError::new_err(format!("this MinHash has no attribute '{attribute}'"))
}
