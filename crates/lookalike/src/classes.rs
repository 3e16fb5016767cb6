//! Records with the same set of elements are one class: they are compared once, whatever their number.

use std::collections::HashMap;

use crate::band::Buckets;
use crate::collection::Collection;
use crate::group::keep_order;
use crate::hash::fingerprint;
use crate::lists::Lists;
use crate::settings::{Keep, Measure};
use crate::shingle::{Shape, sort_distinct};

/// The class of a record that has none: an empty one.
const NONE: u32 = u32::MAX;

/// Records in classes. Classes are numbered in keep order, by the first of their members; so are the members.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    /// All records in keep order.
    order: Vec<u32>,
    /// For each record, its class.
    class_of: Vec<u32>,
    members: Lists<u32>,
    /// Classes without a new record; they are not paired with each other.
    only_old: Vec<bool>,
    old: usize,
}

impl Classes {
    pub(crate) fn new(collection: &Collection, keep: &Keep) -> Self {
        let order = keep_order(collection, keep);
        let first_alike = FirstAlike::of(collection, &order);
        let mut class_of = vec![NONE; collection.len()];
        let mut classes = 0;
        for record in &order {
            let first = first_alike.0[*record as usize];
            if first == NONE {
                continue;
            }
            if first == *record {
                class_of[*record as usize] = classes;
                classes += 1;
            } else {
                class_of[*record as usize] = class_of[first as usize];
            }
        }
        let members = Lists::new(classes as usize, || {
            order.iter().map(|record| (class_of[*record as usize], *record)).filter(|(class, _)| *class != NONE)
        });
        let old = collection.old();
        let only_old =
            (0..classes).map(|class| members.of(class).iter().all(|record| (*record as usize) < old)).collect();
        Self { order, class_of, members, only_old, old }
    }

    /// How many classes there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// All records in keep order.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// How many records there are, and how many at the beginning are old.
    pub(crate) fn records(&self) -> (usize, usize) {
        (self.class_of.len(), self.old)
    }

    /// The class of a record; none for an empty one.
    pub(crate) fn class_of(&self, record: u32) -> Option<u32> {
        Some(self.class_of[record as usize]).filter(|class| *class != NONE)
    }

    /// The records of a class, in keep order.
    pub(crate) fn members(&self, class: u32) -> &[u32] {
        self.members.of(class)
    }

    /// The record that stands for a class: the first in keep order.
    pub(crate) fn representative(&self, class: u32) -> u32 {
        self.members.of(class)[0]
    }

    /// How many pairs of records there are inside the classes, and across these pairs of classes.
    pub(crate) fn count_pairs(&self, across: impl Iterator<Item = (u32, u32)>, measure: Measure) -> u64 {
        let old_and_new = |class: u32| {
            let members = self.members(class);
            let old = members.iter().filter(|record| (**record as usize) < self.old).count() as u64;
            (old, members.len() as u64 - old)
        };
        // Records of one class are contained in each other both ways.
        let ways = if measure == Measure::Containment { 2 } else { 1 };
        let inside = (0..self.len() as u32).map(|class| {
            let (old, new) = old_and_new(class);
            ways * (new * new.saturating_sub(1) / 2 + old * new)
        });
        let across = across.map(|(left, right)| {
            let ((old_left, new_left), (old_right, new_right)) = (old_and_new(left), old_and_new(right));
            (old_left + new_left) * (old_right + new_right) - old_left * old_right
        });
        inside.sum::<u64>() + across.sum::<u64>()
    }

    /// Whether two classes may make a pair: not if all their records are old.
    pub(crate) fn may_pair(&self, left: u32, right: u32) -> bool {
        !(self.only_old[left as usize] && self.only_old[right as usize])
    }
}

/// For each record, the first record in keep order that has the same set; none for empty ones.
struct FirstAlike(Vec<u32>);

impl FirstAlike {
    fn of(collection: &Collection, order: &[u32]) -> Self {
        let mut first_alike: Vec<u32> = (0..collection.len() as u32).collect();
        for record in order.iter().filter(|record| collection.shape(**record) == Shape::Empty) {
            first_alike[*record as usize] = NONE;
        }
        Self::join_equal_sequences(collection, order, &mut first_alike);
        Self::join_equal_sets(collection, order, &mut first_alike);
        Self(first_alike)
    }

    /// Joins records whose shingles are the same, in the same order: nearly all that are identical.
    fn join_equal_sequences(collection: &Collection, order: &[u32], first_alike: &mut [u32]) {
        let entries = (0u32..).zip(order).filter(|(_, record)| first_alike[**record as usize] != NONE);
        let entries = entries.map(|(rank, record)| (collection.fingerprint(*record) as u64, rank));
        let buckets = Buckets::of(entries);
        for (_, ranks) in buckets.iter() {
            let records = ranks.iter().map(|rank| order[*rank as usize]);
            join_equal(records, |record| collection.fingerprint(record), first_alike);
        }
    }

    /// Joins records whose sets are the same although their shingles came in another order or number. Only records
    /// that share every key can be such, so only they are looked at.
    fn join_equal_sets(collection: &Collection, order: &[u32], first_alike: &mut [u32]) {
        let mark = |record: u32| match collection.keys(record) {
            // Without sketches, the least and the greatest element serve as well.
            [] => {
                let shingles = collection.shingles(record);
                let least = shingles.iter().min().copied().unwrap_or(0);
                let greatest = shingles.iter().max().copied().unwrap_or(0);
                fingerprint(&[least, greatest], collection.within(record)) as u64
            }
            // A few keys are enough: whoever shares them by chance is told apart by the set itself.
            [first, .., last] => first ^ last.rotate_left(32),
            [only] => *only,
        };
        let entries = (0u32..).zip(order).filter(|(_, record)| first_alike[**record as usize] == **record);
        let buckets = Buckets::of(entries.map(|(rank, record)| (mark(*record), rank)));
        let mut firsts: Vec<u32> = (0..first_alike.len() as u32).collect();
        let mut set = Vec::new();
        for (_, ranks) in buckets.iter() {
            let records = ranks.iter().map(|rank| order[*rank as usize]);
            let set_fingerprint = |record| {
                set.clear();
                set.extend_from_slice(collection.shingles(record));
                let distinct = sort_distinct(&mut set);
                fingerprint(&set[..distinct], collection.within(record))
            };
            join_equal(records, set_fingerprint, &mut firsts);
        }
        for first in first_alike.iter_mut().filter(|first| **first != NONE) {
            *first = firsts[*first as usize];
        }
    }
}

/// Points every record at the first one of these, in keep order, with the same fingerprint.
fn join_equal(records: impl Iterator<Item = u32>, mut fingerprint: impl FnMut(u32) -> u128, first_alike: &mut [u32]) {
    let mut firsts: HashMap<u128, u32> = HashMap::new();
    for record in records {
        first_alike[record as usize] = *firsts.entry(fingerprint(record)).or_insert(record);
    }
}
