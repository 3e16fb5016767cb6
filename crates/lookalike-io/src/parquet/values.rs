//! What a column holds in a row: Arrow's many types of array as the few that matter here.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, BinaryArray, BooleanArray, LargeBinaryArray, LargeStringArray, OffsetSizeTrait, RecordBatch, StringArray,
    StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use lookalike::{KeepValue, hash_item};

/// One column of a batch.
pub(super) struct ColumnValues<'a> {
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

/// The values of a column; those of null rows mean nothing.
enum Values<'a> {
    Texts(Texts<'a>),
    /// Dates and times too, in their own unit: enough to order them.
    Integers(Vec<i128>),
    Floats(Vec<f64>),
    Booleans(&'a BooleanArray),
    Lists {
        /// Where each row's items begin, and where the last one's end.
        bounds: Vec<usize>,
        items: Box<ColumnValues<'a>>,
    },
}

enum Texts<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    /// Old writers leave strings unmarked.
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    Dictionary {
        keys: Vec<usize>,
        values: Box<Texts<'a>>,
    },
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Text(&'a str),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    /// The items' indices in the column's items.
    List(usize, usize),
    /// Bytes that should have been text.
    NotUtf8,
}

impl<'a> ColumnValues<'a> {
    /// The column that `names` lead to from the outside in; an error names a type that nothing here can use.
    pub(super) fn find(batch: &'a RecordBatch, names: &[String]) -> Result<Self, String> {
        let (first, inner) = names.split_first().ok_or("a column has no name")?;
        let absent = |name: &String| format!("the column {name:?} is absent");
        let mut array = batch.column_by_name(first).ok_or_else(|| absent(first))?;
        let mut nulls = None;
        for name in inner {
            let parent = array.as_struct_opt().ok_or_else(|| absent(name))?;
            nulls = NullBuffer::union(nulls.as_ref(), parent.nulls());
            array = parent.column_by_name(name).ok_or_else(|| absent(name))?;
        }
        let mut column = Self::of(array.as_ref()).ok_or_else(|| {
            format!("the column {:?} holds {}, which cannot be compared", names.join("."), array.data_type())
        })?;
        column.nulls = NullBuffer::union(nulls.as_ref(), column.nulls.as_ref());
        Ok(column)
    }

    fn of(array: &'a dyn Array) -> Option<Self> {
        let values = match array.data_type() {
            DataType::Int8 => integers::<Int8Type>(array),
            DataType::Int16 => integers::<Int16Type>(array),
            DataType::Int32 => integers::<Int32Type>(array),
            DataType::Int64 => integers::<Int64Type>(array),
            DataType::UInt8 => integers::<UInt8Type>(array),
            DataType::UInt16 => integers::<UInt16Type>(array),
            DataType::UInt32 => integers::<UInt32Type>(array),
            DataType::UInt64 => integers::<UInt64Type>(array),
            DataType::Date32 => integers::<Date32Type>(array),
            DataType::Date64 => integers::<Date64Type>(array),
            DataType::Timestamp(TimeUnit::Second, _) => integers::<TimestampSecondType>(array),
            DataType::Timestamp(TimeUnit::Millisecond, _) => integers::<TimestampMillisecondType>(array),
            DataType::Timestamp(TimeUnit::Microsecond, _) => integers::<TimestampMicrosecondType>(array),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => integers::<TimestampNanosecondType>(array),
            DataType::Float32 => floats::<Float32Type>(array, f64::from),
            DataType::Float64 => floats::<Float64Type>(array, |value| value),
            DataType::Decimal128(_, scale) => {
                let unit = 10_f64.powi(i32::from(*scale));
                floats::<Decimal128Type>(array, |value| value as f64 / unit)
            }
            DataType::Boolean => array.as_boolean_opt().map(Values::Booleans),
            DataType::List(_) => lists::<i32>(array),
            DataType::LargeList(_) => lists::<i64>(array),
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).ok()?;
                let items = Self::of(array.as_fixed_size_list_opt()?.values().as_ref())?;
                Some(Values::Lists {
                    bounds: (0..=array.len()).map(|row| row * size).collect(),
                    items: Box::new(items),
                })
            }
            _ => Texts::of(array).map(Values::Texts),
        }?;
        Some(Self { nulls: array.logical_nulls(), values })
    }

    /// What stands in a row, unless it is null.
    pub(super) fn cell(&self, row: usize) -> Option<Cell<'_>> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some(match &self.values {
            Values::Texts(texts) => texts.value(row).map_or(Cell::NotUtf8, Cell::Text),
            Values::Integers(integers) => Cell::Integer(integers[row]),
            Values::Floats(floats) => Cell::Float(floats[row]),
            Values::Booleans(booleans) => Cell::Boolean(booleans.value(row)),
            Values::Lists { bounds, .. } => Cell::List(bounds[row], bounds[row + 1]),
        })
    }

    /// The hashes of a list's items; an item that is null is none, and one that is no string, number or boolean makes
    /// the list unfit.
    pub(super) fn hash_items(&self, start: usize, end: usize, hashes: &mut Vec<u64>, scratch: &mut String) -> bool {
        let Values::Lists { items, .. } = &self.values else { return false };
        for cell in (start..end).filter_map(|item| items.cell(item)) {
            match cell {
                Cell::Text(text) => hashes.push(hash_item(text.as_bytes())),
                _ => {
                    scratch.clear();
                    if !cell.write(scratch) {
                        return false;
                    }
                    hashes.push(hash_item(scratch.as_bytes()));
                }
            }
        }
        true
    }
}

