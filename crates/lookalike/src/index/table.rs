//! Which items have a key: entries of 32 bits of the key and the item, sorted, and for the first bits of a key where to
//! look.
//!
//! 32 bits of a 64-bit key are enough. Among 100 million items a few others turn up under a key by chance, and what turns
//! up is checked anyway.

use super::stored::{StoredColumns, prefetch};
use crate::error::Result;

/// Entries that one place of the directory leads to, on average: so many that the directory stays in the caches. Among them
/// it is known about where to look, for keys are hashes and spread evenly.
const ENTRIES_A_PLACE: usize = 32;
/// How far from where they are expected entries usually are, at most.
const USUAL_DISTANCE: usize = 3;

/// The entry of an item under a key.
pub(super) fn entry(key: u32, item: u32) -> u64 {
    u64::from(key) << 32 | u64::from(item)
}

/// The item of an entry.
pub(super) fn item_of(entry: u64) -> u32 {
    entry as u32
}

/// The place of the directory, of so many bits, that a key belongs to.
fn place_of(key: u32, bits: u32) -> usize {
    (u64::from(key) >> (32 - bits)) as usize
}

/// The key that stands for a 64-bit hash.
pub(super) fn key_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Where the entries of each range of keys begin, gathered while entries go by in order.
pub(super) struct Starts {
    bits: u32,
    starts: Vec<u64>,
    entries: u64,
}

impl Starts {
    /// For about so many entries.
    pub(super) fn new(entries: usize) -> Self {
        let bits = (entries / ENTRIES_A_PLACE).max(1).ilog2().min(31);
        Self { bits, starts: Vec::with_capacity((1 << bits) + 1), entries: 0 }
    }

    pub(super) fn push(&mut self, entry: u64) {
        let place = (entry >> 32 >> (32 - self.bits)) as usize;
        while self.starts.len() <= place {
            self.starts.push(self.entries);
        }
        self.entries += 1;
    }

    pub(super) fn finish(mut self) -> Vec<u64> {
        self.starts.resize((1 << self.bits) + 1, self.entries);
        self.starts
    }
}

/// A table in a file: the columns that hold its entries and its starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) entries: usize,
    pub(super) starts: usize,
}

impl Table {
    /// The entries under a key, their items ascending.
    pub(super) fn find(self, file: &StoredColumns, key: u32) -> Result<&[u64]> {
        Ok(self.near(file, key)?.under_key())
    }

    /// Has fetched what [`Table::near`] will look at.
    pub(super) fn prefetch(self, file: &StoredColumns, key: u32) {
        if let Ok(Some(bits)) = self.bits(file) {
            file.prefetch::<u64>(self.starts, place_of(key, bits));
        }
    }

    /// The entries among which those under a key are.
    pub(super) fn near(self, file: &StoredColumns, key: u32) -> Result<Near<'_>> {
        let Some(bits) = self.bits(file)? else { return Ok(Near { entries: &[], expected: 0, key }) };
        let place = place_of(key, bits);
        let bounds = file.slice::<u64>(self.starts, place..place + 2)?;
        let entries: &[u64] = file.slice(self.entries, bounds[0] as usize..bounds[1] as usize)?;
        // Where the key lies between the first and the last that could be here.
        let share = (u64::from(key) << bits) & u64::from(u32::MAX);
        let expected = ((entries.len() as u128 * u128::from(share)) >> 32) as usize;
        Ok(Near { entries, expected, key })
    }

    /// How many bits of a key the directory goes by; none if there are no entries.
    fn bits(self, file: &StoredColumns) -> Result<Option<u32>> {
        let places = file.len_of::<u64>(self.starts);
        if places < 2 {
            return Ok(None);
        }
        let bits = (places - 1).trailing_zeros();
        if bits > 32 || !(places - 1).is_power_of_two() {
            return Err(file.damaged());
        }
        Ok(Some(bits))
    }
}

/// Entries among which those under a key are, if there are any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near<'a> {
    entries: &'a [u64],
    /// Where they should be, if keys are spread evenly.
    expected: usize,
    key: u32,
}

impl<'a> Near<'a> {
    /// Has fetched what [`Near::under_key`] will look at, most likely.
    pub(super) fn prefetch(&self) {
        let around = [self.expected.saturating_sub(USUAL_DISTANCE), self.expected + USUAL_DISTANCE];
        around.iter().filter_map(|at| self.entries.get(*at)).for_each(prefetch);
    }

    /// The entries under the key.
    pub(super) fn under_key(&self) -> &'a [u64] {
        let start = partition_point(self.entries, self.expected, |found| found < entry(self.key, 0));
        let end = partition_point(self.entries, start, |found| found <= entry(self.key, u32::MAX));
        &self.entries[start..end]
    }
}

/// As for slices, where it is known about where the point is: steps away from there grow until it has been passed.
fn partition_point(entries: &[u64], expected: usize, is_before: impl Fn(u64) -> bool) -> usize {
    let (mut low, mut high) = (expected, expected);
    let mut step = 1;
    while low > 0 && !is_before(entries[low - 1]) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    if low == expected {
        while high < entries.len() && is_before(entries[high]) {
            low = high + 1;
            high = entries.len().min(high + step);
            step *= 2;
        }
    }
    low + entries[low..high].partition_point(|entry| is_before(*entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_point_is_found_from_everywhere() {
        for length in 0..40 {
            let entries: Vec<u64> = (0..length).map(|at| at / 3 * 10).collect();
            for expected in 0..=entries.len() {
                for value in 0..150 {
                    let point = partition_point(&entries, expected, |entry| entry < value);
                    assert_eq!(
                        point,
                        entries.partition_point(|entry| *entry < value),
                        "{entries:?}, {expected}, {value}"
                    );
                }
            }
        }
    }
}
