//! The stages one at a time, for whoever carries records from one to the next, as Spark does between machines.
//!
//! Between stages a record is called by its *rank*: any number that ascends in keep order. What arrives at a stage arrives
//! sorted, and is looked at once; memory does not grow with the number of records.
//!
//! | stage | in | out |
//! |---|---|---|
//! | [`RowSketcher`] | texts or sets | what stands for each record: identity, slots, keys |
//! | [`BucketComparer`] | members of buckets, by key, then rank | pairs that share a key and pass the filter |
//! | [`PairVerifier`] | texts or sets of records in pairs | how alike the pairs are, exactly |
//! | [`Plan::group_ranked`](crate::Plan::group_ranked) | the verified pairs of a component | who is kept for whom |
//!
//! Records with the same identity have the same set: one of them, the first in keep order, stands for all from then on.

mod bucket;
mod group;
mod rows;
mod verifier;

pub use bucket::{BucketComparer, BucketMember};
pub use group::{Dropped, RankedEdge, least_of_components};
pub use rows::{RowSketcher, SketchedRows};
pub use verifier::PairVerifier;

use crate::batch::Content;
use crate::hash::fingerprint;
use crate::shingle::{Shape, Shingler, sort_distinct};

/// Fills `elements` with the set of a record, sorted, each element once.
fn fill_set(shingler: &mut Shingler, content: Content<'_>, elements: &mut Vec<u64>) -> Shape {
    elements.clear();
    let shape = shingler.append(content, elements);
    let distinct = sort_distinct(elements);
    elements.truncate(distinct);
    shape
}

/// What tells a record's set, and the value that it may only meet itself with, from all others.
fn identity(set: &[u64], within: u64) -> u128 {
    fingerprint(set, within)
}
