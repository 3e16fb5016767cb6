//! Buckets → candidate pairs, each once.

use std::collections::HashSet;

use rayon::prelude::*;

use super::buckets::Buckets;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::plan::BucketRule;
use crate::watch::{Watch, check_cancelled};

/// Pairs of classes that share a key.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Each pair once, the earlier in keep order first, in ascending order.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Buckets that were too large to compare every pair.
    pub(crate) bounded_buckets: u64,
    /// Comparisons that the bucket rule left out, counted in every bucket where the pair would have met.
    pub(crate) bounded_comparisons: u64,
}

/// The candidates of a collection whose records have `bands` keys each.
pub(crate) fn find_candidates(
    collection: &Collection,
    classes: &Classes,
    bands: usize,
    rule: BucketRule,
    watch: &dyn Watch,
) -> Result<Candidates> {
    // The keys of all classes, one class after another.
    let mut keys: Vec<u64> = Vec::with_capacity(classes.len() * bands);
    for class in 0..classes.len() as u32 {
        keys.extend_from_slice(collection.keys(classes.representative(class)));
    }
    let keys_of = |class: u32| &keys[class as usize * bands..(class as usize + 1) * bands];
    let buckets: Vec<Buckets> = (0..bands)
        .into_par_iter()
        .map(|band| {
            check_cancelled(watch)?;
            let buckets = Buckets::of(keys.iter().skip(band).step_by(bands).copied().zip(0u32..));
            watch.advance(1);
            Ok(buckets)
        })
        .collect::<Result<_>>()?;
    let too_large = |members: &[u32]| members.len() > rule.every_pair_up_to;
    let bounded: Vec<HashSet<u64>> = buckets
        .iter()
        .map(|buckets| buckets.iter().filter(|(_, members)| too_large(members)).map(|(key, _)| key).collect())
        .collect();

    // A pair that meets in several bands is compared in the first of them; where that bucket was bounded, the pair may
    // have been left out, so it counts for nothing here, and what is then found twice is removed below.
    let met_before = |band: usize, left: u32, right: u32| {
        let (left, right) = (&keys_of(left)[..band], &keys_of(right)[..band]);
        left.iter().zip(right).zip(&bounded).any(|((left, right), bounded)| left == right && !bounded.contains(left))
    };
    let by_band: Vec<Vec<(u32, u32)>> = buckets
        .par_iter()
        .enumerate()
        .map(|(band, buckets)| {
            let mut pairs = Vec::new();
            for (_, members) in buckets.iter() {
                check_cancelled(watch)?;
                // In a bucket that is too large, the first in keep order stand for all.
                let lefts = if too_large(members) { rule.first } else { members.len() };
                for (at, left) in members.iter().enumerate().take(lefts) {
                    for right in &members[at + 1..] {
                        if classes.may_pair(*left, *right) && !met_before(band, *left, *right) {
                            pairs.push((*left, *right));
                        }
                    }
                }
            }
            Ok(pairs)
        })
        .collect::<Result<_>>()?;

    let mut candidates = Candidates { pairs: by_band.concat(), ..Candidates::default() };
    candidates.pairs.par_sort_unstable();
    for (_, members) in buckets.iter().flat_map(Buckets::iter).filter(|(_, members)| too_large(members)) {
        let others = (members.len() - rule.first) as u64;
        candidates.bounded_buckets += 1;
        candidates.bounded_comparisons += others * (others - 1) / 2;
    }
    if candidates.bounded_buckets > 0 {
        candidates.pairs.dedup();
    }
    Ok(candidates)
}
