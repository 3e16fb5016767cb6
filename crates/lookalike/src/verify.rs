//! verify: candidates → pairs with their exact similarity.
//!
//! Shingles are asked for by record, in input order, and only for records that are in candidates.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::blocks::Blocks;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::hash::combine;
use crate::shard::Shard;
use crate::supply::ShingleLists;
use crate::watch::{Stage, Unwatched, Watch, check_cancelled};
use crate::work::{Checkpoint, WorkFile, WorkFolder, WorkWriter};

/// Two classes that are alike.
///
/// For Jaccard the earlier in keep order is on the left; for containment the left one is contained in the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) similarity: f64,
}

/// Pairs looked at between two questions whether to stop.
const PIECE: usize = 1 << 12;

/// The candidates that are alike, in their order, with their exact similarity.
pub(crate) fn verify(
    collection: &Collection<'_>,
    classes: &Classes,
    threshold: f64,
    candidates: Vec<Edge>,
    watch: &dyn Watch,
) -> Result<Vec<Edge>> {
    let pairs: Vec<(u32, u32)> = candidates.iter().map(|edge| (edge.left, edge.right)).collect();
    watch.begin(Stage::Verify, Some(pairs.len() as u64));
    let mut found = Known::load(pairs.len(), collection.resources().work, watch);
    find_missing(collection, classes, &pairs, jaccard, 0..pairs.len(), &mut found, watch)?;
    let exact = candidates.into_iter().zip(found.similarities).map(|(edge, similarity)| Edge { similarity, ..edge });
    Ok(exact.filter(|edge| edge.similarity >= threshold).collect())
}

/// Finds how alike some of the candidates are, and leaves that in work files.
pub(crate) fn prepare(
    collection: &Collection<'_>,
    classes: &Classes,
    candidates: &[Edge],
    shard: Shard,
    watch: &dyn Watch,
) -> Result<()> {
    let pairs: Vec<(u32, u32)> = candidates.iter().map(|edge| (edge.left, edge.right)).collect();
    watch.begin(Stage::Verify, Some(shard.range(pairs.len()).len() as u64));
    let mut found = Known::load(pairs.len(), collection.resources().work, watch);
    find_missing(collection, classes, &pairs, jaccard, shard.range(pairs.len()), &mut found, watch)
}

/// How alike the classes of each pair are.
pub(crate) fn similarities(
    collection: &Collection<'_>,
    classes: &Classes,
    pairs: &[(u32, u32)],
    measure: fn(&[u64], &[u64]) -> f64,
) -> Result<Vec<f64>> {
    let mut found = Known::load(pairs.len(), None, &Unwatched);
    find_missing(collection, classes, pairs, measure, 0..pairs.len(), &mut found, &Unwatched)?;
    Ok(found.similarities)
}

/// The similarities that are known so far.
struct Known<'a> {
    /// Not a number where it is not known.
    similarities: Vec<f64>,
    work: Option<&'a WorkFolder>,
}

impl<'a> Known<'a> {
    /// What earlier attempts found.
    fn load(pairs: usize, work: Option<&'a WorkFolder>, watch: &dyn Watch) -> Self {
        let mut known = Self { similarities: vec![f64::NAN; pairs], work };
        let parts: Vec<Similarities> = work.map_or_else(Vec::new, |work| work.load_all(Similarities::NAME));
        for part in &parts {
            known.take(part);
        }
        if !parts.is_empty() {
            watch.reuse(Stage::Verify, parts.len() as u64);
        }
        known
    }

    fn take(&mut self, found: &Similarities) {
        for (at, similarity) in found.places.iter().zip(&found.similarities) {
            self.similarities[*at as usize] = *similarity;
        }
    }
}

/// Finds how alike the classes of those pairs of a range are of which it is not known, by their sets, which are loaded as
/// far as there is room.
fn find_missing(
    collection: &Collection<'_>,
    classes: &Classes,
    pairs: &[(u32, u32)],
    measure: fn(&[u64], &[u64]) -> f64,
    range: Range<usize>,
    found: &mut Known<'_>,
    watch: &dyn Watch,
) -> Result<()> {
    let in_range = range.len();
    let mut missing: Vec<u32> = range.filter(|at| found.similarities[*at].is_nan()).map(|at| at as u32).collect();
    watch.advance((in_range - missing.len()) as u64);
    let set_bytes = |class: u32| 8 * collection.shingle_count(classes.representative(class)) as u64;
    let pair = |at: u32| pairs[at as usize];
    let for_each_pair = |show: &mut dyn FnMut(&[u32])| {
        missing.iter().map(|at| pair(*at)).for_each(|(left, right)| show(&[left, right]));
        Ok(())
    };
    let blocks = Blocks::of(classes.len(), for_each_pair, set_bytes, collection.resources().room)?;
    // The pairs of a task one after another, in their order.
    let task_of = |at: u32| blocks.task_of(pair(at).0, pair(at).1);
    if blocks.tasks().len() > 1 {
        missing.par_sort_by_key(|at| task_of(*at));
    }
    for in_task in missing.chunk_by(|left, right| task_of(*left) == task_of(*right)) {
        let sets = DistinctSets::of(collection, classes, blocks.loaded(task_of(in_task[0])))?;
        let similarities = in_task
            .par_chunks(PIECE)
            .map(|piece| {
                check_cancelled(watch)?;
                let of = |at: &u32| measure(sets.set(pair(*at).0), sets.set(pair(*at).1));
                Ok(piece.iter().map(of).collect::<Vec<_>>())
            })
            .collect::<Result<Vec<_>>>()?;
        let part = Similarities { places: in_task.to_vec(), similarities: similarities.concat() };
        if let Some(work) = found.work {
            work.save(&part.name(), &part)?;
        }
        found.take(&part);
        watch.advance(in_task.len() as u64);
    }
    Ok(())
}

