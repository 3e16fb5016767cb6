//! Records with the same set of elements are one class: they are compared once, whatever their number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::band::{Buckets, Entries};
use crate::collection::Collection;
use crate::error::Result;
use crate::group::keep_order;
use crate::hash::fingerprint;
use crate::lists::Lists;
use crate::settings::{Keep, Measure};
use crate::shingle::Shape;

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
    /// Classes without a new record; they are not paired with each other. Empty where there are no old ones.
    only_old: Vec<bool>,
    old: usize,
}

impl Classes {
    /// The class of a record that stands for none.
    pub(crate) const NONE: u32 = NONE;

    pub(crate) fn new(collection: &Collection<'_>, keep: &Keep) -> Result<Self> {
        let order = keep_order(collection, keep);
        let earlier_alike = EarlierAlike::of(collection, &order)?;
        let mut class_of = vec![NONE; collection.len()];
        let mut classes = 0;
        for record in &order {
            let earlier = earlier_alike.0[*record as usize];
            if earlier == NONE {
                continue;
            }
            if earlier == *record {
                class_of[*record as usize] = classes;
                classes += 1;
            } else {
                class_of[*record as usize] = class_of[earlier as usize];
            }
        }
        drop(earlier_alike);
        let members = Lists::new(classes as usize, || {
            order.iter().map(|record| (class_of[*record as usize], *record)).filter(|(class, _)| *class != NONE)
        });
        let old = collection.old();
        let is_old = |record: &u32| (*record as usize) < old;
        let classes = if old > 0 { 0..classes } else { 0..0 };
        let only_old = classes.map(|class| members.of(class).iter().all(is_old)).collect();
        Ok(Self { order, class_of, members, only_old, old })
    }

    /// Classes of records that come in keep order, all of them new: `class_of` tells the class of each, and classes are
    /// numbered as they first come.
    pub(crate) fn in_keep_order(class_of: Vec<u32>) -> Self {
        let classes = class_of.iter().max().map_or(0, |last| *last as usize + 1);
        let order: Vec<u32> = (0..class_of.len() as u32).collect();
        let members = Lists::new(classes, || class_of.iter().copied().zip(0..));
        Self { order, class_of, members, only_old: Vec::new(), old: 0 }
    }

    /// For each record, its class if it stands for it.
    pub(crate) fn class_of_representatives(&self) -> Vec<u32> {
        let classes = (0u32..self.class_of.len() as u32).into_par_iter().zip(&self.class_of);
        let stands_for = |record: u32, class: u32| class != NONE && self.representative(class) == record;
        classes.map(|(record, class)| if stands_for(record, *class) { *class } else { NONE }).collect()
    }

    /// The records that stand for these classes, in input order, and the classes in the same order.
    pub(crate) fn by_representative(&self, classes: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
        let mut both: Vec<(u32, u32)> = classes.map(|class| (self.representative(class), class)).collect();
        both.par_sort_unstable();
        both.into_iter().unzip()
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
            if self.old == 0 {
                return (0, members.len() as u64);
            }
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
        self.only_old.is_empty() || !(self.only_old[left as usize] && self.only_old[right as usize])
    }
}

/// For each record, an earlier record in keep order that has the same set, itself if there is none; none for empty ones.
struct EarlierAlike(Vec<u32>);

impl EarlierAlike {
    fn of(collection: &Collection<'_>, order: &[u32]) -> Result<Self> {
        let mut earlier_alike: Vec<u32> = (0..collection.len() as u32).into_par_iter().collect();
        for record in order.iter().filter(|record| collection.shape(**record) == Shape::Empty) {
            earlier_alike[*record as usize] = NONE;
        }
        let mut ranks = Vec::new();
        // Mostly the first is kept, and then the order is that of the records.
        if !order.par_iter().enumerate().all(|(rank, record)| rank == *record as usize) {
            ranks.resize(order.len(), 0);
            for (rank, record) in (0u32..).zip(order) {
                ranks[*record as usize] = rank;
            }
        }
        let rank_of = |record: usize| ranks.get(record).copied().unwrap_or(record as u32);
        let is_full = |record: usize| collection.shape(record as u32) != Shape::Empty;
        let by_sequence = || {
            let mut entries = Entries::with_room_for(collection.len());
            collection.for_each_fingerprint(|first, fingerprints| {
                for (record, fingerprint) in (first as usize..).zip(fingerprints).filter(|(record, _)| is_full(*record))
                {
                    entries.push((*fingerprint >> 96) as u32, rank_of(record));
                }
            })?;
            Ok(Buckets::of(&entries))
        };
        let by_mark = || {
            if collection.has_sequences() {
                return Ok(Buckets::default());
            }
            let mut entries = Entries::with_room_for(collection.len());
            collection.for_each_mark(|first, marks| {
                for (record, mark) in (first as usize..).zip(marks).filter(|(record, _)| is_full(*record)) {
                    entries.push((*mark >> 32) as u32, rank_of(record));
                }
            })?;
            Ok(Buckets::of(&entries))
        };
        /// What both take for each record.
        const BYTES_OF_A_RECORD: u64 = 2 * 10;
        let fits = collection.resources().room >= BYTES_OF_A_RECORD * collection.len() as u64;
        let (by_sequence, by_mark): (Result<_>, Result<_>) =
            if fits { rayon::join(by_sequence, by_mark) } else { (by_sequence(), by_mark()) };
        Self::join_equal_sequences(collection, order, &by_sequence?, &mut earlier_alike)?;
        Self::join_equal_sets(collection, order, &by_mark?, &mut earlier_alike)?;
        Ok(Self(earlier_alike))
    }

