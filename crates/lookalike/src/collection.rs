//! All records of a run, for the later stages. What is asked for by record is in memory; what is gone through as a whole
//! comes column by column, part by part; shingles are supplied.

use rayon::prelude::*;

use crate::batch::{KeepValue, RecordNumber};
use crate::error::{Error, ErrorKind, Result};
use crate::hash::fingerprint;
use crate::plan::{Method, Plan};
use crate::shingle::Shape;
use crate::sketched::Sketched;
use crate::supply::{Asked, ShingleLists, Supply, Take};

/// All records of a run, in input order. A record is called by its index in that order.
pub(crate) struct Collection<'a> {
    numbers: Vec<RecordNumber>,
    shapes: Vec<Shape>,
    shingle_counts: Vec<u32>,
    within: Vec<u64>,
    keep: Vec<KeepValue>,
    lengths: Vec<u64>,
    parts: Vec<Part>,
    /// The first so many records are old: compared with, never dropped.
    old: usize,
    slots: usize,
    supply: Option<&'a dyn Supply>,
}

/// The columns of some neighbouring records.
struct Part {
    first: u32,
    sketched: Sketched,
}

impl<'a> Collection<'a> {
    /// Gathers batches in input order, the old ones first. Where the batches did not keep their shingles, somebody else
    /// supplies them.
    pub(crate) fn new(
        plan: &Plan,
        old: Vec<Sketched>,
        new: Vec<Sketched>,
        supply: Option<&'a dyn Supply>,
    ) -> Result<Self> {
        let old_records = old.iter().map(Sketched::len).sum();
        let batches = old.into_iter().chain(new);
        let mut collection = Self {
            numbers: Vec::new(),
            shapes: Vec::new(),
            shingle_counts: Vec::new(),
            within: Vec::new(),
            keep: Vec::new(),
            lengths: Vec::new(),
            parts: Vec::new(),
            old: old_records,
            slots: match plan.method() {
                Method::Sketches(scheme) => scheme.slots as usize,
                Method::InvertedLists => 0,
            },
            supply,
        };
        for mut sketched in batches.filter(|sketched| !sketched.is_empty()) {
            let first = collection.numbers.len() as u32;
            collection.numbers.extend_from_slice(&sketched.numbers);
            collection.shapes.append(&mut sketched.shapes);
            collection.shingle_counts.append(&mut sketched.shingle_counts);
            collection.within.append(&mut sketched.within);
            collection.keep.append(&mut sketched.keep);
            collection.lengths.append(&mut sketched.lengths);
            collection.parts.push(Part { first, sketched });
            if collection.numbers.len() >= u32::MAX as usize {
                return Err(Error::new(ErrorKind::TooLarge, "there are more records than one run can hold")
                    .advise("split the input, and compare the parts with --against"));
            }
        }
        Ok(collection)
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// How many records at the beginning are old.
    pub(crate) fn old(&self) -> usize {
        self.old
    }

    pub(crate) fn numbers(&self) -> &[RecordNumber] {
        &self.numbers
    }

    pub(crate) fn shape(&self, record: u32) -> Shape {
        self.shapes[record as usize]
    }

    /// Shingles of a record, repeats counted.
    pub(crate) fn shingle_count(&self, record: u32) -> usize {
        self.shingle_counts[record as usize] as usize
    }

    pub(crate) fn within(&self, record: u32) -> u64 {
        self.within.get(record as usize).copied().unwrap_or(0)
    }

    pub(crate) fn keep(&self, record: u32) -> &KeepValue {
        const MISSING: &KeepValue = &KeepValue::Missing;
        self.keep.get(record as usize).unwrap_or(MISSING)
    }

    pub(crate) fn length(&self, record: u32) -> u64 {
        self.lengths[record as usize]
    }

    /// Bytes that the sketches or sets may take that are loaded at a time.
    pub(crate) fn room(&self) -> u64 {
        u64::MAX
    }

    /// How many MinHash values a record has.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Shows the fingerprints of all records, part by part, each with its first record.
    pub(crate) fn for_each_fingerprint(&self, mut show: impl FnMut(u32, &[u128])) -> Result<()> {
        self.parts.iter().for_each(|part| show(part.first, &part.sketched.fingerprints));
        Ok(())
    }

    /// Shows the marks of all records: equal for equal sets, and nearly always different for others.
    pub(crate) fn for_each_mark(&self, mut show: impl FnMut(u32, &[u64])) -> Result<()> {
        self.parts.iter().for_each(|part| show(part.first, &part.sketched.marks));
        Ok(())
    }

    /// Shows the keys that all records have in one band.
    pub(crate) fn for_each_key(&self, band: usize, mut show: impl FnMut(u32, &[u64])) -> Result<()> {
        self.parts.iter().for_each(|part| show(part.first, part.sketched.keys_of_band(band)));
        Ok(())
    }

    /// The slots of these records, which ascend, one record after another.
    pub(crate) fn slots_of(&self, records: &[u32]) -> Result<Vec<u16>> {
        let mut slots = Vec::with_capacity(records.len() * self.slots);
        self.for_each_part_of(records, |part, records| {
            for record in records {
                let start = (record - part.first) as usize * self.slots;
                slots.extend_from_slice(&part.sketched.slots[start..start + self.slots]);
            }
        });
        Ok(slots)
    }

    fn fingerprints_of(&self, records: &[u32]) -> Vec<u128> {
        let mut fingerprints = Vec::with_capacity(records.len());
        self.for_each_part_of(records, |part, records| {
            let of = |record: &u32| part.sketched.fingerprints[(record - part.first) as usize];
            fingerprints.extend(records.iter().map(of));
        });
        fingerprints
    }

    fn for_each_part_of(&self, mut records: &[u32], mut show: impl FnMut(&Part, &[u32])) {
        while let Some(first) = records.first() {
            let part = &self.parts[self.parts.partition_point(|part| part.first <= *first) - 1];
            let end = part.first + part.sketched.len() as u32;
            let (inside, behind) = records.split_at(records.partition_point(|record| *record < end));
            show(part, inside);
            records = behind;
        }
    }

    /// Hands the shingles of these records, which ascend, to `take`; see [`Supply::supply`].
    pub(crate) fn supply(&self, records: &[u32], take: &Take<'_>) -> Result<()> {
        let Some(supply) = self.supply.filter(|_| self.parts.iter().all(|part| part.sketched.shingles.is_none()))
        else {
            return self.supply_kept(records, take);
        };
        let asked: Vec<Asked> =
            records.iter().map(|record| Asked { record: *record, number: self.numbers[*record as usize] }).collect();
        let fingerprints = self.fingerprints_of(records);
        supply.supply(&asked, &|first, lists| {
            for index in 0..lists.len() {
                let within = self.within(records[first + index]);
                if fingerprint(lists.get(index), within) != fingerprints[first + index] {
                    return Err(Error::new(ErrorKind::Changed, "a record is not what it was when it was read first")
                        .advise("run again once nothing writes to the input"));
                }
            }
            take(first, lists)
        })
    }

    /// Supplies shingles that were kept.
    fn supply_kept(&self, records: &[u32], take: &Take<'_>) -> Result<()> {
        const RECORDS_IN_A_RUN: usize = 1024;
        records.par_chunks(RECORDS_IN_A_RUN).enumerate().try_for_each(|(run, records)| {
            let mut lists = ShingleLists::default();
            self.for_each_part_of(records, |part, records| {
                if let Some(kept) = &part.sketched.shingles {
                    records.iter().for_each(|record| lists.push(kept.get((record - part.first) as usize)));
                }
            });
            take(run * RECORDS_IN_A_RUN, &mut lists)
        })
    }
}
