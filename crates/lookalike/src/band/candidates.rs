//! Buckets → candidate pairs, each once.

use std::collections::HashSet;

use rayon::prelude::*;

use super::bounded::Bounded;
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
    /// What the bucket rule left out.
    pub(crate) bounded: Bounded,
}

/// The candidates of a collection whose records have `bands` keys each.
pub(crate) fn find_candidates(
    collection: &Collection,
    classes: &Classes,
    bands: usize,
    rule: BucketRule,
    watch: &dyn Watch,
) -> Result<Candidates> {
    let keys_of = |class: u32| collection.keys(classes.representative(class));
    let columns = columns_of_keys(bands, classes.len(), keys_of);
    let buckets: Vec<Buckets> = (0..bands)
        .into_par_iter()
        .map(|band| {
            check_cancelled(watch)?;
            let column = &columns[band * classes.len()..(band + 1) * classes.len()];
            let buckets = Buckets::of(column.iter().copied().zip(0u32..));
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

    let mut pairs = by_band.concat();
    pairs.par_sort_unstable();
    if bounded.iter().any(|keys| !keys.is_empty()) {
        pairs.dedup();
    }
    let large = buckets.iter().flat_map(Buckets::iter).filter(|(_, members)| too_large(members));
    let left_out: Vec<&[u32]> = large.map(|(_, members)| &members[rule.first..]).collect();
    let shared_bounded = |left: u32, right: u32| {
        let shared = keys_of(left).iter().zip(keys_of(right)).zip(&bounded);
        shared.filter(|((left, right), bounded)| left == right && bounded.contains(left)).count()
    };
    Ok(Candidates { pairs, bounded: Bounded::of(&left_out, shared_bounded) })
}

/// The keys of all classes, one band after another: a band is looked at as a whole, twice.
fn columns_of_keys<'a>(bands: usize, classes: usize, keys_of: impl Fn(u32) -> &'a [u64] + Sync) -> Vec<u64> {
    /// Classes whose keys stay in the cache while they are turned.
    const BLOCK: usize = 512;
    let mut columns = vec![0u64; bands * classes];
    if classes == 0 {
        return columns;
    }
    let mut rows: Vec<Vec<&mut [u64]>> = (0..classes.div_ceil(BLOCK)).map(|_| Vec::with_capacity(bands)).collect();
    for column in columns.chunks_mut(classes) {
        for (block, part) in column.chunks_mut(BLOCK).enumerate() {
            rows[block].push(part);
        }
    }
    rows.par_iter_mut().enumerate().for_each(|(block, parts)| {
        for at in 0..parts.first().map_or(0, |part| part.len()) {
            let keys = keys_of((block * BLOCK + at) as u32);
            for (part, key) in parts.iter_mut().zip(keys) {
                part[at] = *key;
            }
        }
    });
    columns
}
