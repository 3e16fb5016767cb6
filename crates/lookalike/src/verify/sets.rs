//! Sets that are compared, in memory for as long as they are needed.

use std::sync::{Mutex, PoisonError};

use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::supply::ShingleLists;

/// Elements of sets that lie together: so few that they fit where the sketches of a batch were.
const ELEMENTS_IN_A_PIECE: usize = 4096;
/// The set of a class that has none here.
const NONE: u32 = u32::MAX;

/// The sets of the classes that are asked for, sorted, each element once.
pub(crate) struct DistinctSets {
    runs: Vec<ShingleLists>,
    /// For each set: the run that holds it, and its index there.
    places: Vec<(u32, u32)>,
    /// For each class: which set is its.
    set_of: Vec<u32>,
}

/// Sets that were loaded together.
pub(super) struct Loaded {
    classes: Vec<u32>,
    first_run: usize,
    first_set: usize,
}

impl DistinctSets {
    /// The sets of these classes.
    pub(crate) fn of(collection: &Collection<'_>, classes: &Classes, asked: impl Iterator<Item = u32>) -> Result<Self> {
        let mut sets = Self::none(classes);
        sets.load(collection, classes, asked)?;
        Ok(sets)
    }

    /// No sets yet.
    pub(super) fn none(classes: &Classes) -> Self {
        Self { runs: Vec::new(), places: Vec::new(), set_of: vec![NONE; classes.len()] }
    }

    /// Adds the sets of these classes.
    pub(super) fn load(
        &mut self,
        collection: &Collection<'_>,
        classes: &Classes,
        asked: impl Iterator<Item = u32>,
    ) -> Result<Loaded> {
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
        let loaded = Loaded { first_run: self.runs.len(), first_set: self.places.len(), classes: order };
        for (first, lists) in supplied.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.add(first, lists, &loaded.classes);
        }
        Ok(loaded)
    }

    /// Forgets those of the sets that were loaded last that nobody needs any more.
    pub(super) fn forget(&mut self, loaded: Loaded, is_needless: impl Fn(u32) -> bool) {
        let needed: Vec<u32> = loaded.classes.iter().copied().filter(|class| !is_needless(*class)).collect();
        let elements = needed.iter().map(|class| self.set(*class).len()).sum();
        let mut kept = ShingleLists::with_capacity(elements);
        needed.iter().for_each(|class| kept.push(self.set(*class)));
        self.runs.truncate(loaded.first_run);
        self.places.truncate(loaded.first_set);
        loaded.classes.iter().for_each(|class| self.set_of[*class as usize] = NONE);
        for (first, piece) in kept.in_pieces(ELEMENTS_IN_A_PIECE) {
            self.add(first, piece, &needed);
        }
    }

    /// Adds the sets of these classes from the `first` on.
    fn add(&mut self, first: usize, sets: ShingleLists, classes: &[u32]) {
        for index in 0..sets.len() {
            self.set_of[classes[first + index] as usize] = self.places.len() as u32;
            self.places.push((self.runs.len() as u32, index as u32));
        }
        self.runs.push(sets);
    }

    /// The set of a class that was asked for.
    pub(crate) fn set(&self, class: u32) -> &[u64] {
        let (run, index) = self.places[self.set_of[class as usize] as usize];
        self.runs[run as usize].get(index as usize)
    }
}
