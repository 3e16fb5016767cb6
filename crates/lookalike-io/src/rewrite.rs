//! The kept records of an input leave it unchanged: the same bytes, in the same format.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::compression::{CompressedWriter, Compression, open_decompressed, read_error};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::options::Format;
use crate::output::AtomicFile;
use crate::parquet::{self, ParquetFile};
use crate::parsed::RawSpan;
use crate::plain_copy;
use crate::spans::SpanReader;
use crate::warc::WarcChunks;

/// How an input is written again. The default is a plain file that stands alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// How the output is compressed. (Parquet compresses itself.)
    pub compression: Compression,
    /// Leaves out what stands before this position, such as the CSV header of a file that follows another.
    pub from: u64,
    /// Ends the last line even if the input did not, so that another input can follow.
    pub close_last_line: bool,
}

impl Rewrite {
    /// To a file that stands alone, compressed as its name says; one that is called as the input is compressed as that is.
    pub fn to_file(input: &Input, path: &Path) -> Self {
        let compression = Compression::by_name(path).unwrap_or_else(|| {
            let same_name = path.file_name() == input.relative.file_name();
            if same_name { input.compression } else { Compression::None }
        });
        Self { compression, ..Self::default() }
    }
}

/// Writes an input without the records that are left out, which come in input order.
///
/// Everything else leaves unchanged, also what is no record: a byte-order mark, a CSV header, the requests in a WARC
/// file. With nothing left out, an output with the input's compression holds the same bytes once decompressed. A text or
/// HTML file is written as it lies there unless its one record is left out; then nothing is written, and whoever calls
/// does not want a file for it. An input that changed since it was looked at is an error.
pub fn rewrite(
    input: &Input,
    left_out: impl IntoIterator<Item = RawSpan, IntoIter: Send>,
    how: Rewrite,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let mut left_out = left_out.into_iter();
    match input.format {
        Format::Text | Format::Html => {
            if left_out.next().is_none() {
                copy_file(input, how, out)?;
            }
        }
        Format::Parquet => {
            let mut left_out = left_out.map(|span| span.position).peekable();
            let rows = ParquetFile::open(&input.path)?.rows();
            let kept: Vec<u64> = (0..rows).filter(|row| left_out.next_if_eq(row).is_none()).collect();
            parquet::rewrite(&input.path, &kept, out, None)?;
        }
        Format::Warc => copy_archive(input, left_out, how, out)?,
        _ => copy_all_but(input, left_out, how, out)?,
    }
    input.check_unchanged()
}

/// The first `length` bytes of an input, decompressed.
pub fn read_start(input: &Input, length: u64) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    SpanReader::open(input)?.read_until(length, &mut start)?;
    Ok(start)
}

/// [`rewrite()`] into a new file. Plain files of lines are copied in long stretches.
pub fn rewrite_to_file(
    input: &Input,
    left_out: impl IntoIterator<Item = RawSpan, IntoIter: Send>,
    how: Rewrite,
    out: &mut AtomicFile,
) -> Result<()> {
    let Some(target) = out.new_file().filter(|_| is_copied(input, how)) else {
        return rewrite(input, left_out, how, out);
    };
    input.check_unchanged()?;
    let source = File::open(&input.path).map_err(|error| Error::io("cannot open", &input.name, error))?;
    plain_copy::copy_all_but(&source, input.size, left_out.into_iter(), target).map_err(|error| {
        let has_ended = error.kind() == io::ErrorKind::UnexpectedEof;
        if has_ended { input.changed() } else { Error::sink(error) }
    })?;
    input.check_unchanged()
}

/// Whether an input is copied in long stretches: that takes a disk, and hardly a processor.
pub fn is_copied(input: &Input, how: Rewrite) -> bool {
    let is_plain = input.compression == Compression::None && how == Rewrite::default();
    is_plain && !matches!(input.format, Format::Text | Format::Html | Format::Parquet | Format::Warc)
}

/// A file that keeps its compression is not compressed anew.
fn copy_file(input: &Input, how: Rewrite, out: &mut (dyn Write + Send)) -> Result<()> {
    if input.compression != how.compression {
        let mut reader = SpanReader::open(input)?;
        let mut out = CompressedWriter::new(out, how.compression);
        reader.copy_rest(&mut out)?;
        out.finish().map_err(Error::sink)?;
        return Ok(());
    }
    let mut file = File::open(&input.path).map_err(|error| Error::io("cannot open", &input.name, error))?;
    io::copy(&mut file, out).map_err(Error::sink)?;
    Ok(())
}

fn copy_all_but(
    input: &Input,
    left_out: impl Iterator<Item = RawSpan>,
    how: Rewrite,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let mut reader = SpanReader::open(input)?;
    let mut out = LineTracker::new(CompressedWriter::new(out, how.compression));
    reader.seek(how.from)?;
    for span in left_out {
        reader.copy_until(span.position, &mut out)?;
        reader.seek(span.position + span.length)?;
    }
    reader.copy_rest(&mut out)?;
    out.finish(how)
}

/// By custom every record of a compressed archive can be read on its own, so each is a member by itself.
fn copy_archive(
    input: &Input,
    left_out: impl Iterator<Item = RawSpan>,
    how: Rewrite,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    let mut left_out = left_out.map(|span| span.position).peekable();
    let mut records = WarcChunks::new(open_decompressed(&input.path, input.compression)?);
    let mut out = CompressedWriter::new(out, how.compression);
    let (mut position, mut record) = (0, Vec::new());
    loop {
        record.clear();
        // Asked for a single byte, it gives a single record.
        let is_there = records.next_piece(1, &mut record);
        if !is_there.map_err(|error| read_error(&input.name, input.compression, position, error))? {
            break;
        }
        if left_out.next_if_eq(&position).is_none() {
            out.write_all(&record).and_then(|()| out.end_block()).map_err(Error::sink)?;
        }
        position += record.len() as u64;
    }
    out.finish().map_err(Error::sink)?;
    Ok(())
}

/// Remembers whether what was written ends with a line end.
pub(crate) struct LineTracker<W: Write> {
    inner: CompressedWriter<W>,
    last: Option<u8>,
}

impl<W: Write> LineTracker<W> {
    pub(crate) fn new(inner: CompressedWriter<W>) -> Self {
        Self { inner, last: None }
    }

    /// Ends the output as it was asked for.
    pub(crate) fn finish(mut self, how: Rewrite) -> Result<()> {
        if how.close_last_line && self.last.is_some_and(|last| last != b'\n') {
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
