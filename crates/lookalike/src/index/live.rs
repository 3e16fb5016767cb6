//! Segments with what is deleted in them.

use std::ops::Range;
use std::sync::Arc;

use super::segment::Segment;
use crate::error::Result;

/// One bit for each item of a segment.
#[derive(Clone, Debug, Default)]
struct Bits {
    words: Vec<u64>,
    count: usize,
}

/// A segment, and which of its items are deleted.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) segment: Arc<Segment>,
    deleted: Arc<Bits>,
}

impl Live {
    pub(super) fn new(segment: Arc<Segment>) -> Self {
        Self { segment, deleted: Arc::default() }
    }

    pub(super) fn is_deleted(&self, item: u32) -> bool {
        self.deleted.words.get(item as usize / 64).is_some_and(|word| word >> (item % 64) & 1 == 1)
    }

    /// How many items are deleted.
    pub(super) fn deleted(&self) -> usize {
        self.deleted.count
    }

    /// How many items are not.
    pub(super) fn len(&self) -> usize {
        self.segment.len() - self.deleted.count
    }

    /// The items that are not deleted.
    pub(super) fn items(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.segment.len() as u32).filter(|item| !self.is_deleted(*item))
    }

    /// The sequences of the items that are deleted.
    pub(super) fn deleted_sequences(&self) -> Result<Vec<u64>> {
        if self.deleted.count == 0 {
            return Ok(Vec::new());
        }
        let sequences = self.segment.sequences()?;
        let deleted = (0u32..).zip(sequences).filter(|(item, _)| self.is_deleted(*item));
        Ok(deleted.map(|(_, sequence)| *sequence).collect())
    }

    /// Deletes the items with these sequences, as far as they are here. Who holds a copy of this sees no change.
    pub(super) fn delete(&mut self, sequences: &[u64]) -> Result<()> {
        let mut here = sequences.iter().filter(|sequence| self.segment.may_have(**sequence)).peekable();
        if here.peek().is_none() {
            return Ok(());
        }
        let all = self.segment.sequences()?;
        let items: Vec<usize> = here.filter_map(|sequence| all.binary_search(sequence).ok()).collect();
        self.delete_items(items);
        Ok(())
    }

    /// Deletes the items with sequences in this range.
    pub(super) fn delete_range(&mut self, sequences: Range<u64>) -> Result<()> {
        let items = self.items_in(sequences)?;
        self.delete_items(items);
        Ok(())
    }

    /// The items with sequences in this range, deleted or not.
    fn items_in(&self, sequences: Range<u64>) -> Result<Range<usize>> {
        let (first, last) = self.segment.sequence_bounds();
        if sequences.start > last || sequences.end <= first {
            return Ok(0..0);
        }
        let all = self.segment.sequences()?;
        let place = |sequence: u64| all.partition_point(|other| *other < sequence);
        Ok(place(sequences.start)..place(sequences.end))
    }

    /// The sequences in this range whose items are not deleted.
    pub(super) fn sequences_in(&self, range: Range<u64>) -> Result<Vec<u64>> {
        let items = self.items_in(range)?;
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.segment.sequences()?;
        Ok(items.filter(|item| !self.is_deleted(*item as u32)).map(|item| all[item]).collect())
    }

    fn delete_items(&mut self, items: impl IntoIterator<Item = usize>) {
        let words = self.segment.len().div_ceil(64);
        for item in items {
            let bits = Arc::make_mut(&mut self.deleted);
            bits.words.resize(words, 0);
            let word = &mut bits.words[item / 64];
            bits.count += usize::from(*word >> (item % 64) & 1 == 0);
            *word |= 1 << (item % 64);
        }
    }

    /// The item with this id that is not deleted.
    pub(super) fn with_id(&self, id: &str) -> Result<Option<u32>> {
        Ok(self.segment.with_id(id)?.into_iter().find(|item| !self.is_deleted(*item)))
    }
}
