//! Buckets → candidates: pairs that share a key and whose sketches agree often enough, each once.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded::Bounded;
use super::buckets::{Buckets, Entries};
use super::crowds::{Crowds, MOST_LISTED};
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
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Each pair once, the earlier in keep order first, in ascending order; with the estimate of their similarity.
    pub(crate) pairs: Vec<Edge>,
    /// How many pairs were looked at more closely.
    pub(crate) looked_at: u64,
    /// Comparisons of two sketches: a pair is compared in every bucket where it meets.
    pub(crate) comparisons: u64,
    /// How much the bucket rule leaves out.
    pub(crate) bounded: Bounded,
    /// Members of too large buckets that are not compared with each other. Those of crowded buckets are known once the
    /// candidates are verified.
    pub(crate) left_out: Vec<Vec<u32>>,
    /// Which buckets were crowded.
    pub(crate) observed: Observed,
    /// The buckets whose pairs are not listed.
    pub(crate) crowds: Option<Crowds>,
}

/// How candidates are found.
pub(crate) struct Banding<'a, P> {
    pub(crate) collection: &'a Collection<'a>,
    pub(crate) classes: &'a Classes,
    /// Keys of a record.
    pub(crate) bands: usize,
    pub(crate) rule: BucketRule,
    /// Tells whether so many agreeing slots are enough; more are, then.
    pub(crate) passes: P,
    /// Whether the pairs of crowded buckets are listed too.
    pub(crate) lists_all: bool,
    pub(crate) watch: &'a dyn Watch,
}

