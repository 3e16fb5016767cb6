//! The body of an HTTP response as an archive holds it.
//!
//! Archives differ: some keep the body as it travelled, chunked and compressed; some hold it decoded, yet keep the
//! headers that say otherwise. So a body is decoded where it is what its headers say, and taken as it is where it is
//! not.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use memchr::memchr;

use super::record::{Fields, split_head};

/// A page larger than this, decompressed, is an attack or no page.
const MAX_BODY_BYTES: u64 = 256 << 20;

/// An HTTP response: its headers and its body as it stands in the archive.
pub(super) struct Response<'a> {
    /// Its headers.
    pub(super) fields: Fields<'a>,
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// The response in a block, if it is one.
    pub(super) fn parse(block: &'a [u8]) -> Option<Self> {
        if !block.starts_with(b"HTTP/") {
            return None;
        }
        let (head, body) = split_head(block)?;
        Some(Self { fields: Fields::after_first_line(head), body })
    }

    /// The body, decoded. One that breaks off (archives cut long ones) is what could be decoded of it.
    ///
    /// # Errors
    /// What is wrong with it, if nothing of it can be decoded or far too much comes out.
    pub(super) fn body(&self) -> Result<Cow<'a, [u8]>, String> {
        let mut body = Cow::Borrowed(self.body);
        if self.fields.get("Transfer-Encoding").is_some_and(|value| value.to_ascii_lowercase().contains("chunked"))
            && let Some(joined) = join_chunks(&body)
        {
            body = Cow::Owned(joined);
        }
        let encodings = self.fields.get("Content-Encoding").unwrap_or_default().to_ascii_lowercase();
        // Listed in the order in which they were applied.
        for encoding in encodings.rsplit(',') {
            if let Some(decoded) = decompress(&body, encoding.trim())? {
                body = Cow::Owned(decoded);
            }
        }
        Ok(body)
    }
}

/// The data of a chunked body up to its end or the first damage; `None` if it does not begin with a chunk.
fn join_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let (mut data, mut rest) = split_chunk(body)?;
    let mut joined = Vec::with_capacity(body.len());
    while !data.is_empty() {
        joined.extend_from_slice(data);
        let Some(next) = split_chunk(rest) else { break };
        (data, rest) = next;
    }
    Some(joined)
}

/// The data of the first chunk (cut short if the body is; empty in the last chunk) and what follows it.
fn split_chunk(body: &[u8]) -> Option<(&[u8], &[u8])> {
    // 16 digits of size, and room for an extension: what is longer is no chunk's first line.
    let line_end = memchr(b'\n', &body[..body.len().min(256)])?;
    let line = std::str::from_utf8(&body[..line_end]).ok()?;
    let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
    let rest = &body[line_end + 1..];
    match rest.split_at_checked(size) {
        None => Some((rest, &[])),
        Some((data, after)) if after.is_empty() => Some((data, after)),
        Some((data, after)) => Some((data, after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n"))?)),
    }
}

/// The body decompressed, or `None` if it is not compressed (in a way known here).
fn decompress(body: &[u8], encoding: &str) -> Result<Option<Vec<u8>>, String> {
    match encoding {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => read_all(MultiGzDecoder::new(body), encoding).map(Some),
        "zstd" if body.starts_with(b"\x28\xb5\x2f\xfd") => {
            let decoder = zstd::Decoder::new(body).map_err(|error| format!("cannot decompress its body: {error}"))?;
            read_all(decoder, encoding).map(Some)
        }
        // Neither of these has a mark to be known by: what cannot be decompressed is taken as decompressed already.
        "deflate" if has_zlib_header(body) => optional(read_all(ZlibDecoder::new(body), encoding)),
        "deflate" => optional(read_all(DeflateDecoder::new(body), encoding)),
        "br" => optional(read_all(brotli_decompressor::Decompressor::new(body, 1 << 16), encoding)),
        _ => Ok(None),
    }
}

fn has_zlib_header(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..] if method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

fn optional(decoded: Result<Vec<u8>, String>) -> Result<Option<Vec<u8>>, String> {
    Ok(decoded.ok())
}

/// Everything that comes out before the end or the first error.
fn read_all(decoder: impl Read, encoding: &str) -> Result<Vec<u8>, String> {
    let mut decoded = Vec::new();
    let result = decoder.take(MAX_BODY_BYTES + 1).read_to_end(&mut decoded);
    if decoded.len() as u64 > MAX_BODY_BYTES {
        return Err(format!("its body is more than {} MiB when decompressed", MAX_BODY_BYTES >> 20));
    }
    match result {
        Err(error) if decoded.is_empty() => {
            Err(format!("its body is said to be {encoding} and cannot be read: {error}"))
        }
        _ => Ok(decoded),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn body(headers: &str, body: &[u8]) -> Result<Vec<u8>, String> {
        let block = [b"HTTP/1.1 200 OK\r\n", headers.as_bytes(), b"\r\n", body].concat();
        Response::parse(&block).expect("a response").body().map(Cow::into_owned)
    }

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).and_then(|()| encoder.finish()).expect("memory")
    }

    #[test]
    fn chunks_are_joined_if_there_are_chunks() {
        let chunked = "Transfer-Encoding: Chunked\r\n";
        assert_eq!(body(chunked, b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"), Ok(b"abcde".to_vec()));
        assert_eq!(body(chunked, b"3\r\nabc\r\nFFFFFFFFFFFFFFFF\r\nde"), Ok(b"abcde".to_vec()));
        assert_eq!(body(chunked, b"0\r\n\r\n"), Ok(b"".to_vec()));
        for as_it_is in [&b"<html>"[..], b"3\r\ncards for all", b""] {
            assert_eq!(body(chunked, as_it_is), Ok(as_it_is.to_vec()));
        }
    }

    #[test]
    fn bodies_are_decompressed_if_they_are_compressed() {
        let text = "a text, again a text, and a text. ".repeat(500).into_bytes();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        let zlib = zlib.write_all(&text).and_then(|()| zlib.finish()).expect("memory");
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
        let deflate = deflate.write_all(&text).and_then(|()| deflate.finish()).expect("memory");
        let compressed = [
            ("gzip", gzip(&text)),
            ("x-GZIP", [gzip(&text[..9]), gzip(&text[9..])].concat()),
            ("deflate", zlib),
            ("deflate", deflate),
            ("zstd", zstd::encode_all(text.as_slice(), 1).expect("memory")),
            ("identity, gzip , gzip", gzip(&gzip(&text))),
        ];
        for (encoding, bytes) in compressed {
            let header = format!("content-encoding: {encoding}\r\n");
            assert!(body(&header, &bytes).as_ref() == Ok(&text), "{encoding}");
            assert_eq!(body(&header, b"<html>as it is"), Ok(b"<html>as it is".to_vec()), "{encoding}");
        }
        let brotli = b"\x0b\x02\x80hello\x03";
        assert_eq!(body("Content-Encoding: br\r\n", brotli), Ok(b"hello".to_vec()));
    }

    #[test]
    fn what_breaks_off_is_kept_and_what_cannot_begin_is_told() {
        let text = "0123456789".repeat(10_000).into_bytes();
        let whole = gzip(&text);
        let cut = body("Content-Encoding: gzip\r\n", &whole[..whole.len() - 20]).expect("a beginning");
        assert!(!cut.is_empty() && text.starts_with(&cut));
        let message = body("Content-Encoding: gzip\r\n", b"\x1f\x8b\xff\xff\xff").expect_err("no gzip");
        assert!(message.contains("said to be gzip"), "{message}");
    }
}
