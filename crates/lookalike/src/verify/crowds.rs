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
use super::{Edge, PIECE, Verifier};
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
    crowds: &'a Crowds,
    threshold: f64,
    /// For each bucket, its members so far that are kept and that others are compared with.
    kept: Vec<Vec<u32>>,
    /// Of classes that are kept and have been compared.
    sets: DistinctSets,
    held_bytes: u64,
    /// How many members are looked at together.
    at_once: usize,
    /// Whether as many sets as there is room for are loaded at once.
    is_in_bulk: bool,
    /// Comparisons of two sketches, and how many of them passed.
    pub(super) comparisons: u64,
    pub(super) candidates: u64,
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

impl<'a> InCrowds<'a> {
    pub(super) fn new(verifier: &'a Verifier<'a>, crowds: &'a Crowds, threshold: f64) -> Self {
        let sets = DistinctSets::none(verifier.collection, verifier.classes);
        Self {
            verifier,
            crowds,
            threshold,
            kept: vec![Vec::new(); crowds.len()],
            sets,
            held_bytes: 0,
            at_once: FEW,
            is_in_bulk: verifier.collection.is_supplied_in_bulk(),
            comparisons: 0,
            candidates: 0,
        }
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
            let (mut end, mut members, mut bytes) = (start, Vec::new(), 0);
            let room = self.verifier.collection.resources().room / 4;
            let (most, most_bytes) =
                if self.is_in_bulk { (usize::MAX, room) } else { (self.at_once, ROUND_BYTES.min(room)) };
            // Old and new ones are not looked at together: the old ones are kept already.
            let is_old = |class: u32| decisions.is_old(self.verifier.classes, class);
            let is_full = |members: &[u32], bytes: u64| members.len() == most || bytes > most_bytes;
            while end < classes.end && !is_full(&members, bytes) && is_old(end) == is_old(start) {
                if !self.crowds.of(end).is_empty() {
                    members.push(end);
                    bytes += self.verifier.set_bytes(end);
                }
                end += 1;
            }
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
            self.compare_with_dropped_copies(&mut round, &kept, decisions)?;
        }
        for class in members.into_iter().filter(|class| !round.is_dropped(*class)) {
            for bucket in self.crowds.of(class) {
                if self.crowds.lefts(*bucket).binary_search(&class).is_ok() {
                    self.kept[*bucket as usize].push(class);
                }
            }
        }
        self.end_round(&mut round);
        Ok(round.edges)
    }

    /// With those that were kept before: whoever is alike to one of them is dropped.
    fn compare_with_kept(&mut self, round: &mut Round, new: &[u32]) -> Result<()> {
        let candidates = self.candidates(new, |class, lefts| {
            lefts.extend(self.crowds.of(class).iter().flat_map(|bucket| &self.kept[*bucket as usize]));
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
        let candidates = self.candidates(open, |class, lefts| self.earlier_in_round(class, from, open, lefts));
        self.comparisons += candidates.comparisons;
        self.load(round, candidates.classes())?;
        let (mut listed, mut candidates) = (listed, candidates.pairs.as_slice());
        for class in round.classes.clone() {
            let (here, behind) = listed.split_at(listed.partition_point(|edge| edge.right <= class));
            listed = behind;
            let is_kept = |left: u32, round: &Round| {
                if left < from { !decisions.is_dropped(left) } else { !round.is_dropped(left) }
            };
            if here.iter().any(|edge| is_kept(edge.left, round)) {
                round.drop(class);
            }
            let (here, behind) = candidates.split_at(candidates.partition_point(|(_, right)| *right <= class));
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
        let from = round.classes.start;
        let candidates = self.candidates(others, |class, lefts| self.earlier_in_round(class, from, kept, lefts));
        let edges = self.verify(round, candidates)?;
        round.edges.extend(edges);
        Ok(())
    }

    /// Keepers with earlier classes that were dropped and have copies, which may stand behind the keeper.
    fn compare_with_dropped_copies(
        &mut self,
        round: &mut Round,
        kept: &[u32],
        decisions: &EarlyDecisions<'_>,
    ) -> Result<()> {
        let is_dropped = |class: u32| {
            if class < round.classes.start { decisions.is_dropped(class) } else { round.is_dropped(class) }
        };
        let has_copies = |class: u32| self.verifier.classes.members(class).len() > 1;
        let candidates = self.candidates(kept, |class, lefts| {
            for bucket in self.crowds.of(class) {
                let earlier = self.crowds.lefts(*bucket).iter().copied().take_while(|left| *left < class);
                lefts.extend(earlier.filter(|left| has_copies(*left) && is_dropped(*left)));
            }
        });
        let edges = self.verify(round, candidates)?;
        round.edges.extend(edges);
        Ok(())
    }

    /// Those of these classes, which ascend, that are in the round, before a class, and in a bucket with it.
    fn earlier_in_round(&self, class: u32, from: u32, among: &[u32], lefts: &mut Vec<u32>) {
        // Mostly there are none.
        if among.is_empty() {
            return;
        }
        for bucket in self.crowds.of(class) {
            let members = self.crowds.lefts(*bucket);
            let members = &members[members.partition_point(|left| *left < from)..];
            let earlier = members.iter().copied().take_while(|left| *left < class);
            lefts.extend(earlier.filter(|left| among.binary_search(left).is_ok()));
        }
    }

    /// The pairs of these classes, each with what `lefts` tells, whose sketches agree often enough.
    fn candidates(&self, rights: &[u32], lefts: impl Fn(u32, &mut Vec<u32>) + Sync) -> Candidates {
        let (crowds, collection, classes) = (self.crowds, self.verifier.collection, self.verifier.classes);
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
            pairs: found.into_iter().flat_map(|(_, pairs)| pairs).collect(),
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
    fn find_alike(&self, pairs: &[(u32, u32)]) -> Result<Vec<Edge>> {
        let of_piece = |overlap: &mut Overlap, piece: &[(u32, u32)]| {
            check_cancelled(self.verifier.watch)?;
            let edges = piece.iter().map(|(left, right)| {
                let similarity = self.verifier.likeness.between(&self.sets, (*left, *right), overlap);
                Edge { left: *left, right: *right, similarity }
            });
            Ok(edges.filter(|edge| edge.similarity >= self.threshold).collect::<Vec<_>>())
        };
        if pairs.len() <= PIECE {
            return of_piece(&mut Overlap::default(), pairs);
        }
        let edges = pairs.par_chunks(PIECE).map_init(Overlap::default, of_piece).collect::<Result<Vec<_>>>()?;
        Ok(edges.concat())
    }

    /// Loads the sets of these classes, as far as they are not here.
    fn load(&mut self, round: &mut Round, classes: impl Iterator<Item = u32>) -> Result<()> {
        let mut asked: Vec<u32> = classes.filter(|class| !self.sets.holds(*class)).collect();
        asked.sort_unstable();
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
        self.held_bytes += needed.map(|class| self.verifier.set_bytes(class)).sum::<u64>();
        if self.held_bytes > self.verifier.collection.resources().room / 2 {
            self.sets = DistinctSets::none(self.verifier.collection, self.verifier.classes);
            self.held_bytes = 0;
        } else {
            self.sets.end_step(0, loaded, |class| if is_needed(class) { NEVER } else { 0 });
        }
    }
}