impl<P: Fn(u32) -> bool + Sync> Banding<'_, P> {
    /// The candidates of all bands.
    pub(crate) fn find(&self) -> Result<Candidates> {
        let mut limit = pairs_in_memory(self.room());
        let (mut lists, mut listed, mut comparisons) = (Vec::new(), 0, 0);
        let seen = self.for_each_band(Shard::ALL, |band| {
            listed += band.pairs.len();
            lists.push(band.pairs);
            comparisons += band.comparisons;
            // Most pairs meet in several bands: what is found twice need not wait until the end.
            if listed > limit {
                lists = vec![merge_distinct(std::mem::take(&mut lists), self.classes.len())];
                listed = lists[0].len();
                // Where most are different there is nothing to be gained by doing that again for every band.
                limit = limit.max(2 * listed);
            }
        })?;
        let pairs = merge_distinct(lists, self.classes.len());
        let Seen { bounded, left_out, observed, crowded } = seen;
        let crowds = if crowded.is_empty() { None } else { Some(self.crowds(crowded)?) };
        let looked_at = pairs.len() as u64;
        Ok(Candidates { pairs, looked_at, comparisons, bounded, left_out, observed, crowds })
    }

    /// Finds the candidates of some of the bands, and leaves them in work files.
    pub(crate) fn prepare(&self, shard: Shard) -> Result<()> {
        self.for_each_band(shard, |_| {}).map(drop)
    }

    fn crowds(&self, crowded: Vec<Buckets>) -> Result<Crowds> {
        let slots = self.collection.slots() as u32;
        let least_agreement = (0..=slots).find(|agreeing| (self.passes)(*agreeing)).unwrap_or(slots);
        Crowds::new(self.collection, self.classes, crowded, self.rule, least_agreement)
    }

    /// Shows the pairs that pass in some of the bands, band by band, and tells what else was seen.
    fn for_each_band(&self, shard: Shard, mut show: impl FnMut(Compared)) -> Result<Seen> {
        let bands: Vec<usize> = (0..self.bands).filter(|band| shard.has(*band as u64)).collect();
        self.watch.begin(Stage::Band, Some(bands.len() as u64));
        let class_if_first = self.classes.class_of_representatives();
        let mut seen = Seen::default();
        let mut entries: Vec<Entries<u32>> =
            (0..self.bands_at_once()).map(|_| Entries::with_room_for(self.classes.len())).collect();
        let (mut waiting, mut waiting_bytes) = (Vec::new(), 0);
        for bands in bands.chunks(entries.len()) {
            let found = (bands.par_iter(), &mut entries)
                .into_par_iter()
                .map(|(band, entries)| self.find_buckets(*band, &class_if_first, entries))
                .collect::<Result<Vec<_>>>()?;
            for (band, buckets) in bands.iter().zip(found) {
                seen.observed.see_buckets(&buckets);
                for members in buckets.iter().filter(|members| members.len() > self.rule.every_pair_up_to) {
                    let left_out = &members[self.rule.first..];
                    seen.bounded.count(left_out);
                    if self.lists_all {
                        seen.left_out.push(left_out.to_vec());
                    }
                }
                let most_listed = if self.lists_all { usize::MAX } else { MOST_LISTED };
                let (buckets, crowded) = buckets.part(most_listed);
                seen.crowded.extend(crowded);
                let bytes = self.bytes_of(&buckets);
                if waiting_bytes + bytes > self.room() / 2 {
                    self.compare(std::mem::take(&mut waiting), &mut show)?;
                    waiting_bytes = 0;
                }
                waiting.push((*band, buckets));
                waiting_bytes += bytes;
            }
        }
        drop(entries);
        self.compare(waiting, &mut show)?;
        Ok(seen)
    }

    /// How many bands are worked on at the same time.
    fn bands_at_once(&self) -> usize {
        /// What finding the buckets of a band takes for each record, most keys being unique.
        const BYTES_OF_A_RECORD: u64 = 10;
        let fit = self.room() / (BYTES_OF_A_RECORD * self.collection.len() as u64).max(1);
        fit.clamp(1, rayon::current_num_threads().min(self.bands.max(1)) as u64) as usize
    }

    fn find_buckets(&self, band: usize, class_if_first: &[u32], entries: &mut Entries<u32>) -> Result<Buckets> {
        check_cancelled(self.watch)?;
        let find = || {
            self.collection.for_each_key(band, |first, keys| {
                for (key, class) in keys.iter().zip(&class_if_first[first as usize..]) {
                    if *class != Classes::NONE {
                        entries.push(*key, *class);
                    }
                }
            })?;
            let buckets = Buckets::of(entries);
            entries.clear();
            Ok(buckets)
        };
        let buckets = load_or_make(self.work(), &format!("band-{band:03}"), Stage::Band, self.watch, find)?;
        self.watch.advance(1);
        Ok(buckets)
    }

    /// What these buckets may take until they are compared, and the pairs that are found in them.
    fn bytes_of(&self, buckets: &Buckets) -> u64 {
        let pairs = buckets.iter().map(|members| self.rule.lefts(members.len()) * members.len()).sum::<usize>();
        (pairs * size_of::<Edge>() + size_of_val(buckets.members()) + buckets.len() * size_of::<usize>()) as u64
    }

    fn work(&self) -> Option<&WorkFolder> {
        self.collection.resources().work
    }

    /// Half of what there is: what is loaded is there once more while it is put in order.
    fn room(&self) -> u64 {
        self.collection.resources().room / 2
    }

    /// Shows the pairs in the buckets of each of these bands that pass. Sketches are loaded once for all of them.
    fn compare(&self, bands: Vec<(usize, Buckets)>, mut show: impl FnMut(Compared)) -> Result<()> {
        // Those of some buckets are no others' candidates.
        let kind = if self.lists_all { "candidates" } else { "listed" };
        let name = |band: usize| format!("{kind}-{band:03}");
        let mut to_compare = Vec::with_capacity(bands.len());
        for (band, buckets) in bands {
            match self.work().and_then(|work| work.load(&name(band))) {
                Some(compared) => {
                    self.watch.reuse(Stage::Band, 1);
                    show(compared);
                }
                None => to_compare.push((band, buckets, Compared::default())),
            }
        }
        if to_compare.is_empty() {
            return Ok(());
        }
        let row_bytes = self.collection.slot_bytes() as u64;
        let for_each_bucket = |show: &mut dyn FnMut(&[u32])| {
            to_compare.iter().flat_map(|(_, buckets, _)| buckets.iter()).for_each(show);
            Ok(())
        };
        let blocks = Blocks::of(self.classes.len(), for_each_bucket, |_| row_bytes, self.room())?;
        for task in blocks.tasks() {
            let rows = Rows::load(self.collection, self.classes, blocks.loaded(*task))?;
            let (collection, classes, rule) = (self.collection, self.classes, self.rule);
            let comparing = Comparing { collection, classes, rule, blocks: &blocks, task: *task, rows: &rows };
            // Of all bands at once: a small one has not enough for all threads.
            let pieces: Vec<(usize, Range<usize>)> = (to_compare.iter().enumerate())
                .flat_map(|(at, (_, buckets, _))| {
                    pieces_of(buckets, self.rule).into_iter().map(move |piece| (at, piece))
                })
                .collect();
            let found = pieces
                .into_par_iter()
                .map(|(at, range)| {
                    check_cancelled(self.watch)?;
                    Ok((at, comparing.compare(&to_compare[at].1, range, &self.passes)))
                })
                .collect::<Result<Vec<_>>>()?;
            for (at, (mut pairs, comparisons)) in found {
                let compared = &mut to_compare[at].2;
                compared.pairs.append(&mut pairs);
                compared.comparisons += comparisons;
            }
        }
        for (band, buckets, compared) in to_compare {
            drop(buckets);
            check_cancelled(self.watch)?;
            if let Some(work) = self.work() {
                work.save(&name(band), &compared)?;
            }
            show(compared);
        }
        Ok(())
    }
}

/// What is seen in the buckets besides pairs.
#[derive(Debug, Default)]
struct Seen {
    bounded: Bounded,
    left_out: Vec<Vec<u32>>,
    observed: Observed,
    /// The buckets whose pairs are not listed, band by band.
    crowded: Vec<Buckets>,
}

/// The pairs that passed in a band, each once.
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

