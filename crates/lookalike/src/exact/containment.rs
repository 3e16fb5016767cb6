//! All pairs in which one set is contained in the other to at least a threshold.

use rayon::prelude::*;

use super::jaccard::{BETWEEN_QUESTIONS, ROUNDING, prefix_length};
use super::ranked::RankedSets;
use crate::classes::Classes;
use crate::error::Result;
use crate::verify::{Edge, ratio, shared};
use crate::watch::{Watch, check_cancelled};

/// Sets probed by one task.
const PIECE: usize = 256;

pub(super) fn join(sets: &RankedSets, classes: &Classes, threshold: f64, watch: &dyn Watch) -> Result<Vec<Edge>> {
    let all: Vec<u32> = (0..sets.len() as u32).collect();
    // A container may be of any size, so it is listed under every element that it has.
    let lists = sets.invert(&all, |set| sets.listed(set));
    let pieces = all
        .par_chunks(PIECE)
        .map(|piece| {
            watch.advance(piece.len() as u64);
            let mut edges = Vec::new();
            let mut candidates: Vec<u32> = Vec::new();
            for set in piece {
                check_cancelled(watch)?;
                let size = sets.size(*set);
                let least_shared = (threshold * size as f64 - ROUNDING).ceil().max(1.0) as usize;
                candidates.clear();
                for rank in sets.prefix(*set, prefix_length(size, threshold)) {
                    candidates.extend(lists.of(*rank).iter().filter(|other| *other != set));
                }
                candidates.sort_unstable();
                candidates.dedup();
                for (at, other) in candidates.iter().enumerate() {
                    // Every set may have all others for candidates.
                    if at % BETWEEN_QUESTIONS == BETWEEN_QUESTIONS - 1 {
                        check_cancelled(watch)?;
                    }
                    if sets.size(*other) < least_shared || !classes.may_pair(*set, *other) {
                        continue;
                    }
                    let similarity = ratio(shared(sets.listed(*set), sets.listed(*other)), size);
                    if similarity >= threshold {
                        edges.push(Edge { left: *set, right: *other, similarity });
                    }
                }
            }
            Ok(edges)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(pieces.concat())
}
