//! What can go wrong with an input or an output: what, where, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of reading or writing.
pub type Result<T> = std::result::Result<T, Error>;

/// An input that cannot be read or an output that cannot be written.
///
/// Displayed on one line: what is wrong, where, and what to do about it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: String,
    place: Option<Place>,
    advice: Option<String>,
    source: Option<std::io::Error>,
    cancelled: bool,
}

/// Where in the inputs something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or `-` for standard input.
    pub path: PathBuf,
    /// The record, counted from 1, where known.
    pub record: Option<u64>,
    /// The byte offset in the (decompressed) input, where known.
    pub byte: Option<u64>,
}

impl Error {
    /// An error that says what is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Inner { message: message.into(), place: None, advice: None, source: None, cancelled: false }))
    }

    /// An operating-system error about a file: `what` is a verb phrase such as "cannot open".
    pub fn io(what: &str, path: &Path, source: std::io::Error) -> Self {
        let mut error = Self::new(format!("{what} {}: {source}", Shown(path))).at_file(path);
        error.0.source = Some(source);
        error
    }

    /// The error of an output whose name is not known here: whoever knows it adds it with [`Error::at_file`].
    pub fn sink(source: std::io::Error) -> Self {
        let full = matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
        let mut error = Self::new(format!("cannot write the output: {source}"));
        error.0.source = Some(source);
        if full { error.advise("the disk is full: make room, or name an output on another disk") } else { error }
    }

    /// What kind of operating-system error it was, if it was one: a closed pipe, for example.
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        self.0.source.as_ref().map(std::io::Error::kind)
    }

    /// Adds what the user can do.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    /// Adds that the record can be left out instead. Said where a record ends the run, not where it is left out.
    pub(crate) fn or_leave_out(mut self) -> Self {
        const LEAVE_OUT: &str = "leave such records out with --on-error skip";
        let advice = self.0.advice.take();
        self.advise(advice.map_or(LEAVE_OUT.to_owned(), |advice| format!("{advice}, or {LEAVE_OUT}")))
    }

    /// Adds the file, unless the place is known already.
    pub fn at_file(self, path: &Path) -> Self {
        self.at(Place { path: path.into(), record: None, byte: None })
    }

    /// Adds the place, unless it is known already.
    pub fn at(mut self, place: Place) -> Self {
        self.0.place.get_or_insert(place);
        self
    }

    /// Adds which record it is, counted from 1, to a place that has none yet.
    pub fn number_record(mut self, record: u64) -> Self {
        if let Some(place) = &mut self.0.place {
            place.record.get_or_insert(record);
        }
        self
    }

    /// The error of work that was cancelled.
    pub fn cancelled() -> Self {
        let mut error = Self::new("cancelled");
        error.0.cancelled = true;
        error
    }

    /// Whether the work was cancelled, so that nothing is wrong with any input or output.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled
    }

    /// What is wrong, without place and advice.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where, if it has a place.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// What is wrong, and where.
    pub fn without_advice(&self) -> String {
        let message = self.message();
        match self.place() {
            Some(place) if !message.contains(&Shown(&place.path).to_string()) => format!("{place}: {message}"),
            _ => message.to_owned(),
        }
    }

    /// What to do, if anything can be said.
    pub fn advice(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.without_advice())?;
        match &self.0.advice {
            Some(advice) => write!(formatter, "; {advice}"),
            None => Ok(()),
        }
    }
}

// The message already says what the operating system said, so there is no source to say it again.
impl std::error::Error for Error {}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Shown(&self.path))?;
        match (self.record, self.byte) {
            (Some(record), Some(byte)) => write!(formatter, ", record {record} (byte {byte})"),
            (Some(record), None) => write!(formatter, ", record {record}"),
            (None, Some(byte)) => write!(formatter, ", byte {byte}"),
            (None, None) => Ok(()),
        }
    }
}

/// A path as a text. Names need not be UTF-8: other bytes are written as `\xff`, so that different files have different names.
pub fn name_of(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| name.push_str(&format!("\\x{byte:02x}")));
    }
    name
}

/// A path as it may be shown on a terminal: control characters escaped, never raw.
pub struct Shown<'a>(pub &'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Path::new("-") {
            return formatter.write_str("standard input");
        }
        for character in name_of(self.0).chars() {
            if character.is_control() {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                write!(formatter, "{character}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_what_to_do() {
        let error = Error::new("the field \"text\" is missing")
            .at(Place { path: "a\n.jsonl".into(), record: Some(3), byte: Some(99) })
            .advise("name another field with --text");
        assert_eq!(
            error.to_string(),
            "a\\n.jsonl, record 3 (byte 99): the field \"text\" is missing; name another field with --text"
        );
    }
}
