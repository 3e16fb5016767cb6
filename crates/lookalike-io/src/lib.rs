//! Bytes to records and back: the formats that lookalike reads and writes.

pub mod error;
pub mod options;
pub mod parsed;

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
mod positioned;
mod resolve;
mod rewrite;
mod source;
mod spans;
mod stream;
pub mod warc;

pub use annotate::annotate;
pub use annotation::Annotation;
pub use chunk::Chunk;
pub use compression::Compression;
pub use drive::read_all;
pub use error::{Error, Place, Result};
pub use input::Input;
pub use options::{FieldPath, Format, OnError, ReadOptions};
pub use output::AtomicFile;
pub use output_plan::{is_folder_output, plan_outputs};
pub use parsed::{BadRecord, Ids, Parsed, RawSpan};
pub use resolve::Inputs;
pub use rewrite::{Rewrite, rewrite};
pub use source::Reader;

/// The byte-order mark of UTF-8, which is no part of a text.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";
