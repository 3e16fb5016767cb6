//! Things that share a key: how buckets are found, and classes of identical records too.

use crate::error::Result;
use crate::work::{Checkpoint, WorkFile, WorkWriter};

/// A hash, or the first half of one.
pub(crate) trait Key: Copy + Ord {
    const BITS: u32;

    /// So many of its bits, of which there is at least one, behind the first ones.
    fn bits(self, skipped: u32, count: u32) -> usize;
}

impl Key for u64 {
    const BITS: u32 = u64::BITS;

    #[inline]
    fn bits(self, skipped: u32, count: u32) -> usize {
        (self << skipped >> (Self::BITS - count)) as usize
    }
}

impl Key for u32 {
    const BITS: u32 = u32::BITS;

    #[inline]
    fn bits(self, skipped: u32, count: u32) -> usize {
        (self << skipped >> (Self::BITS - count)) as usize
    }
}

/// Keys, each with what has it, in parts by their first bits: so few in a part that it is worked on in the CPU's cache.
pub(crate) struct Entries<K> {
    parts: Vec<Vec<(K, u32)>>,
    bits: u32,
    /// Entries of a part for which there is room from the beginning.
    room: usize,
}

impl<K: Key> Entries<K> {
    /// No entries yet, and room for about so many.
    pub(crate) fn with_room_for(count: usize) -> Self {
        const PART: usize = 1 << 15;
        let bits = count.div_ceil(PART).next_power_of_two().trailing_zeros().clamp(1, 12);
        // Hashes fall into all parts alike, give or take a few.
        let room = (count >> bits) + (count >> (bits + 5)) + 64;
        Self { parts: (0..1 << bits).map(|_| Vec::with_capacity(room)).collect(), bits, room }
    }

    #[inline]
    pub(crate) fn push(&mut self, key: K, member: u32) {
        self.parts[key.bits(0, self.bits)].push((key, member));
    }

    /// Forgets the entries and keeps the room that there was for them from the beginning. A key that many share has a part grow,
    /// each time another one.
    pub(crate) fn clear(&mut self) {
        for part in &mut self.parts {
            part.clear();
            part.shrink_to(2 * self.room);
        }
    }
}

/// The buckets that have at least two members.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    members: Vec<u32>,
    ends: Vec<usize>,
}

impl Buckets {
    /// The buckets of these entries, in the order of their keys. The members of each ascend.
    pub(crate) fn of<K: Key>(entries: &Entries<K>) -> Self {
        let mut buckets = Self::default();
        let (mut places, mut room, mut sorting) = (Vec::new(), Vec::new(), Sorting::default());
        for part in &entries.parts {
            let repeated = find_repeated(part, entries.bits, &mut places, &mut room);
            let repeated = sorting.sort(repeated, entries.bits);
            for bucket in repeated.chunk_by(|left, right| left.0 == right.0).filter(|bucket| bucket.len() > 1) {
                buckets.members.extend(bucket.iter().map(|(_, member)| *member));
                buckets.ends.push(buckets.members.len());
            }
        }
        buckets
    }

