//! A raw WARC record: where it ends, and what its header fields say.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memmem};

/// One raw record inside a piece of a WARC stream.
pub(super) struct RawRecord<'a> {
    /// Its header fields.
    pub(super) fields: Fields<'a>,
    /// Its content.
    pub(super) block: &'a [u8],
    /// All of its bytes in the piece: header, block, and the line ends after it.
    pub(super) range: Range<usize>,
}

/// Something at `offset` that is no WARC record.
#[derive(Debug)]
pub(super) struct Damage {
    pub(super) offset: usize,
    pub(super) message: String,
}

/// The raw records in a piece that holds whole records; ends after the first damage.
pub(super) fn raw_records(piece: &[u8]) -> impl Iterator<Item = Result<RawRecord<'_>, Damage>> {
    let mut next = line_ends(piece);
    std::iter::from_fn(move || {
        if next >= piece.len() {
            return None;
        }
        let start = std::mem::replace(&mut next, piece.len());
        Some(match read_record(piece, start) {
            Ok(record) => {
                next = record.range.end;
                Ok(record)
            }
            Err(message) => Err(Damage { offset: start, message }),
        })
    })
}

fn read_record(piece: &[u8], start: usize) -> Result<RawRecord<'_>, String> {
    let rest = &piece[start..];
    check_version_line(rest)?;
    let (head, after_head) = split_head(rest).ok_or("its header does not end")?;
    let fields = Fields::after_first_line(head);
    let length = block_length(&fields)?;
    let block = usize::try_from(length)
        .ok()
        .and_then(|length| after_head.get(..length))
        .ok_or_else(|| format!("its header promises {length} bytes, and only {} follow", after_head.len()))?;
    let block_end = piece.len() - after_head.len() + block.len();
    Ok(RawRecord { fields, block, range: start..block_end + line_ends(&piece[block_end..]) })
}

/// Whether the bytes begin as every WARC record does.
pub(super) fn check_version_line(bytes: &[u8]) -> Result<(), String> {
    if bytes.starts_with(b"WARC/") { Ok(()) } else { Err("it does not begin with WARC/ and a version".into()) }
}

/// The `Content-Length` that every WARC record must have.
pub(super) fn block_length(fields: &Fields<'_>) -> Result<u64, String> {
    let length = fields.get("Content-Length").ok_or("its header has no Content-Length")?;
    length.parse().map_err(|_| format!("its Content-Length is {:?}, which is no number", length))
}

/// How many bytes of line ends the bytes begin with. Two CRLF are due after a record; writers differ.
fn line_ends(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len())
}

/// Parts a head, up to and including its empty line, from what follows. Bare newlines are understood too.
pub(super) fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    memmem::find_iter(bytes, b"\n")
        .find_map(|newline| match &bytes[newline + 1..] {
            [b'\n', ..] => Some(newline + 2),
            [b'\r', b'\n', ..] => Some(newline + 3),
            _ => None,
        })
        .map(|end| bytes.split_at(end))
}

/// The lines `Name: value` of a WARC or HTTP head, looked up one by one: few of them are ever asked for.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    lines: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of a head whose first line is a version or a status.
    pub(super) fn after_first_line(head: &'a [u8]) -> Self {
        Self { lines: memchr(b'\n', head).map_or(&[], |newline| &head[newline + 1..]) }
    }

    /// The value of the first field with this name in any case, without the blanks around it. A value folded over
    /// several lines (obsolete in both formats) ends with its first.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        self.lines.split(|byte| *byte == b'\n').find_map(|line| {
            let (found, value) = line.split_at_checked(name.len())?;
            let value = value.trim_ascii_start().strip_prefix(b":")?;
            found.eq_ignore_ascii_case(name.as_bytes()).then(|| String::from_utf8_lossy(value.trim_ascii()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_case() {
        let fields =
            Fields::after_first_line(b"WARC/1.1\r\nA: 1\r\nwarc-DATE :  x y \r\nWARC-Date: late\r\nA: 2\r\n\r\n");
        assert_eq!(fields.get("WARC-Date").as_deref(), Some("x y"));
        assert_eq!(fields.get("a").as_deref(), Some("1"));
        assert_eq!(fields.get("WARC-Dat"), None);
        assert_eq!(fields.get("1.1"), None);
    }

    #[test]
    fn heads_end_at_an_empty_line() {
        assert_eq!(split_head(b"a\r\nb\r\n\r\nbody"), Some((&b"a\r\nb\r\n\r\n"[..], &b"body"[..])));
        assert_eq!(split_head(b"a\n\nbody\n\n"), Some((&b"a\n\n"[..], &b"body\n\n"[..])));
        assert_eq!(split_head(b"a\r\nb\r\n"), None);
    }

    #[test]
    fn damage_says_what_and_where() {
        let piece = b"\r\nWARC/1.0\r\nContent-Length: 1\r\n\r\nx\r\n\r\nWARC/1.0\r\nContent-Length: 9\r\n\r\nx";
        let found: Vec<_> = raw_records(piece).collect();
        assert_eq!(found.len(), 2);
        assert!(matches!(&found[0], Ok(record) if record.block == b"x" && record.range == (2..38)));
        assert!(matches!(&found[1], Err(damage) if damage.offset == 38 && damage.message.contains("promises 9 bytes")));
    }
}
