//! A strict walk over one JSON text (RFC 8259) that builds nothing: values are validated and handed out as the slices
//! of the text where they stand.

use memchr::{memchr, memchr2};

/// Objects and lists that may stand inside each other before a text is refused; protects the stack.
const MAX_DEPTH: u32 = 512;

/// The longest key that is read byte by byte.
const SHORT_KEY: usize = 16;

/// Why a text is not JSON, and at which of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

type Walked<T> = Result<T, JsonError>;

/// One value, as the slice where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A string, without its quotes and still escaped.
    String(&'a str),
    /// A number or a boolean, as it is written.
    Literal(&'a str, Kind),
    Null,
    List(&'a str),
    Object(&'a str),
}

/// What a literal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Boolean,
}

impl<'a> Value<'a> {
    /// The value that `raw`, a validated slice, holds.
    pub(crate) fn of(raw: &'a str) -> Self {
        match raw.as_bytes().first() {
            Some(b'"') => Self::String(&raw[1..raw.len() - 1]),
            Some(b'{') => Self::Object(raw),
            Some(b'[') => Self::List(raw),
            Some(b'n') | None => Self::Null,
            Some(b't' | b'f') => Self::Literal(raw, Kind::Boolean),
            Some(_) => Self::Literal(raw, Kind::Number),
        }
    }

    /// What the value is, for a message.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Literal(_, Kind::Number) => "a number",
            Self::Literal(_, Kind::Boolean) => "a boolean",
            Self::Null => "null",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Walks `text`, which must be one object and nothing else but white space, and shows each member: its key, without
/// quotes and still escaped, and its value's slice. All of the text is validated. Where escapes stand in its strings,
/// `note_escape` is told in passing, so that whoever unescapes one need not look for them again.
#[inline]
pub(crate) fn walk_members<'a>(
    text: &'a str,
    note_escape: impl FnMut(usize),
    mut visit: impl FnMut(&'a str, &'a str),
) -> Walked<()> {
    let mut walker = Walker { text, at: 0, note_escape, has_controls: has_controls(text.as_bytes()) };
    walker.skip_space();
    walker.expect(b'{', "expected an object, which starts with '{'")?;
    walker.members(MAX_DEPTH, &mut visit)?;
    walker.skip_space();
    if walker.at < text.len() { Err(walker.error("something follows the object")) } else { Ok(()) }
}

/// Shows each element of `list`, a validated slice.
pub(crate) fn walk_elements<'a, E>(list: &'a str, mut visit: impl FnMut(Value<'a>) -> Result<(), E>) -> Result<(), E> {
    let mut walker = Walker { text: list, at: 1, note_escape: |_| (), has_controls: false };
    walker.skip_space();
    while walker.at < list.len() && walker.byte() != Some(b']') {
        let start = walker.at;
        if walker.value(MAX_DEPTH).is_err() {
            break;
        }
        visit(Value::of(&list[start..walker.at]))?;
        walker.skip_space();
        if walker.byte() == Some(b',') {
            walker.at += 1;
            walker.skip_space();
        }
    }
    Ok(())
}

/// Appends the string that `escaped` stands for. The slice is a validated one; what can still be wrong is a surrogate
/// without its partner, which no Unicode text can hold.
pub(crate) fn unescape(escaped: &str, out: &mut String) -> Walked<()> {
    let mut run = 0;
    while let Some(length) = memchr(b'\\', &escaped.as_bytes()[run..]) {
        run = unescape_one(escaped, run, run + length, out)?;
    }
    out.push_str(&escaped[run..]);
    Ok(())
}

/// [`unescape`] where it is known at which bytes of `escaped` the escapes stand.
#[inline]
pub(crate) fn unescape_at(escaped: &str, escapes: impl Iterator<Item = usize>, out: &mut String) -> Walked<()> {
    out.reserve(escaped.len());
    let mut run = 0;
    for backslash in escapes {
        // The second half of a surrogate pair went with the first.
        if backslash >= run {
            run = unescape_one(escaped, run, backslash, out)?;
        }
    }
    out.push_str(&escaped[run..]);
    Ok(())
}

/// Appends what stands from `run` on and the escape at `backslash`, and returns where that ends.
#[inline]
fn unescape_one(escaped: &str, run: usize, backslash: usize, out: &mut String) -> Walked<usize> {
    out.push_str(&escaped[run..backslash]);
    let simple = match escaped.as_bytes().get(backslash + 1) {
        Some(b'n') => '\n',
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte as char,
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        _ => {
            let (character, end) = unicode_escape(escaped.as_bytes(), backslash)?;
            out.push(character);
            return Ok(end);
        }
    };
    out.push(simple);
    Ok(backslash + 2)
}

/// The character of the `\uXXXX` at `backslash`, or of two that are a surrogate pair, and where that ends.
fn unicode_escape(bytes: &[u8], backslash: usize) -> Walked<(char, usize)> {
    let error = |what| JsonError { what, at: backslash };
    let unit = code_unit(bytes, backslash).ok_or(error("an escape is not known"))?;
    let (scalar, end) = match unit {
        0xD800..0xDC00 => match code_unit(bytes, backslash + 6) {
            Some(low @ 0xDC00..0xE000) => (0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), backslash + 12),
            _ => (unit, backslash + 6),
        },
        _ => (unit, backslash + 6),
    };
    let character = char::from_u32(scalar).ok_or(error("a surrogate escape stands without its partner"))?;
    Ok((character, end))
}

/// The UTF-16 code unit of the `\uXXXX` at `at`, if one stands there.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    if &escape[..2] != b"\\u" {
        return None;
    }
    escape[2..].iter().try_fold(0, |unit, digit| Some(unit << 4 | (*digit as char).to_digit(16)?))
}

