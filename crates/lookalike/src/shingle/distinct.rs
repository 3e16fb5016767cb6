//! Each hash once: sorted, or in the order in which they came.

/// Sorts hashes and moves each once to the front; tells how many there are.
pub(crate) fn sort_distinct(hashes: &mut [u64]) -> usize {
    sort_hashes(hashes);
    let mut distinct = 0;
    for at in 0..hashes.len() {
        if at == 0 || hashes[at] != hashes[at - 1] {
            hashes[distinct] = hashes[at];
            distinct += 1;
        }
    }
    distinct
}

/// Sorts hashes.
pub(crate) fn sort_hashes(hashes: &mut [u64]) {
    match hashes.len() {
        0..32 => hashes.sort_unstable(),
        32..256 => sort_by_place::<256>(hashes),
        256..1024 => sort_by_place::<1024>(hashes),
        _ => hashes.sort_unstable(),
    }
}

/// Sorts fewer than N hashes. Their top bits tell where each belongs, give or take a few places.
fn sort_by_place<const N: usize>(hashes: &mut [u64]) {
    /// So many in one place are no chance: the hashes are not what they should be.
    const CROWD: u16 = 24;
    // More places than hashes: most then have theirs for themselves.
    let bits = hashes.len().ilog2() + 1;
    let place = |hash: u64| (hash >> (64 - bits)) as usize;
    let mut ends = [0u16; N];
    for hash in hashes.iter() {
        ends[place(*hash)] += 1;
    }
    let (mut end, mut crowd) = (0, 0);
    for count in &mut ends[..1 << bits] {
        crowd = crowd.max(*count);
        end += *count;
        *count = end;
    }
    if crowd > CROWD {
        return hashes.sort_unstable();
    }
    let mut sorted = [0u64; N];
    for hash in hashes.iter() {
        let end = &mut ends[place(*hash)];
        *end -= 1;
        sorted[*end as usize] = *hash;
    }
    // Nearly sorted: whatever is not in order is among its neighbours.
    for (at, hash) in sorted[..hashes.len()].iter().enumerate() {
        let mut to = at;
        while to > 0 && hashes[to - 1] > *hash {
            hashes[to] = hashes[to - 1];
            to -= 1;
        }
        hashes[to] = *hash;
    }
}

/// Which hashes of a list were seen, by their top bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitMap {
    words: Vec<u64>,
    shift: u32,
}

impl BitMap {
    /// Forgets everything and makes room for so many hashes, with at least `places` bits for each.
    pub(crate) fn clear(&mut self, hashes: usize, places: usize) {
        let bits = (hashes * places).next_power_of_two().trailing_zeros().max(6);
        self.words.clear();
        self.words.resize(1 << (bits - 6), 0);
        self.shift = u64::BITS - bits;
    }

    /// A map of these hashes, with at least `places` bits for each.
    pub(crate) fn of(hashes: &[u64], places: usize) -> Self {
        let mut map = Self::default();
        map.clear(hashes.len(), places);
        hashes.iter().for_each(|hash| _ = map.insert(*hash));
        map
    }

    /// How many bits are set in one of two maps only; nothing if they are not equally large. So many hashes, or more, are in
    /// one of two lists only.
    pub(crate) fn differing(&self, other: &Self) -> Option<usize> {
        let both = self.words.iter().zip(&other.words);
        let count = || both.map(|(own, other)| (own ^ other).count_ones()).sum::<u32>() as usize;
        (self.words.len() == other.words.len()).then(count)
    }

    /// Remembers a hash; tells whether it, or one with the same bit, was seen before.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        let word = &mut self.words[word];
        let is_seen = *word & bit != 0;
        *word |= bit;
        is_seen
    }

    /// Whether the hash, or one with the same bit, was seen.
    #[inline]
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.words[word] & bit != 0
    }

    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        let at = hash >> self.shift;
        (at as usize / 64, 1 << (at % 64))
    }
}

/// Lists that are longer when repeats are left out of them are sorted, in their place.
pub(crate) const LONG: usize = 1 << 16;

