//! verify: candidates → pairs with their exact similarity.
//!
//! Shingles are asked for by record, in input order, and only for records that are in candidates.

mod crowds;
mod edit;
mod overlap;
mod sets;
mod steps;

use rayon::prelude::*;

use crate::band::{Candidates, sort_distinct};
use crate::blocks::Blocks;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::{Error, ErrorKind, Result};
use crate::group::EarlyDecisions;
use crate::hash::combine;
use crate::lists::Lists;
use crate::shard::Shard;
use crate::watch::{Stage, Unseen, Watch, check_cancelled};
use crowds::InCrowds;
pub use edit::edit_similarity;
use overlap::Overlap;
pub(crate) use sets::DistinctSets;
use steps::Steps;

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

/// Gives the candidates that are alike their exact similarity, and leaves out the others. `decisions` are told on the way.
/// Pairs of crowded buckets that matter for them are added.
pub(crate) fn verify(
    collection: &Collection<'_>,
    classes: &Classes,
    threshold: f64,
    candidates: &mut Candidates,
    decisions: Option<&mut EarlyDecisions<'_>>,
    watch: &dyn Watch,
) -> Result<()> {
    let crowds = candidates.crowds.take();
    let name = if crowds.is_some() { Similarities::OF_LISTED } else { Similarities::OF_ALL };
    let mut verifier = Verifier { name, ..Verifier::new(collection, classes, watch) };
    let mut room_in_crowds = 0;
    if let Some(crowds) = &crowds {
        // With next to no room sets would be loaded again and again, which must not be where each time all is gone through.
        let least = if collection.is_supplied_in_bulk() { verifier.room } else { verifier.room / 2 };
        verifier.room = verifier.room.saturating_sub(crowds.bytes()).max(least);
        room_in_crowds = InCrowds::most_bytes(&verifier, crowds).min(verifier.room / 2);
    }
    let pairs = &mut candidates.pairs;
    watch.begin(Stage::Verify, Some(pairs.len() as u64));
    verifier.load_known(pairs)?;
    let mut in_crowds = crowds.map(|crowds| InCrowds::new(&verifier, crowds, room_in_crowds, threshold));
    match decisions {
        Some(decisions) if decisions.are_told() || in_crowds.is_some() => {
            let mut added = verifier.find_in_keep_order(pairs, in_crowds.as_mut(), decisions)?;
            if let Some(in_crowds) = in_crowds {
                // How many of the others were looked at depends on the room, and what is counted must not.
                pairs.retain(|edge| verifier.may_decide(edge.left, decisions));
                // A pair may have met in a crowded bucket and in another one.
                pairs.append(&mut added);
                sort_distinct(pairs);
                candidates.comparisons += in_crowds.comparisons;
                candidates.looked_at += in_crowds.candidates;
                // What was not looked at because of who is dropped is no loss: only pairs of those that are kept are.
                candidates.left_out = in_crowds.left_out(decisions);
            }
        }
        _ => verifier.find_unknown(pairs, Shard::ALL)?,
    }
    candidates.observed.see_verified(pairs, threshold, classes);
    pairs.retain(|edge| edge.similarity >= threshold);
    Ok(())
}

/// Finds how alike some of the candidates are, and leaves that in work files.
pub(crate) fn verify_part(
    collection: &Collection<'_>,
    classes: &Classes,
    candidates: &mut [Edge],
    shard: Shard,
    watch: &dyn Watch,
) -> Result<()> {
    let verifier = Verifier::new(collection, classes, watch);
    watch.begin(Stage::Verify, Some(shard.range(candidates.len()).len() as u64));
    verifier.load_known(candidates)?;
    verifier.find_unknown(candidates, shard)
}

/// What says how alike two records are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Likeness {
    Jaccard,
    /// How much of the left one is in the right one.
    Containment,
    Edit,
}

impl Likeness {
    /// Of records that the bands brought together.
    pub(crate) fn of(collection: &Collection<'_>) -> Self {
        if collection.has_sequences() { Self::Edit } else { Self::Jaccard }
    }

    /// How alike two classes are whose sets are there.
    fn between(self, sets: &DistinctSets, (left, right): (u32, u32), overlap: &mut Overlap) -> f64 {
        let (left, right) = (sets.set(left), sets.set(right));
        let mut count_shared = || if sets.are_sorted() { shared(left, right) } else { overlap.count(left, right) };
        match self {
            Self::Jaccard => jaccard_of(count_shared(), left.len(), right.len()),
            Self::Containment => ratio(count_shared(), left.len()),
            Self::Edit => edit_similarity(left, right),
        }
    }
}

