//! How the engine reports progress and hears that it should stop. It never prints.

use std::fmt;

use crate::error::{Error, Result};

/// The stages of a run, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Records are read, normalised, shingled and sketched.
    Read,
    /// Sketches become candidate pairs.
    Band,
    /// Candidates are checked.
    Verify,
    /// Pairs become groups.
    Group,
    /// Results are written.
    Write,
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Read => "read",
            Self::Band => "band",
            Self::Verify => "verify",
            Self::Group => "group",
            Self::Write => "write",
        })
    }
}

/// Somebody who watches a run. Called from many threads.
pub trait Watch: Sync {
    /// A stage begins; `total` units of work lie ahead, where that is known.
    fn begin(&self, _stage: Stage, _total: Option<u64>) {}

    /// So many more units of the current stage are done.
    fn advance(&self, _done: u64) {}

    /// So many parts of a stage's work were done by an earlier attempt and need not be done again.
    fn reuse(&self, _stage: Stage, _parts: u64) {}

    /// Candidates are known and about to be checked: there will be no more than so many pairs of records.
    fn expect_pairs(&self, _at_most: u64) {}

    /// Whether to stop. Asked often.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Asks a watcher whether to stop, and tells it nothing.
pub(crate) struct Unseen<'a>(pub(crate) &'a dyn Watch);

impl Watch for Unseen<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Stops with an error if the watcher said so.
pub(crate) fn check_cancelled(watch: &dyn Watch) -> Result<()> {
    if watch.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
}
