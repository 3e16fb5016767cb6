//! Finds what is alike.

mod hash;

pub mod batch;

pub use batch::{Batch, Content, KeepValue, RecordNumber, hash_item};
