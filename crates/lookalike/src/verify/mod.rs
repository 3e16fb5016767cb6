//! verify: candidates → pairs with their exact similarity.
//!
//! Shingles are asked for by record, in input order, and only for records that are in candidates.

mod edit;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::blocks::Blocks;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::hash::combine;
use crate::observed::Observed;
use crate::shard::Shard;
use crate::supply::ShingleLists;
use crate::watch::{Stage, Unseen, Watch, check_cancelled};
pub use edit::edit_similarity;

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

/// Pairs looked at between two questions whether to stop. Two long texts may take a while.
const PIECE: usize = 64;

/// The candidates that are alike, in their order, with their exact similarity.
pub(crate) fn verify(
    collection: &Collection<'_>,
    classes: &Classes,
    threshold: f64,
    mut candidates: Vec<Edge>,
    observed: &mut Observed,
    watch: &dyn Watch,
) -> Result<Vec<Edge>> {
    verify_part(collection, classes, &mut candidates, Shard::ALL, watch)?;
    observed.see_verified(&candidates, threshold, classes);
    candidates.retain(|edge| edge.similarity >= threshold);
    Ok(candidates)
}

/// Finds how alike some of the candidates are, and leaves that in work files.
pub(crate) fn verify_part(
    collection: &Collection<'_>,
    classes: &Classes,
    candidates: &mut [Edge],
    shard: Shard,
    watch: &dyn Watch,
) -> Result<()> {
    let part = shard.range(candidates.len());
    watch.begin(Stage::Verify, Some(part.len() as u64));
    candidates.iter_mut().for_each(|edge| edge.similarity = UNKNOWN);
    let work = collection.resources().work;
    let known: Vec<Similarities> = work.map_or_else(Vec::new, |work| work.load_all(Similarities::NAME));
    if !known.is_empty() {
        watch.reuse(Stage::Verify, known.len() as u64);
    }
    known.iter().for_each(|known| known.give_to(candidates));
    find_unknown(collection, classes, candidates, part, measure_of(collection), work, watch)
}

/// What says how alike two records are that the bands brought together.
pub(crate) fn measure_of(collection: &Collection<'_>) -> fn(&[u64], &[u64]) -> f64 {
    if collection.has_sequences() { edit_similarity } else { jaccard }
}

/// How alike the classes of each pair are.
pub(crate) fn similarities(
    collection: &Collection<'_>,
    classes: &Classes,
    pairs: &[(u32, u32)],
    measure: fn(&[u64], &[u64]) -> f64,
    watch: &dyn Watch,
) -> Result<Vec<f64>> {
    let mut edges: Vec<Edge> =
        pairs.iter().map(|(left, right)| Edge { left: *left, right: *right, similarity: UNKNOWN }).collect();
    find_unknown(collection, classes, &mut edges, 0..pairs.len(), measure, None, &Unseen(watch))?;
    Ok(edges.into_iter().map(|edge| edge.similarity).collect())
}

/// The similarity of a pair that nobody has looked at yet.
const UNKNOWN: f64 = f64::NAN;

/// Finds how alike those pairs of a range are of which it is not known, by their sets, which are loaded as far as there is
/// room.
fn find_unknown(
    collection: &Collection<'_>,
    classes: &Classes,
    edges: &mut [Edge],
    range: Range<usize>,
    measure: fn(&[u64], &[u64]) -> f64,
    work: Option<&WorkFolder>,
    watch: &dyn Watch,
) -> Result<()> {
    let in_range = range.len();
    let mut unknown: Vec<u32> = range.filter(|at| edges[*at].similarity.is_nan()).map(|at| at as u32).collect();
    watch.advance((in_range - unknown.len()) as u64);
    let set_bytes = |class: u32| 8 * collection.shingle_count(classes.representative(class)) as u64;
    let for_each_pair = |show: &mut dyn FnMut(&[u32])| {
        unknown.iter().map(|at| &edges[*at as usize]).for_each(|edge| show(&[edge.left, edge.right]));
        Ok(())
    };
    let blocks = Blocks::of(classes.len(), for_each_pair, set_bytes, collection.resources().room)?;
    // The pairs of a task one after another, in their order.
    let task_of = |edge: &Edge| blocks.task_of(edge.left, edge.right);
    if blocks.tasks().len() > 1 {
        unknown.par_sort_by_key(|at| task_of(&edges[*at as usize]));
    }
    let mut rest = unknown.as_slice();
    while let Some(first) = rest.first() {
        let task = task_of(&edges[*first as usize]);
        let count = rest.iter().take_while(|at| task_of(&edges[**at as usize]) == task).count();
        let (in_task, behind) = rest.split_at(count);
        rest = behind;
        let sets = DistinctSets::of(collection, classes, blocks.loaded(task))?;
        let similarities = in_task
            .par_chunks(PIECE)
            .map(|piece| {
                check_cancelled(watch)?;
                let of = |edge: &Edge| measure(sets.set(edge.left), sets.set(edge.right));
                Ok(piece.iter().map(|at| of(&edges[*at as usize])).collect::<Vec<_>>())
            })
            .collect::<Result<Vec<_>>>()?;
        let found = Similarities { places: in_task.to_vec(), similarities: similarities.concat() };
        if let Some(work) = work {
            work.save(&found.name(), &found)?;
        }
        found.give_to(edges);
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

    fn give_to(&self, edges: &mut [Edge]) {
        for (at, similarity) in self.places.iter().zip(&self.similarities) {
            edges[*at as usize].similarity = *similarity;
        }
    }

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

/// Elements of sets that lie together: so few that they fit where the sketches of a batch were.
const ELEMENTS_IN_A_PIECE: usize = 4096;

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
            if !collection.has_sequences() {
                lists.make_distinct();
            }
            // Copies take no more room than they need, and leave the supplier its buffer, which has grown to its size.
            let pieces: Vec<_> = lists.in_pieces(ELEMENTS_IN_A_PIECE).map(|(at, piece)| (first + at, piece)).collect();
            supplied.lock().unwrap_or_else(PoisonError::into_inner).extend(pieces);
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
