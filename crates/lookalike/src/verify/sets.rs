//! Sets that are compared, in memory for as long as they are needed.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::shingle::BitMap;
use crate::supply::ShingleLists;

/// Elements of sets that lie together: so few that they fit where the sketches of a batch were.
const ELEMENTS_IN_A_RUN: usize = 4096;
/// Sets that a thread copies in one go: enough to fill many runs.
const COPIED_AT_ONCE: usize = 512;
/// Bits for each element, at least, by which two sets are told apart before they are compared.
const BITS_OF_AN_ELEMENT: usize = 16;
/// The set of a class that has none here.
const NONE: u32 = u32::MAX;

/// The sets of the classes that are asked for, each element once: those of texts in the order of the text, if they are not very
/// long. Where records are sets themselves, all are sorted.
pub(crate) struct DistinctSets {
    are_sorted: bool,
    runs: Vec<ShingleLists>,
    /// For each set: the run that holds it, and its index there.
    places: Vec<(u32, u32)>,
    /// For each set: its bits, once somebody has asked for them.
    bits: Vec<OnceLock<Box<BitMap>>>,
    /// For each class: which set is its.
    set_of: Vec<u32>,
    /// Which runs nobody needs after a step, as far as that is known.
    last_needed: BTreeMap<u32, Vec<usize>>,
}

/// Sets that were loaded together.
pub(super) struct Loaded {
    classes: Vec<u32>,
    first_run: usize,
    first_set: usize,
}

impl Loaded {
    /// Whose sets they are.
    pub(super) fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// Takes along what was loaded next.
    pub(super) fn append(&mut self, mut next: Self) {
        self.classes.append(&mut next.classes);
    }
}

impl DistinctSets {
    /// The sets of these classes.
    pub(crate) fn of(collection: &Collection<'_>, classes: &Classes, asked: impl Iterator<Item = u32>) -> Result<Self> {
        let mut sets = Self::none(collection, classes);
        sets.load(collection, classes, asked)?;
        Ok(sets)
    }

    /// No sets yet.
    pub(super) fn none(collection: &Collection<'_>, classes: &Classes) -> Self {
        let (are_sorted, set_of) = (collection.holds_sets(), vec![NONE; classes.len()]);
        let (runs, places, bits, last_needed) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { are_sorted, runs, places, bits, set_of, last_needed }
    }

    /// Adds the sets of these classes.
    pub(super) fn load(
        &mut self,
        collection: &Collection<'_>,
        classes: &Classes,
        asked: impl Iterator<Item = u32>,
    ) -> Result<Loaded> {
        let (records, order) = classes.by_representative(asked);
        let are_sorted = self.are_sorted;
        let supplied: Mutex<Vec<(usize, ShingleLists)>> = Mutex::default();
        collection.supply(&records, &|first, lists| {
            match (collection.has_sequences(), are_sorted) {
                (true, _) => {}
                (false, true) => lists.sort_distinct(),
                (false, false) => lists.leave_out_repeats(),
            }
            // Copies take no more room than they need, and leave the supplier its buffer, which has grown to its size.
            let pieces: Vec<_> = lists.in_pieces(ELEMENTS_IN_A_RUN).map(|(at, piece)| (first + at, piece)).collect();
            supplied.lock().unwrap_or_else(PoisonError::into_inner).extend(pieces);
            Ok(())
        })?;
        let loaded = Loaded { first_run: self.runs.len(), first_set: self.places.len(), classes: order };
        for (first, lists) in supplied.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.add(first, lists, &loaded.classes);
        }
        Ok(loaded)
    }

    /// Forgets the sets that nobody needs after this step, in which these were loaded. `last_step` tells when a class is
    /// compared for the last time.
    pub(super) fn end_step(&mut self, step: u32, loaded: Loaded, last_step: impl Fn(u32) -> u32) {
        let mut needed: Vec<u32> = loaded.classes.iter().copied().filter(|class| last_step(*class) > step).collect();
        // What goes at the same time lies together.
        needed.sort_by_key(|class| last_step(*class));
        let together = needed.chunk_by(|left, right| last_step(*left) == last_step(*right));
        // Mostly it is all of them, and all threads have their part in copying.
        let together: Vec<&[u32]> = together.flat_map(|classes| classes.chunks(COPIED_AT_ONCE)).collect();
        // Run by run: in one list, to be cut into runs, they would be there a third time.
        let copied = |classes: &[u32]| {
            let mut runs: Vec<(usize, ShingleLists)> = Vec::new();
            for (at, set) in classes.iter().map(|class| self.set(*class)).enumerate() {
                match runs.last_mut() {
                    Some((_, run)) if run.shingles.len() + set.len() <= ELEMENTS_IN_A_RUN => run.push(set),
                    _ => {
                        let mut run = ShingleLists::with_capacity(ELEMENTS_IN_A_RUN.max(set.len()));
                        run.push(set);
                        runs.push((at, run));
                    }
                }
            }
            runs
        };
        let kept: Vec<_> = together.par_iter().map(|classes| copied(classes)).collect();
        self.runs.truncate(loaded.first_run);
        self.places.truncate(loaded.first_set);
        self.bits.truncate(loaded.first_set);
        loaded.classes.iter().for_each(|class| self.set_of[*class as usize] = NONE);
        for (classes, runs) in together.into_iter().zip(kept) {
            let first_run = self.runs.len();
            runs.into_iter().for_each(|(first, run)| self.add(first, run, classes));
            self.last_needed.entry(last_step(classes[0])).or_default().extend(first_run..self.runs.len());
        }
        let needless = self.last_needed.remove(&step).unwrap_or_default();
        needless.into_iter().for_each(|run| self.runs[run] = ShingleLists::default());
    }

    /// Adds the sets of these classes from the `first` on.
    fn add(&mut self, first: usize, sets: ShingleLists, classes: &[u32]) {
        for index in 0..sets.len() {
            self.set_of[classes[first + index] as usize] = self.places.len() as u32;
            self.places.push((self.runs.len() as u32, index as u32));
            self.bits.push(OnceLock::new());
        }
        self.runs.push(sets);
    }

    /// Whether the elements of all sets ascend.
    pub(super) fn are_sorted(&self) -> bool {
        self.are_sorted
    }

    /// Whether the set of a class is here.
    pub(super) fn holds(&self, class: u32) -> bool {
        self.set_of[class as usize] != NONE
    }

    /// The most elements that the sets of two classes can share, by a look at a bit or two for each.
    pub(super) fn most_shared(&self, left: u32, right: u32) -> usize {
        let bits = |class: u32| {
            let make = || Box::new(BitMap::of(self.set(class), BITS_OF_AN_ELEMENT));
            self.bits[self.set_of[class as usize] as usize].get_or_init(make)
        };
        let (left_length, right_length) = (self.set(left).len(), self.set(right).len());
        let differing = bits(left).differing(bits(right)).unwrap_or(0);
        ((left_length + right_length - differing) / 2).min(left_length).min(right_length)
    }

    /// The set of a class that was asked for.
    pub(crate) fn set(&self, class: u32) -> &[u64] {
        let (run, index) = self.places[self.set_of[class as usize] as usize];
        self.runs[run as usize].get(index as usize)
    }
}