impl Cell<'_> {
    /// Appends the value as text, as an id or a `--within` value has it; `false` if it has no such form.
    pub(super) fn write(self, out: &mut String) -> bool {
        match self {
            Cell::Text(text) => out.push_str(text),
            Cell::Integer(integer) => return write!(out, "{integer}").is_ok(),
            Cell::Float(float) => return write!(out, "{float}").is_ok(),
            Cell::Boolean(boolean) => return write!(out, "{boolean}").is_ok(),
            Cell::List(..) | Cell::NotUtf8 => return false,
        }
        true
    }

    /// The value as the keep order reads it, if it can.
    pub(super) fn keep_value(self) -> Option<KeepValue> {
        match self {
            Cell::Text(text) => Some(KeepValue::Text(text.into())),
            Cell::Integer(integer) => Some(KeepValue::from_integer(integer)),
            Cell::Float(float) if float.is_nan() => Some(KeepValue::Missing),
            Cell::Float(float) => Some(KeepValue::Number(float)),
            Cell::Boolean(boolean) => Some(KeepValue::Number(f64::from(u8::from(boolean)))),
            Cell::List(..) | Cell::NotUtf8 => None,
        }
    }

    /// What the value is called in an error message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Cell::Text(_) => "a text",
            Cell::Integer(_) | Cell::Float(_) => "a number",
            Cell::Boolean(_) => "a boolean",
            Cell::List(..) => "a list",
            Cell::NotUtf8 => "not UTF-8",
        }
    }
}

impl<'a> Texts<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => array.as_string_opt().map(Self::Utf8),
            DataType::LargeUtf8 => array.as_string_opt().map(Self::LargeUtf8),
            DataType::Utf8View => array.as_string_view_opt().map(Self::Utf8View),
            DataType::Binary => array.as_binary_opt().map(Self::Binary),
            DataType::LargeBinary => array.as_binary_opt().map(Self::LargeBinary),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt()?;
                let values = Box::new(Self::of(dictionary.values().as_ref())?);
                // A dictionary without values has null rows only, and these are never looked up.
                let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
                Some(Self::Dictionary { keys, values })
            }
            _ => None,
        }
    }

    fn value(&self, row: usize) -> Option<&str> {
        match self {
            Self::Utf8(array) => Some(array.value(row)),
            Self::LargeUtf8(array) => Some(array.value(row)),
            Self::Utf8View(array) => Some(array.value(row)),
            Self::Binary(array) => std::str::from_utf8(array.value(row)).ok(),
            Self::LargeBinary(array) => std::str::from_utf8(array.value(row)).ok(),
            Self::Dictionary { keys, values } => values.value(*keys.get(row)?),
        }
    }
}

fn integers<'a, T: ArrowPrimitiveType<Native: Into<i128>>>(array: &dyn Array) -> Option<Values<'a>> {
    let values = array.as_primitive_opt::<T>()?.values();
    Some(Values::Integers(values.iter().map(|value| (*value).into()).collect()))
}

fn floats<'a, T: ArrowPrimitiveType>(array: &dyn Array, to_f64: impl Fn(T::Native) -> f64) -> Option<Values<'a>> {
    Some(Values::Floats(array.as_primitive_opt::<T>()?.values().iter().map(|value| to_f64(*value)).collect()))
}

fn lists<'a, O: OffsetSizeTrait>(array: &'a dyn Array) -> Option<Values<'a>> {
    let list = array.as_list_opt::<O>()?;
    let bounds = list.value_offsets().iter().map(|offset| offset.as_usize()).collect();
    Some(Values::Lists { bounds, items: Box::new(ColumnValues::of(list.values().as_ref())?) })
}
