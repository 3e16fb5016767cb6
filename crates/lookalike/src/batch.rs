//! Records on their way into the engine: many at a time, in a few flat buffers.
//!
//! A reader fills a [`Batch`], the engine sketches it, and the reader may then clear and fill it again: nothing here
//! allocates per record.

use std::ops::Range;

use crate::hash::hash_bytes;

/// Bits of a record number that hold its position inside an input.
const POSITION_BITS: u32 = 40;

/// A record's number: which input it came from and where it stands there.
///
/// The number is known without counting the records before it (a position is a byte offset, or a row), so files can be
/// read in parallel from the middle. Numbers sort in input order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(u64);

impl RecordNumber {
    /// Inputs that one run can number.
    pub const MAX_INPUTS: u64 = 1 << (64 - POSITION_BITS);
    /// Positions that one input can number: a terabyte, where positions are bytes.
    pub const MAX_POSITION: u64 = (1 << POSITION_BITS) - 1;

    /// The number of the record at `position` of the `input`-th input.
    ///
    /// # Panics
    /// If either is out of range ([`Self::MAX_INPUTS`], [`Self::MAX_POSITION`]); a reader checks before it starts.
    pub fn new(input: u64, position: u64) -> Self {
        assert!(
            input < Self::MAX_INPUTS && position <= Self::MAX_POSITION,
            "record {input}:{position} is out of range"
        );
        Self(input << POSITION_BITS | position)
    }

    /// The number as bits; they sort as numbers do.
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Which input the record came from.
    pub fn input(self) -> usize {
        (self.0 >> POSITION_BITS) as usize
    }

    /// Where the record stands in its input.
    pub fn position(self) -> u64 {
        self.0 & Self::MAX_POSITION
    }
}

/// What a record's keep field holds, for the keep orders that read a field.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum KeepValue {
    /// The record has no such field, or null in it.
    #[default]
    Missing,
    /// A number; compared numerically.
    Number(f64),
    /// An integer that is too large for a float to hold exactly, such as a time in nanoseconds.
    Integer(i128),
    /// A string; compared byte by byte, and less preferred than every number.
    Text(Box<str>),
}

impl KeepValue {
    /// The value of a number as it is written; none if it is no finite number.
    pub fn parse_number(text: &str) -> Option<Self> {
        match text.parse::<i128>() {
            Ok(integer) => Some(Self::from_integer(integer)),
            Err(_) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Number),
        }
    }

    /// The value of an integer.
    pub fn from_integer(integer: i128) -> Self {
        const EXACT: u128 = 1 << 53;
        if integer.unsigned_abs() <= EXACT { Self::Number(integer as f64) } else { Self::Integer(integer) }
    }
}

/// What a record is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A text, to be normalised and shingled.
    Text(&'a str),
    /// A set, as the hashes of its items ([`hash_item`]).
    Set(&'a [u64]),
}

#[derive(Clone, Debug)]
enum Span {
    Text(Range<usize>),
    Set(Range<usize>),
}

/// Records in flat buffers, in input order.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    numbers: Vec<RecordNumber>,
    spans: Vec<Span>,
    text: String,
    items: Vec<u64>,
    keep: Vec<KeepValue>,
    within: Vec<u64>,
}

impl Batch {
    /// A batch without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the records and keeps the buffers.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.spans.clear();
        self.text.clear();
        self.items.clear();
        self.keep.clear();
        self.within.clear();
    }

    /// How many records the batch holds.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether the batch holds no record.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Adds a record with this text.
    pub fn push_text(&mut self, number: RecordNumber, text: &str) {
        self.push_text_with(number, |buffer| buffer.push_str(text));
    }

    /// Adds a record whose text `write` appends to the buffer it is given (it must only append).
    pub fn push_text_with<T>(&mut self, number: RecordNumber, write: impl FnOnce(&mut String) -> T) -> T {
        let start = self.text.len();
        let result = write(&mut self.text);
        self.numbers.push(number);
        self.spans.push(Span::Text(start..self.text.len()));
        result
    }

    /// Adds a record that is the set of these items; order and repetition mean nothing.
    pub fn push_set(&mut self, number: RecordNumber, items: impl IntoIterator<Item = u64>) {
        let start = self.items.len();
        self.items.extend(items);
        self.numbers.push(number);
        self.spans.push(Span::Set(start..self.items.len()));
    }

    /// Takes the last record back, as if it had not been pushed.
    pub fn pop(&mut self) {
        self.numbers.pop();
        match self.spans.pop() {
            Some(Span::Text(range)) => self.text.truncate(range.start),
            Some(Span::Set(range)) => self.items.truncate(range.start),
            None => {}
        }
        self.keep.truncate(self.numbers.len());
        self.within.truncate(self.numbers.len());
    }

    /// Gives the last record pushed its keep field. Called for every record, or for none.
    pub fn push_keep(&mut self, value: KeepValue) {
        self.keep.push(value);
    }

    /// Gives the last record pushed the value that it must share with those it is compared to (`--within`). Called
    /// for every record, or for none.
    pub fn push_within(&mut self, value: &[u8]) {
        self.push_within_hash(hash_bytes(value));
    }

    /// The same, where the value was hashed before ([`hash_item`]).
    pub fn push_within_hash(&mut self, hash: u64) {
        self.within.push(hash);
    }

    /// The records' numbers.
    pub fn numbers(&self) -> &[RecordNumber] {
        &self.numbers
    }

    /// What the `index`-th record is made of.
    pub fn content(&self, index: usize) -> Content<'_> {
        match &self.spans[index] {
            Span::Text(range) => Content::Text(&self.text[range.clone()]),
            Span::Set(range) => Content::Set(&self.items[range.clone()]),
        }
    }

    /// The records' keep fields; empty where no keep order asked for them.
    pub fn keep(&self) -> &[KeepValue] {
        &self.keep
    }

    /// The hashes of what `--within` compares; empty where it was not asked for.
    pub fn within(&self) -> &[u64] {
        &self.within
    }
}

/// The hash of one item of a set, as [`Batch::push_set`] wants it. An item is its bytes: `7` and `"7"` are the same.
pub fn hash_item(item: &[u8]) -> u64 {
    hash_bytes(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_input_then_position() {
        let number = RecordNumber::new(3, 77);
        assert_eq!((number.input(), number.position()), (3, 77));
        assert!(RecordNumber::new(0, RecordNumber::MAX_POSITION) < RecordNumber::new(1, 0));
    }

    #[test]
    fn pop_takes_back_all_of_a_record() {
        let mut batch = Batch::new();
        batch.push_text(RecordNumber::new(0, 0), "kept");
        batch.push_keep(KeepValue::Number(1.0));
        batch.push_text(RecordNumber::new(0, 5), "gone");
        batch.push_keep(KeepValue::Missing);
        batch.pop();
        batch.push_set(RecordNumber::new(0, 5), [1, 2]);
        batch.push_keep(KeepValue::Missing);
        assert_eq!(batch.content(0), Content::Text("kept"));
        assert_eq!(batch.content(1), Content::Set(&[1, 2]));
        assert_eq!((batch.len(), batch.keep().len()), (2, 2));
    }
}
