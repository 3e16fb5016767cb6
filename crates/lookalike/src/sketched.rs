//! Batches of records, shingled and sketched: what is kept of a record once its text is gone.

use crate::band::BandKeys;
use crate::batch::{Batch, Content, KeepValue, RecordNumber};
use crate::hash::{combine, fingerprint, fingerprint_of_text};
use crate::plan::{Method, Plan};
use crate::settings::{Keep, Verify};
use crate::shingle::{Shape, Shingler};
use crate::sketch::{MinHash, SlotWidth};
use crate::supply::ShingleLists;
use crate::work::Stored;

/// Shingles and sketches batches of records. One a thread; it reuses its buffers.
#[derive(Clone, Debug)]
pub struct Sketcher {
    shingler: Shingler,
    /// What gives the elements that are verified, where those are not the shingles.
    supplier: Option<Shingler>,
    sketching: Option<(MinHash, BandKeys)>,
    slot_width: SlotWidth,
    keeps_lengths: bool,
    keeps_shingles: bool,
    shingles: Vec<u64>,
    supplied: Vec<u64>,
    sketch: Vec<u32>,
    /// The keys of a batch, record by record.
    keys: Vec<u64>,
}

/// A batch of records, shingled and sketched, in columns.
#[derive(Clone, Debug, Default)]
pub struct Sketched {
    pub(crate) numbers: Vec<RecordNumber>,
    pub(crate) shapes: Vec<Shape>,
    /// Elements by which each record is verified, repeats counted.
    pub(crate) shingle_counts: Vec<u32>,
    /// Of each record's shingles as they came, and of the value that it may only meet itself with.
    pub(crate) fingerprints: Vec<u128>,
    /// Equal for records with equal sets, and nearly always different for others.
    pub(crate) marks: Vec<u64>,
    pub(crate) within: Vec<u64>,
    pub(crate) keep: Vec<KeepValue>,
    /// Characters or items, where the keep order asks for them.
    pub(crate) lengths: Vec<u64>,
    /// What is kept of every MinHash value, record by record.
    pub(crate) slots: Vec<u8>,
    /// The upper halves of the first keys of all records, then those of the second ones, …. Among 100 million records a few
    /// share one by chance, which the filter finds.
    pub(crate) keys: Vec<u32>,
    /// The shingles themselves, where nobody could supply them again.
    pub(crate) shingles: Option<ShingleLists>,
    /// Whether any record is a set, whose elements have no order.
    pub(crate) holds_sets: bool,
    /// The work file that holds fingerprints, marks, slots and keys, if they are not here.
    pub(crate) stored: Option<Stored>,
}

