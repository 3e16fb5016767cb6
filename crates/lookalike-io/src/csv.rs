//! CSV and TSV with a header line: a row is a record, the columns are its fields. Quoting as in RFC 4180.

use std::ops::Range;

use lookalike::{KeepValue, RecordNumber};
use memchr::{memchr, memchr_iter, memchr2};

use crate::error::{Error, Result};
use crate::line_records::{Stretch, not_utf8};
use crate::options::{FieldPath, Format, ReadOptions};
use crate::parsed::Parsed;

/// Which columns of a file hold the fields.
#[derive(Debug)]
pub(crate) struct Columns {
    delimiter: u8,
    /// How many columns there are.
    count: usize,
    text: Vec<usize>,
    id: Option<usize>,
    /// The keep field, where one is asked for; the file need not have it.
    keep: Option<Option<usize>>,
    within: Option<usize>,
}

/// What other programs divide fields by.
const OTHER_DELIMITERS: [char; 3] = [';', '|', '\t'];
/// Columns that are listed where the one that was asked for is not there, and characters of each.
const MOST_LISTED: usize = 20;
const MOST_SHOWN: usize = 40;

/// A name of a column in quotes, as far as it can be one: a file without a header has a text there.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// What separates the fields of a format.
pub(crate) fn delimiter(format: Format) -> u8 {
    if format == Format::Tsv { b'\t' } else { b',' }
}

impl Columns {
    /// Finds the fields in a header, which comes without a byte-order mark.
    pub(crate) fn find(header: &[u8], delimiter: u8, options: &ReadOptions) -> Result<Self> {
        let header = std::str::from_utf8(header).map_err(|error| not_utf8(error.valid_up_to() as u64))?;
        let mut names = Vec::new();
        split_row(header.as_bytes(), 0, delimiter, |field| {
            let mut name = String::new();
            unquote(&header[field], &mut name);
            names.push(name);
        });
        let mut wanted = options.text.iter().chain(&options.id).chain(&options.keep).chain(&options.within);
        let is_there_twice = |path: &&FieldPath| names.iter().filter(|name| *name == path.as_str()).count() > 1;
        if let Some(path) = wanted.find(is_there_twice) {
            return Err(Error::new(format!("several columns are called {:?}", path.as_str()))
                .advise("which of them is meant cannot be told; rename the others"));
        }
        let find = |path: &FieldPath| names.iter().position(|name| name == path.as_str());
        let demand = |path: &FieldPath, flag: &str| {
            find(path).ok_or_else(|| {
                let error = Error::new(format!("there is no column {:?}", path.as_str()));
                if let [name] = names.as_slice()
                    && let Some(other) = OTHER_DELIMITERS.iter().find(|other| name.contains(**other))
                {
                    return error.advise(format!(
                        "the header is {}, and fields are divided by commas (csv) or tabs (tsv), not by {other:?}; convert the \
                         file, or say which it is with --input-format",
                        shortened(name)
                    ));
                }
                let listed: Vec<String> = names.iter().take(MOST_LISTED).map(|name| shortened(name)).collect();
                let more = if names.len() > MOST_LISTED { ", …" } else { "" };
                error.advise(format!("name one of those in the first row with {flag}: {}{more}", listed.join(", ")))
            })
        };
        Ok(Self {
            delimiter,
            count: names.len(),
            text: options.text.iter().map(|path| demand(path, "--text")).collect::<Result<_>>()?,
            id: options.id.as_ref().and_then(find),
            keep: options.keep.as_ref().map(find),
            within: options.within.as_ref().map(|path| demand(path, "--within")).transpose()?,
        })
    }
}

/// How a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowEnd {
    /// Where its last field ends.
    pub(crate) content: usize,
    /// Where the next line starts.
    pub(crate) next: usize,
    /// Whether a line end was seen; without one the row may go on behind the bytes.
    pub(crate) terminated: bool,
    /// Whether the bytes end inside quotes.
    pub(crate) open_quote: bool,
    /// Whether quotes that hold line ends are closed in the middle of a field. Then it was no quoted field, but a text that begins
    /// with a quote, and other rows were taken for a part of it.
    pub(crate) stray_quote: bool,
}

