//! Finds what is alike: near-duplicate documents and similar sets.
//!
//! The classic method, shingling → MinHash → locality-sensitive hashing, with every answer verified: a pair is
//! reported only with its exact similarity, and a record is dropped only for a kept record that is alike to it.
//!
//! # From plain to odd
//!
//! ```
//! use lookalike::{Keep, Settings, Shingles};
//!
//! let texts = ["a b c d e f g h i j", "a b c d e f g h i j k", "quite another text than the other two"];
//!
//! // The front door.
//! let found = lookalike::dedup(texts, 0.8)?;
//! assert_eq!(found.kept().collect::<Vec<_>>(), [0, 2]);
//!
//! // A plan says what it will do before it does it.
//! let plan = Settings::new(0.7).shingles(Shingles::words(3)).keep(Keep::Longest).plan()?;
//! assert!(plan.finds(0.7) >= 0.99);
//! println!("{plan}");
//!
//! // An outcome can be questioned.
//! let found = plan.run(texts)?;
//! assert_eq!(found.original_of(0), Some((1, 8.0 / 9.0)));
//! assert_eq!(found.pairs().count(), 1);
//! assert_eq!(found.at_threshold(0.95)?.pairs().count(), 0);
//! # Ok::<(), lookalike::Error>(())
//! ```
//!
//! The stages can be called one by one as well: a [`Sketcher`] turns [`Batch`]es into [`Sketched`] ones, on as many
//! threads as there are, and [`Plan::finish`] does the rest. A run uses the rayon pool that it is called in.
//!
//! # Limits
//!
//! - [`Plan::run`] keeps all sketches and shingle hashes in memory: about 2 kB for a text of 200 words. With a [`Supply`] that
//!   gives shingles again, and a [`WorkFolder`] ([`Resources`]), a record takes less than 100 bytes.
//! - Sets are compared by the 64-bit hashes of their elements, and sketched by 32 bits of those: collisions are one in
//!   2⁶⁴ for a pair of elements, and add less than 0.001 to the estimate for sets of two million elements.
//! - Fewer than 2³² records a run.
//! - Containment is found through selected shingles ([`fingerprint`]): surely where both texts share a verbatim run of
//!   w + k − 1 tokens (12 by default), or one of them is short. [`Settings::exact`] lists all shingles.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod error;
pub mod plan;
pub mod settings;
pub mod watch;

mod characters;
mod columns;
mod components;
mod hash;
mod lists;
mod shard;

mod band;
pub mod batch;
mod exact;
pub mod fingerprint;
mod group;
pub mod normalize;
pub mod shingle;
pub mod sketch;
pub mod verify;

mod audit;
mod blocks;
mod classes;
mod collection;
mod compare;
mod held;
pub mod index;
mod observed;
mod outcome;
mod passages;
mod run;
mod sketched;
mod sources;
mod spans;
pub mod stages;
mod supply;
pub mod work;

pub use audit::{Audit, Interval};
pub use batch::{Batch, Content, KeepValue, RecordNumber, hash_item};
pub use compare::{Comparison, Estimate};
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::Selection;
pub use group::{Decided, Hear};
pub use held::Held;
pub use index::{Answer, Index, IndexOptions, Info, Item, Match, Query, Snapshot};
pub use outcome::{Group, HotBucket, Outcome, Pair, Summary};
pub use passages::Passage;
pub use plan::{BucketRule, Method, Plan, Scheme};
pub use run::{Resources, dedup};
pub use settings::{Bands, Grouping, Keep, Measure, Normalize, Settings, Shingles, Step, Verify};
pub use shard::Shard;
pub use shingle::{Shape, Shingler};
pub use sketch::{Damage, MinHash, Mismatch, Sketch};
pub use sketched::{Sketched, Sketcher};
pub use sources::{Document, Explanation, Source};
pub use spans::Characters;
pub use supply::{Asked, ShingleLists, Supply, Take};
pub use watch::{Stage, Unwatched, Watch};
pub use work::{HiddenFile, Segment, Stamp, WorkFolder};
