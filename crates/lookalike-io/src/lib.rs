//! Bytes to records and back: the formats that lookalike reads and writes.
//!
//! [`Inputs::resolve`] finds the inputs, a [`Reader`] hands them out in [chunks](Chunk) and makes [records](Parsed) of
//! those, [`read_all`] does so on several threads, [`rewrite()`] and [`annotate()`] write the records again, and an
//! [`AtomicFile`] takes its name only once it is whole.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use lookalike_io::{Error, Inputs, ReadOptions, Reader, read_all};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("pages.jsonl");
//! # std::fs::write(&path, "{\"text\":\"one\"}\n{\"text\":\"two\"}\n").unwrap();
//! let inputs = Inputs::resolve(&[path], None, &std::env::temp_dir())?;
//! let reader = Reader::open(inputs, ReadOptions::default())?;
//! let counts = read_all(&reader, 2, &AtomicBool::new(false), || 0, |count, _chunk, parsed| {
//!     *count += parsed.batch.len();
//!     Ok::<(), Error>(())
//! })?;
//! assert_eq!(counts.iter().sum::<usize>(), 2);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Limits
//! A record must fit in memory and be shorter than 4 GiB, an input shorter than a terabyte. A compressed, CSV
//! or WARC file is read by one thread at a time, while the others parse it or read other files: several inputs are read
//! at once, but one gzip file is decompressed on one core. An error is told only once all that comes before it in input
//! order was read.

pub mod error;
pub mod options;
pub mod parsed;

mod again;
mod annotate;
pub mod annotation;
pub mod charset;
mod chunk;
pub mod compression;
mod csv;
mod drive;
mod fields;
pub mod html;
pub mod input;
mod json;
mod jsonl;
mod line_records;
mod lines;
pub mod output;
mod output_plan;
pub mod parquet;
mod plain_copy;
mod positioned;
mod read_ahead;
mod resolve;
mod rewrite;
mod source;
mod spans;
mod stream;
mod turns;
pub mod warc;

pub use again::{Run, Wanted, read_again};
pub use annotate::annotate;
pub use annotation::Annotation;
pub use chunk::Chunk;
pub use compression::Compression;
pub use drive::read_all;
pub use error::{Error, Place, Result};
pub use input::Input;
pub use options::{FieldPath, Format, OnError, ReadOptions};
pub use output::{AtomicFile, FinishedFile, can_be_taken_back, check_writable, remove_abandoned};
pub use output_plan::{is_folder_output, plan_outputs, refuse_overwriting};
pub use parsed::{BadRecord, Ids, Parsed, RawSpan};
pub use resolve::{Inputs, PassedOver, passed_over};
pub use rewrite::{Rewrite, is_copied, read_start, rewrite, rewrite_to_file};
pub use source::Reader;

/// The byte-order mark of UTF-8, which is no part of a text.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";
