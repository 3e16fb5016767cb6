//! Where the shingles of records come from when sets are compared: only few records ever need theirs, so they need not
//! be kept for all.

use crate::batch::RecordNumber;
use crate::error::Result;
use crate::shingle::{Repeats, sort_distinct};

/// A record whose shingles are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its index in input order, old records first.
    pub record: u32,
    /// Its number.
    pub number: RecordNumber,
}

/// What is done with shingles that are supplied. It is told where in the list of those asked for a run of neighbours
/// begins, and given their shingles, which it may take.
pub type Take<'a> = dyn Fn(usize, &mut ShingleLists) -> Result<()> + Sync + 'a;

/// Gives the shingles of records once more: from memory, from a work file, or by reading the input again.
pub trait Supply: Sync {
    /// Hands the shingles of every record asked for to `take`, in runs, on any threads, in any order. Records are asked
    /// for in input order.
    fn supply(&self, asked: &[Asked], take: &Take<'_>) -> Result<()>;

    /// Whether every call goes through what stands before the records too, as where inputs are compressed: then many should be
    /// asked for at once.
    fn goes_through_all(&self) -> bool {
        false
    }
}

/// The shingles of several records, one after another, as a [`crate::Shingler`] gives them.
#[derive(Clone, Debug, Default)]
pub struct ShingleLists {
    pub(crate) shingles: Vec<u64>,
    pub(crate) ends: Vec<usize>,
}

impl ShingleLists {
    /// None yet, with room for so many shingles.
    pub(crate) fn with_capacity(shingles: usize) -> Self {
        Self { shingles: Vec::with_capacity(shingles), ends: Vec::new() }
    }

    /// Adds the shingles of the next record.
    pub fn push(&mut self, shingles: &[u64]) {
        self.push_with(|all| all.extend_from_slice(shingles));
    }

    /// Adds the shingles of the next record, which `append` appends to what it is given.
    pub fn push_with<T>(&mut self, append: impl FnOnce(&mut Vec<u64>) -> T) -> T {
        let result = append(&mut self.shingles);
        self.ends.push(self.shingles.len());
        result
    }

    /// Forgets everything and keeps the buffers.
    pub fn clear(&mut self) {
        self.shingles.clear();
        self.ends.clear();
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sorts the shingles of every record and leaves each once.
    pub(crate) fn sort_distinct(&mut self) {
        self.leave(sort_distinct);
    }

    /// Leaves each shingle of every record once, in the order in which they came.
    pub(crate) fn leave_out_repeats(&mut self) {
        let mut repeats = Repeats::default();
        self.leave(|shingles| repeats.leave_out(shingles));
    }

    /// Leaves what is moved to the front of every record's shingles, as many as that tells.
    fn leave(&mut self, mut move_to_front: impl FnMut(&mut [u64]) -> usize) {
        let (mut start, mut filled) = (0, 0);
        for end in &mut self.ends {
            let distinct = move_to_front(&mut self.shingles[start..*end]);
            self.shingles.copy_within(start..start + distinct, filled);
            start = *end;
            filled += distinct;
            *end = filled;
        }
        self.shingles.truncate(filled);
    }

    /// Copies in which up to so many shingles lie together, or those of one record, each with the index of its first record.
    pub(crate) fn in_pieces(&self, most: usize) -> impl Iterator<Item = (usize, Self)> + '_ {
        let (mut first, mut start) = (0, 0);
        std::iter::from_fn(move || {
            let behind = &self.ends[first..];
            let count = behind.partition_point(|end| *end <= start + most).max(1).min(behind.len());
            let end = *behind[..count].last()?;
            let ends = behind[..count].iter().map(|end| end - start).collect();
            let piece = (first, Self { shingles: self.shingles[start..end].to_vec(), ends });
            (first, start) = (first + count, end);
            Some(piece)
        })
    }

    /// The shingles of the `index`-th record.
    pub fn get(&self, index: usize) -> &[u64] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.shingles[start..self.ends[index]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_every_record_once_and_not_too_much() {
        let records: [&[u64]; 7] = [&[], &[1, 2], &[3], &[4, 5, 6, 7, 8], &[], &[9], &[10, 11]];
        let mut lists = ShingleLists::default();
        records.iter().for_each(|record| lists.push(record));
        for most in 0..15 {
            let mut seen = Vec::new();
            for (first, piece) in lists.in_pieces(most) {
                assert_eq!(first, seen.len());
                assert!(piece.len() == 1 || piece.shingles.len() <= most, "{most}: {piece:?}");
                seen.extend((0..piece.len()).map(|index| piece.get(index).to_vec()));
            }
            assert_eq!(seen, records);
        }
        assert_eq!(ShingleLists::default().in_pieces(4).count(), 0);
    }
}