/// Each pair of these lists once, in ascending order.
fn merge_distinct(lists: Vec<Vec<Edge>>, classes: usize) -> Vec<Edge> {
    const PARTS_OF_A_THREAD: usize = 8;
    // By the left one, so that every part is sorted by itself.
    let parts = PARTS_OF_A_THREAD * rayon::current_num_threads();
    let classes_of_part = classes.div_ceil(parts).max(1);
    let in_parts = |list: Vec<Edge>| {
        let mut in_parts = vec![Vec::with_capacity(list.len() / parts); parts];
        list.into_iter().for_each(|edge| in_parts[edge.left as usize / classes_of_part].push(edge));
        in_parts
    };
    let lists: Vec<Vec<Vec<Edge>>> = lists.into_par_iter().map(in_parts).collect();
    let merged = |part: usize| {
        let mut pairs: Vec<Edge> = lists.iter().flat_map(|parts| &parts[part]).copied().collect();
        sort_distinct(&mut pairs);
        pairs
    };
    let merged: Vec<Vec<Edge>> = (0..parts).into_par_iter().map(merged).collect();
    // Not needed any more, and as large.
    drop(lists);
    merged.concat()
}

/// Each pair once, in ascending order.
pub(crate) fn sort_distinct(pairs: &mut Vec<Edge>) {
    // One number is compared faster than two.
    let key = |edge: &Edge| u64::from(edge.left) << 32 | u64::from(edge.right);
    pairs.par_sort_unstable_by_key(key);
    pairs.dedup_by_key(|edge| key(edge));
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

/// The slots of some classes.
#[derive(Debug)]
pub(super) struct Rows {
    slots: Vec<u8>,
    row_bytes: usize,
    row_of: Vec<u32>,
    /// Whether they are where they were: if most are asked for, little memory would be gained by copying them.
    are_in_place: bool,
}

impl Rows {
    pub(super) fn none(collection: &Collection<'_>, classes: &Classes) -> Self {
        let (row_bytes, row_of) = (collection.slot_bytes(), vec![0; classes.len()]);
        Self { slots: Vec::new(), row_bytes, row_of, are_in_place: false }
    }

    pub(super) fn load(
        collection: &Collection<'_>,
        classes: &Classes,
        asked: impl Iterator<Item = u32> + Clone,
    ) -> Result<Self> {
        if collection.is_in_memory() && 2 * asked.clone().count() > collection.len() {
            return Ok(Self { slots: Vec::new(), row_bytes: 0, row_of: Vec::new(), are_in_place: true });
        }
        let mut rows = Self::none(collection, classes);
        rows.add(collection, classes, asked)?;
        Ok(rows)
    }

    /// Whether they are in the collection.
    pub(super) fn are_in_place(&self) -> bool {
        self.are_in_place
    }

    /// Adds the slots of these classes, and tells in which order.
    pub(super) fn add(
        &mut self,
        collection: &Collection<'_>,
        classes: &Classes,
        asked: impl Iterator<Item = u32>,
    ) -> Result<Vec<u32>> {
        let (records, order) = classes.by_representative(asked);
        for (row, class) in (self.len()..).zip(&order) {
            self.row_of[*class as usize] = row as u32;
        }
        let mut slots = collection.slots_of(&records)?;
        if self.slots.is_empty() {
            self.slots = slots;
        } else {
            self.slots.append(&mut slots);
        }
        Ok(order)
    }

    /// Forgets those that were added last, in this order, but for some.
    pub(super) fn forget(&mut self, added: &[u32], is_needed: impl Fn(u32) -> bool) {
        let mut rows = self.len() - added.len();
        for (row, class) in (rows..).zip(added).filter(|(_, class)| is_needed(**class)) {
            self.slots.copy_within(row * self.row_bytes..(row + 1) * self.row_bytes, rows * self.row_bytes);
            self.row_of[*class as usize] = rows as u32;
            rows += 1;
        }
        self.slots.truncate(rows * self.row_bytes);
    }

    /// What they take.
    pub(super) fn bytes(&self) -> u64 {
        (self.slots.len() + size_of_val(&self.row_of[..])) as u64
    }

    fn len(&self) -> usize {
        self.slots.len().checked_div(self.row_bytes).unwrap_or(0)
    }

    #[inline]
    pub(super) fn of<'a>(&'a self, collection: &'a Collection<'_>, classes: &Classes, class: u32) -> &'a [u8] {
        if self.are_in_place {
            return collection.slots_in_memory(classes.representative(class));
        }
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
        let row = |class: u32| self.rows.of(self.collection, self.classes, class);
        for members in range.map(|bucket| buckets.get(bucket)) {
            // In a bucket that is too large, the first in keep order stand for all.
            for (at, left) in members.iter().enumerate().take(self.rule.lefts(members.len())) {
                for right in &members[at + 1..] {
                    if !is_only_task && self.blocks.task_of(*left, *right) != self.task || !self.may_pair(*left, *right)
                    {
                        continue;
                    }
                    compared += 1;
                    let agreeing = width.agreement(row(*left), row(*right));
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
