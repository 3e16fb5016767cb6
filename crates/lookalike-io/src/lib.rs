//! Bytes to records and back: the formats that lookalike reads and writes.

pub mod annotation;
pub mod charset;
pub mod error;
pub mod html;
pub mod options;
pub mod parquet;
pub mod parsed;
pub mod warc;

pub use annotation::Annotation;
pub use error::{Error, Place, Result};
pub use options::{FieldPath, Format, OnError, ReadOptions};
pub use parsed::{BadRecord, Ids, Parsed};