impl Sketcher {
    pub(crate) fn new(plan: &Plan) -> Self {
        let settings = plan.settings();
        Self {
            shingler: plan.shingler(),
            supplier: (settings.verify == Verify::Edit).then(|| plan.supplier()),
            sketching: match plan.method() {
                Method::Sketches(scheme) => {
                    Some((MinHash::new(scheme.slots as usize, settings.seed), BandKeys::new(&scheme, settings.seed)))
                }
                Method::InvertedLists | Method::Fingerprints(_) => None,
            },
            slot_width: plan.slot_width(),
            keeps_lengths: matches!(settings.keep, Keep::Longest | Keep::Shortest),
            keeps_shingles: true,
            shingles: Vec::new(),
            supplied: Vec::new(),
            sketch: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Does not keep the shingles: those that are needed are supplied again ([`crate::Supply`]). Without sketches all are
    /// needed, and all are kept.
    pub fn forget_shingles(mut self) -> Self {
        self.keeps_shingles = self.sketching.is_none();
        self
    }

    /// Shingles and sketches the records of a batch.
    pub fn sketch(&mut self, batch: &Batch) -> Sketched {
        let records = batch.len();
        let mut sketched = Sketched {
            numbers: batch.numbers().to_vec(),
            within: batch.within().to_vec(),
            keep: batch.keep().to_vec(),
            shapes: Vec::with_capacity(records),
            shingle_counts: Vec::with_capacity(records),
            fingerprints: Vec::with_capacity(records),
            marks: Vec::with_capacity(records),
            shingles: self.keeps_shingles.then(ShingleLists::default),
            ..Sketched::default()
        };
        if let Some((minhash, _)) = &self.sketching {
            sketched.slots.reserve_exact(records * minhash.slots() * self.slot_width.bytes());
        }
        let apart = self.supplier.as_ref().unwrap_or(&self.shingler).apart();
        self.keys.clear();
        for record in 0..records {
            let content = batch.content(record);
            self.shingles.clear();
            sketched.holds_sets |= matches!(content, Content::Set(_));
            let shape = self.shingler.append(content, &mut self.shingles);
            let within = sketched.within.get(record).copied().unwrap_or(0);
            let supplied = match &mut self.supplier {
                None => &self.shingles,
                Some(supplier) => {
                    self.supplied.clear();
                    supplier.append(content, &mut self.supplied);
                    &self.supplied
                }
            };
            sketched.shapes.push(shape);
            sketched.shingle_counts.push(supplied.len().try_into().unwrap_or(u32::MAX));
            sketched.fingerprints.push(match content {
                Content::Text(_) => fingerprint_of_text(supplied, apart, within),
                Content::Set(_) => fingerprint(supplied, within),
            });
            if let Some(lists) = &mut sketched.shingles {
                lists.push(supplied);
            }
            if self.keeps_lengths {
                sketched.lengths.push(match content {
                    Content::Text(text) => text.chars().count() as u64,
                    Content::Set(_) => self.shingles.len() as u64,
                });
            }
            sketched.marks.push(match &self.sketching {
                Some((minhash, keys)) => {
                    self.sketch.clear();
                    minhash.append(&self.shingles, &mut self.sketch);
                    self.slot_width.append(&self.sketch, &mut sketched.slots);
                    let start = self.keys.len();
                    keys.append(&self.sketch, within, &mut self.keys);
                    self.keys[start..].iter().fold(0u64, |mark, key| mark.wrapping_add(*key))
                }
                // Without sketches, the least and the greatest element serve as well.
                None => {
                    let least = self.shingles.iter().min().copied().unwrap_or(0);
                    let greatest = self.shingles.iter().max().copied().unwrap_or(0);
                    combine(&[least, greatest, within])
                }
            });
        }
        sketched.keys = turned(&self.keys, records);
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

    /// Whether any record has a value that tells whether it is kept.
    pub fn has_keep_values(&self) -> bool {
        self.keep.iter().any(|value| *value != KeepValue::Missing)
    }

    /// Whether any record is a set, which is compared as it is.
    pub fn holds_sets(&self) -> bool {
        self.holds_sets
    }

    /// Bytes that the batch has in memory and that a work file could hold.
    pub fn storable_bytes(&self) -> usize {
        self.slots.len() + 4 * self.keys.len() + 24 * self.marks.len()
    }

    /// Bytes of the shingles that were kept.
    pub fn shingle_bytes(&self) -> usize {
        self.shingles.as_ref().map_or(0, |lists| 8 * (lists.shingles.len() + lists.ends.len()))
    }

    /// The keys of one band, one for each record.
    pub(crate) fn keys_of_band(&self, band: usize) -> &[u32] {
        let records = self.marks.len();
        &self.keys[band * records..(band + 1) * records]
    }
}

/// Rows of keys, one for each record, as columns of their upper halves: a band is looked at as a whole.
fn turned(rows: &[u64], records: usize) -> Vec<u32> {
    let width = rows.len().checked_div(records).unwrap_or(0);
    let mut columns = Vec::with_capacity(rows.len());
    for band in 0..width {
        columns.extend(rows.iter().skip(band).step_by(width).map(|key| (key >> 32) as u32));
    }
    columns
}
