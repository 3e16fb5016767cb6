//! Elements that are bytes, taken out of Python: copied one after another, so that they can be hashed while Python goes on.

use std::ops::Range;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The bytes of some elements.
#[derive(Default)]
pub(super) struct ByteElements {
    bytes: Vec<u8>,
    /// Where each element ends.
    ends: Vec<usize>,
}

impl ByteElements {
    /// Elements that all have so many bytes.
    pub(super) fn of_width(bytes: &[u8], width: usize) -> Self {
        Self { bytes: bytes.to_vec(), ends: (width..=bytes.len()).step_by(width).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of all elements together.
    pub(super) fn total(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn push(&mut self, element: &[u8]) {
        self.bytes.extend_from_slice(element);
        self.ends.push(self.bytes.len());
    }

    /// Keeps the first elements.
    pub(super) fn truncate(&mut self, elements: usize) {
        self.ends.truncate(elements);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Some of the elements.
    pub(super) fn range(&self, elements: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let mut start = if elements.start == 0 { 0 } else { self.ends[elements.start - 1] };
        self.ends[elements].iter().map(move |end| &self.bytes[std::mem::replace(&mut start, *end)..*end])
    }

    /// Appends what a list or tuple holds in these places, but only up to the first that is not `bytes`. Tells how many.
    pub(super) fn take(&mut self, sequence: &Sequence<'_, '_>, places: Range<usize>) -> usize {
        self.ends.reserve(places.len().min(sequence.len()));
        sequence.visit_bytes(places, |element| self.push(element))
    }
}

/// What holds its elements, each at its place.
pub(super) enum Sequence<'a, 'py> {
    List(&'a Bound<'py, PyList>),
    Tuple(&'a Bound<'py, PyTuple>),
}

impl<'a, 'py> Sequence<'a, 'py> {
    /// Only of lists and tuples themselves: a class derived from them may iterate in its own way.
    pub(super) fn of(elements: &'a Bound<'py, PyAny>) -> Option<Self> {
        let list = elements.cast_exact().ok().map(Self::List);
        list.or_else(|| elements.cast_exact().ok().map(Self::Tuple))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tuple(tuple) => tuple.len(),
        }
    }

    /// Shows the bytes of the elements in these places, but only up to the first that is not `bytes`. Tells how many.
    ///
    /// This is where a batch spends its time, so an element costs one call of Python at most, and nobody counts its references.
    /// `visit` must not run code of Python.
    #[allow(unsafe_code)]
    pub(super) fn visit_bytes(&self, places: Range<usize>, visit: impl FnMut(&[u8])) -> usize {
        let end = places.end.min(self.len());
        let places = places.start.min(end)..end;
        // SAFETY: the list or tuple has an element in each of these places, and stays so, as nothing here runs code of Python or
        // lets another thread do so. For the same reason the elements live while they are looked at.
        unsafe {
            match self {
                Self::List(list) => match items_of(list) {
                    Some(items) => visit_all(items[places].iter().copied(), visit),
                    None => {
                        visit_all(places.map(|at| ffi::PyList_GetItem(list.as_ptr(), at as ffi::Py_ssize_t)), visit)
                    }
                },
                Self::Tuple(tuple) => {
                    visit_all(places.map(|at| ffi::PyTuple_GetItem(tuple.as_ptr(), at as ffi::Py_ssize_t)), visit)
                }
            }
        }
    }
}

/// Shows the bytes of these elements, but only up to the first that is not `bytes`. Tells how many.
///
/// # Safety
///
/// The elements must live, and `visit` must leave them alive.
#[allow(unsafe_code)]
#[inline(always)]
unsafe fn visit_all(elements: impl Iterator<Item = *mut ffi::PyObject>, mut visit: impl FnMut(&[u8])) -> usize {
    // The bytes are part of the object, as far behind its beginning in one as in the other.
    let mut distance = None;
    let mut seen = 0;
    for element in elements {
        // SAFETY: the element is `bytes`, so its size is the number of its bytes, and they begin where Python said for the first one.
        let bytes = unsafe {
            if ffi::PyBytes_CheckExact(element) == 0 {
                break;
            }
            let of_first = || ffi::PyBytes_AsString(element).byte_offset_from(element);
            let start = element.byte_offset(*distance.get_or_insert_with(of_first)).cast::<u8>();
            std::slice::from_raw_parts(start, ffi::Py_SIZE(element) as usize)
        };
        visit(bytes);
        seen += 1;
    }
    seen
}

/// What a list begins with, in every version of CPython so far that takes this package as it is.
#[repr(C)]
struct ListObject {
    head: ffi::PyVarObject,
    items: *const *mut ffi::PyObject,
}

/// The elements of a list, where it is known how this version of Python lays lists out. To ask for each by a call takes as long as
/// to hash it.
#[allow(unsafe_code)]
fn items_of<'a>(list: &'a Bound<'_, PyList>) -> Option<&'a [*mut ffi::PyObject]> {
    static IS_KNOWN: PyOnceLock<bool> = PyOnceLock::new();
    let py = list.py();
    let is_known = || {
        let version = py.version_info();
        let is_cpython = || py.import("sys")?.getattr("implementation")?.getattr("name")?.eq("cpython");
        version.major == 3 && (10..=14).contains(&version.minor) && is_cpython().unwrap_or(false)
    };
    if !*IS_KNOWN.get_or_init(py, is_known) {
        return None;
    }
    if list.is_empty() {
        return Some(&[]);
    }
    // SAFETY: in these versions a list is laid out so; free-threaded ones, where it is not, do not load this package. It has as
    // many items as it says.
    unsafe { Some(std::slice::from_raw_parts((*list.as_ptr().cast::<ListObject>()).items, list.len())) }
}

/// The bytes of an element, if it is `bytes` itself.
pub(super) fn bytes_of<'a>(element: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    element.cast_exact::<PyBytes>().ok().map(|bytes| bytes.as_bytes())
}
