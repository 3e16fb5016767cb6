//! Pairs of crowded buckets, as far as they decide who is kept.
//!
//! A record is dropped for a keeper, so whoever has been dropped need not be compared with those behind it. Among many
//! records that are all alike nearly all are dropped, and each is compared with the few that are kept instead of with all others.
//!
//! One kind of pair matters although the earlier one is dropped: its copies that stand behind a later keeper may be more alike to
//! that one. They are looked at once the later one is known to be kept.

use std::ops::Range;

use rayon::prelude::*;

use super::overlap::Overlap;
use super::sets::{DistinctSets, Loaded};
use super::{Edge, Likeness, PIECE, Verifier, jaccard_of};
use crate::band::Crowds;
use crate::error::Result;
use crate::group::EarlyDecisions;
use crate::watch::check_cancelled;

/// Members of crowded buckets that are looked at together, at first. Those among them that are not dropped for an earlier one
/// are compared with each other.
const FEW: usize = 512;
/// The same where nearly all are dropped for earlier ones: reading many texts again at once takes less time.
const MANY: usize = 16 * FEW;
/// What the sets of those that are looked at together take at most, but for the last.
const ROUND_BYTES: u64 = 64 << 20;

/// Looks at the pairs of crowded buckets, in keep order.
pub(super) struct InCrowds<'a> {
    verifier: &'a Verifier<'a>,
    crowds: Crowds,
    /// The classes in crowded buckets, in keep order.
    members: Vec<u32>,
    /// Bytes that sets may take: half of them those that are looked at together, half those that are held.
    pub(super) room: u64,
    threshold: f64,
    /// The members so far that are kept and that others are compared with.
    kept: Chains,
    /// Those that are dropped and have copies.
    dropped_copies: Chains,
    /// Of classes that are kept and have been compared.
    sets: DistinctSets,
    held_bytes: u64,
    /// How many members are looked at together.
    at_once: usize,
    /// Whether as many sets as there is room for are loaded at once.
    is_in_bulk: bool,
    /// Whether there is room for bits by which sets are told apart before they are compared.
    has_bits: bool,
    /// Whether most of what was compared last was not alike, so that it pays to look at them.
    is_mostly_unlike: bool,
    /// Comparisons of two sketches, and how many of them passed.
    pub(super) comparisons: u64,
    pub(super) candidates: u64,
}

/// For each bucket some of its members, the last one first.
struct Chains {
    /// For each bucket, its first link.
    first: Vec<usize>,
    /// A member, and the next link.
    links: Vec<(u32, usize)>,
}

impl Chains {
    const END: usize = usize::MAX;

    fn new(buckets: usize) -> Self {
        Self { first: vec![Self::END; buckets], links: Vec::new() }
    }

    fn push(&mut self, bucket: u32, class: u32) {
        let first = &mut self.first[bucket as usize];
        self.links.push((class, *first));
        *first = self.links.len() - 1;
    }

    fn of(&self, bucket: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.first[bucket as usize];
        std::iter::from_fn(move || {
            let (class, behind) = *self.links.get(next)?;
            next = behind;
            Some(class)
        })
    }
}

/// What is known of classes that are looked at together.
struct Round {
    classes: Range<u32>,
    /// For each of `classes`, whether another stands for it, as far as that is known.
    is_dropped: Vec<bool>,
    loaded: Option<Loaded>,
    /// The pairs that are alike.
    edges: Vec<Edge>,
}

/// Pairs whose sketches agree often enough, by the right one.
struct Candidates {
    comparisons: u64,
    pairs: Vec<(u32, u32)>,
}

impl Candidates {
    fn classes(&self) -> impl Iterator<Item = u32> {
        self.pairs.iter().flat_map(|(left, right)| [*left, *right])
    }
}

impl Round {
    fn is_dropped(&self, class: u32) -> bool {
        self.is_dropped[(class - self.classes.start) as usize]
    }

    fn drop(&mut self, class: u32) {
        self.is_dropped[(class - self.classes.start) as usize] = true;
    }
}

/// The first of these numbers that is so, where all behind it are; their end if none is.
fn first_that(numbers: Range<u32>, is_so: impl Fn(u32) -> bool) -> u32 {
    let (mut start, mut end) = (numbers.start, numbers.end);
    while start < end {
        let middle = start + (end - start) / 2;
        if is_so(middle) { end = middle } else { start = middle + 1 }
    }
    start
}

