//! What the engine refuses, and why.

use std::fmt;

/// The result of an engine call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the engine refused. Displayed on one line: what is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    advice: Option<String>,
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is out of range or contradicts another.
    Setting,
    /// The caller asked to stop.
    Cancelled,
    /// The outcome does not hold what was asked of it.
    Unavailable,
    /// More records, or larger ones, than the engine can number.
    TooLarge,
    /// A work file cannot be read or written.
    Work,
    /// Less memory is allowed than the run needs.
    Memory,
    /// Records could not be supplied again.
    Supply,
    /// Records that were supplied again are not what they were.
    Changed,
    /// An index is damaged, of another version, or none at all; or its files cannot be read or written.
    Index,
    /// Somebody else is writing to the index.
    Locked,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), advice: None }
    }

    /// The error of a run that its caller stopped.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the run was stopped")
    }

    /// The error of a [`crate::Supply`] that cannot supply.
    pub fn supply(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Supply, message)
    }

    pub(crate) fn setting(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Setting, message)
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// What kind of refusal this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(formatter, "; {advice}"),
            None => Ok(()),
        }
    }
}