struct Walker<'a, N> {
    text: &'a str,
    at: usize,
    note_escape: N,
    /// Whether the text has control characters at all, so that strings must be searched for them.
    has_controls: bool,
}

/// Whether there is a control character, which no string may hold as it is.
fn has_controls(bytes: &[u8]) -> bool {
    // Without an early exit the compiler checks a vector of bytes at a time.
    bytes.iter().fold(0, |found, byte| found | u8::from(*byte < 0x20)) != 0
}

impl<'a, N: FnMut(usize)> Walker<'a, N> {
    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[cold]
    fn error(&self, what: &'static str) -> JsonError {
        JsonError { what: if self.at < self.text.len() { what } else { "the text ends too early" }, at: self.at }
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8, what: &'static str) -> Walked<()> {
        if self.byte() != Some(byte) {
            return Err(self.error(what));
        }
        self.at += 1;
        Ok(())
    }

    /// From behind an opening brace to behind its closing one.
    #[inline]
    fn members(&mut self, depth: u32, visit: &mut impl FnMut(&'a str, &'a str)) -> Walked<()> {
        self.skip_space();
        if self.byte() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.at;
            self.expect(b'"', "expected a key in quotes")?;
            self.key()?;
            let key = &self.text[key + 1..self.at - 1];
            self.skip_space();
            self.expect(b':', "expected ':' after the key")?;
            self.skip_space();
            let value = self.at;
            self.value(depth)?;
            visit(key, &self.text[value..self.at]);
            self.skip_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.error("expected ',' or '}' after the value")),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(())
    }

    /// From behind an opening bracket to behind its closing one.
    fn elements(&mut self, depth: u32) -> Walked<()> {
        self.skip_space();
        if self.byte() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth)?;
            self.skip_space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.error("expected ',' or ']' after the value")),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn value(&mut self, depth: u32) -> Walked<()> {
        match self.byte() {
            Some(b'"') => {
                self.at += 1;
                self.string()
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(open @ (b'{' | b'[')) => {
                let Some(depth) = depth.checked_sub(1) else {
                    return Err(self.error("values are nested too deeply"));
                };
                self.at += 1;
                if open == b'{' { self.nested_members(depth) } else { self.elements(depth) }
            }
            _ => Err(self.error("expected a value")),
        }
    }

    /// [`Self::members`] of an object that nobody asks about: one function, so that the recursion has an end at
    /// compile time.
    fn nested_members(&mut self, depth: u32) -> Walked<()> {
        self.members(depth, &mut |_, _| ())
    }

    fn word(&mut self, word: &str) -> Walked<()> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Walked<()> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Walked<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at == start { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    /// [`Self::string`] for what is short more often than not: then a plain loop is faster than a search.
    #[inline]
    fn key(&mut self) -> Walked<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let end = rest[..rest.len().min(SHORT_KEY)].iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
        match end {
            Some(length) if rest[length] == b'"' => {
                self.at += length + 1;
                Ok(())
            }
            _ => self.string(),
        }
    }

    /// From behind an opening quote to behind its closing one.
    #[inline]
    fn string(&mut self) -> Walked<()> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        loop {
            let Some(length) = memchr2(b'"', b'\\', &bytes[at..]) else {
                self.at = bytes.len();
                return Err(self.error("a string has no end"));
            };
            at += length;
            if bytes[at] == b'"' {
                break;
            }
            (self.note_escape)(at);
            at += match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                Some(b'u') if code_unit(bytes, at).is_some() => 6,
                _ => return Err(JsonError { what: "an escape is not known", at }),
            };
        }
        self.at = at + 1;
        if self.has_controls && has_controls(&bytes[start..at]) {
            let at = start + bytes[start..at].iter().position(|byte| *byte < 0x20).unwrap_or_default();
            return Err(JsonError { what: "a string holds a control character that is not escaped", at });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn member<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
        let mut found = None;
        walk_members(
            text,
            |_| (),
            |key, value| {
                if key == wanted {
                    found = Some(value);
                }
            },
        )
        .ok()?;
        found
    }

    #[test]
    fn members_are_found_where_they_stand() {
        let text = r#" { "a" : [1, {"b":"}"}] ,"b":"x\"y", "a": -0.5e+3 } "#;
        assert_eq!(member(text, "b"), Some(r#""x\"y""#));
        assert_eq!(member(text, "a"), Some("-0.5e+3"), "the last of a key wins");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            "[]",
            "{",
            "{}x",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":01}",
            "{\"a\":1.}",
            "{\"a\":+1}",
            "{\"a\":1,}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":\"\t\"}",
            "{\"a\":nul}",
            "{\"a\":[1,]}",
            "{a:1}",
            "{\"a\":-}",
            "{\"a\":\"",
            "{\"a\":1e}",
            "{\"a\":\"\\",
            "{\"a\":tru",
        ] {
            assert!(walk_members(text, |_| (), |_, _| ()).is_err(), "{text}");
        }
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(
            walk_members(&deep, |_| (), |_, _| ()).map_err(|error| error.what),
            Err("values are nested too deeply")
        );
    }

    #[test]
    fn a_lone_surrogate_is_no_text() {
        let mut out = String::new();
        assert_eq!(unescape(r"a\ud83d\ude00\u00e9\/", &mut out), Ok(()));
        assert_eq!(out, "a😀é/");
        for lone in [r"\ud83d", r"\ud83dx", r"\ude00", r"\ud83d\u0041", r"\ud83d\n", r"\ude00\ud83d"] {
            assert!(unescape(lone, &mut out).is_err(), "{lone}");
        }
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[\\\\\"\n\u{1}a😀é]{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::btree_map("[a-c\"\\\\.]{0,2}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_serde_reads_is_read_alike(fields in prop::collection::btree_map("[a-d\"é\\\\\n]{0,3}", value(), 0..5), pretty: bool) {
            let object = serde_json::Value::Object(fields.clone().into_iter().collect());
            let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) }.unwrap();
            let mut seen = std::collections::BTreeMap::new();
            walk_members(&text, |_| (), |key, value| {
                let mut name = String::new();
                unescape(key, &mut name).unwrap();
                if let Value::String(escaped) = Value::of(value) {
                    let mut content = String::new();
                    unescape(escaped, &mut content).unwrap();
                    seen.insert(name, serde_json::Value::String(content));
                } else {
                    seen.insert(name, serde_json::from_str(value).unwrap());
                }
            }).unwrap();
            let expected: std::collections::BTreeMap<_, _> = match serde_json::from_str(&text).unwrap() {
                serde_json::Value::Object(map) => map.into_iter().collect(),
                _ => unreachable!(),
            };
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn what_serde_refuses_is_refused(
            object in prop::collection::btree_map("[a-c]{0,2}", value(), 0..4),
            edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]\",:\\u0d19eE+-. \tntf\x01x".to_vec()), 0..3), 0..4),
        ) {
            let mut text = serde_json::to_string(&object).unwrap().into_bytes();
            for (index, byte, edit) in edits {
                if text.is_empty() { break; }
                let at = index.index(text.len());
                match edit { 0 => text[at] = byte, 1 => text.insert(at, byte), _ => { text.remove(at); } }
            }
            if let Ok(text) = std::str::from_utf8(&text) {
                let object = text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{');
                let accepted = object && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
                prop_assert_eq!(walk_members(text, |_| (), |_, _| ()).is_ok(), accepted, "{}", text);
            }
        }
    }
}
