//! Buckets → candidates: pairs that share a key and whose sketches agree often enough, each once.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded::Bounded;
use super::buckets::{Buckets, Entries, Entry};
use crate::blocks::Blocks;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::observed::Observed;
use crate::plan::BucketRule;
use crate::shard::Shard;
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
    /// Which buckets were crowded.
    pub(crate) observed: Observed,
}

/// How candidates are found.
pub(crate) struct Banding<'a, P> {
    pub(crate) collection: &'a Collection<'a>,
    pub(crate) classes: &'a Classes,
    /// Keys of a record.
    pub(crate) bands: usize,
    pub(crate) rule: BucketRule,
    /// Tells whether so many agreeing slots are enough.
    pub(crate) passes: P,
    pub(crate) watch: &'a dyn Watch,
}

impl<P: Fn(u32) -> bool + Sync> Banding<'_, P> {
    /// The candidates of all bands.
    pub(crate) fn find(&self) -> Result<Candidates> {
        let limit = pairs_in_memory(self.room());
        let (mut pairs, mut comparisons) = (Vec::new(), 0);
        let (left_out, observed) = self.for_each_part(Shard::ALL, |part| {
            pairs.extend_from_slice(&part.pairs);
            comparisons += part.comparisons;
            // Most pairs meet in several bands: what is found twice need not wait until the end.
            if pairs.len() > limit {
                sort_distinct(&mut pairs);
            }
        })?;
        sort_distinct(&mut pairs);
        Ok(Candidates { pairs, comparisons, bounded: Bounded::of(&left_out), observed })
    }

    /// Finds the candidates of some of the bands, and leaves them in work files.
    pub(crate) fn prepare(&self, shard: Shard) -> Result<()> {
        self.for_each_part(shard, |_| {}).map(drop)
    }

    /// Shows the pairs that pass in some of the bands, part by part. Gives back the members of large buckets that are not
    /// compared with each other, and what was seen.
    fn for_each_part(&self, shard: Shard, mut show: impl FnMut(Compared)) -> Result<(Vec<Vec<u32>>, Observed)> {
        let bands: Vec<usize> = (0..self.bands).filter(|band| shard.has(*band as u64)).collect();
        self.watch.begin(Stage::Band, Some(bands.len() as u64));
        let class_if_first = self.classes.class_of_representatives();
        let (mut left_out, mut observed) = (Vec::new(), Observed::default());
        for bands in bands.chunks(self.bands_at_once()) {
            let buckets = bands
                .par_iter()
                .map(|band| {
                    check_cancelled(self.watch)?;
                    let find = || Buckets::of(&KeysOfBand::load(self.collection, *band, &class_if_first)?);
                    let buckets = load_or_make(self.work(), &format!("band-{band:03}"), Stage::Band, self.watch, find)?;
                    self.watch.advance(1);
                    Ok(buckets)
                })
                .collect::<Result<Vec<_>>>()?;
            let large =
                buckets.iter().flat_map(Buckets::iter).filter(|members| members.len() > self.rule.every_pair_up_to);
            left_out.extend(large.map(|members| members[self.rule.first..].to_vec()));
            buckets.iter().for_each(|buckets| observed.see_buckets(buckets));
            if self.work().is_none() {
                // Sketches are gathered once for all bands.
                show(self.compare(&buckets)?);
                continue;
            }
            for (band, buckets) in bands.iter().zip(&buckets) {
                let compare = || self.compare(std::slice::from_ref(buckets));
                let name = format!("candidates-{band:03}");
                show(load_or_make(self.work(), &name, Stage::Band, self.watch, compare)?);
            }
        }
        Ok((left_out, observed))
    }

    /// How many bands are worked on at the same time. Whoever leaves work files wants to leave them often.
    fn bands_at_once(&self) -> usize {
        /// What finding the buckets of a band takes for each record, most keys being unique.
        const BYTES_OF_A_RECORD: u64 = 24;
        if self.work().is_none() {
            return self.bands.max(1);
        }
        let fit = self.room() / (BYTES_OF_A_RECORD * self.collection.len() as u64).max(1);
        (fit as usize).clamp(1, rayon::current_num_threads())
    }

    fn work(&self) -> Option<&WorkFolder> {
        self.collection.resources().work
    }

    fn room(&self) -> u64 {
        self.collection.resources().room
    }

    /// The pairs in the buckets of these bands that pass.
    fn compare(&self, bands: &[Buckets]) -> Result<Compared> {
        let row_bytes = self.collection.slot_bytes() as u64;
        let for_each_bucket = |show: &mut dyn FnMut(&[u32])| {
            bands.iter().flat_map(Buckets::iter).for_each(show);
            Ok(())
        };
        let blocks = Blocks::of(self.classes.len(), for_each_bucket, |_| row_bytes, self.room())?;
        let mut compared = Compared::default();
        for task in blocks.tasks() {
            let rows = Rows::load(self.collection, self.classes, blocks.loaded(*task))?;
            let (collection, classes, rule) = (self.collection, self.classes, self.rule);
            let comparing = Comparing { collection, classes, rule, blocks: &blocks, task: *task, rows: &rows };
            let mut found: Vec<Edge> = Vec::new();
            for buckets in bands {
                let pieces = pieces_of(buckets, self.rule)
                    .into_par_iter()
                    .map(|range| {
                        check_cancelled(self.watch)?;
                        Ok(comparing.compare(buckets, range, &self.passes))
                    })
                    .collect::<Result<Vec<_>>>()?;
                for (mut edges, comparisons) in pieces {
                    found.append(&mut edges);
                    compared.comparisons += comparisons;
                }
                if found.len() > pairs_in_memory(self.room()) {
                    sort_distinct(&mut found);
                }
            }
            sort_distinct(&mut found);
            compared.pairs.append(&mut found);
        }
        Ok(compared)
    }
}

