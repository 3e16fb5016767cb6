//! Records from Python: texts and sets, out of lists, iterators and Arrow columns. Texts are not copied.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use lookalike::{Content, hash_item};
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple};
use pyo3_arrow::input::AnyArray;
use pyo3_arrow::{PyArray, PyChunkedArray};

/// Which record is spoken of.
#[derive(Clone, Copy)]
enum Which {
    At(usize),
    Only,
}

impl fmt::Display for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(position) => write!(formatter, "record {position}"),
            Self::Only => formatter.write_str("the record"),
        }
    }
}

/// What keeps the records of a column alive while they are looked at.
pub(crate) enum Column<'py> {
    /// Python's own objects.
    Objects(Objects<'py>),
    /// Arrow arrays of texts.
    Texts(Vec<ArrayRef>),
}

/// Strings and sets, in the order in which they came.
#[derive(Default)]
pub(crate) struct Objects<'py> {
    records: Vec<Object<'py>>,
    /// The hashed items of all sets.
    items: Vec<u64>,
}

enum Object<'py> {
    Text(Bound<'py, PyString>),
    Set { start: usize, end: usize },
}

impl<'py> Column<'py> {
    /// The records of a list, an iterator or an Arrow column.
    pub(crate) fn of(column: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = column.py();
        if column.is_instance_of::<PyString>() || column.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("this is one text, not many; give a list of texts, or use compare"));
        }
        let has = |name| column.hasattr(name);
        if has(intern!(py, "__arrow_c_stream__"))? || has(intern!(py, "__arrow_c_array__"))? {
            let array = column.extract::<AnyArray>().and_then(|array| Ok(array.into_chunked_array()?));
            match array {
                Ok(array) => return Self::of_arrow(array),
                // polars hands over columns of nothing at all in a way that arrow-rs does not take.
                Err(_) if has(intern!(py, "to_list"))? => return Self::of(&column.call_method0("to_list")?),
                Err(error) => return Err(error),
            }
        }
        /// Records between two looks for Ctrl-C, and for other threads that wait for Python.
        const BETWEEN_LOOKS: usize = 1024;
        let mut objects = Objects::default();
        for (position, record) in column.try_iter()?.enumerate() {
            objects.push(Which::At(position), record?)?;
            if position % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 {
                py.detach(std::thread::yield_now);
                py.check_signals()?;
            }
        }
        Ok(Self::Objects(objects))
    }

    fn of_arrow(column: PyChunkedArray) -> PyResult<Self> {
        let mut position = 0;
        for array in column.chunks() {
            if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
                let first = position + nulls.iter().position(|is_there| !is_there).unwrap_or(0);
                return Err(null_record(Which::At(first)));
            }
            position += array.len();
        }
        Self::of_chunks(column)
    }

    /// The records of an Arrow column in which some may be missing: those are empty.
    pub(crate) fn of_nullable(column: PyArray) -> PyResult<Self> {
        Self::of_chunks(AnyArray::Array(column).into_chunked_array()?)
    }

    fn of_chunks(column: PyChunkedArray) -> PyResult<Self> {
        let (arrays, field) = column.into_inner();
        let cast_to = |kind: &DataType| -> PyResult<Vec<ArrayRef>> {
            let cast = arrays.iter().map(|array| arrow_cast::cast(array, kind));
            cast.collect::<Result<_, _>>().map_err(|_| wrong_column(field.data_type()))
        };
        match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(Self::Texts(arrays)),
            DataType::Dictionary(_, value) if value.is_string() => Ok(Self::Texts(cast_to(&DataType::Utf8View)?)),
            DataType::List(items)
            | DataType::LargeList(items)
            | DataType::ListView(items)
            | DataType::LargeListView(items)
            | DataType::FixedSizeList(items, _) => {
                let items = Field::new_list_field(hashable(items.data_type()), true);
                Objects::of_lists(&cast_to(&DataType::LargeList(items.into()))?).map(Self::Objects)
            }
            other => Err(wrong_column(other)),
        }
    }

    /// What the records are made of.
    pub(crate) fn contents(&self) -> PyResult<Vec<Content<'_>>> {
        match self {
            Self::Objects(objects) => objects.contents(),
            Self::Texts(arrays) => {
                let mut contents = Vec::with_capacity(arrays.iter().map(|array| array.len()).sum());
                for array in arrays {
                    // No value is null: that was looked at.
                    match array.data_type() {
                        DataType::Utf8 => push_all(array.as_string::<i32>().iter(), &mut contents),
                        DataType::LargeUtf8 => push_all(array.as_string::<i64>().iter(), &mut contents),
                        _ => push_all(array.as_string_view().iter(), &mut contents),
                    }
                }
                Ok(contents)
            }
        }
    }
}

