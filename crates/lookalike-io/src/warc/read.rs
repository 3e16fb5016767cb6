//! Which raw records are records for comparison, and what their text, id and fields are.

use std::borrow::Cow;
use std::path::Path;

use lookalike::{KeepValue, RecordNumber};

use super::http::Response;
use super::record::{Fields, RawRecord, raw_records};
use crate::charset::{self, Markup, charset_parameter};
use crate::error::{Error, Place, Result};
use crate::html;
use crate::options::{FieldPath, ReadOptions};
use crate::parsed::{Parsed, RawSpan};

/// Adds the records in a piece of a WARC stream ([`super::WarcChunks`]) to `parsed`.
///
/// `base_position` is the offset of the piece in the stream. The text is the page's visible text, or the plain text;
/// [`ReadOptions::text`] is not asked. The id field `id` means `WARC-Record-ID`, whose angle brackets are no part of it;
/// every other field name is a WARC header, in any case.
///
/// # Errors
/// If the piece is not made of whole WARC records, or a body cannot be decoded and bad records are to fail.
pub fn parse_piece(
    bytes: &[u8],
    base_position: u64,
    input: usize,
    path: &Path,
    options: &ReadOptions,
    parsed: &mut Parsed,
) -> Result<()> {
    for raw in raw_records(bytes) {
        let raw = raw.map_err(|damage| {
            let byte = Some(base_position + damage.offset as u64);
            Error::new(format!("this is no WARC record: {}", damage.message))
                .at(Place { path: path.into(), record: None, byte })
                .advise("fetch the file again, or cut it off before that byte")
        })?;
        let position = base_position + raw.range.start as u64;
        let Some(document) = document(&raw) else { continue };
        let number = number(input, position, path)?;
        if let Err(message) = document.and_then(|document| add(&raw, &document, number, options, parsed)) {
            let error = Error::new(message).at(Place { path: path.into(), record: None, byte: Some(position) });
            let span = RawSpan { position, length: raw.range.len() as u64 };
            parsed.refuse(span, error, options.on_error)?;
        }
    }
    parsed.bytes += bytes.len() as u64;
    Ok(())
}

fn number(input: usize, position: u64, path: &Path) -> Result<RecordNumber> {
    if position > RecordNumber::MAX_POSITION {
        return Err(Error::new("the input is larger than 1 TiB")
            .at(Place { path: path.into(), record: None, byte: Some(position) })
            .advise("split it into several files"));
    }
    Ok(RecordNumber::new(input as u64, position))
}

/// Something to compare: bytes in some encoding.
struct Document<'a> {
    bytes: Cow<'a, [u8]>,
    charset: Option<String>,
    markup: Markup,
}

/// The document in a raw record; `None` if it has no text, an error if it has one that cannot be decoded.
fn document<'a>(raw: &RawRecord<'a>) -> Option<std::result::Result<Document<'a>, String>> {
    let record_type = raw.fields.get("WARC-Type")?.to_ascii_lowercase();
    let (content_type, body) = match record_type.as_str() {
        "response" => {
            let response = Response::parse(raw.block)?;
            let content_type =
                response.fields.get("Content-Type").or_else(|| raw.fields.get("WARC-Identified-Payload-Type"));
            if content_type.as_deref().is_some_and(|content_type| markup_of(content_type).is_none()) {
                return None;
            }
            match response.body() {
                Ok(body) => (content_type, body),
                Err(message) => return Some(Err(message)),
            }
        }
        "conversion" | "resource" => (raw.fields.get("Content-Type"), Cow::Borrowed(raw.block)),
        _ => return None,
    };
    if body.is_empty() {
        return None;
    }
    let markup = match &content_type {
        Some(content_type) => markup_of(content_type)?,
        None if looks_like_html(&body) => Markup::Html,
        None => return None,
    };
    let charset = content_type.as_deref().and_then(charset_parameter).map(str::to_owned);
    Some(Ok(Document { bytes: body, charset, markup }))
}

/// What a content type that can be compared as text holds.
fn markup_of(content_type: &str) -> Option<Markup> {
    let media_type = content_type.split([';', ',']).next().unwrap_or_default().trim();
    match media_type.to_ascii_lowercase().as_str() {
        "text/html" | "application/xhtml+xml" => Some(Markup::Html),
        "text/plain" => Some(Markup::Plain),
        _ => None,
    }
}

fn looks_like_html(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    [&b"<!doctype html"[..], b"<html"]
        .iter()
        .any(|opening| body.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening)))
}

