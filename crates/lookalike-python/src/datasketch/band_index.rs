//! The index behind `MinHashLSH`: keys of any kind, found by bands of hash values that are equal.

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::compression::{Bands, Compression};
use super::learned::{LearnedScheme, length_of, refuse_other_scheme, scheme_of};
use super::signature::{Layout, Signature};
use super::tables::Tables;

/// A key, and the items under it: one, unless it was inserted again without looking for duplicates.
struct Entry {
    key: Py<PyAny>,
    items: Vec<u32>,
}

/// What an index consists of, to be pickled: scheme, bytes of a value and of a number, names, keys, items of each key, and
/// the values of all items.
type Exported<'py> =
    (Option<Py<PyAny>>, Option<(usize, usize)>, Option<Py<PyList>>, Vec<Py<PyAny>>, Vec<usize>, Bound<'py, PyBytes>);

/// Keys by bands of hash values.
#[pyclass(module = "lookalike._native", name = "BandIndex")]
pub(crate) struct BandIndex {
    length: usize,
    bands: usize,
    rows: usize,
    scheme: LearnedScheme,
    /// Known once there is an item.
    layout: Option<Layout>,
    tables: Option<Tables>,
    /// Where each key is in `entries`.
    places: Py<PyDict>,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// The entry of each item.
    entry_of: Vec<usize>,
    /// The last query that came across an entry, so that none is given twice.
    seen: Vec<u64>,
    queries: u64,
    compression: Option<Compression>,
}

#[pymethods]
impl BandIndex {
    #[new]
    fn new(py: Python<'_>, length: usize, bands: usize, rows: usize, hashfunc: Option<Py<PyAny>>) -> Self {
        let compression = hashfunc.map(|function| Compression::new(py, function));
        Self {
            length,
            bands,
            rows,
            scheme: LearnedScheme::default(),
            layout: None,
            tables: None,
            places: PyDict::new(py).unbind(),
            entries: Vec::new(),
            free: Vec::new(),
            entry_of: Vec::new(),
            seen: Vec::new(),
            queries: 0,
            compression,
        }
    }

    /// Puts a key into the index; refused if it is there, unless that is not to be looked for.
    fn insert(
        slf: &Bound<'_, Self>,
        key: Bound<'_, PyAny>,
        sketch: &Bound<'_, PyAny>,
        check_duplication: bool,
    ) -> PyResult<()> {
        Self::check(slf, sketch, true)?;
        let place = Self::place_of(slf, &key)?;
        if check_duplication && place.is_some() {
            return Err(PyValueError::new_err("this key is in the index already; remove it first, or choose another"));
        }
        let signature = Signature::of(sketch)?;
        let layout = signature.layout;
        let values = Self::compressed(slf, signature, true)?;
        Self::add(slf, key, place, layout, &values.bytes)
    }

    /// The keys that share a band with a sketch; only the first `bands` are looked at, if that is said.
    #[pyo3(signature = (sketch, bands=None))]
    fn query<'py>(
        slf: &Bound<'py, Self>,
        sketch: &Bound<'py, PyAny>,
        bands: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        Self::check(slf, sketch, false)?;
        let py = slf.py();
        let signature = Signature::of(sketch)?;
        if slf.borrow().layout != Some(signature.layout) {
            return Ok(PyList::empty(py));
        }
        let values = Self::compressed(slf, signature, false)?;
        let found = slf.borrow_mut().candidates(py, &values, bands);
        PyList::new(py, found)
    }

    /// Takes a key out of the index.
    fn remove(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let place = Self::place_of(slf, key)?
            .ok_or_else(|| PyValueError::new_err("this key is not in the index, so it cannot be removed"))?;
        let places = slf.borrow().places.clone_ref(slf.py());
        places.bind(slf.py()).del_item(key)?;
        let mut index = slf.borrow_mut();
        let entry = index.entries[place].take();
        index.free.push(place);
        if let (Some(entry), Some(tables)) = (&entry, &mut index.tables) {
            entry.items.iter().for_each(|item| tables.remove(*item));
        }
        drop(index);
        // The key goes last: what it does when it dies may ask the index.
        drop(entry);
        Ok(())
    }

    /// Puts everything of another index of the same bands into this one.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let (scheme, layout, names, keys, counts, values) = Self::export(other)?;
        if names.is_some() != slf.borrow().compression.is_some() {
            return Err(PyValueError::new_err("cannot merge an index with a hashfunc and one without"));
        }
        refuse_other_scheme(py, slf.borrow().scheme.get(py).as_ref(), scheme.as_ref())?;
        if slf.borrow().scheme.get(py).is_none() {
            slf.borrow_mut().scheme.set(scheme);
        }
        Self::take_all(slf, layout, names.as_ref(), &keys, &counts, values.as_bytes())
    }

    /// What the index consists of.
    fn export<'py>(slf: &Bound<'py, Self>) -> PyResult<Exported<'py>> {
        let (py, index) = (slf.py(), slf.borrow());
        let (mut keys, mut counts, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for entry in index.entries.iter().flatten() {
            keys.push(entry.key.clone_ref(py));
            counts.push(entry.items.len());
            if let Some(tables) = &index.tables {
                entry.items.iter().for_each(|item| values.extend_from_slice(tables.values(*item)));
            }
        }
        let names = index.compression.as_ref().map(|compression| compression.names(py));
        let layout = index.layout.map(|layout| (layout.value, layout.number));
        Ok((index.scheme.get(py), layout, names, keys, counts, PyBytes::new(py, &values)))
    }

    /// Fills an empty index with what another consisted of.
    fn restore(
        slf: &Bound<'_, Self>,
        scheme: Option<Py<PyAny>>,
        layout: Option<(usize, usize)>,
        names: Option<Py<PyList>>,
        keys: Vec<Py<PyAny>>,
        counts: Vec<usize>,
        values: &Bound<'_, PyBytes>,
    ) -> PyResult<()> {
        slf.borrow_mut().scheme.set(scheme);
        Self::take_all(slf, layout, names.as_ref(), &keys, &counts, values.as_bytes())
    }

    /// The scheme of the sketches, once there was one.
    #[getter]
    fn scheme(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.scheme.get(py)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.places.bind(py).len()
    }

    fn __contains__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(Self::place_of(slf, key)?.is_some())
    }

    /// All keys.
    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.places.bind(py).keys()
    }

    /// What the buckets of a key are called, band by band.
    fn names_of<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let Some(place) = Self::place_of(slf, key)? else { return Ok(None) };
        let index = slf.borrow();
        let (Some(Some(entry)), Some(tables)) = (index.entries.get(place), &index.tables) else { return Ok(None) };
        let mut names = Vec::with_capacity(entry.items.len() * index.bands);
        for item in &entry.items {
            for band in 0..index.bands {
                names.push(index.name(slf.py(), tables.band_of(*item, band))?);
            }
        }
        Ok(Some(names))
    }

    /// How many buckets a band has.
    fn bucket_count(&self, band: usize) -> usize {
        self.tables.as_ref().map_or(0, |tables| tables.bucket_count(band))
    }

    /// What the buckets of a band are called.
    fn bucket_names<'py>(&self, py: Python<'py>, band: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(tables) = &self.tables else { return Ok(Vec::new()) };
        tables.buckets(band).map(|first| self.name(py, tables.band_of(first, band))).collect()
    }

    /// The keys of each bucket of a band: how many, by the name of the bucket.
    fn bucket_sizes<'py>(&self, py: Python<'py>, band: usize) -> PyResult<Bound<'py, PyDict>> {
        let sizes = PyDict::new(py);
        if let Some(tables) = &self.tables {
            for first in tables.buckets(band) {
                let size = self.entries_of(tables.items_from(band, first)).len();
                sizes.set_item(self.name(py, tables.band_of(first, band))?, size)?;
            }
        }
        Ok(sizes)
    }

    /// The keys in a bucket of a band.
    fn bucket(&self, py: Python<'_>, band: usize, name: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyAny>>> {
        let (Some(tables), Some(layout)) = (&self.tables, self.layout) else { return Ok(Vec::new()) };
        let values = match &self.compression {
            Some(compression) => match compression.number(name)? {
                Some(number) => number.to_ne_bytes().to_vec(),
                None => return Ok(Vec::new()),
            },
            None => match name.cast::<PyBytes>() {
                Ok(name) if name.as_bytes().len() == self.rows * layout.value => layout.swapped(name.as_bytes()),
                _ => return Ok(Vec::new()),
            },
        };
        let entries = self.entries_of(tables.bucket(band, &values));
        Ok(entries
            .into_iter()
            .filter_map(|place| self.entries[place].as_ref())
            .map(|entry| entry.key.clone_ref(py))
            .collect())
    }
}

