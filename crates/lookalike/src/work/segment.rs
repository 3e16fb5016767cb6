//! Sketched batches in a work file. What is asked for by record stays in memory, the rest is read when it is needed.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Stamp, WorkFile, WorkWriter};
use crate::batch::{KeepValue, RecordNumber};
use crate::error::Result;
use crate::shingle::Shape;
use crate::sketched::Sketched;

/// The columns of a segment, in order.
pub(crate) mod columns {
    pub(crate) const BATCH_ENDS: usize = 0;
    pub(crate) const NUMBERS: usize = 1;
    pub(crate) const SHAPES: usize = 2;
    pub(crate) const SHINGLE_COUNTS: usize = 3;
    pub(crate) const WITHIN: usize = 4;
    pub(crate) const LENGTHS: usize = 5;
    pub(crate) const KEEP: usize = 6;
    pub(crate) const FINGERPRINTS: usize = 7;
    pub(crate) const MARKS: usize = 8;
    pub(crate) const SLOTS: usize = 9;
    /// The first keys of all records of the segment, then the second ones, ….
    pub(crate) const KEYS: usize = 10;
    pub(crate) const ATTACHED_ENDS: usize = 11;
    pub(crate) const ATTACHED: usize = 12;
}

/// Where the columns of a batch are.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) file: Arc<WorkFile>,
    /// Which rows of the file are the batch's.
    pub(crate) rows: Range<usize>,
}

/// Batches that are written to one work file, each with some bytes of its own that the engine does not look at.
#[derive(Debug, Default)]
pub struct Segment {
    batches: Vec<Sketched>,
    attached: Vec<Vec<u8>>,
}

impl Segment {
    /// Adds a batch.
    pub fn push(&mut self, batch: Sketched, attached: Vec<u8>) {
        self.batches.push(batch);
        self.attached.push(attached);
    }

    /// Writes the batches to a file of this run, and gives them back without what is now there.
    pub fn store(self, path: &Path, stamp: Stamp) -> Result<Vec<Sketched>> {
        let Self { mut batches, attached } = self;
        // A column is of all records or of none.
        let (has_within, has_keep) =
            (batches.iter().any(|batch| !batch.within.is_empty()), batches.iter().any(|batch| !batch.keep.is_empty()));
        for batch in &mut batches {
            batch.within.resize(if has_within { batch.len() } else { 0 }, 0);
            batch.keep.resize(if has_keep { batch.len() } else { 0 }, KeepValue::Missing);
        }
        let mut writer = WorkWriter::create(path, stamp)?;
        let ends = ends_of(batches.iter().map(Sketched::len));
        writer.column(&ends)?;
        let numbers: Vec<u64> =
            batches.iter().flat_map(|batch| &batch.numbers).map(|number| number.to_bits()).collect();
        writer.column(&numbers)?;
        let shapes: Vec<u8> = batches.iter().flat_map(|batch| &batch.shapes).map(|shape| *shape as u8).collect();
        writer.column(&shapes)?;
        writer.column_of(batches.iter().map(|batch| batch.shingle_counts.as_slice()))?;
        writer.column_of(batches.iter().map(|batch| batch.within.as_slice()))?;
        writer.column_of(batches.iter().map(|batch| batch.lengths.as_slice()))?;
        let mut keep = Vec::new();
        batches.iter().flat_map(|batch| &batch.keep).for_each(|value| write_keep(value, &mut keep));
        writer.column(&keep)?;
        writer.column_of(batches.iter().map(|batch| batch.fingerprints.as_slice()))?;
        writer.column_of(batches.iter().map(|batch| batch.marks.as_slice()))?;
        writer.column_of(batches.iter().map(|batch| batch.slots.as_slice()))?;
        let bands = batches.iter().map(|batch| batch.keys.len().checked_div(batch.len()).unwrap_or(0)).max();
        let filled = || batches.iter().filter(|batch| !batch.is_empty());
        let by_band = (0..bands.unwrap_or(0)).flat_map(|band| filled().map(move |batch| batch.keys_of_band(band)));
        writer.column_of(by_band)?;
        writer.column(&ends_of(attached.iter().map(Vec::len)))?;
        writer.column_of(attached.iter().map(Vec::as_slice))?;
        let file = Arc::new(writer.finish()?);
        let mut start = 0;
        for (batch, end) in batches.iter_mut().zip(ends) {
            batch.fingerprints = Vec::new();
            batch.marks = Vec::new();
            batch.slots = Vec::new();
            batch.keys = Vec::new();
            batch.shingles = None;
            batch.stored = Some(Stored { file: Arc::clone(&file), rows: start..end as usize });
            start = end as usize;
        }
        Ok(batches)
    }