/// Adds the record, or says why it cannot and leaves the records as they were.
fn add(
    raw: &RawRecord<'_>,
    document: &Document<'_>,
    number: RecordNumber,
    options: &ReadOptions,
    parsed: &mut Parsed,
) -> std::result::Result<(), String> {
    let header = |field: &Option<FieldPath>| field.as_ref().and_then(|field| header(&raw.fields, field));
    let within = header(&options.within);
    if let (Some(field), None) = (&options.within, &within) {
        return Err(format!("the WARC header {:?} is missing, which --within asks for", field.as_str()));
    }
    let charset = document.charset.as_deref();
    parsed.batch.push_text_with(number, |out| match document.markup {
        Markup::Html => html::visible_text(&document.bytes, charset, out),
        Markup::Plain => out.push_str(&charset::decode(&document.bytes, charset, Markup::Plain)),
    });
    if options.keep.is_some() {
        parsed.batch.push_keep(keep_value(header(&options.keep)));
    }
    if let Some(value) = within {
        parsed.batch.push_within(value.as_bytes());
    }
    parsed.ids.push(header(&options.id).as_deref());
    parsed.raw_lengths.push(u32::try_from(raw.range.len()).unwrap_or(u32::MAX));
    Ok(())
}

/// The WARC header that a field name means.
fn header<'a>(fields: &Fields<'a>, field: &FieldPath) -> Option<Cow<'a, str>> {
    if field.as_str() != "id" && !field.as_str().eq_ignore_ascii_case("WARC-Record-ID") {
        return fields.get(field.as_str());
    }
    fields.get("WARC-Record-ID").map(|id| match id.strip_prefix('<').and_then(|id| id.strip_suffix('>')) {
        Some(inner) => Cow::Owned(inner.to_owned()),
        None => id,
    })
}

