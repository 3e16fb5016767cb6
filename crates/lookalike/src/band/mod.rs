//! band: sketches → candidate pairs.
//!
//! Records whose sketches share a key meet in a bucket. Which members of a bucket are compared is the plan's bucket
//! rule; what the rule leaves out is counted.

mod bounded;
mod buckets;
mod candidates;
mod crowds;
mod keys;

pub(crate) use bounded::sample_of;
pub(crate) use buckets::{Buckets, Entries};
pub(crate) use candidates::{Banding, Candidates, sort_distinct};
pub(crate) use crowds::Crowds;
pub(crate) use keys::BandKeys;
