//! All records of a run, for the later stages. What is asked for by record is in memory; what is gone through as a whole
//! comes column by column, part by part; shingles are supplied.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::batch::{KeepValue, RecordNumber};
use crate::columns::Plain;
use crate::error::{Error, ErrorKind, Result};
use crate::hash::{fingerprint, fingerprint_of_text};
use crate::plan::{Method, Plan};
use crate::run::Resources;
use crate::settings::Verify;
use crate::shingle::Shape;
use crate::sketch::SlotWidth;
use crate::sketched::Sketched;
use crate::supply::{Asked, ShingleLists, Take};
use crate::work::{WorkFile, columns};

/// Rows of a work file that are so near each other are rather read with what is between them.
const NEAR_BYTES: usize = 64 << 10;
/// Files that are read at the same time.
const FILES_AT_ONCE: usize = 64;
/// Records whose part is found by looking for that of the first.
const RECORDS_IN_A_BLOCK: usize = 64;
/// Rows that are copied or read at once at most.
const ROWS_AT_ONCE: usize = 4096;

/// All records of a run, in input order. A record is called by its index in that order.
pub(crate) struct Collection<'a> {
    numbers: Arc<Vec<RecordNumber>>,
    shapes: Vec<Shape>,
    shingle_counts: Vec<u32>,
    within: Vec<u64>,
    keep: Vec<KeepValue>,
    lengths: Vec<u64>,
    /// In input order.
    parts: Vec<Part>,
    /// Of every so many records, the part of the first.
    part_of_block: Vec<u32>,
    files: Vec<Arc<WorkFile>>,
    /// The first so many records are old: compared with, never dropped.
    old: usize,
    slots: usize,
    slot_width: SlotWidth,
    /// Whether records are verified by sequences, whose elements have an order and occur more than once.
    has_sequences: bool,
    /// Every so many-th element of a text tells the others.
    apart: usize,
    resources: &'a Resources<'a>,
}

/// The columns of some neighbouring records.
struct Part {
    first: u32,
    records: u32,
    sketched: Sketched,
    /// Which file holds its columns.
    file: Option<usize>,
}

impl Part {
    fn end(&self) -> u32 {
        self.first + self.records
    }
}

/// Where the columns of one kind are.
struct ColumnPlace<T: 'static> {
    in_memory: fn(&Sketched) -> &[T],
    in_file: usize,
}

const FINGERPRINTS: ColumnPlace<u128> =
    ColumnPlace { in_memory: |sketched| &sketched.fingerprints, in_file: columns::FINGERPRINTS };
const MARKS: ColumnPlace<u64> = ColumnPlace { in_memory: |sketched| &sketched.marks, in_file: columns::MARKS };
const SLOTS: ColumnPlace<u8> = ColumnPlace { in_memory: |sketched| &sketched.slots, in_file: columns::SLOTS };

