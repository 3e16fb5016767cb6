//! The forest behind `MinHashLSHForest`: prefixes of hash values in sorted lists, the longest looked up first.

use std::cmp::Ordering;

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::learned::{LearnedScheme, length_of, refuse_other_scheme, scheme_of};
use super::signature::{Layout, Signature};

/// What a forest consists of, to be pickled: scheme, bytes of a value and of a number, keys, the values of all of them, and
/// how many of them can be found.
type Exported<'py> = (Option<Py<PyAny>>, Option<(usize, usize)>, Vec<Py<PyAny>>, Bound<'py, PyBytes>, usize);

/// Keys by prefixes of hash values.
#[pyclass(module = "lookalike._native", name = "PrefixForest")]
pub(crate) struct PrefixForest {
    trees: usize,
    depth: usize,
    scheme: LearnedScheme,
    layout: Option<Layout>,
    /// The number of each key.
    numbers: Py<PyDict>,
    keys: Vec<Py<PyAny>>,
    /// The values of all keys, each number turned around: on a machine whose least byte comes first, bytes then compare as
    /// numbers do.
    values: Vec<u8>,
    /// For each tree, the keys in the order of their values.
    sorted: Vec<Vec<u32>>,
    /// The last query that came across a key, so that none is given twice.
    seen: Vec<u64>,
    queries: u64,
}

#[pymethods]
impl PrefixForest {
    #[new]
    fn new(py: Python<'_>, trees: usize, depth: usize) -> Self {
        Self {
            trees,
            depth,
            scheme: LearnedScheme::default(),
            layout: None,
            numbers: PyDict::new(py).unbind(),
            keys: Vec::new(),
            values: Vec::new(),
            sorted: vec![Vec::new(); trees],
            seen: Vec::new(),
            queries: 0,
        }
    }

    /// Adds a key; it is found after `index`.
    fn add(slf: &Bound<'_, Self>, key: Bound<'_, PyAny>, sketch: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::check(slf, sketch, true)?;
        if Self::number_of(slf, &key)?.is_some() {
            return Err(PyValueError::new_err("this key is in the forest already; choose another"));
        }
        let signature = Signature::of(sketch)?;
        let wanted = slf.borrow().trees * slf.borrow().depth * signature.layout.value;
        let values = signature.layout.swapped(&signature.bytes[..wanted]);
        Self::take(slf, key, signature.layout, &values)
    }

    /// Makes all keys that were added findable.
    fn index(&mut self) {
        let Some(layout) = self.layout else { return };
        let (depth, values, all) = (self.depth * layout.value, &self.values, self.trees * self.depth * layout.value);
        for (tree, sorted) in self.sorted.iter_mut().enumerate() {
            let of = |key: u32| &values[key as usize * all + tree * depth..][..depth];
            sorted.extend(sorted.len() as u32..self.keys.len() as u32);
            // Among equals the one that was added first: the sort is stable, and most of the list is sorted already.
            sorted.sort_by(|left, right| of(*left).cmp(of(*right)));
        }
    }

    /// At most `count` keys, those with the longest prefixes in common first.
    fn query<'py>(slf: &Bound<'py, Self>, sketch: &Bound<'py, PyAny>, count: usize) -> PyResult<Bound<'py, PyList>> {
        Self::check(slf, sketch, false)?;
        let signature = Signature::of(sketch)?;
        let py = slf.py();
        let found = if slf.borrow().layout == Some(signature.layout) {
            let values = signature.layout.swapped(&signature.bytes);
            slf.borrow_mut().nearest(py, &values, count, signature.layout.value)
        } else {
            Vec::new()
        };
        PyList::new(py, found)
    }

    /// How many keys can be found.
    #[getter]
    fn indexed(&self) -> usize {
        self.sorted.first().map_or(0, Vec::len)
    }

    /// All keys, in the order in which they were added.
    fn keys(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.keys.iter().map(|key| key.clone_ref(py)).collect()
    }

