//! JSONL: one object a line. The whole line is validated, and only the wanted fields are unescaped.

use lookalike::{Batch, KeepValue, RecordNumber, hash_item};

use crate::error::{Error, Result};
use crate::fields::{Field, Fields, Found};
use crate::json::{JsonError, Kind, Value, walk_elements};
use crate::line_records::{BlankLines, Stretch, parse_lines};
use crate::parsed::{Parsed, Scratch};

/// Takes the records of a stretch.
pub(crate) fn parse(stretch: Stretch<'_>, fields: &Fields, parsed: &mut Parsed) -> Result<()> {
    parse_lines(stretch, BlankLines::Ignored, parsed, |line, number, parsed| take_record(line, number, fields, parsed))
}

fn take_record(line: &str, number: RecordNumber, fields: &Fields, parsed: &mut Parsed) -> Result<()> {
    fields.find(line, &mut parsed.scratch.found).map_err(|error| not_json(line, error))?;
    push_text(line, number, fields, &mut parsed.batch, &mut parsed.scratch)?;
    if let Err(error) = push_rest(line, fields, parsed) {
        parsed.batch.pop();
        return Err(error);
    }
    Ok(())
}

/// Adds the record with its text or set.
fn push_text(
    line: &str,
    number: RecordNumber,
    fields: &Fields,
    batch: &mut Batch,
    scratch: &mut Scratch,
) -> Result<()> {
    let list = |field: &Field| matches!(field.value(line, &scratch.found), Some(Value::List(_)));
    if fields.text.first().is_some_and(list) {
        return push_set(line, number, fields, batch, scratch);
    }
    let pushed = batch.push_text_with(number, |buffer| {
        for (index, field) in fields.text.iter().enumerate() {
            if index > 0 {
                buffer.push('\n');
            }
            match field.value(line, &scratch.found) {
                Some(Value::String(escaped)) => field.unescape(line, escaped, &scratch.found, buffer)?,
                Some(value) => return Err(field.unfit(value, "a text or a list", "--text")),
                None => return Err(field.missing(line, "--text")),
            }
        }
        Ok(())
    });
    if pushed.is_err() {
        batch.pop();
    }
    pushed
}

/// Adds the record with the items of all its text fields, which must all be lists.
fn push_set(line: &str, number: RecordNumber, fields: &Fields, batch: &mut Batch, scratch: &mut Scratch) -> Result<()> {
    let Scratch { found, text, items, .. } = scratch;
    items.clear();
    for field in &fields.text {
        let list = match field.value(line, found) {
            Some(Value::List(list)) => list,
            Some(value) => return Err(field.unfit(value, "a list as the other text fields are", "--text")),
            None => return Err(field.missing(line, "--text")),
        };
        walk_elements(list, |item| {
            items.push(match item {
                Value::String(escaped) => hash_item(plain(field, line, escaped, found, text)?.as_bytes()),
                Value::Literal(literal, _) => hash_item(literal.as_bytes()),
                _ => {
                    let what = format!("the list in the field {:?} holds {}", field.path.as_str(), item.name());
                    return Err(Error::new(what).advise("make them strings, numbers or booleans"));
                }
            });
            Ok(())
        })?;
    }
    batch.push_set(number, items.iter().copied());
    Ok(())
}