    /// Reads the batches of a file back, as [`Segment::store`] gave them, each with its attached bytes. Every byte of the
    /// file is checked.
    pub fn load(path: &Path, stamp: Stamp) -> Result<Vec<(Sketched, Vec<u8>)>> {
        let file = Arc::new(WorkFile::open(path, stamp)?);
        file.check()?;
        let ends: Vec<u64> = file.column(columns::BATCH_ENDS)?;
        let attached_ends: Vec<u64> = file.column(columns::ATTACHED_ENDS)?;
        let attached: Vec<u8> = file.column(columns::ATTACHED)?;
        let numbers: Vec<u64> = file.column(columns::NUMBERS)?;
        let shapes: Vec<u8> = file.column(columns::SHAPES)?;
        let counts: Vec<u32> = file.column(columns::SHINGLE_COUNTS)?;
        let within: Vec<u64> = file.column(columns::WITHIN)?;
        let lengths: Vec<u64> = file.column(columns::LENGTHS)?;
        let keep: Vec<u8> = file.column(columns::KEEP)?;
        let damaged = || file.damaged();
        let keep = read_keep(&keep).ok_or_else(damaged)?;
        let (mut start, mut attached_start) = (0, 0);
        ends.iter()
            .zip(attached_ends)
            .map(|(end, attached_end)| {
                let rows = start..*end as usize;
                start = rows.end;
                let attached = attached.get(attached_start..attached_end as usize).ok_or_else(damaged)?.to_vec();
                attached_start = attached_end as usize;
                let batch = Sketched {
                    numbers: part(&numbers, &rows).iter().map(|bits| RecordNumber::from_bits(*bits)).collect(),
                    shapes: part(&shapes, &rows).iter().map(|shape| read_shape(*shape)).collect(),
                    shingle_counts: part(&counts, &rows).to_vec(),
                    within: part(&within, &rows).to_vec(),
                    lengths: part(&lengths, &rows).to_vec(),
                    keep: part(&keep, &rows).to_vec(),
                    stored: Some(Stored { file: Arc::clone(&file), rows }),
                    ..Sketched::default()
                };
                Ok((batch, attached))
            })
            .collect()
    }
}

/// Where each of several things ends that stand one behind the other.
fn ends_of(lengths: impl Iterator<Item = usize>) -> Vec<u64> {
    let ends = lengths.scan(0, |end, length| {
        *end += length as u64;
        Some(*end)
    });
    ends.collect()
}

/// A batch's part of a column; nothing where the column is empty because nobody asked for it.
fn part<'a, T>(column: &'a [T], rows: &Range<usize>) -> &'a [T] {
    column.get(rows.clone()).unwrap_or_default()
}

fn read_shape(shape: u8) -> Shape {
    match shape {
        0 => Shape::Empty,
        1 => Shape::Short,
        _ => Shape::Full,
    }
}

fn write_keep(value: &KeepValue, bytes: &mut Vec<u8>) {
    match value {
        KeepValue::Missing => bytes.push(0),
        KeepValue::Number(number) => {
            bytes.push(1);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        KeepValue::Integer(integer) => {
            bytes.push(2);
            bytes.extend_from_slice(&integer.to_le_bytes());
        }
        KeepValue::Text(text) => {
            bytes.push(3);
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

fn read_keep(mut bytes: &[u8]) -> Option<Vec<KeepValue>> {
    let mut values = Vec::new();
    while let Some(tag) = bytes.split_off_first() {
        let mut word = || bytes.split_off(..8)?.first_chunk::<8>().copied();
        values.push(match tag {
            0 => KeepValue::Missing,
            1 => KeepValue::Number(f64::from_le_bytes(word()?)),
            2 => KeepValue::Integer(i128::from_le_bytes(*bytes.split_off(..16)?.first_chunk()?)),
            _ => {
                let length = u64::from_le_bytes(word()?) as usize;
                KeepValue::Text(std::str::from_utf8(bytes.split_off(..length)?).ok()?.into())
            }
        });
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::settings::{Keep, Settings};

    #[test]
    fn a_segment_reads_back_as_stored() {
        let folder = tempfile::tempdir().unwrap();
        let (path, stamp) = (folder.path().join("segment"), Stamp(5));
        let plan = Settings::new(0.8).keep(Keep::Max("score".into())).plan().unwrap();
        let mut sketcher = plan.sketcher().forget_shingles();
        let mut segment = Segment::default();
        let mut whole = Vec::new();
        for (at, texts) in
            [&["one two three four five six", "", "one"][..], &[], &["two three"]].into_iter().enumerate()
        {
            let mut batch = Batch::new();
            for (position, text) in texts.iter().enumerate() {
                batch.push_text(RecordNumber::new(at as u64, position as u64), text);
                // The first batch is of an input without fields.
                if at > 0 {
                    batch.push_keep(KeepValue::Text("ü".into()));
                    batch.push_within(text.as_bytes());
                }
            }
            let sketched = sketcher.sketch(&batch);
            whole.push(sketched.clone());
            segment.push(sketched, vec![at as u8; at]);
        }
        let stored = segment.store(&path, stamp).unwrap();
        let loaded = Segment::load(&path, stamp).unwrap();
        assert_eq!(loaded.len(), 3);
        for (at, ((loaded, attached), (stored, whole))) in loaded.iter().zip(stored.iter().zip(&whole)).enumerate() {
            assert_eq!(attached, &vec![at as u8; at]);
            for batch in [loaded, stored] {
                assert_eq!(batch.numbers, whole.numbers);
                assert_eq!(batch.shapes, whole.shapes);
                if at > 0 {
                    assert_eq!(batch.keep, whole.keep);
                    assert_eq!(batch.within, whole.within);
                } else {
                    assert_eq!(batch.keep, vec![KeepValue::Missing; 3]);
                    assert_eq!(batch.within, [0; 3]);
                }
                assert_eq!(batch.shingle_counts, whole.shingle_counts);
                let place = batch.stored.as_ref().unwrap();
                assert_eq!(
                    place.file.read::<u128>(columns::FINGERPRINTS, place.rows.clone()).unwrap(),
                    whole.fingerprints
                );
            }
        }
        assert!(Segment::load(&path, Stamp(6)).is_err());
    }
}