/// Walks the row that starts at `start` and shows where each field stands, quotes included.
///
/// A field is quoted if it starts with a quote; in it two quotes are one, and delimiters and line ends are content. What
/// follows the closing quote, and a quote inside a field that does not start with one, are taken as they are.
pub(crate) fn split_row(bytes: &[u8], start: usize, delimiter: u8, mut field: impl FnMut(Range<usize>)) -> RowEnd {
    let mut begin = start;
    let mut stray_quote = false;
    loop {
        let mut at = begin;
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            loop {
                let Some(length) = memchr(b'"', &bytes[at..]) else {
                    field(begin..bytes.len());
                    let (content, next) = (bytes.len(), bytes.len());
                    return RowEnd { content, next, terminated: false, open_quote: true, stray_quote };
                };
                at += length + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
            let is_at_end = matches!(&bytes[at..], [] | [b'\n' | b'\r', ..]) || bytes[at] == delimiter;
            stray_quote |= !is_at_end && memchr(b'\n', &bytes[begin..at]).is_some();
        }
        match memchr2(delimiter, b'\n', &bytes[at..]) {
            Some(length) if bytes[at + length] == delimiter => {
                field(begin..at + length);
                begin = at + length + 1;
            }
            found => {
                let end = found.map_or(bytes.len(), |length| at + length);
                let terminated = found.is_some();
                let content = if terminated && end > begin && bytes[end - 1] == b'\r' { end - 1 } else { end };
                field(begin..content);
                let next = end + usize::from(terminated);
                return RowEnd { content, next, terminated, open_quote: false, stray_quote };
            }
        }
    }
}

/// Where the first row at or behind `start`, a line's start, begins: empty lines are no rows.
pub(crate) fn skip_empty_lines(bytes: &[u8], mut start: usize) -> usize {
    loop {
        start += match &bytes[start..] {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            [b'\r'] => 1,
            _ => return start,
        };
    }
}

/// Appends a field's content.
fn unquote(field: &str, out: &mut String) {
    let Some(quoted) = field.strip_prefix('"') else {
        return out.push_str(field);
    };
    let mut rest = quoted;
    while let Some((run, behind)) = rest.split_once('"') {
        out.push_str(run);
        match behind.strip_prefix('"') {
            Some(behind) => {
                out.push('"');
                rest = behind;
            }
            None => return out.push_str(behind),
        }
    }
    out.push_str(rest);
}