/// The pairs that passed in some bands.
#[derive(Debug, Default)]
struct Compared {
    pairs: Vec<Edge>,
    comparisons: u64,
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

impl Checkpoint for Compared {
    fn save(&self, writer: &mut WorkWriter) -> Result<()> {
        writer.column(&[self.comparisons])?;
        writer.column(&self.pairs.iter().map(|edge| edge.left).collect::<Vec<_>>())?;
        writer.column(&self.pairs.iter().map(|edge| edge.right).collect::<Vec<_>>())?;
        writer.column(&self.pairs.iter().map(|edge| edge.similarity).collect::<Vec<_>>())
    }

    fn load(file: &WorkFile) -> Result<Self> {
        let [comparisons] = file.column(0)?[..] else { return Err(file.damaged()) };
        let (left, right): (Vec<u32>, Vec<u32>) = (file.column(1)?, file.column(2)?);
        let similarity: Vec<f64> = file.column(3)?;
        let pairs = left.into_iter().zip(right).zip(similarity);
        Ok(Self {
            pairs: pairs.map(|((left, right), similarity)| Edge { left, right, similarity }).collect(),
            comparisons,
        })
    }
}

/// The keys of one band: those of the records that stand for their classes.
enum KeysOfBand<'a> {
    InMemory {
        collection: &'a Collection<'a>,
        band: usize,
        class_if_first: &'a [u32],
    },
    /// From work files: they are gone through twice and read once.
    Loaded(Vec<HalfEntry>),
}

/// The upper half of a key, and the class that has it.
type HalfEntry = (u32, u32);

impl<'a> KeysOfBand<'a> {
    fn load(collection: &'a Collection<'a>, band: usize, class_if_first: &'a [u32]) -> Result<Self> {
        if !collection.is_in_files() {
            return Ok(Self::InMemory { collection, band, class_if_first });
        }
        let mut entries = Vec::with_capacity(class_if_first.len());
        for_each_key(collection, band, class_if_first, |entry| entries.push(entry))?;
        Ok(Self::Loaded(near_together(&entries)))
    }
}