    /// The values of a key, tree by tree, each number turned around; and the bytes of a number.
    fn values_of<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Vec<Bound<'py, PyBytes>>, usize)>> {
        let Some(number) = Self::number_of(slf, key)? else { return Ok(None) };
        let index = slf.borrow();
        let Some(layout) = index.layout else { return Ok(None) };
        let segment = index.depth * layout.value;
        let values = &index.values[number as usize * index.trees * segment..][..index.trees * segment];
        let segments = values.chunks_exact(segment).map(|segment| PyBytes::new(slf.py(), segment)).collect();
        Ok(Some((segments, layout.number)))
    }

    fn __len__(&self) -> usize {
        self.keys.len()
    }

    fn __contains__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(Self::number_of(slf, key)?.is_some())
    }

    /// What the forest consists of.
    fn export<'py>(&self, py: Python<'py>) -> Exported<'py> {
        let layout = self.layout.map(|layout| (layout.value, layout.number));
        (self.scheme.get(py), layout, self.keys(py), PyBytes::new(py, &self.values), self.indexed())
    }

    /// Fills an empty forest with what another consisted of.
    fn restore(
        slf: &Bound<'_, Self>,
        scheme: Option<Py<PyAny>>,
        layout: Option<(usize, usize)>,
        keys: Vec<Py<PyAny>>,
        values: &Bound<'_, PyBytes>,
        indexed: usize,
    ) -> PyResult<()> {
        slf.borrow_mut().scheme.set(scheme);
        let Some((value, number)) = layout else { return Ok(()) };
        let all = slf.borrow().trees * slf.borrow().depth * value;
        if value == 0 || number == 0 || values.as_bytes().len() != keys.len() * all || indexed > keys.len() {
            return Err(PyValueError::new_err("the saved forest is damaged: keys and values do not fit together"));
        }
        for (added, (key, values)) in keys.iter().zip(values.as_bytes().chunks_exact(all)).enumerate() {
            if added == indexed {
                slf.borrow_mut().index();
            }
            Self::take(slf, key.bind(slf.py()).clone(), Layout { value, number }, values)?;
        }
        if indexed == keys.len() {
            slf.borrow_mut().index();
        }
        Ok(())
    }
}

impl PrefixForest {
    fn check(slf: &Bound<'_, Self>, sketch: &Bound<'_, PyAny>, learns: bool) -> PyResult<()> {
        let py = slf.py();
        let (length, least) = (length_of(sketch)?, slf.borrow().trees * slf.borrow().depth);
        if length < least {
            return Err(PyValueError::new_err(format!(
                "this forest needs MinHash of at least {least} hash values, and this one has {length}"
            )));
        }
        let (known, scheme) = (slf.borrow().scheme.get(py), scheme_of(sketch)?);
        refuse_other_scheme(py, known.as_ref(), scheme.as_ref())?;
        if learns && known.is_none() {
            slf.borrow_mut().scheme.set(scheme);
        }
        Ok(())
    }

    /// The number of a key. The forest is not borrowed meanwhile: keys may be of classes that compare themselves in Python.
    fn number_of(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let numbers = slf.borrow().numbers.clone_ref(slf.py());
        numbers.bind(slf.py()).get_item(key)?.map(|number| number.extract()).transpose()
    }

    /// Adds a key with values that are turned around already.
    fn take(slf: &Bound<'_, Self>, key: Bound<'_, PyAny>, layout: Layout, values: &[u8]) -> PyResult<()> {
        let mut forest = slf.borrow_mut();
        if *forest.layout.get_or_insert(layout) != layout {
            return Err(PyValueError::new_err(
                "the hash values are of another type than those in this forest; weighted and other MinHash need one each",
            ));
        }
        let number =
            u32::try_from(forest.keys.len()).map_err(|_| PyMemoryError::new_err("a forest holds at most 2^32 keys"))?;
        forest.values.extend_from_slice(values);
        forest.keys.push(key.clone().unbind());
        forest.seen.push(0);
        let numbers = forest.numbers.clone_ref(slf.py());
        drop(forest);
        numbers.bind(slf.py()).set_item(key, number)
    }

    fn nearest(&mut self, py: Python<'_>, values: &[u8], count: usize, value: usize) -> Vec<Py<PyAny>> {
        let (segment, all) = (self.depth * value, self.trees * self.depth * value);
        let mut found = Vec::new();
        self.queries += 1;
        // What a tree has given so far: a shorter prefix only widens it.
        let mut given: Vec<Option<(usize, usize)>> = vec![None; self.trees];
        for rows in (1..=self.depth).rev() {
            for (tree, given) in given.iter_mut().enumerate() {
                let prefix = &values[tree * segment..][..rows * value];
                let sorted = &self.sorted[tree];
                let compared = |key: &u32| -> Ordering {
                    self.values[*key as usize * all + tree * segment..][..prefix.len()].cmp(prefix)
                };
                let (old_from, old_to) = *given.get_or_insert_with(|| {
                    let from = sorted.partition_point(|key| compared(key) == Ordering::Less);
                    (from, from)
                });
                // Mostly there is nothing more on either side, and looking at the neighbours tells.
                let (mut from, mut to) = (old_from, old_to);
                if from > 0 && compared(&sorted[from - 1]) == Ordering::Equal {
                    from = sorted[..from].partition_point(|key| compared(key) == Ordering::Less);
                }
                if to < sorted.len() && compared(&sorted[to]) == Ordering::Equal {
                    to += sorted[to..].partition_point(|key| compared(key) == Ordering::Equal);
                }
                *given = Some((from, to));
                for key in sorted[from..old_from].iter().chain(&sorted[old_to..to]) {
                    let key = *key as usize;
                    if self.seen[key] != self.queries {
                        self.seen[key] = self.queries;
                        found.push(self.keys[key].clone_ref(py));
                        if found.len() >= count {
                            return found;
                        }
                    }
                }
            }
        }
        found
    }
}