fn push_all<'a>(texts: impl Iterator<Item = Option<&'a str>>, contents: &mut Vec<Content<'a>>) {
    contents.extend(texts.map(|text| Content::Text(text.unwrap_or_default())));
}

impl<'py> Objects<'py> {
    /// The sets of lists of texts or bytes.
    fn of_lists(arrays: &[ArrayRef]) -> PyResult<Self> {
        let mut objects = Self::default();
        for (position, list) in arrays.iter().flat_map(|array| array.as_list::<i64>().iter()).enumerate() {
            let start = objects.items.len();
            if let Some(list) = list {
                if list.logical_null_count() > 0 {
                    return Err(wrong_item(Which::At(position), "NoneType"));
                }
                match list.data_type() {
                    DataType::LargeBinary => {
                        objects.items.extend(list.as_binary::<i64>().iter().flatten().map(hash_item));
                    }
                    DataType::LargeUtf8 => {
                        let texts = list.as_string::<i64>().iter().flatten();
                        objects.items.extend(texts.map(|item| hash_item(item.as_bytes())));
                    }
                    // An empty list has a type of items too, whichever it is.
                    _ if list.is_empty() => {}
                    other => return Err(wrong_item(Which::At(position), &name_in_python(other))),
                }
            }
            objects.records.push(Object::Set { start, end: objects.items.len() });
        }
        Ok(objects)
    }

    fn push(&mut self, which: Which, record: Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(text) = record.cast::<PyString>() {
            self.records.push(Object::Text(text.clone()));
            return Ok(());
        }
        let is_set = record.is_instance_of::<PySet>()
            || record.is_instance_of::<PyFrozenSet>()
            || record.is_instance_of::<PyList>()
            || record.is_instance_of::<PyTuple>();
        if !is_set {
            // An array of NumPy with one dimension is a list of its items.
            let is_array = record.hasattr(intern!(record.py(), "__array_interface__"))?;
            return match is_array.then(|| record.call_method0(intern!(record.py(), "tolist"))).transpose()? {
                Some(list) if list.is_instance_of::<PyList>() => self.push(which, list),
                _ => Err(wrong_record(which, &record)),
            };
        }
        let start = self.items.len();
        for item in record.try_iter()? {
            self.items.push(hash_object(which, &item?)?);
        }
        self.records.push(Object::Set { start, end: self.items.len() });
        Ok(())
    }

    fn contents(&self) -> PyResult<Vec<Content<'_>>> {
        let content = |(position, record): (usize, &'_ Object<'py>)| match record {
            Object::Text(text) => text_of(Which::At(position), text).map(|_| ()),
            Object::Set { .. } => Ok(()),
        };
        self.records.iter().enumerate().try_for_each(content)?;
        let contents = self.records.iter().map(|record| match record {
            // Looked at above: it is valid text.
            Object::Text(text) => Content::Text(text.to_str().unwrap_or_default()),
            Object::Set { start, end } => Content::Set(&self.items[*start..*end]),
        });
        Ok(contents.collect())
    }
}

/// One record: a text, or a set of items.
pub(crate) enum One<'py> {
    Text(Bound<'py, PyString>),
    Set(Vec<u64>),
}