/// How alike the classes of each pair are.
pub(crate) fn similarities(
    collection: &Collection<'_>,
    classes: &Classes,
    pairs: &[(u32, u32)],
    likeness: Likeness,
    watch: &dyn Watch,
) -> Result<Vec<f64>> {
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let mut edges: Vec<Edge> =
        pairs.iter().map(|(left, right)| Edge { left: *left, right: *right, similarity: UNKNOWN }).collect();
    let unseen = Unseen(watch);
    let verifier = Verifier { likeness, work: None, ..Verifier::new(collection, classes, &unseen) };
    verifier.find_unknown(&mut edges, Shard::ALL)?;
    Ok(edges.into_iter().map(|edge| edge.similarity).collect())
}

/// The similarity of a pair that nobody has looked at yet.
const UNKNOWN: f64 = f64::NAN;

/// Looks at pairs.
struct Verifier<'a> {
    collection: &'a Collection<'a>,
    classes: &'a Classes,
    likeness: Likeness,
    /// What the work files with similarities are called.
    name: &'static str,
    /// Bytes that sets may take that are loaded at a time.
    room: u64,
    work: Option<&'a WorkFolder>,
    watch: &'a dyn Watch,
}

impl<'a> Verifier<'a> {
    fn new(collection: &'a Collection<'a>, classes: &'a Classes, watch: &'a dyn Watch) -> Self {
        let (likeness, resources) = (Likeness::of(collection), collection.resources());
        let (room, work) = (resources.room, resources.work);
        Self { collection, classes, likeness, name: Similarities::OF_ALL, room, work, watch }
    }

    /// Gives candidates the similarities that an earlier attempt left in work files; those of the others are unknown.
    fn load_known(&self, candidates: &mut [Edge]) -> Result<()> {
        // Pairs are called by their places, in 32 bits.
        if u32::try_from(candidates.len()).is_err() {
            let message = format!("{} pairs would have to be verified, more than {}", candidates.len(), u32::MAX);
            let advice =
                "raise the threshold, leave out what many records share with --ignore-common, or verify by estimate";
            return Err(Error::new(ErrorKind::TooLarge, message).advise(advice));
        }
        candidates.iter_mut().for_each(|edge| edge.similarity = UNKNOWN);
        let known: Vec<Similarities> = self.work.map_or_else(Vec::new, |work| work.load_all(self.name));
        if !known.is_empty() {
            self.watch.reuse(Stage::Verify, known.len() as u64);
        }
        known.iter().for_each(|known| known.give_to(candidates));
        Ok(())
    }

    /// What the set of a class takes, at most.
    fn set_bytes(&self, class: u32) -> u64 {
        /// Where it begins and ends, and how it is found.
        const PLACE_BYTES: u64 = 32;
        PLACE_BYTES + 8 * self.collection.shingle_count(self.classes.representative(class)) as u64
    }

