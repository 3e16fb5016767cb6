//! A stretch of whole records of one input, on its way from the reader to a parser.

use std::ops::Range;
use std::sync::Arc;

use lookalike::RecordNumber;

use crate::csv::Columns;
use crate::parquet::ParquetFile;

/// A stretch of whole records. Reused from stretch to stretch: the reader fills it again.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Sorts stretches in input order: by input, then by place in it.
    pub order: u64,
    /// Which input it comes from.
    pub input: usize,
    /// Where its first byte stands in the decompressed input; for Parquet, zero.
    pub position: u64,
    /// How many bytes of the files, as they lie there, were read for it; summed over all
    /// chunks, the size of the inputs that have any.
    pub file_bytes: u64,
    /// Room for the bytes, of which `range` are this stretch's.
    pub(crate) buffer: Vec<u8>,
    pub(crate) range: Range<usize>,
    /// Bytes behind the stretch that belong to its last record: blank lines.
    pub(crate) trailing: u64,
    /// What the parser has to know besides.
    pub(crate) context: Context,
}

/// What a parser has to know about a stretch besides its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) enum Context {
    #[default]
    None,
    /// Which columns of a CSV file hold the fields.
    Columns(Arc<Columns>),
    /// A part of a Parquet file in place of bytes.
    RowGroup(Arc<ParquetFile>, usize),
}

impl Chunk {
    /// Its raw bytes, decompressed. Empty for Parquet.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }

    /// Makes room for the `index`-th stretch of an input.
    pub(crate) fn begin(&mut self, input: usize, index: u64) {
        self.input = input;
        // An input has no more stretches than bytes, and both fit in a record's number.
        self.order = input as u64 * (RecordNumber::MAX_POSITION + 1) + index;
        self.position = 0;
        self.file_bytes = 0;
        self.range = 0..0;
        self.trailing = 0;
        self.context = Context::None;
    }
}
