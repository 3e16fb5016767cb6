//! All pairs with Jaccard similarity of at least a threshold.

use rayon::prelude::*;

use super::ranked::RankedSets;
use crate::classes::Classes;
use crate::error::Result;
use crate::verify::{Edge, ratio, shared};
use crate::watch::{Watch, check_cancelled};

/// Sets probed by one task.
const PIECE: usize = 256;
/// Candidates compared between two questions whether to stop.
pub(super) const BETWEEN_QUESTIONS: usize = 1024;

pub(super) fn join(sets: &RankedSets, classes: &Classes, threshold: f64, watch: &dyn Watch) -> Result<Vec<Edge>> {
    // From the smallest set to the largest: a set is compared with those before it.
    let mut order: Vec<u32> = (0..sets.len() as u32).collect();
    order.par_sort_unstable_by_key(|set| (sets.size(*set), *set));
    let sizes: Vec<usize> = order.iter().map(|set| sets.size(*set)).collect();
    // The smaller of two alike sets shares one of its first elements with the larger. Overlap of alike sets x ≥ y is at
    // least t/(1+t)·(|x|+|y|) ≥ 2t/(1+t)·|y| for the smaller and ≥ t·|x| for the larger.
    let indexed_share = 2.0 * threshold / (1.0 + threshold);
    let lists = sets.invert(&order, |set| sets.prefix(set, prefix_length(sets.size(set), indexed_share)));
    let places: Vec<u32> = (0..order.len() as u32).collect();
    let pieces = places
        .par_chunks(PIECE)
        .map(|piece| {
            watch.advance(piece.len() as u64);
            let mut edges = Vec::new();
            let mut candidates: Vec<u32> = Vec::new();
            for place in piece {
                check_cancelled(watch)?;
                let set = order[*place as usize];
                let size = sets.size(set);
                let smallest = (threshold * size as f64 - ROUNDING).ceil().max(1.0) as usize;
                let from = sizes.partition_point(|size| *size < smallest) as u32;
                candidates.clear();
                for rank in sets.prefix(set, prefix_length(size, threshold)) {
                    let list = lists.of(*rank);
                    let start = list.partition_point(|other| *other < from);
                    candidates.extend(list[start..].iter().take_while(|other| *other < place));
                }
                candidates.sort_unstable();
                candidates.dedup();
                for (at, other) in candidates.iter().enumerate() {
                    // Every set may have all others for candidates.
                    if at % BETWEEN_QUESTIONS == BETWEEN_QUESTIONS - 1 {
                        check_cancelled(watch)?;
                    }
                    let other = order[*other as usize];
                    if !classes.may_pair(set, other) {
                        continue;
                    }
                    let shared = shared(sets.listed(set), sets.listed(other));
                    let similarity = ratio(shared, size + sets.size(other) - shared);
                    if similarity >= threshold {
                        edges.push(Edge { left: set.min(other), right: set.max(other), similarity });
                    }
                }
            }
            Ok(edges)
        })
        .collect::<Result<Vec<_>>>()?;
    let mut edges = pieces.concat();
    edges.par_sort_unstable_by_key(|edge| (edge.left, edge.right));
    Ok(edges)
}

/// For each of the sets asked for, every set that is alike to it, in ascending order.
pub(super) fn neighbours(
    sets: &RankedSets,
    wanted: &[u32],
    threshold: f64,
    watch: &dyn Watch,
) -> Result<Vec<Vec<(u32, f64)>>> {
    let all: Vec<u32> = (0..sets.len() as u32).collect();
    // Whichever of two alike sets is larger, they share one of the first elements of each.
    let prefix = |set: u32| sets.prefix(set, prefix_length(sets.size(set), threshold));
    let lists = sets.invert(&all, prefix);
    wanted
        .par_iter()
        .map(|set| {
            check_cancelled(watch)?;
            let mut candidates: Vec<u32> = prefix(*set).iter().flat_map(|rank| lists.of(*rank)).copied().collect();
            candidates.sort_unstable();
            candidates.dedup();
            let alike = candidates.into_iter().filter(|other| other != set).filter_map(|other| {
                let shared = shared(sets.listed(*set), sets.listed(other));
                let similarity = ratio(shared, sets.size(*set) + sets.size(other) - shared);
                (similarity >= threshold).then_some((other, similarity))
            });
            Ok(alike.collect())
        })
        .collect()
}

/// Room for the error of multiplying a threshold by a size: bounds may be too wide by this, never too narrow.
pub(super) const ROUNDING: f64 = 1e-6;

/// How many of a set's rarest elements must be looked at, if at least this share of the set is shared.
pub(crate) fn prefix_length(size: usize, share: f64) -> usize {
    let least_shared = (share * size as f64 - ROUNDING).ceil().max(1.0) as usize;
    (size + 1).saturating_sub(least_shared)
}