impl<'py> One<'py> {
    pub(crate) fn of(record: &Bound<'py, PyAny>) -> PyResult<Self> {
        if record.is_none() {
            return Err(PyTypeError::new_err("the record is None; give a text, or a set of texts or integers"));
        }
        let mut objects = Objects::default();
        objects.push(Which::Only, record.clone())?;
        match objects.records.pop() {
            Some(Object::Text(text)) => {
                text_of(Which::Only, &text)?;
                Ok(Self::Text(text))
            }
            _ => Ok(Self::Set(objects.items)),
        }
    }

    /// A record that has an id, which a refusal names.
    pub(crate) fn named(id: &Bound<'py, PyString>, record: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = record.py();
        Self::of(record).map_err(|error| match id.repr() {
            Ok(id) => PyErr::from_type(error.get_type(py), format!("{id}: {}", error.value(py))),
            Err(_) => error,
        })
    }

    pub(crate) fn content(&self) -> Content<'_> {
        match self {
            // Looked at when it was made: it is valid text.
            Self::Text(text) => Content::Text(text.to_str().unwrap_or_default()),
            Self::Set(items) => Content::Set(items),
        }
    }
}

fn null_record(which: Which) -> PyErr {
    PyTypeError::new_err(format!("{which} is None; leave it out, or give \"\", which is like nothing and kept"))
}

fn wrong_column(kind: &DataType) -> PyErr {
    let advice = match kind {
        DataType::Struct(_) => "; this is a table: say which column holds the texts, such as text=\"text\"",
        _ => "",
    };
    PyTypeError::new_err(format!("a column of {kind} holds neither texts nor sets (lists){advice}"))
}

fn wrong_record(which: Which, record: &Bound<'_, PyAny>) -> PyErr {
    if record.is_none() {
        return null_record(which);
    }
    let kind = name_of_type(record);
    PyTypeError::new_err(format!(
        "{which} is of type {kind}; a record is a str, or a set of items as a list, tuple or set"
    ))
}

fn wrong_item(which: Which, kind: &str) -> PyErr {
    PyTypeError::new_err(format!("{which} has an item of type {kind}; items are str, int or bytes"))
}

fn name_of_type(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// The text of a string, which may hold half a surrogate pair: Python's strings can. A refusal says what `whose` text it is.
pub(crate) fn text_of<'a>(whose: impl fmt::Display, text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    text.to_str().map_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            PyValueError::new_err(format!(
                "{whose} holds half a surrogate pair, which is no text; repair it with \
                 text.encode(\"utf-8\", \"replace\").decode()"
            ))
        } else {
            error
        }
    })
}

/// The hash of an item of a set. Numbers are the text that they are written as.
fn hash_object(which: Which, item: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(text) = item.cast::<PyString>() {
        return Ok(hash_item(text_of(which, text)?.as_bytes()));
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(hash_item(bytes.as_bytes()));
    }
    // numpy's integers too. Whether something is so is no item: columns write it otherwise than Python does.
    let is_whole = item.is_instance_of::<PyInt>() || item.hasattr(intern!(item.py(), "__index__"))?;
    if is_whole && !item.is_instance_of::<PyBool>() {
        return Ok(hash_item(item.str()?.to_str()?.as_bytes()));
    }
    Err(wrong_item(which, &name_of_type(item)))
}

/// What the items of a list are cast to before they are hashed: bytes stay as they are, whole numbers are the text that they
/// are written as. What is no item stays, to be refused.
fn hashable(kind: &DataType) -> DataType {
    match kind {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            DataType::LargeBinary
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Dictionary(_, values) => hashable(values),
        whole if whole.is_integer() => DataType::LargeUtf8,
        other => other.clone(),
    }
}

/// What Python calls the items of a column, where it has a name for them.
fn name_in_python(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "bool".into(),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => "float".into(),
        DataType::Struct(_) => "dict".into(),
        kind if kind.is_list() => "list".into(),
        other => other.to_string(),
    }
}
