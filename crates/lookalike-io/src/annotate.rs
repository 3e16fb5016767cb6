//! All records of an input, each with what was found about it.

use std::io::Write;

use crate::annotation::Annotation;
use crate::compression::CompressedWriter;
use crate::csv;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::json::walk_members;
use crate::line_records::line_end;
use crate::options::Format;
use crate::parquet;
use crate::parsed::RawSpan;
use crate::rewrite::{LineTracker, Rewrite};
use crate::spans::SpanReader;

/// The columns that are added to a table.
const COLUMNS: [&str; 4] = ["lookalike_group", "lookalike_role", "lookalike_size", "lookalike_similarity"];

/// Writes the records of an input, which come in input order, each with its annotation: in JSONL a member `lookalike`
/// at the end of the object, in CSV, TSV and Parquet four more columns. Other formats have no place for it: an error.
/// `first_record` is where the first record stands, good or bad: a header is before it.
pub fn annotate(
    input: &Input,
    first_record: u64,
    records: impl IntoIterator<Item = (RawSpan, Annotation)>,
    how: Rewrite,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    match input.format {
        Format::Jsonl => annotate_spans(input, first_record, records, how, out, |record, annotation, out| {
            annotate_object(record, annotation, out)
        })?,
        Format::Csv | Format::Tsv => {
            let delimiter = csv::delimiter(input.format);
            annotate_spans(input, first_record, records, how, out, |record, annotation, out| {
                annotate_row(record, annotation, delimiter, out);
                Ok(())
            })?;
        }
        Format::Parquet => {
            let (rows, annotations): (Vec<u64>, Vec<Annotation>) =
                records.into_iter().map(|(span, annotation)| (span.position, annotation)).unzip();
            parquet::rewrite(&input.path, &rows, out, Some(&mut annotations.into_iter()))?;
        }
        format => {
            return Err(Error::new(format!("records of the format {format} have no place for annotations"))
                .at_file(&input.name)
                .advise("JSONL, CSV, TSV and Parquet can be annotated; ask for groups instead"));
        }
    }
    input.check_unchanged()
}

fn annotate_spans(
    input: &Input,
    first_record: u64,
    records: impl IntoIterator<Item = (RawSpan, Annotation)>,
    how: Rewrite,
    out: &mut (dyn Write + Send),
    mut append: impl FnMut(&[u8], &Annotation, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut reader = SpanReader::open(input)?;
    let mut out = LineTracker::new(CompressedWriter::new(out, how.compression));
    let (mut record, mut annotated) = (Vec::new(), Vec::new());
    reader.seek(how.from)?;
    reader.read_until(first_record, &mut record)?;
    if input.format == Format::Jsonl || how.from > 0 {
        annotated.append(&mut record);
    } else {
        annotate_header(&record, csv::delimiter(input.format), &mut annotated)
            .map_err(|error| error.at_file(&input.name))?;
    }
    out.write_all(&annotated).map_err(Error::sink)?;
    for (span, annotation) in records {
        reader.seek(span.position)?;
        reader.read(span.length, &mut record)?;
        annotated.clear();
        append(&record, &annotation, &mut annotated).map_err(|error| error.at_file(&input.name))?;
        out.write_all(&annotated).map_err(Error::sink)?;
    }
    out.finish(how)
}

fn annotate_object(record: &[u8], annotation: &Annotation, out: &mut Vec<u8>) -> Result<()> {
    let (end, _) = line_end(record, 0);
    let Some(brace) = record[..end].iter().rposition(|byte| *byte == b'}') else {
        return Err(Error::new("a record to annotate is not an object any more").advise("run again"));
    };
    // Found by its letters first: hardly any record has it.
    if memchr::memmem::find(&record[..brace], b"\"lookalike\"").is_some() && has_member(&record[..end], "lookalike") {
        return Err(Error::new("a record has a member lookalike already, which annotations would repeat")
            .advise("rename it or leave it out first"));
    }
    let before = record[..brace].trim_ascii_end();
    out.extend_from_slice(&record[..brace]);
    if before.last() != Some(&b'{') {
        out.push(b',');
    }
    out.extend_from_slice(b"\"lookalike\":{\"group\":");
    write_json_string(&annotation.group, out);
    out.extend_from_slice(b",\"role\":");
    write_json_string(annotation.role, out);
    let similarity = annotation.similarity.map_or("null".to_owned(), |similarity| similarity.to_string());
    out.extend_from_slice(format!(",\"size\":{},\"similarity\":{similarity}}}", annotation.size).as_bytes());
    out.extend_from_slice(&record[brace..]);
    Ok(())
}

/// Whether an object has a member of this name, at its top.
fn has_member(object: &[u8], name: &str) -> bool {
    let mut is_there = false;
    let text = std::str::from_utf8(object).unwrap_or_default();
    // It is an object: it was read as one before.
    let _ = walk_members(text, |_| {}, |key, _| is_there |= key == name);
    is_there
}

fn write_json_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..='\x1f' => out.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes()),
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

