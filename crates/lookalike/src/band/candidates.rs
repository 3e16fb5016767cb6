//! Buckets → candidates: pairs that share a key and whose sketches agree often enough, each once.

use std::borrow::Cow;
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
use crate::watch::{Stage, Watch, check_cancelled};
use crate::work::{Checkpoint, WorkFile, WorkFolder, WorkWriter, load_or_make};

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
    load_or_make(collection.resources().work, "candidates", Stage::Band, watch, || {
        let buckets = BandBuckets::find(collection, classes, bands, watch)?;
        compare(collection, classes, &buckets, rule, passes, watch)
    })
}

/// The buckets of all bands: in memory, or in work files, of which one at a time is read.
pub(crate) struct BandBuckets<'a> {
    in_memory: Vec<Buckets>,
    in_files: Option<&'a WorkFolder>,
    bands: usize,
}

impl<'a> BandBuckets<'a> {
    pub(crate) fn find(
        collection: &Collection<'a>,
        classes: &Classes,
        bands: usize,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let class_if_first = classes.class_of_representatives();
        let work = collection.resources().work;
        let found = (0..bands)
            .into_par_iter()
            .map(|band| {
                check_cancelled(watch)?;
                let find = || Buckets::of(&KeysOfBand { collection, band, class_if_first: &class_if_first });
                let buckets = load_or_make(work, &band_file(band), Stage::Band, watch, find)?;
                watch.advance(1);
                Ok(if work.is_none() { buckets } else { Buckets::default() })
            })
            .collect::<Result<_>>()?;
        Ok(Self { in_memory: found, in_files: work, bands })
    }

    fn of(&self, band: usize) -> Result<Cow<'_, Buckets>> {
        Ok(match self.in_files {
            Some(work) => Cow::Owned(work.require(&band_file(band))?),
            None => Cow::Borrowed(&self.in_memory[band]),
        })
    }
}

fn band_file(band: usize) -> String {
    format!("band-{band:03}")
}

/// The pairs in these buckets that pass.
fn compare(
    collection: &Collection<'_>,
    classes: &Classes,
    buckets: &BandBuckets<'_>,
    rule: BucketRule,
    passes: impl Fn(u32) -> bool + Sync,
    watch: &dyn Watch,
) -> Result<Candidates> {
    let row_bytes = 2 * collection.slots() as u64;
    let for_each_bucket = |show: &mut dyn FnMut(&[u32])| {
        (0..buckets.bands).try_for_each(|band| {
            buckets.of(band)?.iter().for_each(&mut *show);
            Ok(())
        })
    };
    let blocks = Blocks::of(classes.len(), for_each_bucket, |_| row_bytes, collection.resources().room)?;
    let (mut pairs, mut comparisons, mut left_out) = (Vec::new(), 0, Vec::new());
    for (at, task) in blocks.tasks().iter().enumerate() {
        let rows = Rows::load(collection, classes, blocks.loaded(*task))?;
        let comparing = Comparing { classes, rule, blocks: &blocks, task: *task, rows: &rows };
        let mut found: Vec<Edge> = Vec::new();
        for band in 0..buckets.bands {
            let buckets = buckets.of(band)?;
            let pieces = pieces_of(&buckets, rule)
                .into_par_iter()
                .map(|range| {
                    check_cancelled(watch)?;
                    Ok(comparing.compare(&buckets, range, &passes))
                })
                .collect::<Result<Vec<_>>>()?;
            for (mut edges, compared) in pieces {
                found.append(&mut edges);
                comparisons += compared;
            }
            if at == 0 {
                let large = buckets.iter().filter(|members| members.len() > rule.every_pair_up_to);
                left_out.extend(large.map(|members| members[rule.first..].to_vec()));
            }
            // Most pairs meet in several bands: what is found twice need not wait until the end.
            if found.len() > pairs_in_memory(collection.resources().room) {
                sort_distinct(&mut found);
            }
        }
        sort_distinct(&mut found);
        pairs.append(&mut found);
    }
    if blocks.tasks().len() > 1 {
        pairs.par_sort_unstable_by_key(|edge| (edge.left, edge.right));
    }
    Ok(Candidates { pairs, comparisons, bounded: Bounded::of(&left_out) })
}

/// How many pairs may wait to be told apart.
fn pairs_in_memory(room: u64) -> usize {
    const LEAST: u64 = 1 << 20;
    (room / 64).max(LEAST) as usize
}

fn sort_distinct(pairs: &mut Vec<Edge>) {
    pairs.par_sort_unstable_by_key(|edge| (edge.left, edge.right));
    pairs.dedup_by_key(|edge| (edge.left, edge.right));
}

impl Checkpoint for Candidates {
    fn save(&self, writer: &mut WorkWriter) -> Result<()> {
        let Bounded { buckets, comparisons, sample } = &self.bounded;
        writer.column(&[self.comparisons, *buckets, *comparisons])?;
        writer.column(&self.pairs.iter().map(|edge| edge.left).collect::<Vec<_>>())?;
        writer.column(&self.pairs.iter().map(|edge| edge.right).collect::<Vec<_>>())?;
        writer.column(&self.pairs.iter().map(|edge| edge.similarity).collect::<Vec<_>>())?;
        writer.column(&sample.iter().map(|(left, ..)| *left).collect::<Vec<_>>())?;
        writer.column(&sample.iter().map(|(_, right, _)| *right).collect::<Vec<_>>())?;
        writer.column(&sample.iter().map(|(.., weight)| *weight).collect::<Vec<_>>())
    }

    fn load(file: &WorkFile) -> Result<Self> {
        let counts: Vec<u64> = file.column(0)?;
        let [comparisons, buckets, bounded] = counts[..] else { return Err(file.damaged()) };
        let (left, right): (Vec<u32>, Vec<u32>) = (file.column(1)?, file.column(2)?);
        let similarity: Vec<f64> = file.column(3)?;
        let pairs = left.into_iter().zip(right).zip(similarity);
        let (left, right): (Vec<u32>, Vec<u32>) = (file.column(4)?, file.column(5)?);
        let weight: Vec<f64> = file.column(6)?;
        let sample = left.into_iter().zip(right).zip(weight).map(|((left, right), weight)| (left, right, weight));
        Ok(Self {
            pairs: pairs.map(|((left, right), similarity)| Edge { left, right, similarity }).collect(),
            comparisons,
            bounded: Bounded { buckets, comparisons: bounded, sample: sample.collect() },
        })
    }
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

/// Buckets that are worked on in one go: about equally many comparisons.
fn pieces_of(buckets: &Buckets, rule: BucketRule) -> Vec<Range<usize>> {
    const COMPARISONS_IN_A_PIECE: usize = 1 << 14;
    let mut pieces = Vec::new();
    let (mut start, mut comparisons) = (0, 0);
    for (at, members) in buckets.iter().enumerate() {
        comparisons += rule.lefts(members.len()) * members.len();
        if comparisons >= COMPARISONS_IN_A_PIECE || at + 1 == buckets.len() {
            pieces.push(start..at + 1);
            (start, comparisons) = (at + 1, 0);
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