/// Which hash of a list came first of those with the same top bits: for one list after the other, so that nothing needs to be
/// cleared between them.
#[derive(Clone, Debug, Default)]
struct Firsts {
    /// The number of the list it was in, and behind it, in 16 bits, where it stands there.
    firsts: Vec<u32>,
    list: u32,
    shift: u32,
}

impl Firsts {
    const INDEX_BITS: u32 = 16;

    /// Begins another list, of so many hashes.
    fn begin(&mut self, hashes: usize) {
        /// The more places, the fewer hashes have to share one; but those of most lists fit into the CPU's nearest cache.
        const PLACES: usize = 16;
        let places = (hashes * PLACES).next_power_of_two().max(2);
        self.shift = u64::BITS - places.trailing_zeros();
        if self.list == u32::MAX >> Self::INDEX_BITS {
            self.firsts.fill(0);
            self.list = 0;
        }
        self.list += 1;
        if self.firsts.len() < places {
            self.firsts.resize(places, 0);
        }
    }

    /// Notes a hash, unless another one of the list came first in its place; tells whether one did.
    #[inline]
    fn insert(&mut self, index: usize, hash: u64) -> bool {
        let first = &mut self.firsts[(hash >> self.shift) as usize];
        let has_come = *first >> Self::INDEX_BITS == self.list;
        *first = if has_come { *first } else { self.list << Self::INDEX_BITS | index as u32 };
        has_come
    }