impl BandIndex {
    fn check(slf: &Bound<'_, Self>, sketch: &Bound<'_, PyAny>, learns: bool) -> PyResult<()> {
        let py = slf.py();
        let (length, expected) = (length_of(sketch)?, slf.borrow().length);
        if length != expected {
            return Err(PyValueError::new_err(format!(
                "this index is for MinHash of {expected} hash values, and this one has {length}"
            )));
        }
        let (known, scheme) = (slf.borrow().scheme.get(py), scheme_of(sketch)?);
        refuse_other_scheme(py, known.as_ref(), scheme.as_ref())?;
        if learns && known.is_none() {
            slf.borrow_mut().scheme.set(scheme);
        }
        Ok(())
    }

    /// Where a key is. The index is not borrowed meanwhile: keys may be of classes that compare themselves in Python.
    fn place_of(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let places = slf.borrow().places.clone_ref(slf.py());
        places.bind(slf.py()).get_item(key)?.map(|place| place.extract()).transpose()
    }

    /// The values as the tables hold them: as they are, or the numbers of what the user's function makes of them.
    fn compressed(slf: &Bound<'_, Self>, signature: Signature, adds: bool) -> PyResult<Bands> {
        let (py, index) = (slf.py(), slf.borrow());
        let Some(compression) = &index.compression else {
            return Ok(Bands { bytes: signature.bytes, known: None });
        };
        let (compression, bands, rows) = (compression.clone_ref(py), index.bands, index.rows);
        drop(index);
        compression.compress(py, &signature, bands, rows, adds)
    }

