//! WARC, the format of web archives, and WET, its text-only cousin.
//!
//! The records that hold a text are records here: HTTP responses whose body is HTML or plain text (whatever their
//! status: error pages are look-alikes too), resources of those types, and the conversions of WET files. Everything
//! else in a file (requests, metadata, images, …) is no record for comparison, and none of its bytes belong to one: a
//! rewrite that leaves out the bytes of dropped records keeps it.
//!
//! All offsets are in the decompressed stream.
//!
//! | file | its question |
//! |---|---|
//! | `record` | where does a raw record end, and what do its header fields say? |
//! | `split` | how is a stream cut into pieces of whole records? |
//! | `http` | what is the body of an HTTP response? |
//! | `read` | which raw records are records for comparison, and what is their text? |
//! | `write` | how are raw records compressed again? |

mod http;
mod read;
mod record;
mod split;
mod write;

pub use read::parse_piece;
pub use split::WarcChunks;
pub use write::RecordGzWriter;