    /// Where the hash stands that came first in the place of this one, which has been noted.
    fn first(&self, hash: u64) -> usize {
        (self.firsts[(hash >> self.shift) as usize] & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

/// Finds what occurs more than once. One a thread; it reuses its buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeats {
    firsts: Firsts,
    /// The hashes in whose places others came first.
    crowded: Vec<u64>,
    /// The hashes that occur more than once, sorted.
    repeated: Vec<u64>,
}

impl Repeats {
    /// Moves the first occurrence of each hash to the front, in their order; tells how many there are. Most lists repeat nothing,
    /// and to find that out takes a fifth of the time that sorting does. Very long lists are sorted all the same: this takes as
    /// much memory as they do.
    pub(crate) fn leave_out(&mut self, hashes: &mut [u64]) -> usize {
        if hashes.len() > LONG {
            return sort_distinct(hashes);
        }
        self.find(hashes);
        if self.repeated.is_empty() { hashes.len() } else { leave_first(hashes, &self.repeated) }
    }

    /// Makes the n-th occurrence of a hash what `numbered` says of the two. They stay in their order, unless the list is very long.
    pub(crate) fn number(&mut self, hashes: &mut [u64], numbered: impl Fn(u64, u64) -> u64) {
        if hashes.len() > LONG {
            hashes.sort_unstable();
            for same in hashes.chunk_by_mut(|left, right| left == right) {
                same.iter_mut().zip(1..).for_each(|(hash, occurrence)| *hash = numbered(*hash, occurrence));
            }
            return;
        }
        self.find(hashes);
        let mut counts = vec![0; self.repeated.len()];
        for hash in hashes.iter_mut().filter(|_| !self.repeated.is_empty()) {
            if let Ok(at) = self.repeated.binary_search(hash) {
                counts[at] += 1;
                *hash = numbered(*hash, counts[at]);
            }
        }
    }

    /// Finds the hashes that occur more than once.
    fn find(&mut self, hashes: &[u64]) {
        self.firsts.begin(hashes.len());
        if self.crowded.len() <= hashes.len() {
            self.crowded.resize(hashes.len() + 1, 0);
        }
        let mut crowded = 0;
        for (index, hash) in hashes.iter().enumerate() {
            // Without a branch: which of them share a place cannot be foreseen.
            self.crowded[crowded] = *hash;
            crowded += usize::from(self.firsts.insert(index, *hash));
        }
        // Whatever occurs more than once came first in its place, or is here as often.
        let crowded = &mut self.crowded[..crowded];
        sort_hashes(crowded);
        self.repeated.clear();
        for same in crowded.chunk_by(|left, right| left == right) {
            if same.len() > 1 || hashes[self.firsts.first(same[0])] == same[0] {
                self.repeated.push(same[0]);
            }
        }
    }
}

/// Moves everything to the front but what stands in `repeated`, which is sorted, and came before.
fn leave_first(hashes: &mut [u64], repeated: &[u64]) -> usize {
    let mut has_come = vec![false; repeated.len()];
    let mut left = 0;
    for at in 0..hashes.len() {
        let hash = hashes[at];
        let is_first = repeated.binary_search(&hash).map_or(true, |at| !std::mem::replace(&mut has_come[at], true));
        if is_first {
            hashes[left] = hash;
            left += 1;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    /// Lists of many lengths: random, with repeats, falling, all the same.
    fn lists() -> impl Iterator<Item = Vec<u64>> {
        let mut random = SplitMix(9);
        [0, 1, 2, 31, 32, 33, 100, 235, 255, 256, 1023, 1024, 1025, 3000, 20_000].into_iter().flat_map(move |count| {
            let random: Vec<u64> = (0..count).map(|_| random.next()).collect();
            let repeated = random.iter().map(|hash| random[*hash as usize % (1 + random.len() / 9)]).collect();
            let once = random.iter().chain(random.first()).copied().collect();
            [random, repeated, once, (0..count).rev().collect(), vec![u64::MAX; count as usize]]
        })
    }

    #[test]
    fn hashes_are_sorted_whatever_they_are() {
        for mut hashes in lists() {
            let mut expected = hashes.clone();
            expected.sort_unstable();
            expected.dedup();
            let distinct = sort_distinct(&mut hashes);
            assert_eq!(hashes[..distinct], expected);
        }
    }

    #[test]
    fn the_first_of_each_stays_in_its_place() {
        let mut repeats = Repeats::default();
        for mut hashes in lists() {
            let mut come = std::collections::HashSet::new();
            let expected: Vec<u64> = hashes.iter().copied().filter(|hash| come.insert(*hash)).collect();
            let left = repeats.leave_out(&mut hashes);
            assert_eq!(hashes[..left], expected);
        }
    }

    #[test]
    fn bits_differ_in_no_more_places_than_lists_do() {
        let mut random = SplitMix(5);
        let (mut all_differing, mut all_different) = (0, 0);
        for _ in 0..500 {
            let mut list = |length: u64| (0..random.below(length)).map(|_| random.next()).collect::<Vec<u64>>();
            let (shared, left, right) = (list(300), list(60), list(60));
            let (left, right) = ([&shared[..], &left].concat(), [&right[..], &shared].concat());
            let different = left.len() + right.len() - 2 * shared.len();
            let Some(differing) = BitMap::of(&left, 16).differing(&BitMap::of(&right, 16)) else { continue };
            assert!(differing <= different, "{differing} bits of {different}");
            all_differing += differing;
            all_different += different;
        }
        assert!(10 * all_differing > 9 * all_different, "{all_differing} bits of {all_different}: few are hidden");
        assert_eq!(BitMap::of(&[1; 100], 16).differing(&BitMap::of(&[1; 200], 16)), None, "of other sizes");
    }

    #[test]
    fn occurrences_are_numbered_where_they_stand() {
        let mut repeats = Repeats::default();
        let numbered = |hash: u64, occurrence: u64| hash.wrapping_mul(3).wrapping_add(occurrence);
        for mut hashes in lists() {
            let before = hashes.clone();
            repeats.number(&mut hashes, numbered);
            let mut counts = std::collections::HashMap::new();
            before.iter().for_each(|hash| *counts.entry(*hash).or_insert(0) += 1);
            let mut come = std::collections::HashMap::new();
            let expected = before.iter().map(|hash| {
                let occurrence = come.entry(*hash).or_insert(0);
                *occurrence += 1;
                if counts[hash] == 1 { *hash } else { numbered(*hash, *occurrence) }
            });
            assert!(expected.eq(hashes.iter().copied()));
        }
    }

    #[test]
    fn of_a_long_list_each_is_left_once_too() {
        let mut hashes: Vec<u64> = (0..=LONG as u64).map(|number| number % 1000).rev().collect();
        assert_eq!(Repeats::default().leave_out(&mut hashes), 1000);
        assert!(hashes[..1000].iter().copied().eq(0..1000));
    }
}