/// The similarities of some pairs, which are called by their places in the list of candidates.
struct Similarities {
    places: Vec<u32>,
    similarities: Vec<f64>,
}

impl Similarities {
    const NAME: &str = "alike-";

    /// Which pairs are looked at together depends on the room and on who divides the work; so no two are called the same.
    fn name(&self) -> String {
        let places = self.places.iter().fold(0, |name, place| combine(&[name, u64::from(*place)]));
        format!("{}{places:016x}", Self::NAME)
    }
}

impl Checkpoint for Similarities {
    fn save(&self, writer: &mut WorkWriter) -> Result<()> {
        writer.column(&self.places)?;
        writer.column(&self.similarities)
    }

    fn load(file: &WorkFile) -> Result<Self> {
        Ok(Self { places: file.column(0)?, similarities: file.column(1)? })
    }
}

/// The sets of the classes that are asked for, sorted, each element once.
pub(crate) struct DistinctSets {
    runs: Vec<ShingleLists>,
    /// For each set: the run that holds it, and its index there.
    places: Vec<(u32, u32)>,
    /// For each class that was asked for: which set is its.
    set_of: Vec<u32>,
}

impl DistinctSets {
    /// The sets of these classes.
    pub(crate) fn of(collection: &Collection<'_>, classes: &Classes, asked: impl Iterator<Item = u32>) -> Result<Self> {
        let (records, order) = classes.by_representative(asked);
        let supplied: Mutex<Vec<(usize, ShingleLists)>> = Mutex::default();
        collection.supply(&records, &|first, lists| {
            let mut lists = std::mem::take(lists);
            lists.make_distinct();
            supplied.lock().unwrap_or_else(PoisonError::into_inner).push((first, lists));
            Ok(())
        })?;
        let mut places = vec![(0, 0); records.len()];
        let mut runs = Vec::new();
        for (first, lists) in supplied.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for index in 0..lists.len() {
                places[first + index] = (runs.len() as u32, index as u32);
            }
            runs.push(lists);
        }
        let mut set_of = vec![0; classes.len()];
        for (set, class) in (0u32..).zip(order) {
            set_of[class as usize] = set;
        }
        Ok(Self { runs, places, set_of })
    }

    /// The set of a class that was asked for.
    pub(crate) fn set(&self, class: u32) -> &[u64] {
        let (run, index) = self.places[self.set_of[class as usize] as usize];
        self.runs[run as usize].get(index as usize)
    }
}

/// How many elements two sorted sets share.
pub fn shared<T: Copy + Ord>(left: &[T], right: &[T]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < left.len() && j < right.len() {
        // Without branches on the data: which set is ahead cannot be predicted.
        let (a, b) = (left[i], right[j]);
        shared += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    shared
}

/// The Jaccard similarity of two sorted sets; that of two empty ones is 0.
pub fn jaccard<T: Copy + Ord>(left: &[T], right: &[T]) -> f64 {
    let shared = shared(left, right);
    ratio(shared, left.len() + right.len() - shared)
}

/// How much of the left sorted set is in the right one; of an empty one, nothing.
pub fn containment<T: Copy + Ord>(left: &[T], right: &[T]) -> f64 {
    ratio(shared(left, right), left.len())
}

/// A similarity as the nearest float: 4/5 equals the literal 0.8, so that pairs at the threshold count as alike.
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_textbook_columns() {
        let rows = |bits: &str| -> Vec<usize> {
            bits.char_indices().filter(|(_, bit)| *bit == '1').map(|(at, _)| at).collect()
        };
        assert_eq!(jaccard(&rows("10111"), &rows("10011")), 0.75);
    }

    #[test]
    fn a_ratio_at_the_threshold_reaches_it() {
        for hundredths in 1..=100usize {
            let threshold: f64 = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
            for times in 1..2000 {
                assert!(ratio(hundredths * times, 100 * times) >= threshold);
                assert!(ratio(hundredths * times - 1, 100 * times) < threshold);
            }
        }
    }

    proptest! {
        #[test]
        fn similarity_laws(left: BTreeSet<u8>, right: BTreeSet<u8>) {
            let (a, b): (Vec<u8>, Vec<u8>) = (left.iter().copied().collect(), right.iter().copied().collect());
            prop_assert_eq!(shared(&a, &b), left.intersection(&right).count());
            prop_assert_eq!(jaccard(&a, &b), jaccard(&b, &a));
            prop_assert_eq!(jaccard(&a, &a), if a.is_empty() { 0.0 } else { 1.0 });
            prop_assert!(containment(&a, &b) >= jaccard(&a, &b));
        }
    }
}
