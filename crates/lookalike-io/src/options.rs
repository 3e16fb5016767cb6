//! What a reader is asked to do: plain data.

use std::fmt;
use std::str::FromStr;

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values with a header line.
    Csv,
    /// Tab-separated values with a header line; quoting as in CSV.
    Tsv,
    /// The whole file is one record.
    Text,
    /// Every line is a record.
    Lines,
    /// The whole file is one HTML page; its visible text is the record.
    Html,
    /// Apache Parquet.
    Parquet,
    /// WARC or WET; the records with a text are records here.
    Warc,
    /// Every line is a set, its items between blanks.
    Sets,
}

impl Format {
    /// Every format with its name on the command line.
    pub const NAMES: [(&'static str, Format); 9] = [
        ("jsonl", Format::Jsonl),
        ("csv", Format::Csv),
        ("tsv", Format::Tsv),
        ("txt", Format::Text),
        ("lines", Format::Lines),
        ("html", Format::Html),
        ("parquet", Format::Parquet),
        ("warc", Format::Warc),
        ("sets", Format::Sets),
    ];
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = Self::NAMES.iter().find(|(_, format)| format == self).expect("every format is named");
        formatter.write_str(name)
    }
}

/// Where a value stands inside a record: `text`, or `meta.source.url`, whose dots reach inside objects.
///
/// A field whose own name contains the dots is found too, and preferred.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath(String);

impl FieldPath {
    /// The path as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names from the outside in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }
}

impl FromStr for FieldPath {
    type Err = String;

    fn from_str(path: &str) -> Result<Self, String> {
        if path.is_empty() {
            return Err("a field name is empty".into());
        }
        Ok(Self(path.into()))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What to do about a record that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop with an error that names the record.
    #[default]
    Fail,
    /// Leave the record out, count it and list it.
    Skip,
}

/// Which fields make a record, and how strict to be.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format of every input; `None` tells it from each input's name, then from its content.
    pub format: Option<Format>,
    /// The fields that make the text, joined by a newline; a list-valued field is a set.
    pub text: Vec<FieldPath>,
    /// The field that holds the id; `None`: records are called FILE:RECORD. A record without it is called so too.
    pub id: Option<FieldPath>,
    /// The field that the keep order reads.
    pub keep: Option<FieldPath>,
    /// The field that two records must share to be compared.
    pub within: Option<FieldPath>,
    /// What to do about a bad record.
    pub on_error: OnError,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            text: vec![FieldPath("text".into())],
            id: Some(FieldPath("id".into())),
            keep: None,
            within: None,
            on_error: OnError::Fail,
        }
    }
}
