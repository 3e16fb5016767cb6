//! Bytes of a page to text: which character encoding a document is in, and its text in UTF-8.
//!
//! The order of evidence is the one browsers follow: a byte order mark, what the sender declared, what the document
//! declares of itself. A document that says nothing is UTF-8 if it is valid UTF-8, else a guess from its bytes.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252, X_USER_DEFINED};
use html5gum::{DefaultEmitter, Token, Tokenizer};

/// How far into a page its `<meta charset>` is looked for. The standard asks authors to stay within 1,024 bytes; pages
/// that open with a long comment or script exceed it, and browsers find theirs all the same.
const META_SEARCH_BYTES: usize = 4096;

/// How many bytes a guess is made from, counted from just before the first byte that is not ASCII: more evidence
/// changes no guess in practice, and the detector is much slower than everything else here.
const GUESS_BYTES: usize = 64 * 1024;

/// What kind of document the bytes are: only HTML can declare its own encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// Text without markup.
    Plain,
    /// HTML, which may hold `<meta charset>`.
    Html,
}

/// The document as text, without its byte order mark; what cannot be decoded becomes U+FFFD.
///
/// `declared` is the label that came with the document, such as the `charset` of an HTTP header; an unknown label
/// counts as none. Nothing is copied where the bytes are UTF-8 already.
pub fn decode<'a>(bytes: &'a [u8], declared: Option<&str>, markup: Markup) -> Cow<'a, str> {
    if let Some((encoding, mark_length)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark_length..]).0;
    }
    let encoding = declared
        .and_then(|label| Encoding::for_label_no_replacement(label.as_bytes()))
        .or_else(|| if markup == Markup::Html { declared_in_page(bytes) } else { None });
    match encoding {
        Some(encoding) => encoding.decode_without_bom_handling(bytes).0,
        None => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(invalid) => guess(bytes, invalid.valid_up_to()).decode_without_bom_handling(bytes).0,
        },
    }
}

/// The value of `charset` in a content type such as `text/html; charset="utf-8"`.
pub(crate) fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

/// What the page's own `<meta>` says, by the rules of the HTML standard: a page that could be read up to there is in
/// no UTF-16, whatever it says.
fn declared_in_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let opening = &bytes[..bytes.len().min(META_SEARCH_BYTES)];
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    for Ok(token) in Tokenizer::new_with_emitter(opening, emitter) {
        let Token::StartTag(tag) = token else { continue };
        match tag.name.as_slice() {
            b"body" => return None,
            b"meta" => {}
            _ => continue,
        }
        let attribute = |name: &[u8]| tag.attributes.get(name).map(|value| String::from_utf8_lossy(value));
        let is_content_type =
            || attribute(b"http-equiv").is_some_and(|value| value.trim().eq_ignore_ascii_case("content-type"));
        let encoding = match attribute(b"charset") {
            Some(label) => Encoding::for_label_no_replacement(label.trim().as_bytes()),
            None if is_content_type() => attribute(b"content")
                .and_then(|content| Encoding::for_label_no_replacement(charset_parameter(&content)?.as_bytes())),
            None => None,
        };
        if let Some(encoding) = encoding {
            return Some(if encoding == X_USER_DEFINED { WINDOWS_1252 } else { encoding.output_encoding() });
        }
    }
    None
}

/// The most likely encoding of bytes that are not UTF-8.
fn guess(bytes: &[u8], valid_up_to: usize) -> &'static Encoding {
    let start = Encoding::ascii_valid_up_to(&bytes[..valid_up_to]).saturating_sub(64);
    let end = bytes.len().min(start + GUESS_BYTES);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[start..end], end == bytes.len());
    let encoding = detector.guess(None, Utf8Detection::Allow);
    // A long text whose only invalid bytes stand past the evidence, or are few, is UTF-8 with damage.
    if encoding == UTF_8 || valid_up_to >= end { UTF_8 } else { encoding }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_evidence_is_mark_then_sender_then_page() {
        let page = b"<meta charset=windows-1251>\xe4";
        assert!(decode(page, None, Markup::Html).ends_with('\u{434}'));
        assert!(decode(page, Some("iso-8859-1"), Markup::Html).ends_with('\u{e4}'));
        assert!(decode(page, Some("no-such-charset"), Markup::Html).ends_with('\u{434}'));
        assert_eq!(decode(b"\xef\xbb\xbf\xc3\xa4", Some("iso-8859-1"), Markup::Html), "\u{e4}");
        assert_eq!(decode(b"\xff\xfea\0b\0", None, Markup::Plain), "ab");
    }

    #[test]
    fn a_page_declares_its_encoding_in_several_ways() {
        let spellings: [&[u8]; 4] = [
            b"<META CHARSET='Windows-1251'>",
            b"<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>",
            b"<!-- <meta charset=utf-8> --><script>'<meta charset=utf-8>'</script><meta charset=cp1251>",
            b"<meta charset=\"\"><meta name=content-type content='charset=utf-8'><meta charset=\" windows-1251 \">",
        ];
        for spelling in spellings {
            assert_eq!(declared_in_page(spelling).map(Encoding::name), Some("windows-1251"));
        }
        assert_eq!(declared_in_page(b"<meta charset=utf-16>"), Some(UTF_8));
        assert_eq!(declared_in_page(b"<body><meta charset=utf-8>"), None);
    }

    #[test]
    fn silent_documents_are_utf_8_or_a_guess() {
        assert!(matches!(decode("größer".as_bytes(), None, Markup::Plain), Cow::Borrowed("größer")));
        let (russian, _, _) = encoding_rs::WINDOWS_1251.encode("Все люди рождаются свободными и равными");
        assert_eq!(decode(&russian, None, Markup::Plain), "Все люди рождаются свободными и равными");
        let damaged = ["é".repeat(GUESS_BYTES).as_bytes(), b"\xff"].concat();
        assert!(decode(&damaged, None, Markup::Plain).ends_with("é\u{fffd}"));
    }

    #[test]
    fn content_types_name_their_charset() {
        assert_eq!(charset_parameter("text/html; Charset=\"UTF-8\"; x=y"), Some("UTF-8"));
        assert_eq!(charset_parameter("text/html; charset="), None);
        assert_eq!(charset_parameter("charset=utf-8"), None);
    }
}
