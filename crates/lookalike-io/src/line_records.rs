//! What the formats of one record a line share: lines found, byte-order mark and line ends set aside, bad ones named.

use std::ops::Range;
use std::path::Path;

use lookalike::RecordNumber;
use memchr::memchr;

use crate::error::{Error, Place, Result};
use crate::options::OnError;
use crate::parsed::{Parsed, RawSpan};

/// A stretch of whole records, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where its first byte stands in the decompressed input.
    pub(crate) position: u64,
    pub(crate) input: usize,
    /// What the user calls the input.
    pub(crate) name: &'a Path,
    /// Bytes behind the stretch that belong to its last record.
    pub(crate) trailing: u64,
    pub(crate) on_error: OnError,
}

/// Whether a line without content is a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlankLines {
    /// It is an empty record.
    Records,
    /// It is nothing, and stays with the record before it.
    Ignored,
}

/// Takes the lines of a stretch one by one. `take` is given a line without its end and adds it to the records, or
/// returns why it cannot and leaves them as they were.
pub(crate) fn parse_lines(
    stretch: Stretch<'_>,
    blank_lines: BlankLines,
    parsed: &mut Parsed,
    mut take: impl FnMut(&str, RecordNumber, &mut Parsed) -> Result<()>,
) -> Result<()> {
    let bytes = stretch.bytes;
    // All at once is several times faster than line by line; only a damaged stretch is looked at again.
    let text = simdutf8::basic::from_utf8(bytes).ok();
    let mut start = stretch.records_start();
    if blank_lines == BlankLines::Ignored {
        start = skip_blank_lines(bytes, start);
    }
    while start < bytes.len() {
        let (end, mut next) = line_end(bytes, start);
        if blank_lines == BlankLines::Ignored {
            next = skip_blank_lines(bytes, next);
        }
        let number = stretch.number(start);
        let line = match text {
            Some(text) => Ok(&text[start..end]),
            None => std::str::from_utf8(&bytes[start..end])
                .map_err(|error| not_utf8(number.position() + error.valid_up_to() as u64)),
        };
        let taken = line.and_then(|line| {
            let length = stretch.raw_length(start, next)?;
            take(line, number, parsed)?;
            parsed.raw_lengths.push(length);
            Ok(())
        });
        if let Err(error) = taken {
            stretch.refuse(start..next, error, parsed)?;
        }
        start = next;
    }
    Ok(())
}

impl Stretch<'_> {
    /// Where records can start: behind a byte-order mark.
    pub(crate) fn records_start(&self) -> usize {
        if self.position == 0 && self.bytes.starts_with(crate::BOM) { crate::BOM.len() } else { 0 }
    }

    /// The number of the record that starts at `start`.
    pub(crate) fn number(&self, start: usize) -> RecordNumber {
        RecordNumber::new(self.input as u64, self.position + start as u64)
    }

    /// How many raw bytes belong to the record at `start` if the next one starts at `next`.
    pub(crate) fn raw_length(&self, start: usize, next: usize) -> Result<u32> {
        let trailing = if next == self.bytes.len() { self.trailing } else { 0 };
        u32::try_from((next - start) as u64 + trailing).map_err(|_| {
            Error::new("the record and the blank lines behind it are longer than 4 GiB").advise("split it into several")
        })
    }

    /// Deals with a record that cannot be used, as the options say. `record` are its bytes in the stretch.
    pub(crate) fn refuse(&self, record: Range<usize>, error: Error, parsed: &mut Parsed) -> Result<()> {
        let position = self.position + record.start as u64;
        let error = error.at(Place { path: self.name.into(), record: None, byte: Some(position) });
        let trailing = if record.end == self.bytes.len() { self.trailing } else { 0 };
        let span = RawSpan { position, length: record.len() as u64 + trailing };
        parsed.refuse(span, error, self.on_error)
    }
}

/// Where the line at `start` ends, without and with its line end.
pub(crate) fn line_end(bytes: &[u8], start: usize) -> (usize, usize) {
    match memchr(b'\n', &bytes[start..]) {
        Some(length) => {
            let end = start + length;
            (if length > 0 && bytes[end - 1] == b'\r' { end - 1 } else { end }, end + 1)
        }
        None => (bytes.len(), bytes.len()),
    }
}

/// Where the first line at or behind `start`, a line's start, begins that is not blank.
pub(crate) fn skip_blank_lines(bytes: &[u8], mut start: usize) -> usize {
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'\n') => {
                at += 1;
                start = at;
            }
            Some(b' ' | b'\t' | b'\r') => at += 1,
            Some(_) => return start,
            None => return bytes.len(),
        }
    }
}

/// The error of bytes that are not UTF-8; `position` is the first of them in the decompressed input.
pub(crate) fn not_utf8(position: u64) -> Error {
    Error::new(format!("the text is not UTF-8 (at byte {position})")).advise("convert the file, for example with iconv")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_stay_with_the_record_before() {
        assert_eq!(skip_blank_lines(b"\n \r\n\tx", 0), 4);
        assert_eq!(skip_blank_lines(b"\n  ", 0), 3);
        assert_eq!(skip_blank_lines(b"x", 0), 0);
        assert_eq!(skip_blank_lines(b"", 0), 0);
    }

    #[test]
    fn a_line_ends_before_its_line_end() {
        assert_eq!(line_end(b"ab\r\nc", 0), (2, 4));
        assert_eq!(line_end(b"\r\n", 0), (0, 2));
        assert_eq!(line_end(b"\n", 0), (0, 1));
        assert_eq!(line_end(b"ab", 0), (2, 2));
    }
}
