//! Formats without fields: a line is a text, a line is a set, a file is a text.

use lookalike::hash_item;

use crate::error::Result;
use crate::line_records::{BlankLines, Stretch, not_utf8, parse_lines};
use crate::parsed::Parsed;

/// Every line is a text; an empty line is an empty one.
pub(crate) fn parse_texts(stretch: Stretch<'_>, parsed: &mut Parsed) -> Result<()> {
    parse_lines(stretch, BlankLines::Records, parsed, |line, number, parsed| {
        parsed.batch.push_text(number, line);
        parsed.ids.push(None);
        Ok(())
    })
}

/// Every line is a set, its items between blanks; an empty line is the empty set.
pub(crate) fn parse_sets(stretch: Stretch<'_>, parsed: &mut Parsed) -> Result<()> {
    parse_lines(stretch, BlankLines::Records, parsed, |line, number, parsed| {
        let items = &mut parsed.scratch.items;
        items.clear();
        items.extend(line.split([' ', '\t']).filter(|item| !item.is_empty()).map(|item| hash_item(item.as_bytes())));
        parsed.batch.push_set(number, items.iter().copied());
        parsed.ids.push(None);
        Ok(())
    })
}

/// The whole stretch, a file, is one text.
pub(crate) fn parse_file(stretch: Stretch<'_>, parsed: &mut Parsed) -> Result<()> {
    let start = stretch.records_start();
    match std::str::from_utf8(&stretch.bytes[start..]) {
        Ok(text) => take_file(stretch, parsed, |buffer| buffer.push_str(text)),
        Err(error) => stretch.refuse(0..stretch.bytes.len(), not_utf8((start + error.valid_up_to()) as u64), parsed),
    }
}

/// The whole stretch, a file, is one HTML page; `visible_text` appends what a reader sees of it.
pub(crate) fn parse_page(
    stretch: Stretch<'_>,
    visible_text: impl FnOnce(&[u8], Option<&str>, &mut String),
    parsed: &mut Parsed,
) -> Result<()> {
    take_file(stretch, parsed, |buffer| visible_text(stretch.bytes, None, buffer))
}

fn take_file(stretch: Stretch<'_>, parsed: &mut Parsed, write: impl FnOnce(&mut String)) -> Result<()> {
    let number = stretch.number(0);
    let raw_length = match stretch.raw_length(0, stretch.bytes.len()) {
        Ok(length) => length,
        Err(error) => return stretch.refuse(0..stretch.bytes.len(), error, parsed),
    };
    parsed.batch.push_text_with(number, write);
    parsed.raw_lengths.push(raw_length);
    parsed.ids.push(None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OnError;
    use lookalike::Content;
    use std::path::Path;

    fn stretch(bytes: &[u8]) -> Stretch<'_> {
        Stretch { bytes, position: 0, input: 2, name: Path::new("a"), trailing: 0, on_error: OnError::Fail }
    }

    #[test]
    fn an_empty_line_is_an_empty_record() {
        let mut parsed = Parsed::default();
        parse_texts(stretch("\u{feff}é b\r\n\n\nz".as_bytes()), &mut parsed).unwrap();
        let texts: Vec<_> = (0..parsed.batch.len()).map(|index| parsed.batch.content(index)).collect();
        assert_eq!(texts, ["é b", "", "", "z"].map(Content::Text));
        assert_eq!(parsed.raw_lengths, [6, 1, 1, 1]);
        assert_eq!((parsed.batch.numbers()[0].input(), parsed.batch.numbers()[0].position()), (2, 3));
    }

    #[test]
    fn items_stand_between_blanks() {
        let mut parsed = Parsed::default();
        parse_sets(stretch(b" 1\t2  1 \r\n\n"), &mut parsed).unwrap();
        let (one, two) = (hash_item(b"1"), hash_item(b"2"));
        assert_eq!(parsed.batch.content(0), Content::Set(&[one, two, one]));
        assert_eq!(parsed.batch.content(1), Content::Set(&[]));
    }

    #[test]
    fn a_file_is_a_text() {
        let mut parsed = Parsed::default();
        parse_file(stretch("\u{feff}a\nb\n".as_bytes()), &mut parsed).unwrap();
        assert_eq!(parsed.batch.content(0), Content::Text("a\nb\n"));
        let error = parse_file(stretch(b"ok\xfe"), &mut parsed).unwrap_err().to_string();
        assert!(error.contains("at byte 2"), "{error}");
    }
}