impl<'a> Collection<'a> {
    /// Gathers batches in input order, the old ones first. Where the batches did not keep their shingles, somebody else
    /// supplies them.
    pub(crate) fn new(
        plan: &Plan,
        old: Vec<Sketched>,
        new: Vec<Sketched>,
        resources: &'a Resources<'a>,
    ) -> Result<Self> {
        let old_records = old.iter().map(Sketched::len).sum();
        let records = old_records + new.iter().map(Sketched::len).sum::<usize>();
        let batches = old.into_iter().chain(new);
        let mut collection = Self {
            numbers: Arc::default(),
            shapes: Vec::with_capacity(records),
            shingle_counts: Vec::with_capacity(records),
            within: Vec::new(),
            keep: Vec::new(),
            lengths: Vec::new(),
            parts: Vec::new(),
            part_of_block: Vec::with_capacity(records.div_ceil(RECORDS_IN_A_BLOCK)),
            files: Vec::new(),
            old: old_records,
            slots: match plan.method() {
                Method::Sketches(scheme) => scheme.slots as usize,
                Method::InvertedLists | Method::Fingerprints(_) => 0,
            },
            slot_width: plan.slot_width(),
            has_sequences: plan.settings().verify == Verify::Edit,
            apart: plan.supplier().apart(),
            resources,
        };
        let mut numbers = Vec::with_capacity(records);
        let mut file_of: HashMap<*const WorkFile, usize> = HashMap::new();
        for mut sketched in batches.filter(|sketched| !sketched.is_empty()) {
            let first = numbers.len() as u32;
            numbers.append(&mut sketched.numbers);
            collection.shapes.append(&mut sketched.shapes);
            collection.shingle_counts.append(&mut sketched.shingle_counts);
            // Not every input has fields: what some records lack must not shift what others have.
            append_at(&mut collection.within, first, &mut sketched.within, 0);
            append_at(&mut collection.keep, first, &mut sketched.keep, KeepValue::Missing);
            collection.lengths.append(&mut sketched.lengths);
            let file = sketched.stored.as_ref().map(|stored| {
                *file_of.entry(Arc::as_ptr(&stored.file)).or_insert_with(|| {
                    collection.files.push(Arc::clone(&stored.file));
                    collection.files.len() - 1
                })
            });
            let blocks = numbers.len().div_ceil(RECORDS_IN_A_BLOCK);
            collection.part_of_block.resize(blocks, collection.parts.len() as u32);
            collection.parts.push(Part { first, records: numbers.len() as u32 - first, sketched, file });
            if numbers.len() >= u32::MAX as usize {
                return Err(Error::new(ErrorKind::TooLarge, "there are more records than one run can hold")
                    .advise("split the input, and compare the parts with --against"));
            }
        }
        collection.numbers = Arc::new(numbers);
        Ok(collection)
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether records are verified by sequences instead of sets.
    pub(crate) fn has_sequences(&self) -> bool {
        self.has_sequences
    }

    /// Whether any record is a set, whose elements have no order.
    pub(crate) fn holds_sets(&self) -> bool {
        self.parts.iter().any(|part| part.sketched.holds_sets)
    }

    /// How many records at the beginning are old.
    pub(crate) fn old(&self) -> usize {
        self.old
    }

    pub(crate) fn numbers(&self) -> &Arc<Vec<RecordNumber>> {
        &self.numbers
    }

    pub(crate) fn shape(&self, record: u32) -> Shape {
        self.shapes[record as usize]
    }

    /// Shingles of a record, repeats counted.
    pub(crate) fn shingle_count(&self, record: u32) -> usize {
        self.shingle_counts[record as usize] as usize
    }

    /// Whether two records may meet: they have the same value, where only those do.
    pub(crate) fn may_meet(&self, left: u32, right: u32) -> bool {
        self.within.is_empty() || self.within(left) == self.within(right)
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

    /// What the run may use.
    pub(crate) fn resources(&self) -> &Resources<'a> {
        self.resources
    }

    /// How many MinHash values a record has.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Shows the fingerprints of all records, part by part, each with its first record. Parts come in any order.
    pub(crate) fn for_each_fingerprint(&self, show: impl FnMut(u32, &[u128])) -> Result<()> {
        self.for_each(FINGERPRINTS.in_memory, |file| file.column(FINGERPRINTS.in_file), show)
    }

    /// The fingerprints of these records, which ascend.
    pub(crate) fn fingerprints_of(&self, records: &[u32]) -> Result<Vec<u128>> {
        self.rows_of(&FINGERPRINTS, 1, records)
    }

    /// Shows the marks of all records: equal for equal sets, and nearly always different for others.
    pub(crate) fn for_each_mark(&self, show: impl FnMut(u32, &[u64])) -> Result<()> {
        self.for_each(MARKS.in_memory, |file| file.column(MARKS.in_file), show)
    }

    /// The marks of these records, which ascend.
    pub(crate) fn marks_of(&self, records: &[u32]) -> Result<Vec<u64>> {
        self.rows_of(&MARKS, 1, records)
    }

    /// Shows the keys that all records have in one band, as far as they are kept.
    pub(crate) fn for_each_key(&self, band: usize, show: impl FnMut(u32, &[u32])) -> Result<()> {
        let in_file = |file: &WorkFile| {
            let records = file.len_of::<u64>(columns::NUMBERS);
            file.read(columns::KEYS, band * records..(band + 1) * records)
        };
        self.for_each(|sketched| sketched.keys_of_band(band), in_file, show)
    }

    fn for_each<T>(
        &self,
        in_memory: impl Fn(&Sketched) -> &[T],
        in_file: impl Fn(&WorkFile) -> Result<Vec<T>>,
        mut show: impl FnMut(u32, &[T]),
    ) -> Result<()> {
        let mut in_files: Vec<Vec<&Part>> = vec![Vec::new(); self.files.len()];
        for part in &self.parts {
            match part.file {
                Some(file) => in_files[file].push(part),
                None => show(part.first, in_memory(&part.sketched)),
            }
        }
        for (file, parts) in self.files.iter().zip(in_files) {
            let column = in_file(file)?;
            for part in parts {
                if let Some(stored) = &part.sketched.stored {
                    show(part.first, column.get(stored.rows.clone()).ok_or_else(|| file.damaged())?);
                }
            }
        }
        Ok(())
    }

    /// How much of each is kept.
    pub(crate) fn slot_width(&self) -> SlotWidth {
        self.slot_width
    }

    /// Bytes that are kept of the slots of a record.
    pub(crate) fn slot_bytes(&self) -> usize {
        self.slots * self.slot_width.bytes()
    }

    /// What is kept of the slots of these records, which ascend, one record after another.
    pub(crate) fn slots_of(&self, records: &[u32]) -> Result<Vec<u8>> {
        self.rows_of(&SLOTS, self.slot_bytes(), records)
    }

    /// The rows that these records, which ascend, have in a column of so many numbers a record.
    fn rows_of<T: Plain + Default + Send>(
        &self,
        place: &ColumnPlace<T>,
        width: usize,
        records: &[u32],
    ) -> Result<Vec<T>> {
        let mut rows = vec![T::default(); records.len() * width];
        // By all threads: memory that is touched for the first time is dear. What is in files is found, and read below.
        let chunks = rows.par_chunks_mut(ROWS_AT_ONCE * width.max(1)).zip(records.par_chunks(ROWS_AT_ONCE));
        let found = chunks.enumerate().map(|(chunk, (rows, records))| {
            let (mut at, mut in_files) = (0, Vec::new());
            self.for_each_part_of(records, |part, records| {
                for record in records {
                    let index = (record - part.first) as usize;
                    match (part.file, &part.sketched.stored) {
                        (Some(file), Some(stored)) => {
                            in_files.push((file, (stored.rows.start + index, chunk * ROWS_AT_ONCE + at)));
                        }
                        _ => {
                            let row = &(place.in_memory)(&part.sketched)[index * width..(index + 1) * width];
                            rows[at * width..(at + 1) * width].copy_from_slice(row);
                        }
                    }
                    at += 1;
                }
            });
            in_files
        });
        // For each file, the rows that are wanted of it, and where they go.
        let mut in_files: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.files.len()];
        for (file, wanted) in found.collect::<Vec<_>>().into_iter().flatten() {
            in_files[file].push(wanted);
        }
        let mut files: Vec<_> = self.files.iter().zip(in_files).collect();
        // What was read waits until it is put in its place, so not all files are read at once.
        for files in files.chunks_mut(FILES_AT_ONCE) {
            let read = files
                .par_iter_mut()
                .map(|(file, wanted)| {
                    wanted.sort_unstable();
                    read_rows(file, place.in_file, width, wanted)
                })
                .collect::<Result<Vec<Vec<T>>>>()?;
            for ((_, wanted), read) in files.iter().zip(read) {
                for ((_, at), row) in wanted.iter().zip(read.chunks_exact(width)) {
                    rows[at * width..(at + 1) * width].copy_from_slice(row);
                }
            }
        }
        Ok(rows)
    }