impl<'a> InCrowds<'a> {
    /// `room` is for all sets together, if there is as much.
    pub(super) fn new(verifier: &'a Verifier<'a>, crowds: Crowds, room: u64, threshold: f64) -> Self {
        // Where all is gone through for every round, there must be no more of them for that.
        let is_in_bulk = verifier.collection.is_supplied_in_bulk();
        let has_bits = !is_in_bulk || Self::most_bytes(verifier, &crowds) <= room;
        let sets = DistinctSets::none(verifier.collection, verifier.classes);
        Self {
            verifier,
            room,
            threshold,
            kept: Chains::new(crowds.len()),
            dropped_copies: Chains::new(crowds.len()),
            members: crowds.members().collect(),
            crowds,
            sets,
            held_bytes: 0,
            at_once: FEW,
            is_in_bulk,
            has_bits,
            is_mostly_unlike: false,
            comparisons: 0,
            candidates: 0,
        }
    }

    /// What the set of a class takes, at most, with the bits by which it is told from others.
    fn set_bytes(&self, class: u32) -> u64 {
        self.verifier.set_bytes(class) + if self.has_bits { self.verifier.set_bytes(class) / 2 } else { 0 }
    }

    /// What the sets of all members take, with their bits, and as many that are held.
    pub(super) fn most_bytes(verifier: &Verifier<'_>, crowds: &Crowds) -> u64 {
        3 * crowds.members().map(|class| verifier.set_bytes(class)).sum::<u64>()
    }

    /// The members of too large buckets that are kept and were not compared with each other.
    pub(super) fn left_out(&self, decisions: &EarlyDecisions<'_>) -> Vec<Vec<u32>> {
        self.crowds.left_out(|class| !decisions.is_dropped(class))
    }

    fn has_copies(&self, class: u32) -> bool {
        self.verifier.classes.members(class).len() > 1
    }

    /// Decides these classes, and gives back the pairs of crowded buckets that are alike and matter. `listed` are the other
    /// pairs of these classes with earlier ones, by the later of the two.
    pub(super) fn decide(
        &mut self,
        classes: Range<u32>,
        listed: &[Edge],
        decisions: &mut EarlyDecisions<'_>,
    ) -> Result<Vec<Edge>> {
        let mut found = Vec::new();
        let mut listed = listed;
        let mut start = classes.start;
        while start < classes.end {
            // Old and new ones are not looked at together: the old ones are kept already.
            let is_old = |class: u32| decisions.is_old(self.verifier.classes, class);
            let limit =
                if is_old(start) { first_that(start..classes.end, |class| !is_old(class)) } else { classes.end };
            let (members, end) = self.next_members(start..limit);
            let (listed_here, behind) = listed.split_at(listed.partition_point(|edge| edge.right < end));
            listed = behind;
            let mut alike: Vec<Edge> =
                listed_here.iter().copied().filter(|edge| edge.similarity >= self.threshold).collect();
            if !members.is_empty() {
                check_cancelled(self.verifier.watch)?;
                let edges = self.look_at(start..end, members, &alike, decisions)?;
                found.extend_from_slice(&edges);
                alike.extend(edges);
            }
            decisions.decide(self.verifier.classes, end, alike.into_iter());
            start = end;
        }
        Ok(found)
    }

    /// The first members among these classes, as many as are looked at together, and behind which class they end.
    fn next_members(&self, classes: Range<u32>) -> (Vec<u32>, u32) {
        let room = self.room / 2;
        let (most, most_bytes) =
            if self.is_in_bulk { (usize::MAX, room) } else { (self.at_once, ROUND_BYTES.min(room)) };
        let (mut members, mut bytes) = (Vec::new(), 0);
        let first = self.members.partition_point(|member| *member < classes.start);
        for member in self.members[first..].iter().copied().take_while(|member| *member < classes.end) {
            if members.len() == most || bytes > most_bytes {
                return (members, member);
            }
            bytes += self.set_bytes(member);
            members.push(member);
        }
        (members, classes.end)
    }

    /// The pairs of these classes that are alike and matter, those of `members` being in crowded buckets.
    fn look_at(
        &mut self,
        classes: Range<u32>,
        members: Vec<u32>,
        listed: &[Edge],
        decisions: &EarlyDecisions<'_>,
    ) -> Result<Vec<Edge>> {
        let is_dropped = vec![false; classes.len()];
        let mut round = Round { classes, is_dropped, loaded: None, edges: Vec::new() };
        let is_old = decisions.is_old(self.verifier.classes, round.classes.start);
        let rows = self.crowds.load_rows(self.verifier.collection, self.verifier.classes, &members)?;
        // Old records stay, whatever they are like.
        if !is_old {
            if self.is_in_bulk {
                self.load(&mut round, members.iter().copied())?;
            }
            self.compare_with_kept(&mut round, &members)?;
            let (dropped, open): (Vec<u32>, Vec<u32>) = members.iter().partition(|class| round.is_dropped(**class));
            self.at_once = if 16 * open.len() < members.len() { (2 * self.at_once).min(MANY) } else { FEW };
            self.compare_with_each_other(&mut round, &open, listed, decisions)?;
            let kept: Vec<u32> = open.into_iter().filter(|class| !round.is_dropped(*class)).collect();
            self.compare_with_new_keepers(&mut round, &kept, &dropped)?;
            self.compare_with_dropped_copies(&mut round, &kept, &members)?;
        }
        for class in members {
            let chains = match (round.is_dropped(class), self.has_copies(class)) {
                (false, _) => &mut self.kept,
                (true, true) => &mut self.dropped_copies,
                (true, false) => continue,
            };
            self.crowds.of_left(class).for_each(|bucket| chains.push(bucket, class));
        }
        let classes = self.verifier.classes;
        self.crowds.forget_rows(&rows, |class| !round.is_dropped(class) || classes.members(class).len() > 1);
        self.end_round(&mut round);
        Ok(round.edges)
    }