/// Shows the key of every class.
fn for_each_key(
    collection: &Collection<'_>,
    band: usize,
    class_if_first: &[u32],
    mut show: impl FnMut(HalfEntry),
) -> Result<()> {
    collection.for_each_key(band, |first, keys| {
        for (key, class) in keys.iter().zip(&class_if_first[first as usize..]) {
            if *class != Classes::NONE {
                show((*key, *class));
            }
        }
    })
}

/// The entries by the first bits of their keys. What is looked up for one is then near what was looked up for the one before:
/// in the CPU's cache, where all of it together would not fit.
fn near_together(entries: &[HalfEntry]) -> Vec<HalfEntry> {
    const BITS: u32 = 8;
    let place = |key: u32| (key >> (u32::BITS - BITS)) as usize;
    let mut starts = [0usize; (1 << BITS) + 1];
    entries.iter().for_each(|(key, _)| starts[place(*key) + 1] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut placed = vec![(0, 0); entries.len()];
    for entry in entries {
        let next = &mut starts[place(entry.0)];
        placed[*next] = *entry;
        *next += 1;
    }
    placed
}

impl Entries for KeysOfBand<'_> {
    fn count(&self) -> usize {
        match self {
            Self::InMemory { class_if_first, .. } => class_if_first.len(),
            Self::Loaded(entries) => entries.len(),
        }
    }

    fn for_each(&self, mut show: impl FnMut(Entry)) -> Result<()> {
        let mut show = |(key, class): HalfEntry| show((u64::from(key) << 32, class));
        match self {
            Self::InMemory { collection, band, class_if_first } => {
                for_each_key(collection, *band, class_if_first, show)
            }
            Self::Loaded(entries) => {
                entries.iter().for_each(|entry| show(*entry));
                Ok(())
            }
        }
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
    slots: Vec<u8>,
    row_bytes: usize,
    row_of: Vec<u32>,
}

impl Rows {
    fn load(collection: &Collection<'_>, classes: &Classes, loaded: impl Iterator<Item = u32>) -> Result<Self> {
        let (records, order) = classes.by_representative(loaded);
        let mut row_of = vec![0; classes.len()];
        for (row, class) in (0u32..).zip(order) {
            row_of[class as usize] = row;
        }
        Ok(Self { slots: collection.slots_of(&records)?, row_bytes: collection.slot_bytes(), row_of })
    }

    fn of(&self, class: u32) -> &[u8] {
        let start = self.row_of[class as usize] as usize * self.row_bytes;
        &self.slots[start..start + self.row_bytes]
    }
}

/// What is needed to compare the members of buckets in one task.
struct Comparing<'a> {
    collection: &'a Collection<'a>,
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
        let (slots, width) = (self.collection.slots() as f64, self.collection.slot_width());
        for members in range.map(|bucket| buckets.get(bucket)) {
            // In a bucket that is too large, the first in keep order stand for all.
            for (at, left) in members.iter().enumerate().take(self.rule.lefts(members.len())) {
                for right in &members[at + 1..] {
                    if !is_only_task && self.blocks.task_of(*left, *right) != self.task || !self.may_pair(*left, *right)
                    {
                        continue;
                    }
                    compared += 1;
                    let agreeing = width.agreement(self.rows.of(*left), self.rows.of(*right));
                    if passes(agreeing) {
                        let similarity = f64::from(agreeing) / slots;
                        found.push(Edge { left: *left, right: *right, similarity });
                    }
                }
            }
        }
        (found, compared)
    }

    /// Whether two classes that share a key may make a pair. Keys differ where records may not meet; but only halves of them
    /// are kept, which may be the same.
    fn may_pair(&self, left: u32, right: u32) -> bool {
        let classes = self.classes;
        classes.may_pair(left, right)
            && self.collection.may_meet(classes.representative(left), classes.representative(right))
    }
}