    /// Those with at most so many members, and the others, if there are any.
    pub(super) fn part(self, most: usize) -> (Self, Option<Self>) {
        if self.iter().all(|members| members.len() <= most) {
            return (self, None);
        }
        let some = |is_wanted: &dyn Fn(&[u32]) -> bool| {
            let mut some = Self::default();
            let wanted = || self.iter().filter(|members| is_wanted(members));
            some.members.reserve_exact(wanted().map(<[u32]>::len).sum());
            some.ends.reserve_exact(wanted().count());
            for members in wanted() {
                some.members.extend_from_slice(members);
                some.ends.push(some.members.len());
            }
            some
        };
        (some(&|members| members.len() <= most), Some(some(&|members| members.len() > most)))
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

/// Sorts the entries of a part by key, then by member, in buffers that are used again.
struct Sorting<K> {
    ends: Vec<u32>,
    sorted: Vec<(K, u32)>,
}

impl<K> Default for Sorting<K> {
    fn default() -> Self {
        Self { ends: Vec::new(), sorted: Vec::new() }
    }
}

impl<K: Key> Sorting<K> {
    /// Keys are hashes, so that about one falls into each of as many places as there are entries.
    fn sort(&mut self, entries: &[(K, u32)], skipped: u32) -> &[(K, u32)] {
        let Some(any) = entries.first() else { return &[] };
        let bits = entries.len().next_power_of_two().trailing_zeros().clamp(1, K::BITS - skipped);
        // Summed up, each place's start stands where it moves to its end.
        self.ends.clear();
        self.ends.resize((1 << bits) + 1, 0);
        for (key, _) in entries {
            self.ends[key.bits(skipped, bits) + 1] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += *end;
            *end = sum;
        }
        self.sorted.clear();
        self.sorted.resize(entries.len(), *any);
        for entry in entries {
            let next = &mut self.ends[entry.0.bits(skipped, bits)];
            self.sorted[*next as usize] = *entry;
            *next += 1;
        }
        let mut start = 0;
        for end in &self.ends[..1 << bits] {
            let end = *end as usize;
            if end - start > 1 {
                sort(&mut self.sorted[start..end]);
            }
            start = end;
        }
        &self.sorted
    }
}

/// Sorts entries by key, then by member.
fn sort<K: Key>(entries: &mut [(K, u32)]) {
    // Mostly the members ascend already, and need only stay as they are. That takes far less time where few keys have most of them.
    if entries.is_sorted_by_key(|(_, member)| *member) {
        entries.sort_by_key(|(key, _)| *key);
    } else {
        entries.sort_unstable();
    }
}

/// Finds the entries whose key may occur more than once. Most keys occur once, and setting two bits is much cheaper than
/// sorting.
fn find_repeated<'a, K: Key>(
    entries: &[(K, u32)],
    skipped: u32,
    places: &mut Vec<[u64; 2]>,
    room: &'a mut Vec<(K, u32)>,
) -> &'a [(K, u32)] {
    // Sixteen places for each entry: one entry in sixteen is taken along by chance.
    let bits = (entries.len() * 16).next_power_of_two().trailing_zeros().clamp(6, K::BITS - skipped);
    // Seen, and seen again, side by side.
    places.clear();
    places.resize(1 << (bits - 6), [0; 2]);
    for (key, _) in entries {
        let at = key.bits(skipped, bits);
        let ([seen, again], bit) = (&mut places[at / 64], 1u64 << (at % 64));
        *again |= *seen & bit;
        *seen |= bit;
    }
    // Every entry is written, and the next one over it if it is not wanted: which ones are cannot be foreseen, and a branch for it
    // would take longer.
    if let (true, Some(any)) = (room.len() < entries.len(), entries.first()) {
        room.resize(entries.len(), *any);
    }
    let mut count = 0;
    for entry in entries {
        let at = entry.0.bits(skipped, bits);
        room[count] = *entry;
        count += (places[at / 64][1] >> (at % 64) & 1) as usize;
    }
    &room[..count]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn buckets_hold_all_that_share_a_key_and_nothing_else() {
        check(|random| random.next());
        check(|random| random.next() as u32);
        // Keys that are all in one part.
        check(|random| random.below(50) as u32);
    }

    #[test]
    fn a_part_that_has_grown_gives_its_room_back() {
        let mut entries = Entries::<u32>::with_room_for(1000);
        let reserved = |entries: &Entries<u32>| entries.parts.iter().map(Vec::capacity).sum::<usize>();
        let before = reserved(&entries);
        for crowded in [0, u32::MAX] {
            (0..100_000).for_each(|class| entries.push(crowded, class));
            entries.clear();
        }
        assert!(reserved(&entries) <= 2 * before, "{} instead of {before}", reserved(&entries));
    }

    fn check<K: Key>(key: impl Fn(&mut SplitMix) -> K) {
        let mut random = SplitMix(5);
        for count in [0u32, 1, 2, 300, 5000] {
            let keys: Vec<K> = (0..count / 3 + 1).map(|_| key(&mut random)).collect();
            let listed: Vec<(K, u32)> =
                (0..count).map(|class| (keys[random.below(keys.len() as u64) as usize], class)).collect();
            let mut expected = std::collections::BTreeMap::<K, Vec<u32>>::new();
            for (key, class) in &listed {
                expected.entry(*key).or_default().push(*class);
            }
            expected.retain(|_, members| members.len() > 1);
            // Parts that are too small, just right and too large, each in use twice.
            for room in [0, count as usize / 2, count as usize, 1 << 20] {
                let mut entries = Entries::with_room_for(room);
                for is_reversed in [false, true] {
                    entries.clear();
                    // The order means nothing.
                    let at = |place: usize| listed[if is_reversed { listed.len() - 1 - place } else { place }];
                    (0..listed.len()).map(at).for_each(|(key, class)| entries.push(key, class));
                    assert!(Buckets::of(&entries).iter().eq(expected.values().map(Vec::as_slice)));
                }
            }
        }
    }
}
