//! All alike pairs without sketches: the answer that everything else is measured against.
//!
//! Elements are ranked from the rarest to the most common. Two sets that are alike share one of their few rarest
//! elements (the prefix filter), so only those are looked up in inverted lists; sets whose sizes differ too much are
//! passed over (the length filter). What is left is counted exactly.

mod containment;
mod jaccard;
mod ranked;

use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::settings::Measure;
use crate::verify::Edge;
use crate::watch::Watch;

pub(crate) use jaccard::prefix_length;
use ranked::RankedSets;

/// Every pair of classes that is alike, in ascending order.
pub(crate) fn find_all(
    collection: &Collection<'_>,
    classes: &Classes,
    measure: Measure,
    threshold: f64,
    watch: &dyn Watch,
) -> Result<Vec<Edge>> {
    let sets = RankedSets::new(collection, classes)?;
    match measure {
        Measure::Jaccard => jaccard::join(&sets, classes, threshold, watch),
        Measure::Containment => containment::join(&sets, classes, threshold, watch),
    }
}

/// For each of the classes asked for, every class that is alike to it by Jaccard similarity.
pub(crate) fn find_neighbours(
    collection: &Collection<'_>,
    classes: &Classes,
    wanted: &[u32],
    threshold: f64,
    watch: &dyn Watch,
) -> Result<Vec<Vec<(u32, f64)>>> {
    jaccard::neighbours(&RankedSets::new(collection, classes)?, wanted, threshold, watch)
}
