//! Crowded buckets: where only who is kept is asked for, their pairs are not listed, since most of them cannot matter. They
//! are looked at in keep order instead, once it is known who is still there (`verify/crowds.rs`).

use super::buckets::Buckets;
use super::candidates::Rows;
use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::lists::Lists;
use crate::plan::BucketRule;

/// Buckets with more members are crowded: listing all pairs of fewer costs less than asking who is still there.
pub(super) const MOST_LISTED: usize = 8;
/// The last member of a bucket that is compared with all that follow, where every pair is.
const EVERY: u32 = u32::MAX;

/// The crowded buckets of all bands.
#[derive(Debug)]
pub(crate) struct Crowds {
    /// For each class, the buckets it is in.
    of_class: Lists<u32>,
    /// For each bucket, the last member with which later ones are compared, by the bucket rule.
    last_left: Vec<u32>,
    rows: Rows,
    /// Whether the sketches of all members are here, or loaded again from files when they are needed.
    holds_rows: bool,
    /// What the sketches take that the collection keeps for this.
    slot_bytes: u64,
    least_agreement: u32,
}

impl Crowds {
    /// What has to be known of these buckets once the sketches are gone. `least_agreement`: in how many slots a candidate agrees.
    pub(super) fn new(
        collection: &Collection<'_>,
        classes: &Classes,
        buckets: Vec<Buckets>,
        rule: BucketRule,
        least_agreement: u32,
    ) -> Result<Self> {
        let members: Vec<&[u32]> = buckets.iter().flat_map(Buckets::iter).collect();
        let last_left = |members: &[u32]| {
            let lefts = rule.lefts(members.len());
            if lefts < members.len() { members[lefts - 1] } else { EVERY }
        };
        let last_left = members.iter().map(|members| last_left(members)).collect();
        let of_class = Lists::of_groups(classes.len(), &members);
        drop(members);
        drop(buckets);
        let holds_rows = !collection.is_in_files();
        let rows = if holds_rows {
            Rows::load(collection, classes, members_in(&of_class))?
        } else {
            Rows::none(collection, classes)
        };
        let slot_bytes = if rows.are_in_place() { (collection.slot_bytes() * collection.len()) as u64 } else { 0 };
        Ok(Self { of_class, last_left, rows, holds_rows, slot_bytes, least_agreement })
    }

    /// Whether the collection must keep the slots of sketches.
    pub(crate) fn need_slots(&self) -> bool {
        self.rows.are_in_place()
    }

    /// About how many bytes they take, and what is remembered of each bucket while it is looked at.
    pub(crate) fn bytes(&self) -> u64 {
        const BYTES_OF_A_BUCKET: usize = 20;
        self.of_class.bytes() + self.rows.bytes() + self.slot_bytes + (BYTES_OF_A_BUCKET * self.len()) as u64
    }

    /// How many buckets there are.
    pub(crate) fn len(&self) -> usize {
        self.last_left.len()
    }

    /// The classes that are in them.
    pub(crate) fn members(&self) -> impl Iterator<Item = u32> + '_ {
        members_in(&self.of_class)
    }

    /// The buckets of a class.
    pub(crate) fn of(&self, class: u32) -> &[u32] {
        self.of_class.of(class)
    }

    /// The buckets of a class in which later members are compared with it.
    pub(crate) fn of_left(&self, class: u32) -> impl Iterator<Item = u32> + '_ {
        self.of(class).iter().copied().filter(move |bucket| class <= self.last_left[*bucket as usize])
    }

    /// The members of too large buckets that are not compared with each other, as far as they are asked for.
    pub(crate) fn left_out(&self, is_asked_for: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
        let too_large: Vec<u32> =
            (0u32..).zip(&self.last_left).filter(|(_, last)| **last != EVERY).map(|(bucket, _)| bucket).collect();
        let mut left_out = vec![Vec::new(); too_large.len()];
        for class in (0..self.of_class.len() as u32).filter(|class| is_asked_for(*class)) {
            for bucket in self.of(class).iter().filter(|bucket| self.last_left[**bucket as usize] < class) {
                if let Ok(place) = too_large.binary_search(bucket) {
                    left_out[place].push(class);
                }
            }
        }
        left_out
    }

    /// Loads the sketches of these members, if they are not here. Gives those back that [`Self::forget_rows`] may forget.
    pub(crate) fn load_rows(
        &mut self,
        collection: &Collection<'_>,
        classes: &Classes,
        members: &[u32],
    ) -> Result<Vec<u32>> {
        if self.holds_rows { Ok(Vec::new()) } else { self.rows.add(collection, classes, members.iter().copied()) }
    }

    /// Forgets the sketches that were loaded last, but for those that are needed.
    pub(crate) fn forget_rows(&mut self, loaded: &[u32], is_needed: impl Fn(u32) -> bool) {
        self.rows.forget(loaded, is_needed);
    }

    /// Whether the sketches of two members agree often enough for a closer look.
    pub(crate) fn are_candidates(
        &self,
        collection: &Collection<'_>,
        classes: &Classes,
        (left, right): (u32, u32),
    ) -> bool {
        let row = |class: u32| self.rows.of(collection, classes, class);
        classes.may_pair(left, right)
            && collection.may_meet(classes.representative(left), classes.representative(right))
            && collection.slot_width().agreement(row(left), row(right)) >= self.least_agreement
    }
}

/// The classes that are in any bucket.
fn members_in(of_class: &Lists<u32>) -> impl Iterator<Item = u32> + Clone + '_ {
    (0..of_class.len() as u32).filter(|class| !of_class.of(*class).is_empty())
}