    /// Joins records whose shingles are the same, in the same order: nearly all that are identical. Those that come together
    /// share a fourth of their fingerprint.
    fn join_equal_sequences(
        collection: &Collection<'_>,
        order: &[u32],
        buckets: &Buckets,
        earlier_alike: &mut [u32],
    ) -> Result<()> {
        let mut records: Vec<u32> = buckets.members().iter().map(|rank| order[*rank as usize]).collect();
        records.par_sort_unstable();
        let fingerprints = collection.fingerprints_of(&records)?;
        let fingerprint = |record: u32| records.binary_search(&record).map(|at| fingerprints[at]);
        let buckets: Vec<&[u32]> = buckets.iter().collect();
        let to_records = |ranks: &&[u32], records: &mut Vec<u32>| {
            records.extend(ranks.iter().map(|rank| order[*rank as usize]));
        };
        join_equal(&buckets, to_records, fingerprint, earlier_alike);
        Ok(())
    }

    /// Joins records whose sets are the same although their shingles came in another order or number. Such records have
    /// the same mark, so only the sets of those are looked at, and of equal sequences only the first. Those that come together share
    /// half of their mark.
    fn join_equal_sets(
        collection: &Collection<'_>,
        order: &[u32],
        buckets: &Buckets,
        earlier_alike: &mut [u32],
    ) -> Result<()> {
        let is_first = |record: &u32| earlier_alike[*record as usize] == *record;
        let firsts_of =
            |ranks: &[u32]| -> Vec<u32> { ranks.iter().map(|rank| order[*rank as usize]).filter(is_first).collect() };
        let buckets: Vec<Vec<u32>> = buckets.iter().map(firsts_of).filter(|firsts| firsts.len() > 1).collect();
        let mut records = buckets.concat();
        records.par_sort_unstable();
        let marks = collection.marks_of(&records)?;
        let mark = |record: &u32| records.binary_search(record).map(|at| marks[at]);
        let with_equal_marks = |mut bucket: Vec<u32>| {
            bucket.sort_by_key(mark);
            let equal = bucket.chunk_by(|left, right| mark(left) == mark(right)).filter(|equal| equal.len() > 1);
            equal.map(<[u32]>::to_vec).collect::<Vec<_>>()
        };
        let buckets: Vec<Vec<u32>> = buckets.into_par_iter().flat_map_iter(with_equal_marks).collect();
        let mut marked = buckets.concat();
        marked.par_sort_unstable();
        let fingerprints: Mutex<HashMap<u32, u128>> = Mutex::default();
        collection.supply(&marked, &|first, lists| {
            lists.sort_distinct();
            let of_run = (0..lists.len()).map(|index| {
                let record = marked[first + index];
                (record, fingerprint(lists.get(index), collection.within(record)))
            });
            fingerprints.lock().unwrap_or_else(PoisonError::into_inner).extend(of_run);
            Ok(())
        })?;
        let fingerprints = fingerprints.into_inner().unwrap_or_else(PoisonError::into_inner);
        let to_records = |bucket: &Vec<u32>, records: &mut Vec<u32>| records.extend(bucket);
        join_equal(&buckets, to_records, |record| fingerprints.get(&record), earlier_alike);
        Ok(())
    }
}

/// Points every record at the first one in its bucket with the same fingerprint. The records of a bucket come in keep order.
fn join_equal<B: Sync, T: Ord + Send>(
    buckets: &[B],
    to_records: impl Fn(&B, &mut Vec<u32>) + Sync,
    fingerprint: impl Fn(u32) -> T + Sync,
    earlier_alike: &mut [u32],
) {
    let joined_in = |(records, by_fingerprint): &mut (Vec<u32>, Vec<(T, u32)>), bucket: &B| {
        records.clear();
        to_records(bucket, records);
        by_fingerprint.clear();
        by_fingerprint.extend((0..).zip(&*records).map(|(at, record)| (fingerprint(*record), at)));
        by_fingerprint.sort_unstable();
        let record = |(_, at): &(T, u32)| records[*at as usize];
        let equal = by_fingerprint.chunk_by(|left, right| left.0 == right.0);
        equal.flat_map(|equal| equal[1..].iter().map(|other| (record(other), record(&equal[0])))).collect::<Vec<_>>()
    };
    let joined: Vec<(u32, u32)> =
        buckets.par_iter().with_min_len(64).map_init(Default::default, joined_in).flatten_iter().collect();
    for (record, first) in joined {
        earlier_alike[record as usize] = first;
    }
}
