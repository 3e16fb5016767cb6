//! Things that share a key: how buckets are found, and classes of identical records too.

/// A key, and what has it.
pub(crate) type Entry = (u64, u32);

/// The buckets that have at least two members.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    members: Vec<u32>,
    ends: Vec<usize>,
    keys: Vec<u64>,
}

impl Buckets {
    /// The buckets of these entries, whose keys are hashes. Entries come in ascending order of what has the key, and so
    /// do the members of each bucket.
    pub(crate) fn of(entries: impl Iterator<Item = Entry> + Clone) -> Self {
        let mut buckets = Self::default();
        for_each_sorted_partition(&repeated(entries), |partition| {
            for bucket in partition.chunk_by(|left, right| left.0 == right.0).filter(|bucket| bucket.len() > 1) {
                buckets.members.extend(bucket.iter().map(|(_, class)| *class));
                buckets.ends.push(buckets.members.len());
                buckets.keys.push(bucket[0].0);
            }
        });
        buckets
    }

    /// Every bucket: its key and its members in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.keys).map(|((start, end), key)| (*key, &self.members[start..*end]))
    }
}

/// The entries whose key may occur more than once, in their order. Most keys occur once, and setting two bits is much
/// cheaper than sorting.
fn repeated(entries: impl Iterator<Item = Entry> + Clone) -> Vec<Entry> {
    let count = entries.size_hint().1.unwrap_or(0);
    // Eight places for each entry: one entry in eight is taken along by chance.
    let bits = (count * 8).next_power_of_two().trailing_zeros().clamp(9, 36);
    let mut seen = vec![0u64; 1 << (bits - 6)];
    let mut again = vec![0u64; 1 << (bits - 6)];
    let place = |key: u64| {
        let at = (key >> (64 - bits)) as usize;
        (at / 64, 1u64 << (at % 64))
    };
    for (key, _) in entries.clone() {
        let (word, bit) = place(key);
        again[word] |= seen[word] & bit;
        seen[word] |= bit;
    }
    let is_repeated = |entry: &Entry| {
        let (word, bit) = place(entry.0);
        again[word] & bit != 0
    };
    entries.filter(is_repeated).collect()
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
            let buckets = Buckets::of(entries.iter().copied());
            assert!(buckets.iter().eq(expected.iter().map(|(key, members)| (*key, members.as_slice()))));
        }
    }
}