/// Adds the record's id, keep field and `--within` value.
fn push_rest(line: &str, fields: &Fields, parsed: &mut Parsed) -> Result<()> {
    let Scratch { found, text, .. } = &mut parsed.scratch;
    if let Some(field) = &fields.keep {
        let value = match field.value(line, found) {
            None | Some(Value::Null) => KeepValue::Missing,
            Some(Value::Literal(literal, Kind::Number)) => KeepValue::parse_number(literal).ok_or_else(|| {
                Error::new(format!("the number {literal} in the field {:?} cannot be read", field.path.as_str()))
            })?,
            Some(Value::String(escaped)) => KeepValue::Text(plain(field, line, escaped, found, text)?.into()),
            Some(value) => return Err(field.unfit(value, "a number or a string", "--keep")),
        };
        parsed.batch.push_keep(value);
    }
    if let Some(field) = &fields.within {
        match field.value(line, found) {
            Some(Value::String(escaped)) => {
                parsed.batch.push_within(plain(field, line, escaped, found, text)?.as_bytes())
            }
            Some(Value::Literal(literal, _)) => parsed.batch.push_within(literal.as_bytes()),
            None => return Err(field.missing(line, "--within")),
            Some(value) => return Err(field.unfit(value, "a string, number or boolean", "--within")),
        }
    }
    let id = match &fields.id {
        None => None,
        Some(field) => match field.value(line, found) {
            None | Some(Value::Null) => None,
            // An empty id is none: it could not be told from a missing one in any list.
            Some(Value::String(escaped)) => Some(plain(field, line, escaped, found, text)?).filter(|id| !id.is_empty()),
            Some(Value::Literal(literal, Kind::Number)) => Some(literal),
            Some(value) => return Err(field.unfit(value, "a string or a number", "--id")),
        },
    };
    parsed.ids.push(id);
    Ok(())
}

/// The string that `escaped` stands for; in `room` where it is not the same.
fn plain<'a>(field: &Field, line: &str, escaped: &'a str, found: &Found, room: &'a mut String) -> Result<&'a str> {
    if !escaped.contains('\\') {
        return Ok(escaped);
    }
    room.clear();
    field.unescape(line, escaped, found, room)?;
    Ok(room)
}

