//! Which members of a JSON object make a record, and how they are found in one walk over it.

use memchr::memchr;

use crate::error::{Error, Result};
use crate::json::{JsonError, Value, unescape, unescape_at, walk_members};
use crate::options::{FieldPath, ReadOptions};

/// The wanted fields, so prepared that one walk over a record finds them all.
#[derive(Debug)]
pub(crate) struct Fields {
    /// Names of top-level members to look for.
    names: Vec<Box<str>>,
    pub(crate) text: Vec<Field>,
    pub(crate) id: Option<Field>,
    pub(crate) keep: Option<Field>,
    pub(crate) within: Option<Field>,
}

/// One wanted field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) path: FieldPath,
    /// Which of the names is the whole path, taken literally.
    literal: usize,
    /// Where the path has dots: which of the names it starts with, and how it goes on inside that member.
    inside: Option<(usize, Box<str>)>,
}

/// What one walk over a record found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Where the values of the names stand.
    values: Vec<Option<(usize, usize)>>,
    /// Where the escapes of all strings stand, in order.
    escapes: Vec<u32>,
}

impl Fields {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        let mut names = Vec::new();
        let mut prepare = |path: &FieldPath| {
            let inside = path.as_str().split_once('.').map(|(first, rest)| (slot(&mut names, first), rest.into()));
            Field { path: path.clone(), literal: slot(&mut names, path.as_str()), inside }
        };
        let text = options.text.iter().map(&mut prepare).collect();
        let id = options.id.as_ref().map(&mut prepare);
        let keep = options.keep.as_ref().map(&mut prepare);
        let within = options.within.as_ref().map(&mut prepare);
        Self { names, text, id, keep, within }
    }

    /// Walks a record, all of it, and notes where the wanted members stand.
    #[inline]
    pub(crate) fn find(&self, record: &str, found: &mut Found) -> std::result::Result<(), JsonError> {
        let Found { values, escapes } = found;
        escapes.clear();
        values.clear();
        values.resize(self.names.len(), None);
        // A record is shorter than 4 GiB.
        let note_escape = |at| escapes.push(at as u32);
        walk_members(record, note_escape, |key, value| {
            for (name, place) in self.names.iter().zip(values.iter_mut()) {
                if is_named(key, name) {
                    let start = offset(record, value);
                    *place = Some((start, start + value.len()));
                }
            }
        })
    }
}

impl Field {
    /// The field's value in a record that was walked.
    pub(crate) fn value<'a>(&self, record: &'a str, found: &Found) -> Option<Value<'a>> {
        let slice = |name: usize| found.values[name].map(|(start, end)| &record[start..end]);
        let value = match (slice(self.literal), &self.inside) {
            (Some(value), _) => Some(value),
            (None, Some((first, rest))) => slice(*first).and_then(|object| value_inside(object, rest)),
            (None, None) => None,
        };
        value.map(Value::of)
    }

    /// The error of a record that lacks the field.
    #[cold]
    pub(crate) fn missing(&self, record: &str, flag: &str) -> Error {
        const MOST_LISTED: usize = 20;
        let mut names: Vec<String> = Vec::new();
        // It was walked before without an error.
        let _ = walk_members(record, |_| (), |key, _| names.push(format!("\"{key}\"")));
        names.truncate(MOST_LISTED);
        let among = if names.is_empty() { String::new() } else { format!(" (the record has {})", names.join(", ")) };
        Error::new(format!("the field {:?} is missing", self.path.as_str()))
            .advise(format!("name another with {flag}{among}"))
    }

    /// The error of a field that holds something else than `wanted`.
    pub(crate) fn unfit(&self, value: Value<'_>, wanted: &str, flag: &str) -> Error {
        Error::new(format!("the field {:?} is {}, not {wanted}", self.path.as_str(), value.name()))
            .advise(format!("name another with {flag}"))
    }

    /// Appends a string of the field, a slice of the `record` that was walked.
    #[inline]
    pub(crate) fn unescape(&self, record: &str, escaped: &str, found: &Found, out: &mut String) -> Result<()> {
        let start = offset(record, escaped);
        let end = start + escaped.len();
        let first = found.escapes.partition_point(|at| (*at as usize) < start);
        let inside =
            found.escapes[first..].iter().map(|at| *at as usize).take_while(|at| *at < end).map(|at| at - start);
        unescape_at(escaped, inside, out).map_err(|error| {
            Error::new(format!("the field {:?} is not Unicode text: {}", self.path.as_str(), error.what))
                .advise("repair the record")
        })
    }
}

/// Where a slice of `record` starts in it.
#[inline]
fn offset(record: &str, slice: &str) -> usize {
    slice.as_ptr() as usize - record.as_ptr() as usize
}

/// The number of a name among those to look for.
fn slot(names: &mut Vec<Box<str>>, name: &str) -> usize {
    names.iter().position(|known| &**known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}

/// Whether a key, still escaped, is `name`.
#[inline]
fn is_named(key: &str, name: &str) -> bool {
    key == name || key.len() > name.len() && memchr(b'\\', key.as_bytes()).is_some() && is_escaped_name(key, name)
}

#[cold]
fn is_escaped_name(key: &str, name: &str) -> bool {
    let mut unescaped = String::new();
    unescape(key, &mut unescaped).is_ok() && unescaped == name
}

/// The value at `path` in a validated value, if that is an object and has one. A member whose own name is the whole
/// path goes before one that the dots reach into.
fn value_inside<'a>(object: &'a str, path: &str) -> Option<&'a str> {
    let split = path.split_once('.');
    let (mut literal, mut outer) = (None, None);
    walk_members(
        object,
        |_| (),
        |key, value| {
            if is_named(key, path) {
                literal = Some(value);
            } else if split.is_some_and(|(first, _)| is_named(key, first)) {
                outer = Some(value);
            }
        },
    )
    .ok()?;
    literal.or_else(|| value_inside(outer?, split?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of<'a>(record: &'a str, path: &str) -> Option<Value<'a>> {
        let fields = Fields::new(&ReadOptions { text: vec![path.parse().unwrap()], ..Default::default() });
        let mut found = Found::default();
        fields.find(record, &mut found).unwrap();
        fields.text[0].value(record, &found)
    }

    #[test]
    fn dots_reach_inside_and_a_literal_name_goes_first() {
        assert_eq!(text_of(r#"{"a":{"b":{"c":"x"}}}"#, "a.b.c"), Some(Value::String("x")));
        assert_eq!(text_of(r#"{"a":{"b.c":"x","b":{"c":"y"}}}"#, "a.b.c"), Some(Value::String("x")));
        assert_eq!(text_of(r#"{"a.b.c":"lit","a":{"b":{"c":"x"}}}"#, "a.b.c"), Some(Value::String("lit")));
        assert_eq!(text_of(r#"{"a":{"b":1},"a":{}}"#, "a.b"), None, "the last of a key wins");
        assert_eq!(text_of(r#"{"a":[1]}"#, "a.b"), None);
        assert_eq!(text_of(r#"{"t\u0065xt":"x"}"#, "text"), Some(Value::String("x")));
        assert_eq!(text_of(r#"{"a.":{"b":1}}"#, "a..b"), None);
    }
}
