//! Sketched records, gathered: what the later stages ask for by record.

use crate::band::BandKeys;
use crate::batch::{Batch, Content, KeepValue, RecordNumber};
use crate::error::{Error, ErrorKind, Result};
use crate::hash::fingerprint;
use crate::plan::{Method, Plan};
use crate::settings::Keep;
use crate::shingle::{Shape, Shingler};
use crate::sketch::MinHash;

/// Shingles and sketches batches of records. One a thread; it reuses its buffers.
#[derive(Clone, Debug)]
pub struct Sketcher {
    shingler: Shingler,
    sketching: Option<(MinHash, BandKeys)>,
    keeps_lengths: bool,
}

/// A batch of records, shingled and sketched.
#[derive(Clone, Debug, Default)]
pub struct Sketched {
    numbers: Vec<RecordNumber>,
    shapes: Vec<Shape>,
    fingerprints: Vec<u128>,
    within: Vec<u64>,
    keep: Vec<KeepValue>,
    /// Characters or items, where the keep order asks for them.
    lengths: Vec<u64>,
    /// The shingle hashes of all records, one record after another.
    shingles: Vec<u64>,
    shingle_ends: Vec<usize>,
    sketches: Vec<u32>,
    keys: Vec<u64>,
}

impl Sketcher {
    pub(crate) fn new(plan: &Plan) -> Self {
        let settings = plan.settings();
        Self {
            shingler: Shingler::new(settings.shingles, plan.normalize(), settings.bag),
            sketching: match plan.method() {
                Method::Sketches(scheme) => {
                    Some((MinHash::new(scheme.slots as usize, settings.seed), BandKeys::new(&scheme, settings.seed)))
                }
                Method::InvertedLists => None,
            },
            keeps_lengths: matches!(settings.keep, Keep::Longest | Keep::Shortest),
        }
    }

    /// Shingles and sketches the records of a batch.
    pub fn sketch(&mut self, batch: &Batch) -> Sketched {
        let records = batch.len();
        let mut sketched = Sketched {
            numbers: batch.numbers().to_vec(),
            within: batch.within().to_vec(),
            keep: batch.keep().to_vec(),
            shapes: Vec::with_capacity(records),
            fingerprints: Vec::with_capacity(records),
            shingle_ends: Vec::with_capacity(records),
            ..Sketched::default()
        };
        if let Some((minhash, keys)) = &self.sketching {
            sketched.sketches.reserve(records * minhash.slots() + 16);
            sketched.keys.reserve(records * keys.count());
        }
        // A word has about six letters; more room than is needed costs nothing as long as it is not touched.
        sketched.shingles.reserve(batch.content_size() / 4 + records);
        for record in 0..records {
            let start = sketched.shingles.len();
            let content = batch.content(record);
            let shape = match content {
                Content::Text(text) => self.shingler.append_text(text, &mut sketched.shingles),
                Content::Set(items) => self.shingler.append_set(items, &mut sketched.shingles),
            };
            let shingles = &sketched.shingles[start..];
            let within = sketched.within.get(record).copied().unwrap_or(0);
            sketched.shapes.push(shape);
            sketched.fingerprints.push(fingerprint(shingles, within));
            sketched.shingle_ends.push(start + shingles.len());
            if self.keeps_lengths {
                sketched.lengths.push(match content {
                    Content::Text(text) => text.chars().count() as u64,
                    Content::Set(_) => shingles.len() as u64,
                });
            }
            if let Some((minhash, keys)) = &self.sketching {
                let start = sketched.sketches.len();
                minhash.append(shingles, &mut sketched.sketches);
                keys.append(&sketched.sketches[start..], within, &mut sketched.keys);
            }
        }
        sketched
    }
}

impl Sketched {
    /// How many records there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// All records of a run, in input order. A record is called by its index in that order.
#[derive(Debug)]
pub(crate) struct Collection {
    batches: Vec<Sketched>,
    /// For each record, its batch and its index there.
    places: Vec<(u32, u32)>,
    /// The first so many records are old: compared with, never dropped.
    old: usize,
    slots: usize,
    keys: usize,
}

impl Collection {
    /// Gathers batches in input order, the old ones first.
    pub(crate) fn new(plan: &Plan, old: Vec<Sketched>, new: Vec<Sketched>) -> Result<Self> {
        let old_records = old.iter().map(Sketched::len).sum();
        let mut batches = old;
        batches.extend(new);
        let records: usize = batches.iter().map(Sketched::len).sum();
        if records >= u32::MAX as usize {
            return Err(Error::new(ErrorKind::TooLarge, format!("{records} records are more than one run can hold"))
                .advise("split the input, and compare the parts with --against"));
        }
        let places = (0u32..)
            .zip(&batches)
            .flat_map(|(batch, sketched)| (0..sketched.len() as u32).map(move |index| (batch, index)))
            .collect();
        let (slots, keys) = match plan.method() {
            Method::Sketches(scheme) => (scheme.slots as usize, scheme.bands.keys() as usize),
            Method::InvertedLists => (0, 0),
        };
        Ok(Self { batches, places, old: old_records, slots, keys })
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many records at the beginning are old.
    pub(crate) fn old(&self) -> usize {
        self.old
    }

    fn place(&self, record: u32) -> (&Sketched, usize) {
        let (batch, index) = self.places[record as usize];
        (&self.batches[batch as usize], index as usize)
    }

    pub(crate) fn shape(&self, record: u32) -> Shape {
        let (batch, index) = self.place(record);
        batch.shapes[index]
    }

    pub(crate) fn number(&self, record: u32) -> RecordNumber {
        let (batch, index) = self.place(record);
        batch.numbers[index]
    }

    pub(crate) fn fingerprint(&self, record: u32) -> u128 {
        let (batch, index) = self.place(record);
        batch.fingerprints[index]
    }

    pub(crate) fn within(&self, record: u32) -> u64 {
        let (batch, index) = self.place(record);
        batch.within.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn keep(&self, record: u32) -> &KeepValue {
        const MISSING: &KeepValue = &KeepValue::Missing;
        let (batch, index) = self.place(record);
        batch.keep.get(index).unwrap_or(MISSING)
    }

    pub(crate) fn length(&self, record: u32) -> u64 {
        let (batch, index) = self.place(record);
        batch.lengths[index]
    }

    /// The shingle hashes of a record as they came, repeats included.
    pub(crate) fn shingles(&self, record: u32) -> &[u64] {
        let (batch, index) = self.place(record);
        let start = if index == 0 { 0 } else { batch.shingle_ends[index - 1] };
        &batch.shingles[start..batch.shingle_ends[index]]
    }

    pub(crate) fn sketch(&self, record: u32) -> &[u32] {
        let (batch, index) = self.place(record);
        &batch.sketches[index * self.slots..(index + 1) * self.slots]
    }

    pub(crate) fn keys(&self, record: u32) -> &[u64] {
        let (batch, index) = self.place(record);
        &batch.keys[index * self.keys..(index + 1) * self.keys]
    }
}