    #[inline]
    fn part_of(&self, record: u32) -> &Part {
        let mut at = self.part_of_block[record as usize / RECORDS_IN_A_BLOCK] as usize;
        while self.parts[at].end() <= record {
            at += 1;
        }
        &self.parts[at]
    }

    fn for_each_part_of(&self, mut records: &[u32], mut show: impl FnMut(&Part, &[u32])) {
        while let Some(first) = records.first() {
            let part = self.part_of(*first);
            let (inside, behind) = records.split_at(records.partition_point(|record| *record < part.end()));
            show(part, inside);
            records = behind;
        }
    }

    /// What is kept of the slots of a record whose sketch is in memory.
    pub(crate) fn slots_in_memory(&self, record: u32) -> &[u8] {
        let part = self.part_of(record);
        let width = self.slot_bytes();
        let start = (record - part.first) as usize * width;
        &part.sketched.slots[start..start + width]
    }

    /// Whether all sketches are in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether sketches are in files, and can be had again.
    pub(crate) fn is_in_files(&self) -> bool {
        self.parts.iter().all(|part| part.file.is_some())
    }

    /// Forgets what only candidates are found by, which leaves room for sets. Slots may still be needed.
    pub(crate) fn forget_sketches(&mut self, are_slots_needed: bool) {
        for part in &mut self.parts {
            if !are_slots_needed {
                part.sketched.slots = Vec::new();
            }
            part.sketched.keys = Vec::new();
            part.sketched.marks = Vec::new();
        }
    }

