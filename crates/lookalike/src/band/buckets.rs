//! Things that share a key: how buckets are found, and classes of identical records too.

use crate::error::Result;
use crate::work::{Checkpoint, WorkFile, WorkWriter};

/// A key, and what has it.
pub(crate) type Entry = (u64, u32);

/// Entries whose keys are hashes. They are gone through twice, so they need not be in memory.
pub(crate) trait Entries {
    /// At least as many as there are entries.
    fn count(&self) -> usize;

    /// Shows every entry, in any order.
    fn for_each(&self, show: impl FnMut(Entry)) -> Result<()>;
}

/// The buckets that have at least two members.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    members: Vec<u32>,
    ends: Vec<usize>,
}

impl Buckets {
    /// The buckets of these entries. The members of each ascend.
    pub(crate) fn of(entries: &impl Entries) -> Result<Self> {
        let mut buckets = Self::default();
        for_each_sorted_partition(&repeated(entries)?, |partition| {
            for bucket in partition.chunk_by(|left, right| left.0 == right.0).filter(|bucket| bucket.len() > 1) {
                buckets.members.extend(bucket.iter().map(|(_, member)| *member));
                buckets.ends.push(buckets.members.len());
            }
        });
        Ok(buckets)
    }

    /// How many buckets there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The members of one bucket, in ascending order.
    pub(crate) fn get(&self, bucket: usize) -> &[u32] {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        &self.members[start..self.ends[bucket]]
    }

    /// Every bucket's members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|bucket| self.get(bucket))
    }

    /// The members of all buckets.
    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }
}

impl Checkpoint for Buckets {
    fn save(&self, writer: &mut WorkWriter) -> Result<()> {
        writer.column(&self.members)?;
        let ends: Vec<u64> = self.ends.iter().map(|end| *end as u64).collect();
        writer.column(&ends)
    }

    fn load(file: &WorkFile) -> Result<Self> {
        let ends: Vec<u64> = file.column(1)?;
        Ok(Self { members: file.column(0)?, ends: ends.into_iter().map(|end| end as usize).collect() })
    }
}

/// The entries whose key may occur more than once, in their order. Most keys occur once, and setting two bits is much
/// cheaper than sorting.
fn repeated(entries: &impl Entries) -> Result<Vec<Entry>> {
    // Eight places for each entry: one entry in eight is taken along by chance.
    let bits = (entries.count() * 8).next_power_of_two().trailing_zeros().clamp(9, 36);
    // Seen, and seen again, side by side: one visit to memory instead of two.
    let mut places = vec![[0u64; 2]; 1 << (bits - 6)];
    let place = |key: u64| {
        let at = (key >> (64 - bits)) as usize;
        (at / 64, 1u64 << (at % 64))
    };
    entries.for_each(|(key, _)| {
        let (word, bit) = place(key);
        let [seen, again] = &mut places[word];
        *again |= *seen & bit;
        *seen |= bit;
    })?;
    let mut repeated = Vec::new();
    entries.for_each(|entry| {
        let (word, bit) = place(entry.0);
        if places[word][1] & bit != 0 {
            repeated.push(entry);
        }
    })?;
    Ok(repeated)
}

/// Hands out the entries in ascending order of (key, class), a piece at a time; equal keys are in one piece.
///
/// Keys are hashes, so their top bits cut the entries into pieces of nearly equal size, small enough to be sorted in
/// the cache.
fn for_each_sorted_partition(entries: &[Entry], mut sorted: impl FnMut(&[Entry])) {
    const PIECE: usize = 256;
    let bits = (entries.len() / PIECE).next_power_of_two().trailing_zeros().min(14);
    let piece_of = |key: u64| if bits == 0 { 0 } else { (key >> (64 - bits)) as usize };
    let mut ends = vec![0usize; (1 << bits) + 1];
    for (key, _) in entries {
        ends[piece_of(*key) + 1] += 1;
    }
    for piece in 1..ends.len() {
        ends[piece] += ends[piece - 1];
    }
    let mut next = ends.clone();
    let mut placed: Vec<Entry> = vec![(0, 0); entries.len()];
    for entry in entries {
        let slot = &mut next[piece_of(entry.0)];
        placed[*slot] = *entry;
        *slot += 1;
    }
    for bounds in ends.windows(2) {
        let piece = &mut placed[bounds[0]..bounds[1]];
        piece.sort_unstable();
        sorted(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    struct Listed(Vec<Entry>);

    impl Entries for Listed {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn for_each(&self, show: impl FnMut(Entry)) -> Result<()> {
            // From the last to the first: the order means nothing.
            self.0.iter().rev().copied().for_each(show);
            Ok(())
        }
    }

    #[test]
    fn buckets_hold_all_that_share_a_key_and_nothing_else() {
        let mut random = SplitMix(5);
        for count in [0u32, 1, 2, 300, 5000] {
            let keys: Vec<u64> = (0..count / 3 + 1).map(|_| random.next()).collect();
            let entries: Vec<Entry> =
                (0..count).map(|class| (keys[random.below(keys.len() as u64) as usize], class)).collect();
            let mut expected = std::collections::BTreeMap::<u64, Vec<u32>>::new();
            for (key, class) in &entries {
                expected.entry(*key).or_default().push(*class);
            }
            expected.retain(|_, members| members.len() > 1);
            let buckets = Buckets::of(&Listed(entries)).unwrap();
            assert!(buckets.iter().eq(expected.values().map(Vec::as_slice)));
        }
    }
}
