//! Which of very many hashes may be there more than once, told by bits.

use rayon::prelude::*;

/// Eight bits for each hash, so that one in eight is taken for a repeat by chance.
const BITS_OF_A_HASH: usize = 8;
/// What a part takes, at most, as a power of two: threads that want the same memory wait for each other, and what is in a CPU's cache
/// is there at once.
const PART_BYTES: u32 = 18;
/// Parts at least and at most, as powers of two.
const LEAST_PARTS: u32 = 4;
const MOST_PARTS: u32 = 8;

/// Hashes that have been seen, by their first bits.
pub(crate) struct RepeatedHashes {
    /// The number of places as a power of two.
    bits: u32,
    /// The number of parts as a power of two.
    parts: u32,
    /// Whether there was one, and whether there was another, side by side.
    seen: Vec<[u64; 2]>,
}

impl RepeatedHashes {
    /// None yet, of so many.
    pub(crate) fn among(count: usize) -> Self {
        let bits = (BITS_OF_A_HASH * count).next_power_of_two().trailing_zeros().max(6 + LEAST_PARTS);
        // Two bits for each place.
        let parts = (bits - 2).saturating_sub(PART_BYTES).clamp(LEAST_PARTS, MOST_PARTS);
        // Written, by all threads: memory that is new and read first has the kernel map it twice, and stop the other threads for it.
        let seen = (0..1usize << (bits - 6)).into_par_iter().map(|_| [0; 2]).collect();
        Self { bits, parts, seen }
    }

    /// Sees all hashes of these lists, which are in memory for as long as that takes.
    pub(crate) fn see<I: Iterator<Item = u64>>(&mut self, lists: impl ParallelIterator<Item = I>) {
        let Self { bits, parts, .. } = *self;
        let in_parts = |list: I| {
            let mut in_parts: Vec<Vec<u64>> = vec![Vec::new(); 1 << parts];
            list.for_each(|hash| in_parts[(hash >> (u64::BITS - parts)) as usize].push(hash));
            in_parts
        };
        let hashes: Vec<_> = lists.map(in_parts).collect();
        let words = self.seen.len() >> parts;
        self.seen.par_chunks_mut(words).enumerate().for_each(|(part, seen)| {
            for hash in hashes.iter().flat_map(|parts| &parts[part]) {
                let (word, bit) = place(bits, *hash);
                let [seen, again] = &mut seen[word % words];
                *again |= *seen & bit;
                *seen |= bit;
            }
        });
    }

    /// Whether a hash may have been seen more than once; where it was, surely.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        let (word, bit) = place(self.bits, hash);
        self.seen[word][1] & bit != 0
    }
}

/// In which word a hash has its bit.
fn place(bits: u32, hash: u64) -> (usize, u64) {
    let at = (hash >> (u64::BITS - bits)) as usize;
    (at / 64, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_repeated_are_found_and_few_others() {
        for count in [0u64, 1, 2, 1000, 100_000] {
            let hash = |number: u64| lookalike::hash_item(&number.to_le_bytes());
            // Every tenth stands twice, far apart.
            let hashes: Vec<u64> = (0..count).chain((0..count).step_by(10)).map(hash).collect();
            let mut repeated = RepeatedHashes::among(hashes.len());
            for some in hashes.chunks(7000) {
                repeated.see(some.par_chunks(100).map(|list| list.iter().copied()));
            }
            assert!((0..count).step_by(10).all(|number| repeated.may_hold(hash(number))));
            let others = (0..count).filter(|number| number % 10 > 0 && repeated.may_hold(hash(*number))).count();
            assert!(others as u64 <= count / 5, "{others} of {count}");
        }
    }
}