/// Takes the records of a stretch, which starts behind the header.
pub(crate) fn parse(stretch: Stretch<'_>, columns: &Columns, parsed: &mut Parsed) -> Result<()> {
    let bytes = stretch.bytes;
    let text = simdutf8::basic::from_utf8(bytes).ok();
    let mut start = skip_empty_lines(bytes, 0);
    while start < bytes.len() {
        let fields = &mut parsed.scratch.cells;
        fields.clear();
        let end =
            split_row(bytes, start, columns.delimiter, |field| fields.push((field.start - start, field.end - start)));
        let next = skip_empty_lines(bytes, end.next);
        let number = stretch.number(start);
        let row = match text {
            Some(text) => Ok(&text[start..end.content]),
            None => std::str::from_utf8(&bytes[start..end.content])
                .map_err(|error| not_utf8(number.position() + error.valid_up_to() as u64)),
        };
        let taken = row.and_then(|row| {
            let length = stretch.raw_length(start, next)?;
            check_shape(parsed.scratch.cells.len(), row, end, columns)?;
            take_row(row, number, columns, parsed);
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

fn check_shape(fields: usize, row: &str, end: RowEnd, columns: &Columns) -> Result<()> {
    let lines = || memchr_iter(b'\n', row.trim_end().as_bytes()).count() + 1;
    let what = if end.open_quote {
        format!("a quoted field is never closed, so that the rest of the file ({} lines) counts as this row", lines())
    } else if end.stray_quote {
        let what = format!("a field begins with a quote that is closed {} lines later, before more text", lines());
        return Err(
            Error::new(what).advise("put a field that has a quote in it in quotes, with its own quotes written twice")
        );
    } else if fields != columns.count {
        format!("the row has {fields} fields and the header {}", columns.count)
    } else {
        return Ok(());
    };
    Err(Error::new(what).advise("repair the row"))
}

fn take_row(row: &str, number: RecordNumber, columns: &Columns, parsed: &mut Parsed) {
    let fields = &parsed.scratch.cells;
    let raw = |column: usize| fields.get(column).map_or("", |(start, end)| &row[*start..*end]);
    parsed.batch.push_text_with(number, |buffer| {
        for (index, column) in columns.text.iter().enumerate() {
            if index > 0 {
                buffer.push('\n');
            }
            unquote(raw(*column), buffer);
        }
    });
    let cell = &mut parsed.scratch.text;
    let read = |column: Option<usize>, cell: &mut String| {
        cell.clear();
        unquote(column.map_or("", raw), cell);
    };
    if columns.within.is_some() {
        read(columns.within, cell);
        parsed.batch.push_within(cell.as_bytes());
    }
    if let Some(column) = columns.keep {
        read(column, cell);
        parsed.batch.push_keep(keep_value(cell));
    }
    read(columns.id, cell);
    parsed.ids.push((!cell.is_empty()).then_some(cell));
}

/// A cell has no type: what reads as a number is one.
fn keep_value(cell: &str) -> KeepValue {
    if cell.is_empty() {
        return KeepValue::Missing;
    }
    KeepValue::parse_number(cell).unwrap_or_else(|| KeepValue::Text(cell.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OnError;
    use lookalike::Content;
    use proptest::prelude::*;
    use std::path::Path;

    fn rows(content: &str) -> Vec<Vec<String>> {
        let (bytes, mut rows, mut start) = (content.as_bytes(), Vec::new(), skip_empty_lines(content.as_bytes(), 0));
        while start < bytes.len() {
            let mut row = Vec::new();
            let end = split_row(bytes, start, b',', |field| {
                let mut cell = String::new();
                unquote(&content[field], &mut cell);
                row.push(cell);
            });
            rows.push(row);
            start = skip_empty_lines(bytes, end.next);
        }
        rows
    }

    fn stretch(bytes: &[u8], on_error: OnError) -> Stretch<'_> {
        Stretch { bytes, position: 100, input: 0, name: Path::new("a.csv"), trailing: 0, on_error }
    }

    #[test]
    fn quotes_hold_delimiters_line_ends_and_quotes() {
        assert_eq!(rows("a,\"b,\"\"\n\",\r\n\r\n\"\"\nx\"y,z"), [vec!["a", "b,\"\n", ""], vec![""], vec!["x\"y", "z"]]);
    }

    #[test]
    fn rows_are_records() {
        let options = ReadOptions {
            text: vec!["b".parse().unwrap(), "a".parse().unwrap()],
            keep: Some("k".parse().unwrap()),
            within: Some("a".parse().unwrap()),
            ..Default::default()
        };
        let columns = Columns::find(b"id,a,\"b\",k", b',', &options).unwrap();
        let content = b"1,x,\"y\n\",2\n,\"x\",z,\n3,q,r,s\n";
        let mut parsed = Parsed::default();
        parse(stretch(content, OnError::Fail), &columns, &mut parsed).unwrap();
        assert_eq!(parsed.batch.content(0), Content::Text("y\n\nx"));
        assert_eq!((parsed.ids.get(0), parsed.ids.get(1)), (Some("1"), None));
        assert_eq!(parsed.batch.keep(), [KeepValue::Number(2.0), KeepValue::Missing, KeepValue::Text("s".into())]);
        assert_eq!(parsed.batch.within()[0], parsed.batch.within()[1]);
        assert_eq!(parsed.raw_lengths.iter().sum::<u32>() as usize, content.len());
        assert_eq!(parsed.batch.numbers()[1].position(), 111);
    }

    #[test]
    fn ragged_rows_are_bad() {
        let columns = Columns::find(b"id,text", b',', &ReadOptions::default()).unwrap();
        let mut parsed = Parsed::default();
        parse(stretch(b"1,a\n2\n3,c\n4,\"d\n", OnError::Skip), &columns, &mut parsed).unwrap();
        assert_eq!(parsed.batch.len(), 2);
        assert!(parsed.bad[0].error.to_string().contains("the row has 1 fields and the header 2"));
        assert!(parsed.bad[1].error.to_string().contains("never closed"));
        let error = Columns::find(b"id,txt", b',', &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("\"txt\""), "{error}");
    }

    #[test]
    fn a_column_that_is_there_twice_is_refused_where_it_is_wanted() {
        let find = |header: &str| Columns::find(header.as_bytes(), b',', &ReadOptions::default());
        for header in ["id,text,\"text\"", "id,text,more,id"] {
            let error = find(header).map(drop).unwrap_err();
            assert!(error.to_string().contains("several columns are called"), "{header}: {error}");
        }
        assert!(find("id,more,text,more").is_ok());
    }

    #[test]
    fn a_text_that_begins_with_a_quote_takes_no_other_rows_along_in_silence() {
        let columns = Columns::find(b"id\ttext", b'\t', &ReadOptions::default()).unwrap();
        let read = |content: &str| {
            let mut parsed = Parsed::default();
            parse(stretch(content.as_bytes(), OnError::Skip), &columns, &mut parsed).unwrap();
            (parsed.batch.len(), parsed.bad.iter().map(|bad| bad.error.to_string()).collect::<Vec<_>>())
        };
        let (rows, bad) = read("0\tzero\n1\t\"So it began\n2\tsecond\n3\tthird \"row\" here\n4\tfourth\n");
        assert_eq!((rows, bad.len()), (2, 1));
        assert!(bad[0].contains("begins with a quote that is closed 3 lines later"), "{bad:?}");
        let (rows, bad) = read("1\t\"never\n2\tsecond\n3\tthird\n");
        assert!(rows == 0 && bad[0].contains("the rest of the file (3 lines) counts as this row"), "{bad:?}");
        // What is plain to see stays as it was.
        assert_eq!(read("1\t\"So\" it began\n2\t\"two\nlines\"\r\n3\t\"a\"\"\n\"\"b\"\n"), (3, vec![]));
    }

    proptest! {
        #[test]
        fn rows_are_split_as_the_csv_crate_does(content in "([ab,\"\n]|\r\n){0,40}") {
            let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(content.as_bytes());
            let expected: Vec<Vec<String>> = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
            prop_assert_eq!(rows(&content), expected);
        }
    }
}