fn annotate_header(prefix: &[u8], delimiter: u8, out: &mut Vec<u8>) -> Result<()> {
    let mark = if prefix.starts_with(crate::BOM) { crate::BOM.len() } else { 0 };
    let start = csv::skip_empty_lines(prefix, mark);
    out.extend_from_slice(&prefix[..start]);
    if start == prefix.len() {
        return Ok(());
    }
    let mut twin = None;
    csv::split_row(prefix, start, delimiter, |cell| {
        twin = twin.or_else(|| COLUMNS.into_iter().find(|column| column.as_bytes() == &prefix[cell.clone()]));
    });
    if let Some(column) = twin {
        return Err(Error::new(format!("there is a column {column} already"))
            .advise("annotate a file that is not annotated yet"));
    }
    append_cells(&prefix[start..], COLUMNS, delimiter, out);
    Ok(())
}

fn annotate_row(row: &[u8], annotation: &Annotation, delimiter: u8, out: &mut Vec<u8>) {
    let Annotation { group, role, size, similarity } = annotation;
    let similarity = similarity.map_or(String::new(), |similarity| similarity.to_string());
    append_cells(row, [group, role, &size.to_string(), &similarity], delimiter, out);
}

/// Appends a row with more cells before its line end.
fn append_cells(row: &[u8], cells: [&str; 4], delimiter: u8, out: &mut Vec<u8>) {
    let end = csv::split_row(row, 0, delimiter, |_| ()).content;
    out.extend_from_slice(&row[..end]);
    for cell in cells {
        out.push(delimiter);
        if cell.bytes().any(|byte| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n')) {
            out.extend_from_slice(format!("\"{}\"", cell.replace('"', "\"\"")).as_bytes());
        } else {
            out.extend_from_slice(cell.as_bytes());
        }
    }
    out.extend_from_slice(&row[end..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation() -> Annotation {
        Annotation { group: "a\"\n,\u{1}".into(), role: "duplicate", size: 3, similarity: Some(0.875) }
    }

    #[test]
    fn an_object_gets_a_member() {
        for (record, members) in [("{}\n", 1), ("{ \"a\":\"}\" } \r\n\n", 2), ("{\"a\":{}}", 2), (" { }\n", 1)] {
            let mut out = Vec::new();
            annotate_object(record.as_bytes(), &annotation(), &mut out).unwrap();
            let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(value.as_object().unwrap().len(), members, "{record}");
            assert_eq!(
                value["lookalike"],
                serde_json::json!({"group": "a\"\n,\u{1}", "role": "duplicate", "size": 3, "similarity": 0.875})
            );
            assert!(out.ends_with(&record.as_bytes()[record.rfind('}').unwrap()..]));
        }
    }

    #[test]
    fn a_row_gets_cells() {
        let mut out = Vec::new();
        annotate_header("\u{feff}\nid,\"a\n\"\r\n".as_bytes(), b',', &mut out).unwrap();
        let columns = "lookalike_group,lookalike_role,lookalike_size,lookalike_similarity";
        assert_eq!(out, format!("\u{feff}\nid,\"a\n\",{columns}\r\n").as_bytes());
        assert!(annotate_header(&out.clone(), b',', &mut out).is_err(), "annotated already");
        out.clear();
        annotate_row(b"1,\"x\ny\"\r\n\r\n", &annotation(), b',', &mut out);
        assert_eq!(out, "1,\"x\ny\",\"a\"\"\n,\u{1}\",duplicate,3,0.875\r\n\r\n".as_bytes());
        out.clear();
        annotate_row(b"1\tx", &annotation(), b'\t', &mut out);
        assert_eq!(out, "1\tx\t\"a\"\"\n,\u{1}\"\tduplicate\t3\t0.875".as_bytes());
    }
}