    /// Hands the shingles of these records, which ascend, to `take`; see [`crate::Supply::supply`].
    pub(crate) fn supply(&self, records: &[u32], take: &Take<'_>) -> Result<()> {
        let keeps = self.parts.iter().any(|part| part.sketched.shingles.is_some());
        let Some(supply) = self.resources.supply.filter(|_| !keeps) else {
            return self.supply_kept(records, take);
        };
        let asked: Vec<Asked> =
            records.iter().map(|record| Asked { record: *record, number: self.numbers[*record as usize] }).collect();
        let fingerprints = self.fingerprints_of(records)?;
        supply.supply(&asked, &|first, lists| {
            for index in 0..lists.len() {
                let (shingles, within) = (lists.get(index), self.within(records[first + index]));
                let expected = fingerprints[first + index];
                // Whether it is a text or a set is not known here.
                if fingerprint_of_text(shingles, self.apart, within) != expected
                    && fingerprint(shingles, within) != expected
                {
                    return Err(Error::new(ErrorKind::Changed, "a record is not what it was when it was read first")
                        .advise("run again once nothing writes to the input"));
                }
            }
            take(first, lists)
        })
    }

    /// Whether it costs much to ask for the shingles of a few records: [`crate::Supply::goes_through_all`].
    pub(crate) fn is_supplied_in_bulk(&self) -> bool {
        let keeps = self.parts.iter().any(|part| part.sketched.shingles.is_some());
        !keeps && self.resources.supply.is_some_and(|supply| supply.goes_through_all())
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

/// Appends the values of records from `first` on, if they have any; those before that had none get `missing`.
fn append_at<T: Clone>(column: &mut Vec<T>, first: u32, values: &mut Vec<T>, missing: T) {
    if !values.is_empty() {
        column.resize(first as usize, missing);
        column.append(values);
    }
}

/// These rows of a column, in this order, in which they ascend. Where they go is not looked at.
fn read_rows<T: Plain>(file: &WorkFile, column: usize, width: usize, wanted: &[(usize, usize)]) -> Result<Vec<T>> {
    let mut rows = Vec::with_capacity(wanted.len() * width);
    // Rows that are near each other are read with one call.
    for near in wanted.chunk_by(|(left, _), (right, _)| (right - left) * width * T::BYTES < NEAR_BYTES) {
        for near in near.chunks(ROWS_AT_ONCE) {
            let (first, last) = (near[0].0, near[near.len() - 1].0);
            let read: Vec<T> = file.read(column, first * width..(last + 1) * width)?;
            for (row, _) in near {
                let from = (row - first) * width;
                rows.extend_from_slice(&read[from..from + width]);
            }
        }
    }
    Ok(rows)
}