#[cold]
fn not_json(line: &str, error: JsonError) -> Error {
    let what = Error::new(format!("the line is not a JSON object: {} (at its byte {})", error.what, error.at + 1));
    if error.at == 0 && line.starts_with('[') {
        what.advise("write one object a line, for example with jq -c '.[]'")
    } else {
        what.advise("write one JSON object a line")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{OnError, ReadOptions};
    use lookalike::Content;
    use std::path::Path;

    fn read(content: &str, options: &ReadOptions) -> Result<Parsed> {
        let mut parsed = Parsed::default();
        let stretch = Stretch {
            bytes: content.as_bytes(),
            position: 0,
            input: 0,
            name: Path::new("a.jsonl"),
            trailing: 0,
            on_error: options.on_error,
        };
        parse(stretch, &Fields::new(options), &mut parsed)?;
        Ok(parsed)
    }

    fn fail(content: &str, options: &ReadOptions) -> String {
        read(content, options).unwrap_err().to_string()
    }

    #[test]
    fn records_with_ids_and_places() {
        let content = "\u{feff}\n{\"text\":\"a\\n\\u00e9\",\"id\":7}\r\n\n{\"id\":null,\"text\":\"\"}\n{\"text\":\"z\",\"id\":\"x\\ty\"}";
        let parsed = read(content, &ReadOptions::default()).unwrap();
        assert_eq!(parsed.batch.content(0), Content::Text("a\né"));
        assert_eq!(parsed.batch.content(1), Content::Text(""));
        assert_eq!((0..3).map(|index| parsed.ids.get(index)).collect::<Vec<_>>(), [Some("7"), None, Some("x\ty")]);
        assert_eq!(parsed.batch.numbers()[0].position(), 4);
        let covered: u64 = parsed.raw_lengths.iter().map(|length| u64::from(*length)).sum();
        assert_eq!(covered + 4, content.len() as u64);
        assert_eq!(parsed.batch.numbers()[1].position(), 4 + u64::from(parsed.raw_lengths[0]));
    }

    #[test]
    fn a_list_is_a_set_and_fields_are_joined() {
        let options = ReadOptions { text: vec!["a".parse().unwrap()], ..Default::default() };
        let parsed = read("{\"a\":[\"x\\n\", 7, \"7\", true]}\n{\"a\":[]}", &options).unwrap();
        let items = [hash_item(b"x\n"), hash_item(b"7"), hash_item(b"7"), hash_item(b"true")];
        assert_eq!(parsed.batch.content(0), Content::Set(&items));
        assert!(fail("{\"a\":[[]]}", &options).contains("holds a list"));

        let options = ReadOptions { text: vec!["a".parse().unwrap(), "b.c".parse().unwrap()], ..Default::default() };
        let parsed = read("{\"b\":{\"c\":\"two\"},\"a\":\"one\"}", &options).unwrap();
        assert_eq!(parsed.batch.content(0), Content::Text("one\ntwo"));
        assert!(fail("{\"a\":[],\"b\":{\"c\":\"x\"}}", &options).contains("not a list"));
    }

    #[test]
    fn keep_and_within() {
        let options =
            ReadOptions { keep: Some("k".parse().unwrap()), within: Some("w".parse().unwrap()), ..Default::default() };
        let parsed = read(
            "{\"text\":\"\",\"k\":1.5,\"w\":\"a\"}\n{\"text\":\"\",\"k\":\"s\",\"w\":1}\n{\"text\":\"\",\"w\":\"1\"}",
            &options,
        )
        .unwrap();
        assert_eq!(parsed.batch.keep(), [KeepValue::Number(1.5), KeepValue::Text("s".into()), KeepValue::Missing]);
        assert_eq!(parsed.batch.within()[1], parsed.batch.within()[2]);
        assert!(fail("{\"text\":\"\"}", &options).contains("\"w\" is missing"));
        assert!(fail("{\"text\":\"\",\"w\":1,\"k\":[]}", &options).contains("not a number or a string"));
    }

    #[test]
    fn bad_records_say_what_to_do_and_can_be_skipped() {
        let options = ReadOptions::default();
        assert_eq!(
            fail("{\"text\":\"ok\"}\n{\"txt\":\"\"}", &options),
            "a.jsonl, byte 14: the field \"text\" is missing; name another with --text (the record has \"txt\"), or leave such records out with --on-error skip"
        );
        assert!(fail("{\"text\":5}", &options).contains("is a number, not a text"));
        assert!(fail("{\"text\":null}", &options).contains("is null"));
        assert!(fail("{\"text\":\"\\ud800\"}", &options).contains("surrogate"));
        assert!(fail("{\"text\":\"a\"", &options).contains("ends too early"));
        assert!(fail("[{\"text\":\"a\"}]", &options).contains("jq"));
        assert!(fail("{\"text\":\"a\",\"id\":[]}", &options).contains("\"id\" is a list"));

        let options = ReadOptions { on_error: OnError::Skip, ..options };
        let parsed =
            read("{\"text\":\"a\"}\nnonsense\n\n{\"text\":\"b\",\"id\":{}}\n{\"text\":\"c\"}\n", &options).unwrap();
        assert_eq!(parsed.bad.iter().map(|bad| bad.index_in_chunk).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((parsed.batch.len(), parsed.ids.len(), parsed.raw_lengths.len()), (2, 2, 2));
        assert_eq!(parsed.batch.content(1), Content::Text("c"));
    }

    #[test]
    fn only_the_record_that_is_not_utf8_is_bad() {
        let content = b"{\"text\":\"a\"}\n{\"text\":\"\xff\"}\n{\"text\":\"c\"}\n";
        let mut parsed = Parsed::default();
        let stretch = Stretch {
            bytes: content,
            position: 0,
            input: 0,
            name: Path::new("a"),
            trailing: 0,
            on_error: OnError::Skip,
        };
        parse(stretch, &Fields::new(&ReadOptions::default()), &mut parsed).unwrap();
        assert_eq!(parsed.batch.len(), 2);
        assert!(parsed.bad[0].error.to_string().contains("not UTF-8 (at byte 22)"), "{}", parsed.bad[0].error);
    }
}