    /// With those that were kept before: whoever is alike to one of them is dropped.
    fn compare_with_kept(&mut self, round: &mut Round, new: &[u32]) -> Result<()> {
        let candidates = self.candidates(new, |class, lefts| {
            lefts.extend(self.crowds.of(class).iter().flat_map(|bucket| self.kept.of(*bucket)));
        });
        let edges = self.verify(round, candidates)?;
        edges.iter().for_each(|edge| round.drop(edge.right));
        round.edges.extend(edges);
        Ok(())
    }

    /// Those that are still there with each other, one after the other, since each may be kept or not.
    fn compare_with_each_other(
        &mut self,
        round: &mut Round,
        open: &[u32],
        listed: &[Edge],
        decisions: &EarlyDecisions<'_>,
    ) -> Result<()> {
        let from = round.classes.start;
        let in_buckets = self.in_buckets(open.iter().copied());
        let candidates = self.candidates(open, |class, lefts| self.earlier(class, &in_buckets, lefts));
        self.comparisons += candidates.comparisons;
        self.load(round, candidates.classes())?;
        let (mut listed, mut candidates) = (listed, candidates.pairs.as_slice());
        // Most classes have neither.
        while let Some(class) = [listed.first().map(|edge| edge.right), candidates.first().map(|(_, right)| *right)]
            .into_iter()
            .flatten()
            .min()
        {
            let (here, behind) = listed.split_at(listed.iter().take_while(|edge| edge.right == class).count());
            listed = behind;
            let is_kept = |left: u32, round: &Round| {
                if left < from { !decisions.is_dropped(left) } else { !round.is_dropped(left) }
            };
            if here.iter().any(|edge| is_kept(edge.left, round)) {
                round.drop(class);
            }
            let (here, behind) =
                candidates.split_at(candidates.iter().take_while(|(_, right)| *right == class).count());
            candidates = behind;
            let pairs: Vec<(u32, u32)> = here.iter().copied().filter(|(left, _)| !round.is_dropped(*left)).collect();
            if pairs.is_empty() {
                continue;
            }
            let edges = self.find_alike(&pairs)?;
            self.candidates += pairs.len() as u64;
            if !edges.is_empty() {
                round.drop(class);
                round.edges.extend(edges);
            }
        }
        Ok(())
    }

    /// Those that were dropped before with those that were kept after that: one of them may be more alike.
    fn compare_with_new_keepers(&mut self, round: &mut Round, kept: &[u32], others: &[u32]) -> Result<()> {
        let in_buckets = self.in_buckets(kept.iter().copied());
        let candidates = self.candidates(others, |class, lefts| self.earlier(class, &in_buckets, lefts));
        let edges = self.verify(round, candidates)?;
        round.edges.extend(edges);
        Ok(())
    }

    /// Keepers with earlier classes that were dropped and have copies, which may stand behind the keeper.
    fn compare_with_dropped_copies(&mut self, round: &mut Round, kept: &[u32], members: &[u32]) -> Result<()> {
        let is_one = |class: &u32| round.is_dropped(*class) && self.has_copies(*class);
        let in_buckets = self.in_buckets(members.iter().copied().filter(is_one));
        let candidates = self.candidates(kept, |class, lefts| {
            lefts.extend(self.crowds.of(class).iter().flat_map(|bucket| self.dropped_copies.of(*bucket)));
            self.earlier(class, &in_buckets, lefts);
        });
        let edges = self.verify(round, candidates)?;
        round.edges.extend(edges);
        Ok(())
    }

    /// Buckets in which later members are compared with these classes, in ascending order, each with the class.
    fn in_buckets(&self, classes: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
        let of_class = |class: u32| self.crowds.of_left(class).map(move |bucket| (bucket, class));
        let mut in_buckets: Vec<(u32, u32)> = classes.flat_map(of_class).collect();
        in_buckets.par_sort_unstable();
        in_buckets
    }

