//! What a reader makes of one stretch of an input: the records for the engine, and what the engine need not know.

use lookalike::Batch;

use crate::error::{Error, Result};
use crate::fields::Found;
use crate::options::OnError;

/// The records of one chunk, in input order, with their ids and where their raw bytes stand.
///
/// Reused from chunk to chunk: [`Parsed::clear`] keeps the buffers.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The records, as the engine takes them.
    pub batch: Batch,
    /// The records' ids.
    pub ids: Ids,
    /// For each record, how many raw bytes belong to it, counted from its position up to the next record's. (1 where a
    /// position is a row.)
    pub raw_lengths: Vec<u32>,
    /// The records that could not be used, where they are to be skipped.
    pub bad: Vec<BadRecord>,
    /// Raw bytes that this chunk covers.
    pub bytes: u64,
    /// Room that a parser uses between two records.
    pub(crate) scratch: Scratch,
}

/// Buffers that a parser reuses from record to record.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Where the wanted members stand in a JSON record.
    pub(crate) found: Found,
    /// Where the cells stand in a CSV row.
    pub(crate) cells: Vec<(usize, usize)>,
    /// An unescaped string.
    pub(crate) text: String,
    /// The hashes of a set's items.
    pub(crate) items: Vec<u64>,
}

/// Where the raw bytes of a record stand in the decompressed input; where positions are rows, which row it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSpan {
    /// Where the record starts.
    pub position: u64,
    /// How many bytes belong to it, or 1 row.
    pub length: u64,
}

/// A record that could not be used.
#[derive(Debug)]
pub struct BadRecord {
    /// How many records, good and bad, precede it in its chunk.
    pub index_in_chunk: u64,
    /// Where its raw bytes stand.
    pub span: RawSpan,
    /// What is wrong with it.
    pub error: Error,
}

impl Parsed {
    /// Forgets everything and keeps the buffers.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.ids.clear();
        self.raw_lengths.clear();
        self.bad.clear();
        self.bytes = 0;
    }

    /// Deals with a record that cannot be used.
    pub(crate) fn refuse(&mut self, span: RawSpan, error: Error, on_error: OnError) -> Result<()> {
        match on_error {
            OnError::Fail => Err(error.or_leave_out()),
            OnError::Skip => {
                let index_in_chunk = (self.batch.len() + self.bad.len()) as u64;
                self.bad.push(BadRecord { index_in_chunk, span, error });
                Ok(())
            }
        }
    }
}

/// Ids in one flat buffer. A record without an id of its own holds none: it is called by its file and its place there.
#[derive(Clone, Debug, Default)]
pub struct Ids {
    text: String,
    /// Where each id ends. The lowest bit says whether there is one.
    ends: Vec<u64>,
}

impl Ids {
    /// Forgets the ids and keeps the buffers.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Adds the next record's id, or none.
    pub fn push(&mut self, id: Option<&str>) {
        self.text.push_str(id.unwrap_or_default());
        self.ends.push((self.text.len() as u64) << 1 | u64::from(id.is_some()));
    }

    /// Takes the last id back.
    pub fn pop(&mut self) {
        self.ends.pop();
        self.text.truncate(self.start(self.ends.len()));
    }

    /// The id of the `index`-th record, if it has one of its own.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = self.ends[index];
        (end & 1 == 1).then(|| &self.text[self.start(index)..(end >> 1) as usize])
    }

    /// Gives back memory that is not needed.
    pub fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// About how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.text.len() + 8 * self.ends.len()
    }

    fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { (self.ends[index - 1] >> 1) as usize }
    }

    /// How many records there are, with and without an id.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
