//! A lasting index: is this like something seen before, which one, and how much?
//!
//! ```
//! use lookalike::{Content, Index, Query, Settings};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("news.idx");
//! let plan = Settings::new(0.8).plan()?;
//! let mut index = Index::create(&path, &plan)?;
//! index.insert("a", Content::Text("a ship came into the harbour this morning with all hands safe"), None)?;
//! index.commit()?;
//!
//! let asked = Content::Text("A ship came into the harbour this morning, with all hands safe!");
//! let answer = index.snapshot().query(asked, &Query::default())?;
//! assert_eq!((answer.matches[0].id.as_str(), answer.matches[0].similarity), ("a", 1.0));
//! # Ok::<(), lookalike::Error>(())
//! ```
//!
//! An index is a folder. Its items are in *segments*, which are written once, have checksums over everything and are mapped
//! into memory; what was committed since the last segment is in a *log*; the *manifest* says which files belong to the
//! index, and is replaced as a whole. Segments are merged in the background as they pile up.
//!
//! One [`Index`] at a time writes; any number of [`Snapshot`]s read, in this process or another, and each sees the index
//! as it was when it was taken.
//!
//! # Limits
//!
//! - What is not committed is not seen, and is gone with the process.
//! - An index answers for its own plan: the threshold can be raised, and lowered with less than the promised recall.
//! - Under one key, the newest items are looked at, up to [`MOST_UNDER_A_KEY`] ([`Answer::bounded`] tells).
//! - Fewer than 2³² items a segment.

mod against;
mod analyzer;
mod background;
mod bulk;
mod failure;
mod folder;
mod live;
mod log;
mod manifest;
mod memory;
mod merge;
mod search;
mod segment;
mod snapshot;
mod stored;
mod table;
mod writer;

pub use against::OldItem;
pub use bulk::{Loaded, Loader};
pub use search::{Answer, MOST_UNDER_A_KEY, Match, Query};
pub use snapshot::{Info, Item, Snapshot};
pub use writer::{Index, IndexOptions};

/// Whether there is an index at this path.
pub fn is_index(path: &std::path::Path) -> bool {
    path.join(manifest::NAME).is_file()
}
