//! Copies spans of an input's decompressed bytes, in order, reading each byte at most once.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use crate::compression::{Compression, open_decompressed, read_error};
use crate::error::{Error, Result};
use crate::input::Input;

/// Bytes read at once: few enough to be still in the cache when they are written.
const BUFFER_BYTES: usize = 1 << 17;

/// The bytes of an input, from front to back.
pub(crate) struct SpanReader<'a> {
    input: &'a Input,
    source: Source,
    position: u64,
}

enum Source {
    /// A plain file: what is passed over is not read.
    Plain(BufReader<File>),
    Stream(BufReader<Box<dyn Read + Send>>),
}

impl<'a> SpanReader<'a> {
    /// Opens an input that is still the one that was looked at.
    pub(crate) fn open(input: &'a Input) -> Result<Self> {
        input.check_unchanged()?;
        let source = if input.compression == Compression::None {
            let file = File::open(&input.path).map_err(|error| Error::io("cannot open", &input.name, error))?;
            Source::Plain(BufReader::with_capacity(BUFFER_BYTES, file))
        } else {
            Source::Stream(BufReader::with_capacity(BUFFER_BYTES, open_decompressed(&input.path, input.compression)?))
        };
        Ok(Self { input, source, position: 0 })
    }

    /// Passes over everything before `position`.
    pub(crate) fn seek(&mut self, position: u64) -> Result<()> {
        let Some(gap) = position.checked_sub(self.position) else {
            return Err(Error::new("records to write are not in input order").at_file(&self.input.name));
        };
        match &mut self.source {
            Source::Plain(file) => {
                file.seek_relative(gap as i64).map_err(|error| Error::io("cannot read", &self.input.name, error))?;
                self.position = position;
                Ok(())
            }
            Source::Stream(_) => self.take(gap, |_| Ok(())),
        }
    }

    /// Shows the next `length` bytes piece by piece.
    pub(crate) fn take(&mut self, length: u64, mut show: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut left = length;
        while left > 0 {
            let buffered = match &mut self.source {
                Source::Plain(reader) => reader.fill_buf(),
                Source::Stream(reader) => reader.fill_buf(),
            };
            let piece = match buffered {
                Ok([]) => return Err(self.input.changed()),
                Ok(piece) => &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(read_error(&self.input.name, self.input.compression, self.position, error)),
            };
            show(piece)?;
            let count = piece.len();
            match &mut self.source {
                Source::Plain(reader) => reader.consume(count),
                Source::Stream(reader) => reader.consume(count),
            }
            left -= count as u64;
            self.position += count as u64;
        }
        Ok(())
    }

    /// Copies everything that is left.
    pub(crate) fn copy_rest(&mut self, out: &mut dyn Write) -> Result<()> {
        loop {
            match self.available()? {
                0 => return Ok(()),
                available => self.copy(available, out)?,
            }
        }
    }

    /// How many bytes are at hand; none only at the end.
    fn available(&mut self) -> Result<u64> {
        loop {
            let buffered = match &mut self.source {
                Source::Plain(reader) => reader.fill_buf(),
                Source::Stream(reader) => reader.fill_buf(),
            };
            match buffered {
                Ok(piece) => return Ok(piece.len() as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(&self.input.name, self.input.compression, self.position, error)),
            }
        }
    }

    /// Copies everything before `position`.
    pub(crate) fn copy_until(&mut self, position: u64, out: &mut dyn Write) -> Result<()> {
        self.copy(position.saturating_sub(self.position), out)
    }

    /// Copies the next `length` bytes.
    pub(crate) fn copy(&mut self, length: u64, out: &mut dyn Write) -> Result<()> {
        self.take(length, |piece| out.write_all(piece).map_err(Error::sink))
    }

    /// Reads everything before `position`, or all that is left, in place of what `record` holds.
    pub(crate) fn read_until(&mut self, position: u64, record: &mut Vec<u8>) -> Result<()> {
        record.clear();
        while self.position < position {
            let before = record.len();
            let wanted = (position - self.position).min(BUFFER_BYTES as u64);
            let available = self.available()?.min(wanted);
            self.take(available, |piece| {
                record.extend_from_slice(piece);
                Ok(())
            })?;
            if record.len() == before {
                break;
            }
        }
        Ok(())
    }

    /// Reads the next `length` bytes in place of what `record` holds.
    pub(crate) fn read(&mut self, length: u64, record: &mut Vec<u8>) -> Result<()> {
        record.clear();
        self.take(length, |piece| {
            record.extend_from_slice(piece);
            Ok(())
        })
    }
}
