//! The kept records of an input leave it unchanged: the same bytes, in the same format and compression.

use std::fs::File;
use std::io::{self, Write};

use crate::chunk::Chunk;
use crate::compression::CompressedWriter;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::options::{Format, OnError, ReadOptions};
use crate::parquet;
use crate::parsed::Parsed;
use crate::source::Reader;
use crate::spans::SpanReader;

/// Where a record's raw bytes stand, to be kept or dropped: its position and its `raw_length`, as it was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptSpan {
    /// Where the record starts: a byte of the decompressed input, or a row.
    pub position: u64,
    /// How many bytes belong to it.
    pub length: u32,
}

/// How an output goes with others in the same stream. The default is an output that stands alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Leaves out what stands before the first record, such as a CSV header.
    pub without_prefix: bool,
    /// Ends the last line even if the input did not, so that another input can follow.
    pub close_last_line: bool,
}

/// Writes the kept records of an input, which come in input order.
///
/// What stands before the first record (a byte-order mark, a CSV header) is always written. With nothing dropped an
/// uncompressed output has the bytes of its input. A text or HTML file is written as it lies there if its one record is
/// kept; if not, nothing is written, and whoever calls does not want a file for it. An input that changed since it was
/// looked at is an error.
pub fn rewrite(
    input: &Input,
    options: &ReadOptions,
    kept: impl IntoIterator<Item = KeptSpan>,
    joined: Joined,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    match input.format {
        Format::Text | Format::Html => {
            if kept.into_iter().next().is_some() {
                copy_file(input, out)?;
            }
        }
        Format::Parquet => {
            let rows: Vec<u64> = kept.into_iter().map(|span| span.position).collect();
            parquet::rewrite(&input.path, &rows, out, None)?;
        }
        _ => copy_spans(input, options, kept, joined, out)?,
    }
    input.check_unchanged()
}

fn copy_file(input: &Input, out: &mut dyn Write) -> Result<()> {
    let mut file = File::open(&input.path).map_err(|error| Error::io("cannot open", &input.name, error))?;
    io::copy(&mut file, out).map_err(Error::sink)?;
    Ok(())
}

fn copy_spans(
    input: &Input,
    options: &ReadOptions,
    kept: impl IntoIterator<Item = KeptSpan>,
    joined: Joined,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let mut reader = SpanReader::open(input)?;
    let mut out = LineTracker::new(CompressedWriter::new(out, input.compression));
    if !joined.without_prefix {
        reader.copy(prefix_length(input, options)?, &mut out)?;
    }
    for span in kept {
        reader.seek(span.position)?;
        reader.copy(u64::from(span.length), &mut out)?;
        if input.format == Format::Warc {
            // By custom every record of a compressed archive can be read on its own.
            out.inner.end_block().map_err(Error::sink)?;
        }
    }
    out.finish(joined)
}

/// Writes an input without the bytes of some of its records, which come in input order: what belongs to no record stays.
///
/// This is what an archive wants, whose records for comparison stand between others (WARC). It is not for Parquet, whose
/// positions are rows.
pub fn rewrite_without(
    input: &Input,
    dropped: impl IntoIterator<Item = KeptSpan>,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    if input.format == Format::Parquet {
        return Err(Error::new("rows of a Parquet file have no bytes of their own").at_file(&input.name));
    }
    let mut reader = SpanReader::open(input)?;
    let mut out = CompressedWriter::new(out, input.compression);
    for span in dropped {
        let kept = reader.distance(span.position)?;
        reader.copy(kept, &mut out)?;
        reader.seek(span.position + u64::from(span.length))?;
    }
    reader.copy_rest(&mut out)?;
    out.finish().map_err(Error::sink)?;
    input.check_unchanged()
}

/// How many bytes stand before the first record, good or bad; all of them if there is none.
pub(crate) fn prefix_length(input: &Input, options: &ReadOptions) -> Result<u64> {
    let options = ReadOptions { on_error: OnError::Skip, ..options.clone() };
    let reader = Reader::open(vec![input.clone()], options)?;
    let (mut chunk, mut parsed) = (Chunk::default(), Parsed::default());
    while reader.next_chunk(&mut chunk)? {
        reader.parse(&chunk, &mut parsed)?;
        let good = parsed.batch.numbers().first().map(|number| number.position());
        let bad = parsed.bad.first().and_then(|bad| bad.error.place()?.byte);
        if let Some(first) = [good, bad].into_iter().flatten().min() {
            return Ok(first);
        }
    }
    let mut reader = SpanReader::open(input)?;
    reader.copy_rest(&mut io::sink())
}

/// Remembers whether what was written ends with a line end.
pub(crate) struct LineTracker<W: Write> {
    pub(crate) inner: CompressedWriter<W>,
    last: Option<u8>,
}

impl<W: Write> LineTracker<W> {
    pub(crate) fn new(inner: CompressedWriter<W>) -> Self {
        Self { inner, last: None }
    }

    /// Ends the output as it was asked for.
    pub(crate) fn finish(mut self, joined: Joined) -> Result<()> {
        if joined.close_last_line && self.last.is_some_and(|last| last != b'\n') {
            self.inner.write_all(b"\n").map_err(Error::sink)?;
        }
        self.inner.finish().map_err(Error::sink)?;
        Ok(())
    }
}

impl<W: Write> Write for LineTracker<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        if count > 0 {
            self.last = Some(bytes[count - 1]);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