    /// Those of the classes in these buckets that are before a class, and in a bucket with it.
    fn earlier(&self, class: u32, in_buckets: &[(u32, u32)], lefts: &mut Vec<u32>) {
        // Mostly there are none.
        if in_buckets.is_empty() {
            return;
        }
        for bucket in self.crowds.of(class) {
            let first = in_buckets.partition_point(|(other, _)| other < bucket);
            let members = in_buckets[first..].iter().take_while(|(other, left)| other == bucket && *left < class);
            lefts.extend(members.map(|(_, left)| *left));
        }
    }

    /// The pairs of these classes, each with what `lefts` tells, whose sketches agree often enough.
    fn candidates(&self, rights: &[u32], lefts: impl Fn(u32, &mut Vec<u32>) + Sync) -> Candidates {
        let (crowds, collection, classes) = (&self.crowds, self.verifier.collection, self.verifier.classes);
        let of_class = |right: u32, found: &mut Vec<u32>| {
            found.clear();
            lefts(right, found);
            found.sort_unstable();
            found.dedup();
            let compared = found.len() as u64;
            found.retain(|left| crowds.are_candidates(collection, classes, (*left, right)));
            (compared, found.iter().map(|left| (*left, right)).collect::<Vec<_>>())
        };
        let found: Vec<(u64, Vec<(u32, u32)>)> =
            rights.par_iter().with_min_len(8).map_init(Vec::new, |found, right| of_class(*right, found)).collect();
        Candidates {
            comparisons: found.iter().map(|(compared, _)| compared).sum(),
            pairs: found.into_par_iter().flat_map_iter(|(_, pairs)| pairs).collect(),
        }
    }

    /// Those of these pairs that are alike.
    fn verify(&mut self, round: &mut Round, Candidates { comparisons, pairs }: Candidates) -> Result<Vec<Edge>> {
        let candidates = Candidates { comparisons, pairs };
        self.load(round, candidates.classes())?;
        self.comparisons += comparisons;
        self.candidates += candidates.pairs.len() as u64;
        self.find_alike(&candidates.pairs)
    }

    /// Those of these pairs that are alike, by sets that are loaded.
    fn find_alike(&mut self, pairs: &[(u32, u32)]) -> Result<Vec<Edge>> {
        let (verifier, sets, threshold) = (self.verifier, &self.sets, self.threshold);
        let is_filtered = self.has_bits && self.is_mostly_unlike && matches!(verifier.likeness, Likeness::Jaccard);
        let may_be_alike = |left: u32, right: u32| {
            let (left_length, right_length) = (sets.set(left).len(), sets.set(right).len());
            !is_filtered || jaccard_of(sets.most_shared(left, right), left_length, right_length) >= threshold
        };
        let of_piece = |overlap: &mut Overlap, piece: &[(u32, u32)]| {
            check_cancelled(verifier.watch)?;
            let edges = piece.iter().filter(|(left, right)| may_be_alike(*left, *right)).map(|(left, right)| {
                let similarity = verifier.likeness.between(sets, (*left, *right), overlap);
                Edge { left: *left, right: *right, similarity }
            });
            Ok(edges.filter(|edge| edge.similarity >= threshold).collect::<Vec<_>>())
        };
        if pairs.len() <= PIECE {
            return of_piece(&mut Overlap::default(), pairs);
        }
        let edges = pairs.par_chunks(PIECE).map_init(Overlap::default, of_piece).collect::<Result<Vec<_>>>()?.concat();
        self.is_mostly_unlike = 2 * edges.len() < pairs.len();
        Ok(edges)
    }

    /// Loads the sets of these classes, as far as they are not here.
    fn load(&mut self, round: &mut Round, classes: impl Iterator<Item = u32>) -> Result<()> {
        let mut asked: Vec<u32> = classes.filter(|class| !self.sets.holds(*class)).collect();
        asked.par_sort_unstable();
        asked.dedup();
        if asked.is_empty() {
            return Ok(());
        }
        let loaded = self.sets.load(self.verifier.collection, self.verifier.classes, asked.into_iter())?;
        match &mut round.loaded {
            Some(before) => before.append(loaded),
            None => round.loaded = Some(loaded),
        }
        Ok(())
    }

    /// Forgets the sets of those that were dropped; and all of them, to be loaded again, if there are too many.
    fn end_round(&mut self, round: &mut Round) {
        /// A step behind all others.
        const NEVER: u32 = u32::MAX;
        let Some(loaded) = round.loaded.take() else { return };
        let is_needed = |class: u32| class < round.classes.start || !round.is_dropped(class);
        let needed = loaded.classes().iter().copied().filter(|class| is_needed(*class));
        self.held_bytes += needed.map(|class| self.set_bytes(class)).sum::<u64>();
        if self.held_bytes > self.room / 2 {
            self.sets = DistinctSets::none(self.verifier.collection, self.verifier.classes);
            self.held_bytes = 0;
        } else {
            self.sets.end_step(0, loaded, |class| if is_needed(class) { NEVER } else { 0 });
        }
    }
}