/// Headers are text; one that reads as a number is compared as one.
fn keep_value(header: Option<Cow<'_, str>>) -> KeepValue {
    match header {
        None => KeepValue::Missing,
        Some(text) => KeepValue::parse_number(&text).unwrap_or_else(|| KeepValue::Text(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use lookalike::Content;
    use proptest::prelude::*;

    use super::*;
    use crate::options::OnError;

    fn record(record_type: &str, fields: &str, block: &[u8]) -> Vec<u8> {
        let header = format!(
            "WARC/1.0\r\nWARC-Type: {record_type}\r\nWARC-Record-ID: <urn:{record_type}:1>\r\n{fields}\
             Content-Length: {}\r\n\r\n",
            block.len()
        );
        [header.as_bytes(), block, b"\r\n\r\n"].concat()
    }

    fn chunked_gzip_page(page: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let body = encoder.write_all(page.as_bytes()).and_then(|()| encoder.finish()).expect("memory");
        let (first, second) = body.split_at(10);
        let head = "HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        let mut block = head.as_bytes().to_vec();
        for chunk in [first, second, b""] {
            block.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            block.extend_from_slice(chunk);
            block.extend_from_slice(b"\r\n");
        }
        block
    }

    fn archive() -> Vec<Vec<u8>> {
        let http = "Content-Type: application/http; msgtype=response\r\n";
        vec![
            record("warcinfo", "Content-Type: application/warc-fields\r\n", b"software: by hand\r\n"),
            record("request", "", b"GET / HTTP/1.1\r\n\r\n"),
            record(
                "response",
                &format!("{http}WARC-Target-URI: http://a.example/\r\nX-Rank: 7\r\n"),
                &chunked_gzip_page("<title>t</title><p>caf\u{e9}<p>closed"),
            ),
            record("metadata", "", b"fetchTimeMs: 1"),
            record("response", http, b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG"),
            record("response", http, b"HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\n\r\n"),
            record("response", "Content-Type: text/dns\r\n", b"a.example. 1 IN A 127.0.0.1"),
            record("response", http, b"HTTP/1.1 200 OK\r\n\r\n <!DOCTYPE HTML><p>untyped"),
            record("revisit", http, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>same"),
            record("conversion", "Content-Type: text/plain\r\nX-Rank: best\r\n", "наконец <b>".as_bytes()),
            record("resource", "Content-Type: text/plain; charset=latin1\r\n", b"na\xefve"),
            record("resource", "Content-Type: application/pdf\r\n", b"%PDF"),
        ]
    }

    fn options(id: Option<&str>) -> ReadOptions {
        let field = |name: &str| name.parse().expect("a field");
        ReadOptions {
            id: id.map(field),
            keep: Some(field("x-rank")),
            within: Some(field("WARC-Type")),
            ..ReadOptions::default()
        }
    }

    #[test]
    fn records_with_a_text_are_records() -> Result<()> {
        let archive = archive();
        let mut parsed = Parsed::default();
        parse_piece(&archive.concat(), 1000, 2, Path::new("a.warc"), &options(Some("id")), &mut parsed)?;
        let texts: Vec<_> = (0..parsed.batch.len()).map(|index| parsed.batch.content(index)).collect();
        let expected = ["café\nclosed", "untyped", "наконец <b>", "naïve"];
        assert_eq!(texts, expected.map(Content::Text));
        assert_eq!(parsed.ids.get(0), Some("urn:response:1"));
        assert_eq!(parsed.ids.get(3), Some("urn:resource:1"));
        for (index, raw) in [2, 7, 9, 10].into_iter().enumerate() {
            let position = 1000 + archive[..raw].concat().len() as u64;
            assert_eq!(parsed.batch.numbers()[index], RecordNumber::new(2, position));
            assert_eq!(parsed.raw_lengths[index] as usize, archive[raw].len());
        }
        let keep = [KeepValue::Number(7.0), KeepValue::Missing, KeepValue::Text("best".into()), KeepValue::Missing];
        assert_eq!(parsed.batch.keep(), keep);
        assert_eq!(parsed.batch.within().len(), 4);
        assert_eq!(parsed.bytes as usize, archive.concat().len());
        Ok(())
    }

    #[test]
    fn ids_can_be_another_header_or_none() -> Result<()> {
        for (field, expected) in [(Some("warc-target-uri"), Some("http://a.example/")), (None, None)] {
            let mut parsed = Parsed::default();
            parse_piece(&archive().concat(), 0, 0, Path::new("a.warc"), &options(field), &mut parsed)?;
            assert_eq!(parsed.ids.get(0), expected);
            assert_eq!((parsed.ids.len(), parsed.ids.get(1)), (4, None));
        }
        Ok(())
    }

    #[test]
    fn a_body_that_cannot_be_decoded_is_a_bad_record() -> Result<()> {
        let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\xff\xff";
        let good = record("conversion", "Content-Type: text/plain\r\n", b"good");
        let piece = [good.clone(), record("response", "", block), good.clone()].concat();
        let path = Path::new("a.warc.gz");
        let mut parsed = Parsed::default();
        let error =
            parse_piece(&piece, 5, 0, path, &ReadOptions::default(), &mut parsed).expect_err("the default fails");
        let byte = 5 + good.len();
        assert!(
            error.to_string().starts_with(&format!("a.warc.gz, byte {byte}: its body is said to be gzip")),
            "{error}"
        );
        assert!(error.advice().is_some_and(|advice| advice.contains("--on-error skip")));
        parsed.clear();
        let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
        parse_piece(&piece, 5, 0, path, &skip, &mut parsed)?;
        assert_eq!((parsed.batch.len(), parsed.bad.len(), parsed.bad[0].index_in_chunk), (2, 1, 1));
        Ok(())
    }

    #[test]
    fn a_record_without_what_within_asks_for_is_bad() {
        let options = ReadOptions { within: "X-Site".parse().ok(), ..ReadOptions::default() };
        let mut parsed = Parsed::default();
        let piece = record("conversion", "Content-Type: text/plain\r\n", b"good");
        let error = parse_piece(&piece, 0, 0, Path::new("a.warc"), &options, &mut parsed).expect_err("no X-Site");
        assert!(error.message().contains("\"X-Site\" is missing"), "{error}");
        assert!(parsed.batch.is_empty() && parsed.ids.is_empty());
    }

    proptest! {
        #[test]
        fn any_block_is_read_or_refused(
            record_type in prop::sample::select(vec!["response", "resource", "conversion"]),
            encoding in prop::sample::select(vec!["gzip", "deflate", "br", "zstd", "x"]),
            magic in prop::sample::select(vec![&b""[..], b"\x1f\x8b\x08\0", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"9\r\n"]),
            body: Vec<u8>,
        ) {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {encoding}\r\n\
                 Transfer-Encoding: chunked\r\n\r\n"
            );
            let block = [head.as_bytes(), magic, &body].concat();
            let piece = record(record_type, "Content-Type: text/plain\r\n", &block);
            let mut parsed = Parsed::default();
            let _ = parse_piece(&piece, 0, 0, Path::new("-"), &ReadOptions::default(), &mut parsed);
            let _ = parse_piece(&body, 0, 0, Path::new("-"), &ReadOptions::default(), &mut parsed);
        }
    }
}
