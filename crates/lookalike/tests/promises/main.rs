//! The promises that the engine makes to those who trust it with their data, each with a test that fails when the
//! promise is broken.

#[path = "../random/mod.rs"]
mod random;

mod containment;
mod crowds;
mod degenerate_records;
mod determinism;
mod edits;
mod families;
mod formats_that_last;
mod hot_buckets;
mod keep_order;
mod nothing_lost;
mod precision;
mod recall;
mod work_files;
