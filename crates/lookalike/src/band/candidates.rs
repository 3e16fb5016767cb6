//! Buckets → candidates: pairs that share a key and whose sketches agree often enough, each once.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded::Bounded;
use super::buckets::{Buckets, Entries, Entry};
use crate::blocks::Blocks;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::plan::BucketRule;
use crate::sketch::agreement;
use crate::verify::Edge;
use crate::watch::{Watch, check_cancelled};

/// Pairs of classes that share a key and pass the filter.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Each pair once, the earlier in keep order first, in ascending order; with the estimate of their similarity.
    pub(crate) pairs: Vec<Edge>,
    /// Comparisons of two sketches: a pair is compared in every bucket where it meets.
    pub(crate) comparisons: u64,
    /// What the bucket rule left out.
    pub(crate) bounded: Bounded,
}

/// The candidates of a collection whose records have `bands` keys each. `passes` tells whether so many agreeing slots
/// are enough.
pub(crate) fn find_candidates(
    collection: &Collection<'_>,
    classes: &Classes,
    bands: usize,
    rule: BucketRule,
    passes: impl Fn(u32) -> bool + Sync,
    watch: &dyn Watch,
) -> Result<Candidates> {
    let class_if_first = classes.class_of_representatives();
    let buckets: Vec<Buckets> = (0..bands)
        .into_par_iter()
        .map(|band| {
            check_cancelled(watch)?;
            let buckets = Buckets::of(&KeysOfBand { collection, band, class_if_first: &class_if_first })?;
            watch.advance(1);
            Ok(buckets)
        })
        .collect::<Result<_>>()?;
    drop(class_if_first);

    let row_bytes = 2 * collection.slots() as u64;
    let for_each_bucket =
        |show: &mut dyn FnMut(&[u32])| buckets.iter().flat_map(Buckets::iter).for_each(|members| show(members));
    let blocks = Blocks::of(classes.len(), for_each_bucket, |_| row_bytes, collection.room());
    let (mut pairs, mut comparisons) = (Vec::new(), 0);
    for task in blocks.tasks() {
        let comparing = Comparing {
            classes,
            rule,
            blocks: &blocks,
            task: *task,
            rows: &Rows::load(collection, classes, blocks.loaded(*task))?,
        };
        let pieces = pieces_of(&buckets, rule)
            .into_par_iter()
            .map(|(band, range)| {
                check_cancelled(watch)?;
                Ok(comparing.compare(&buckets[band], range, &passes))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut found: Vec<Edge> = Vec::with_capacity(pieces.iter().map(|(found, _)| found.len()).sum());
        for (mut edges, compared) in pieces {
            found.append(&mut edges);
            comparisons += compared;
        }
        found.par_sort_unstable_by_key(|edge| (edge.left, edge.right));
        found.dedup_by_key(|edge| (edge.left, edge.right));
        pairs.append(&mut found);
    }
    if blocks.tasks().len() > 1 {
        pairs.par_sort_unstable_by_key(|edge| (edge.left, edge.right));
    }
    let large = buckets.iter().flat_map(Buckets::iter).filter(|members| members.len() > rule.every_pair_up_to);
    let left_out: Vec<&[u32]> = large.map(|members| &members[rule.first..]).collect();
    Ok(Candidates { pairs, comparisons, bounded: Bounded::of(&left_out) })
}

/// The keys of one band: those of the records that stand for their classes.
struct KeysOfBand<'a> {
    collection: &'a Collection<'a>,
    band: usize,
    class_if_first: &'a [u32],
}

impl Entries for KeysOfBand<'_> {
    fn count(&self) -> usize {
        self.class_if_first.len()
    }

    fn for_each(&self, mut show: impl FnMut(Entry)) -> Result<()> {
        self.collection.for_each_key(self.band, |first, keys| {
            for (key, class) in keys.iter().zip(&self.class_if_first[first as usize..]) {
                if *class != Classes::NONE {
                    show((*key, *class));
                }
            }
        })
    }
}

/// Buckets that are worked on in one go, of one band each: about equally many comparisons.
fn pieces_of(buckets: &[Buckets], rule: BucketRule) -> Vec<(usize, Range<usize>)> {
    const COMPARISONS_IN_A_PIECE: usize = 1 << 16;
    let mut pieces = Vec::new();
    for (band, buckets) in buckets.iter().enumerate() {
        let (mut start, mut comparisons) = (0, 0);
        for (at, members) in buckets.iter().enumerate() {
            comparisons += rule.lefts(members.len()) * members.len();
            if comparisons >= COMPARISONS_IN_A_PIECE || at + 1 == buckets.len() {
                pieces.push((band, start..at + 1));
                (start, comparisons) = (at + 1, 0);
            }
        }
    }
    pieces
}

/// The slots of the classes that are compared in one task.
struct Rows {
    slots: Vec<u16>,
    width: usize,
    row_of: Vec<u32>,
}

impl Rows {
    fn load(collection: &Collection<'_>, classes: &Classes, loaded: impl Iterator<Item = u32>) -> Result<Self> {
        let (records, order) = classes.by_representative(loaded);
        let mut row_of = vec![0; classes.len()];
        for (row, class) in (0u32..).zip(order) {
            row_of[class as usize] = row;
        }
        Ok(Self { slots: collection.slots_of(&records)?, width: collection.slots(), row_of })
    }

    fn of(&self, class: u32) -> &[u16] {
        let start = self.row_of[class as usize] as usize * self.width;
        &self.slots[start..start + self.width]
    }
}

/// What is needed to compare the members of buckets in one task.
struct Comparing<'a> {
    classes: &'a Classes,
    rule: BucketRule,
    blocks: &'a Blocks,
    task: (u32, u32),
    rows: &'a Rows,
}

impl Comparing<'_> {
    /// The pairs in these buckets that pass, and how many were compared.
    fn compare(&self, buckets: &Buckets, range: Range<usize>, passes: impl Fn(u32) -> bool) -> (Vec<Edge>, u64) {
        let (mut found, mut compared) = (Vec::new(), 0);
        let is_only_task = self.blocks.tasks().len() == 1;
        for members in range.map(|bucket| buckets.get(bucket)) {
            // In a bucket that is too large, the first in keep order stand for all.
            for (at, left) in members.iter().enumerate().take(self.rule.lefts(members.len())) {
                for right in &members[at + 1..] {
                    if !is_only_task && self.blocks.task_of(*left, *right) != self.task
                        || !self.classes.may_pair(*left, *right)
                    {
                        continue;
                    }
                    compared += 1;
                    let agreeing = agreement(self.rows.of(*left), self.rows.of(*right));
                    if passes(agreeing) {
                        let similarity = f64::from(agreeing) / self.rows.width as f64;
                        found.push(Edge { left: *left, right: *right, similarity });
                    }
                }
            }
        }
        (found, compared)
    }
}