    /// Adds an item under a key, which may have a place already.
    fn add(
        slf: &Bound<'_, Self>,
        key: Bound<'_, PyAny>,
        place: Option<usize>,
        layout: Layout,
        values: &[u8],
    ) -> PyResult<()> {
        let mut index = slf.borrow_mut();
        let known = *index.layout.get_or_insert(layout);
        if known != layout {
            return Err(PyValueError::new_err(
                "the hash values are of another type than those in this index; weighted and other MinHash need one each",
            ));
        }
        let band = if index.compression.is_some() { Compression::WIDTH } else { index.rows * layout.value };
        let bands = index.bands;
        let tables = index.tables.get_or_insert_with(|| Tables::new(bands, band));
        let item =
            tables.insert(values).ok_or_else(|| PyMemoryError::new_err("an index holds at most 2^32 - 2 items"))?;
        let (new_place, is_new) = match place {
            Some(place) => (place, false),
            None => (index.free.pop().unwrap_or(index.entries.len()), true),
        };
        if is_new {
            let entry = Some(Entry { key: key.clone().unbind(), items: vec![item] });
            if new_place == index.entries.len() {
                index.entries.push(entry);
                index.seen.push(0);
            } else {
                index.entries[new_place] = entry;
            }
        } else if let Some(entry) = &mut index.entries[new_place] {
            entry.items.push(item);
        }
        if index.entry_of.len() <= item as usize {
            index.entry_of.resize(item as usize + 1, 0);
        }
        index.entry_of[item as usize] = new_place;
        let places = index.places.clone_ref(slf.py());
        drop(index);
        if is_new { places.bind(slf.py()).set_item(key, new_place) } else { Ok(()) }
    }

    /// Adds items that were exported.
    fn take_all(
        slf: &Bound<'_, Self>,
        layout: Option<(usize, usize)>,
        names: Option<&Py<PyList>>,
        keys: &[Py<PyAny>],
        counts: &[usize],
        values: &[u8],
    ) -> PyResult<()> {
        let py = slf.py();
        let Some((value, number)) = layout else { return Ok(()) };
        let layout = Layout { value, number };
        let compression = slf.borrow().compression.as_ref().map(|compression| compression.clone_ref(py));
        let translated = match (compression, names) {
            (Some(compression), Some(names)) => Some(compression.translate(names.bind(py))?),
            _ => None,
        };
        let (bands, rows) = (slf.borrow().bands, slf.borrow().rows);
        let item_bytes = bands * if translated.is_some() { Compression::WIDTH } else { rows * value };
        let is_whole = keys.len() == counts.len() && values.len() == counts.iter().sum::<usize>() * item_bytes;
        if !is_whole || value == 0 || number == 0 {
            return Err(PyValueError::new_err("the saved index is damaged: keys and values do not fit together"));
        }
        let mut items = values.chunks_exact(item_bytes);
        for (key, count) in keys.iter().zip(counts) {
            for item in items.by_ref().take(*count) {
                let key = key.bind(py);
                let place = Self::place_of(slf, key)?;
                match &translated {
                    None => Self::add(slf, key.clone(), place, layout, item)?,
                    Some(numbers) => {
                        let mut bytes = Vec::with_capacity(item.len());
                        for number in item.as_chunks().0 {
                            let number = numbers.get(u32::from_ne_bytes(*number) as usize).ok_or_else(|| {
                                PyValueError::new_err("the saved index is damaged: it lacks the name of a bucket")
                            })?;
                            bytes.extend_from_slice(&number.to_ne_bytes());
                        }
                        Self::add(slf, key.clone(), place, layout, &bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The keys that share one of the first bands, each once.
    fn candidates(&mut self, py: Python<'_>, values: &Bands, bands: Option<usize>) -> Vec<Py<PyAny>> {
        let Some(tables) = &self.tables else { return Vec::new() };
        self.queries += 1;
        let mut found = Vec::new();
        for band in 0..bands.unwrap_or(self.bands).min(self.bands) {
            if values.known.as_ref().is_some_and(|known| !known[band]) {
                continue;
            }
            for item in tables.bucket(band, tables.cut(&values.bytes, band)) {
                let place = self.entry_of[item as usize];
                if self.seen[place] != self.queries {
                    self.seen[place] = self.queries;
                    found.extend(self.entries[place].as_ref().map(|entry| entry.key.clone_ref(py)));
                }
            }
        }
        found
    }

    /// The entries of some items, each once.
    fn entries_of(&self, items: impl Iterator<Item = u32>) -> Vec<usize> {
        let mut places: Vec<usize> = items.map(|item| self.entry_of[item as usize]).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// What the bucket of these values is called.
    fn name<'py>(&self, py: Python<'py>, values: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match (&self.compression, self.layout) {
            (Some(compression), _) => compression.name(py, values),
            (None, Some(layout)) => Ok(PyBytes::new(py, &layout.swapped(values)).into_any()),
            (None, None) => Ok(PyBytes::new(py, values).into_any()),
        }
    }
}