    /// Finds how alike those pairs of a shard are of which it is not known, by their sets, which are loaded as far as there
    /// is room.
    fn find_unknown(&self, edges: &mut [Edge], shard: Shard) -> Result<()> {
        let mut unknown = unknown(edges, shard);
        let for_each_pair = |show: &mut dyn FnMut(&[u32])| {
            unknown.iter().map(|at| &edges[*at as usize]).for_each(|edge| show(&[edge.left, edge.right]));
            Ok(())
        };
        let blocks = Blocks::of(self.classes.len(), for_each_pair, |class| self.set_bytes(class), self.room)?;
        self.watch.advance((shard.range(edges.len()).len() - unknown.len()) as u64);
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
            let sets = DistinctSets::of(self.collection, self.classes, blocks.loaded(task))?;
            self.compare(&sets, in_task, edges)?;
        }
        Ok(())
    }

    /// The same for all pairs, in steps: those among the first classes first, so that it can be told who is dropped before
    /// all have been looked at. A set is held until the last class was looked at that is compared with it. Where there is no
    /// room for that, nothing is told before the end. Gives back pairs of crowded buckets.
    fn find_in_keep_order(
        &self,
        edges: &mut [Edge],
        mut in_crowds: Option<&mut InCrowds<'_>>,
        decisions: &mut EarlyDecisions<'_>,
    ) -> Result<Vec<Edge>> {
        let set_bytes = |class: u32| self.set_bytes(class);
        let to_look_at = edges.iter().filter(|edge| edge.similarity.is_nan());
        let steps = Steps::of(self.classes.len(), to_look_at.map(|edge| (edge.left, edge.right)), set_bytes);
        // Sets of crowds are held beside the others.
        let room = self.room - in_crowds.as_ref().map_or(0, |crowds| crowds.room);
        if steps.most_bytes(set_bytes) > room {
            self.find_unknown(edges, Shard::ALL)?;
            let mut by_right = edges.to_vec();
            by_right.par_sort_unstable_by_key(|edge| (edge.right, edge.left));
            let all = 0..self.classes.len() as u32;
            return in_crowds.map_or_else(|| Ok(Vec::new()), |crowds| crowds.decide(all, &by_right, decisions));
        }
        let mut added = Vec::new();
        self.watch.advance(edges.iter().filter(|edge| !edge.similarity.is_nan()).count() as u64);
        let in_steps = Lists::new(steps.len(), || edges.iter().map(|edge| steps.step_of(edge.right)).zip(0u32..));
        let mut sets = DistinctSets::none(self.collection, self.classes);
        for step in 0..steps.len() as u32 {
            let pairs = in_steps.of(step);
            let here = steps.classes(step);
            // Where not all pairs are asked for, those whose left one was dropped do not matter, nor do their sets.
            let may_decide = |left: u32| left >= here.start || self.may_decide(left, decisions);
            let matters = |edge: &Edge| in_crowds.is_none() || may_decide(edge.left);
            let is_unknown = |edge: &Edge| edge.similarity.is_nan() && matters(edge);
            let unknown: Vec<u32> = pairs.iter().copied().filter(|at| is_unknown(&edges[*at as usize])).collect();
            let asked: Vec<u32> = if in_crowds.is_none() {
                steps.compared(step).collect()
            } else {
                let edges = unknown.iter().map(|at| edges[*at as usize]);
                let mut asked: Vec<u32> = edges.flat_map(|edge| [edge.left, edge.right]).collect();
                asked.retain(|class| !sets.holds(*class));
                asked.sort_unstable();
                asked.dedup();
                asked
            };
            let loaded = sets.load(self.collection, self.classes, asked.into_iter())?;
            self.compare(&sets, &unknown, edges)?;
            let mut pairs: Vec<Edge> = pairs.iter().map(|at| edges[*at as usize]).collect();
            match &mut in_crowds {
                Some(crowds) => {
                    pairs.sort_unstable_by_key(|edge| edge.right);
                    added.extend(crowds.decide(here, &pairs, decisions)?);
                    let is_needed = |class: u32| self.may_decide(class, decisions);
                    sets.end_step(step, loaded, |class| if is_needed(class) { steps.last(class) } else { step });
                }
                None => {
                    sets.end_step(step, loaded, |class| steps.last(class));
                    decisions.decide(self.classes, here.end, pairs.into_iter());
                }
            }
            decisions.tell(self.classes)?;
        }
        Ok(added)
    }

    /// Whether pairs of a class that is decided with later ones decide who is kept for whom: not if it is dropped, unless it has
    /// copies, to which later keepers may be more alike.
    fn may_decide(&self, class: u32, decisions: &EarlyDecisions<'_>) -> bool {
        !decisions.is_dropped(class) || self.classes.members(class).len() > 1
    }

    /// Finds how alike these pairs are, by sets that are loaded.
    fn compare(&self, sets: &DistinctSets, pairs: &[u32], edges: &mut [Edge]) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let similarities = pairs
            .par_chunks(PIECE)
            .map_init(Overlap::default, |overlap, piece| {
                check_cancelled(self.watch)?;
                let pairs = piece.iter().map(|at| &edges[*at as usize]).map(|edge| (edge.left, edge.right));
                Ok(pairs.map(|pair| self.likeness.between(sets, pair, overlap)).collect::<Vec<_>>())
            })
            .collect::<Result<Vec<_>>>()?;
        let found = Similarities { places: pairs.to_vec(), similarities: similarities.concat() };
        if let Some(work) = self.work {
            work.save(&found.name(self.name), &found)?;
        }
        found.give_to(edges);
        self.watch.advance(pairs.len() as u64);
        Ok(())
    }
}

/// The pairs of a shard of which it is not known how alike they are.
fn unknown(edges: &[Edge], shard: Shard) -> Vec<u32> {
    shard.range(edges.len()).filter(|at| edges[*at].similarity.is_nan()).map(|at| at as u32).collect()
}

/// The similarities of some pairs, which are called by their places in the list of candidates.
struct Similarities {
    places: Vec<u32>,
    similarities: Vec<f64>,
}

impl Similarities {
    /// Of pairs in the list of all candidates.
    const OF_ALL: &str = "alike-";
    /// Of pairs in a list without those of crowded buckets.
    const OF_LISTED: &str = "listed-alike-";

    fn give_to(&self, edges: &mut [Edge]) {
        for (at, similarity) in self.places.iter().zip(&self.similarities) {
            edges[*at as usize].similarity = *similarity;
        }
    }

    /// Which pairs are looked at together depends on the room and on who divides the work; so no two are called the same.
    fn name(&self, beginning: &str) -> String {
        let places = self.places.iter().fold(0, |name, place| combine(&[name, u64::from(*place)]));
        format!("{beginning}{places:016x}")
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
    jaccard_of(shared(left, right), left.len(), right.len())
}

fn jaccard_of(shared: usize, left: usize, right: usize) -> f64 {
    ratio(shared, left + right - shared)
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
