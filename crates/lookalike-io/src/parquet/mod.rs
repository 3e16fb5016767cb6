//! Apache Parquet: rows are records.
//!
//! | file | its question |
//! |---|---|
//! | `file` | is this a Parquet file, and how many rows and row groups has it? |
//! | `column` | where does a field path lead in the schema? |
//! | `values` | what does a column hold in a row? |
//! | `read` | which records are in a row group? |
//! | `rewrite` | the same file with some of its rows |
//! | `table` | results as a Parquet file |

mod column;
mod file;
#[cfg(test)]
mod fixture;
mod read;
mod rewrite;
mod table;
mod values;

pub use file::ParquetFile;
pub use rewrite::{ROWS_PER_GROUP, rewrite};
pub use table::{ColumnKind, ResultTable, Value};
