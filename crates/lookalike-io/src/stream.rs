//! Records from a stream of bytes, cut into stretches: for what cannot be read from the middle.

use std::io::{self, Read};

use memchr::memrchr;

use crate::csv;
use crate::line_records::{line_end, skip_blank_lines};

/// Where the records of a format begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// At every line.
    Lines,
    /// At every line that is not blank.
    FilledLines,
    /// At every row; quotes may hold line ends.
    Rows { delimiter: u8 },
}

impl Cut {
    /// Where `bytes`, which start with a record and may end inside one, can be cut: at the start of a record that is
    /// not the first. What follows a record without being one stays before the cut.
    fn last_start(self, bytes: &[u8]) -> Option<usize> {
        let start = match self {
            Self::Lines => memrchr(b'\n', bytes)? + 1,
            Self::FilledLines => {
                let filled = bytes.iter().rposition(|byte| !b" \t\r\n".contains(byte))?;
                memrchr(b'\n', &bytes[..filled])? + 1
            }
            Self::Rows { delimiter } => {
                let (mut last, mut at) = (0, csv::skip_empty_lines(bytes, 0));
                while at < bytes.len() {
                    last = at;
                    at = csv::skip_empty_lines(bytes, csv::split_row(bytes, at, delimiter, |_| ()).next);
                }
                last
            }
        };
        (start > 0).then_some(start)
    }

    /// How many records start in the first `limit` bytes of a stretch of whole records.
    pub(crate) fn count_starts(self, bytes: &[u8], limit: usize) -> u64 {
        if self == Self::Lines {
            let ends = memchr::memchr_iter(b'\n', &bytes[..limit]).count() as u64;
            // The line that goes on behind the limit has started too, unless the limit is where it would start.
            return ends + u64::from(limit > 0 && bytes[limit - 1] != b'\n');
        }
        let skip =
            |at| if self == Self::FilledLines { skip_blank_lines(bytes, at) } else { csv::skip_empty_lines(bytes, at) };
        let (mut count, mut at) = (0, skip(0));
        while at < limit {
            count += 1;
            at = skip(match self {
                Self::Rows { delimiter } => csv::split_row(bytes, at, delimiter, |_| ()).next,
                _ => line_end(bytes, at).1,
            });
        }
        count
    }
}

/// A stream that gives whole records.
pub(crate) struct RecordStream {
    reader: Box<dyn Read + Send>,
    cut: Cut,
    /// The start of the next stretch, read already.
    carry: Vec<u8>,
    /// Where the next stretch starts.
    position: u64,
    ended: bool,
}

impl RecordStream {
    pub(crate) fn new(reader: Box<dyn Read + Send>, cut: Cut) -> Self {
        Self { reader, cut, carry: Vec::new(), position: 0, ended: false }
    }

    /// Where the next stretch starts.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Takes the first row out of the stream, with a byte-order mark and empty lines before it. `None`: there is none.
    pub(crate) fn take_header(&mut self, delimiter: u8) -> io::Result<Option<Vec<u8>>> {
        let mut wanted = 64 << 10;
        loop {
            let mut carry = std::mem::take(&mut self.carry);
            let filled = self.fill(&mut carry, wanted);
            self.carry = carry;
            filled?;
            let mark = if self.carry.starts_with(crate::BOM) { crate::BOM.len() } else { 0 };
            let start = csv::skip_empty_lines(&self.carry, mark);
            let end = csv::split_row(&self.carry, start, delimiter, |_| ());
            if end.terminated || self.ended {
                let header = (start < self.carry.len()).then(|| self.carry[start..end.content].to_vec());
                let next = csv::skip_empty_lines(&self.carry, end.next);
                self.carry.drain(..next);
                self.position = next as u64;
                return Ok(header);
            }
            wanted *= 2;
        }
    }

    /// Fills `out` with the next whole records, about `target` bytes of them. False at the end.
    pub(crate) fn next_piece(&mut self, target: usize, out: &mut Vec<u8>) -> io::Result<bool> {
        out.clear();
        out.append(&mut self.carry);
        let mut wanted = target;
        loop {
            self.fill(out, wanted)?;
            if self.ended {
                break;
            }
            if let Some(start) = self.cut.last_start(out) {
                self.carry.extend_from_slice(&out[start..]);
                out.truncate(start);
                break;
            }
            wanted = out.len().saturating_mul(2);
        }
        self.position += out.len() as u64;
        Ok(!out.is_empty())
    }

    fn fill(&mut self, out: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        while !self.ended && out.len() < wanted {
            let missing = (wanted - out.len()) as u64;
            self.ended = self.reader.by_ref().take(missing).read_to_end(out)? == 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Cut = Cut::Rows { delimiter: b',' };

    #[test]
    fn a_cut_is_a_start_that_is_not_the_first() {
        for (cut, bytes, start) in [
            (Cut::Lines, &b"a\n\nb"[..], Some(3)),
            (Cut::Lines, b"a\n", Some(2)),
            (Cut::Lines, b"abc", None),
            (Cut::FilledLines, b"a\n\n  b", Some(3)),
            (Cut::FilledLines, b"a\nb\n \n", Some(2)),
            (Cut::FilledLines, b"a\n\n", None),
            (ROWS, b"a,\"\n\"\nb", Some(6)),
            (ROWS, b"a,\"\nb\nc", None),
            (ROWS, b"a\n\r", None),
        ] {
            assert_eq!(cut.last_start(bytes), start, "{cut:?} {}", bytes.escape_ascii());
        }
    }

    #[test]
    fn starts_are_counted_up_to_a_limit() {
        for (cut, bytes, counts) in [
            (Cut::Lines, &b"a\n\nb"[..], [0, 1, 1, 2, 3]),
            (Cut::FilledLines, b"a\n\nb", [0, 1, 1, 1, 2]),
            (ROWS, b"\"\n\"\n", [0, 1, 1, 1, 1]),
        ] {
            for (limit, count) in counts.into_iter().enumerate() {
                assert_eq!(cut.count_starts(bytes, limit), count, "{cut:?} {limit}");
            }
        }
    }

    #[test]
    fn a_record_longer_than_a_piece_comes_whole() {
        let content = format!("{}\nb\n", "a".repeat(1000));
        let mut stream = RecordStream::new(Box::new(std::io::Cursor::new(content.clone())), Cut::Lines);
        let (mut piece, mut whole) = (Vec::new(), Vec::new());
        while stream.next_piece(16, &mut piece).unwrap() {
            assert!(piece.ends_with(b"\n"));
            whole.append(&mut piece);
        }
        assert_eq!(whole, content.as_bytes());
        assert_eq!(stream.position(), content.len() as u64);
    }
}
